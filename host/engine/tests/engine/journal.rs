//! A failing store: nothing is created twice, nothing is forgotten, and nothing builds on a change
//! that was not recorded (SPEC §10).

use std::sync::atomic::Ordering;

use crate::support::{FULL, Platform, documents, locked};
use purlin_model::driver::Implements;

const READS: Implements = FULL;
const REPEATS: Implements = Implements { read: false, repeat_create: true, ..FULL };

/// From these documents to the next ones, every kind of change occurs: creations, updates,
/// replacements in both orders, deletions and moves.
fn before() -> String {
    documents(
        &[
            ("a", "fixed: 1"),
            ("b", "x: <a.id>"),
            ("c", "fixed: 1"),
            ("d", "fixed: <c.id>"),
            ("e", "v: 1"),
            ("f", "x: <e.v>"),
            ("old", "v: named"),
        ],
        &[("c", "delete_before_replace: true")],
    )
}

fn after() -> String {
    documents(
        &[
            ("a", "fixed: 2"),
            ("b", "x: <a.id>"),
            ("c", "fixed: 2"),
            ("d", "fixed: <c.id>"),
            ("g", "x: <b.x>"),
            ("new", "v: other"),
        ],
        &[("c", "delete_before_replace: true"), ("new", "aliases: [thing#shared.old]")],
    )
}

/// The final state: exactly one object for each key.
async fn is_as_wanted(platform: &Platform, at: usize) {
    let alive = platform.driver.alive();
    let things: Vec<&str> =
        alive.iter().filter_map(|key| key.split_once("#shared.")).map(|(_, n)| n).collect();
    // The driver knows it by the name under which it was created.
    assert_eq!(things, ["a", "b", "c", "d", "g", "old"], "cut at {at}");
    let snapshot = platform.snapshot().await;
    assert_eq!(snapshot.records.len(), 7, "cut at {at}: {:#?}", snapshot.records);
    assert!(snapshot.pending.is_empty(), "cut at {at}");
    let world = locked(&platform.driver.world).clone();
    for record in &snapshot.records {
        assert!(
            world.contains_key(record.state.id.expose()),
            "cut at {at}: {} is recorded and not there",
            record.state.id
        );
    }
}

#[tokio::test]
async fn a_store_that_fails_at_any_moment_costs_nothing_but_the_run() {
    for implements in [READS, REPEATS] {
        for (checkpoints, late) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut at = 0;
            loop {
                let platform = Platform::with(implements);
                *locked(&platform.driver.checkpoints) = checkpoints;
                assert!(platform.up(&before()).await.is_success());
                platform.store.submissions.store(0, Ordering::SeqCst);
                *locked(&platform.store.takes) = Some(at);
                platform.store.late.store(late, Ordering::SeqCst);
                let plan = platform.plan(&after()).await.expect("a plan");
                let (_, summary) = platform.run(plan, purlin_engine::CancelToken::default()).await;
                let reached = platform.store.submissions.load(Ordering::SeqCst) > at;
                *locked(&platform.store.takes) = None;
                assert_eq!(summary.is_success(), !reached, "cut at {at}: {summary:#?}");
                // Repeats the same command until it succeeds.
                let mut left = 3;
                while !platform.up(&after()).await.is_success() {
                    left -= 1;
                    assert!(left > 0, "cut at {at}: it never ends");
                }
                is_as_wanted(&platform, at).await;
                assert_eq!(platform.up(&after()).await.calls, 0, "cut at {at}");
                if !reached {
                    break;
                }
                at += 1;
            }
            assert!(at > 20, "{at} moments");
        }
    }
}

#[tokio::test]
async fn life_15_nothing_builds_on_an_unrecorded_result() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "v: 1")], &[]);
    // For example because there is no key to encrypt the secret that a driver returned.
    *locked(&platform.store.refuses) = Some("::shared.a".into());
    let summary = platform.up(&all).await;
    assert_eq!(summary.failed.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.a"]);
    assert_eq!(summary.skipped.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.b"]);
    assert!(platform.record("shared.b").await.is_none(), "the state would not be whole");
    *locked(&platform.store.refuses) = None;
    platform.done();
    let summary = platform.up(&all).await;
    assert!(summary.is_success(), "{summary:#?}");
    let made: Vec<_> = platform.done().into_iter().filter(|call| call.starts_with("create")).collect();
    assert_eq!(made, ["create b"], "`a` was found");
}

#[tokio::test]
async fn the_prelude_of_a_plan_is_recorded_or_nothing_is_done() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("old", "v: 1")], &[])).await;
    let renamed = documents(&[("new", "v: 2")], &[("new", "aliases: [thing#shared.old]")]);
    let plan = platform.plan(&renamed).await.expect("a plan");
    *locked(&platform.store.takes) = Some(0);
    let (_, summary) = platform.run(plan, purlin_engine::CancelToken::default()).await;
    assert!(summary.halted.is_some() && summary.calls == 0, "{summary:#?}");
    *locked(&platform.store.takes) = None;
    assert_eq!(platform.deploys(&renamed).await, ["update old"]);
}
