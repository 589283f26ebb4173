//! Systems that show changes late: what is not found counts as missing, and what is still found as not
//! deleted, only once the grace of its driver has passed, whoever asks.

use std::collections::BTreeSet;

use std::time::Duration;

use purlin_engine::{CancelToken, Cause, Event, PlanOptions, Summary};
use purlin_model::driver::Implements;
use purlin_state::{Change, Status};

use crate::pending::{lose, pending};
use crate::refresh::{GRACE, observed};
use crate::support::{FULL, Lost, Platform, documents, locked};

/// A platform whose system shows nothing until the test lets it.
fn lagging(implements: Implements) -> Platform {
    let platform = Platform::with(implements);
    *locked(&platform.driver.grace) = GRACE;
    *locked(&platform.driver.hides) = true;
    platform
}

fn shows(platform: &Platform) {
    *locked(&platform.driver.hides) = false;
}

/// The findings about shared resources.
fn findings(events: &[Event]) -> Vec<String> {
    observed(events).into_iter().filter(|finding| finding.starts_with("shared.")).collect()
}

fn keys(platform: &Platform) -> usize {
    locked(&platform.driver.keys).iter().collect::<BTreeSet<_>>().len()
}

#[tokio::test]
async fn a_creation_that_is_not_shown_yet_is_undecided_and_found_later() {
    let platform = lagging(FULL);
    let all = documents(&[("a", "v: 1"), ("b", "v: 1")], &[]);
    lose(&platform, "create a", Lost::After);
    assert!(!platform.up(&all).await.is_success());
    for _ in 0..2 {
        let summary = platform.up(&all).await;
        assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.a"));
        assert_eq!(pending(&platform).await, ["create a"]);
    }
    assert_eq!(platform.record("shared.b").await.expect("made").status, Status::Ready);
    shows(&platform);
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a", "b"]);
    assert!(platform.destroy().await.is_success());
    assert!(platform.alive().is_empty());
}

#[tokio::test]
async fn a_creation_that_is_not_shown_within_the_grace_was_not_made() {
    let platform = lagging(FULL);
    let all = documents(&[("a", "v: 1")], &[]);
    lose(&platform, "create a", Lost::Before);
    platform.up(&all).await;
    let base = platform.base().await.expect("a whole state");
    let plan =
        purlin_engine::recover(&platform.context(), base, &platform.shelf, false).await.expect("a plan");
    let (events, summary) = platform.run(plan, CancelToken::default()).await;
    assert_eq!(findings(&events), ["shared.a may-appear "]);
    assert_eq!(summary.unknown.len(), 1, "{summary:#?}");
    platform.wait(GRACE);
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a"]);
    assert_eq!(keys(&platform), 3, "one for the environment, and a new one for the new effect");
}

/// The key tells the system that it is the same effect, so nobody has to wait.
#[tokio::test]
async fn a_repeatable_creation_that_is_not_shown_is_repeated_with_its_key() {
    for when in [Lost::Before, Lost::After] {
        let platform = lagging(Implements { repeat_create: true, ..FULL });
        let all = documents(&[("a", "v: 1")], &[]);
        lose(&platform, "create a", when);
        platform.up(&all).await;
        assert!(platform.up(&all).await.is_success());
        assert_eq!(platform.alive(), ["a"], "{when:?}");
        assert_eq!(keys(&platform), 2, "one of them for the environment");
        // The repeated call may have made it, so it is as new as that call.
        platform.refresh().await;
        assert_eq!(platform.record("shared.a").await.expect("kept").status, Status::Ready);
    }
}

/// The creation was not made, and cannot be repeated: after the grace, that is certain.
#[tokio::test]
async fn a_repetition_that_fails_ends_with_the_grace() {
    let platform = lagging(Implements { repeat_create: true, ..FULL });
    lose(&platform, "create a", Lost::Before);
    platform.up(&documents(&[("a", "v: 1")], &[])).await;
    lose(&platform, "create a", Lost::Rejected);
    platform.recover().await;
    assert_eq!(pending(&platform).await, ["create a"]);
    platform.wait(GRACE);
    lose(&platform, "create a", Lost::Rejected);
    platform.recover().await;
    assert!(pending(&platform).await.is_empty());
}

/// A clock that was set back does not keep a call undecided for years.
#[tokio::test]
async fn an_attempt_from_the_future_ended_a_moment_ago() {
    let platform = lagging(FULL);
    let all = documents(&[("a", "v: 1")], &[]);
    lose(&platform, "create a", Lost::Before);
    platform.up(&all).await;
    let mut intent = platform.snapshot().await.pending.remove(0);
    (intent.since, intent.deadline) = (u64::MAX / 2, Some(u64::MAX));
    platform.write(vec![Change::Intend(Box::new(intent))]).await;
    platform.up(&all).await;
    assert_eq!(pending(&platform).await, ["create a"]);
    platform.wait(GRACE);
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a"]);
}

#[tokio::test]
async fn a_new_resource_that_is_not_shown_is_kept_and_not_made_again() {
    let platform = lagging(FULL);
    let all = documents(&[("a", "v: 1")], &[]);
    platform.deploys(&all).await;
    let (events, _) = platform.refresh().await;
    assert_eq!(findings(&events), ["shared.a not-visible "]);
    platform.done();
    assert!(platform.deploys(&all).await.is_empty());
    platform.wait(GRACE);
    let (events, _) = platform.refresh().await;
    assert_eq!(findings(&events), ["shared.a gone "]);
}

#[tokio::test]
async fn a_resource_from_the_future_is_not_new() {
    let platform = lagging(FULL);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    let mut record = platform.record("shared.a").await.expect("recorded");
    record.created += 3_600_000;
    platform.write(vec![Change::Put(Box::new(record))]).await;
    let (events, _) = platform.refresh().await;
    assert_eq!(findings(&events), ["shared.a gone "]);
}

#[tokio::test]
async fn a_new_resource_is_not_gone_after_a_lost_update() {
    let platform = lagging(FULL);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    lose(&platform, "update a", Lost::Before);
    platform.up(&documents(&[("a", "v: 2")], &[])).await;
    platform.recover().await;
    assert!(pending(&platform).await.is_empty());
    assert!(platform.record("shared.a").await.is_some_and(|record| record.status != Status::Absent));
}

/// Whatever the system answers about what it does not show, it may appear afterwards.
#[tokio::test]
async fn what_is_not_shown_yet_is_not_deleted() {
    let platform = lagging(FULL);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    let summary = platform.destroy().await;
    let is_hidden = |(_, cause): &(_, Cause)| matches!(cause, Cause::NotVisible { seconds } if *seconds > 0);
    assert!(!summary.failed.is_empty() && summary.failed.iter().all(is_hidden), "{summary:?}");
    assert!(pending(&platform).await.is_empty());
    assert!(!platform.alive().is_empty());
    platform.wait(GRACE);
    shows(&platform);
    platform.destroy().await;
    assert!(platform.alive().is_empty());
}

/// Nothing says whether the deletion was carried out, but the system showed the resource before.
#[tokio::test]
async fn a_lost_deletion_of_a_new_resource_is_repeated() {
    for when in [Lost::Before, Lost::After] {
        let platform = lagging(FULL);
        platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
        shows(&platform);
        lose(&platform, "delete a", when);
        platform.destroy().await;
        assert_eq!(pending(&platform).await, ["delete a"]);
        // It is shown by one of its servers, and not yet by another.
        *locked(&platform.driver.hides) = true;
        platform.recover().await;
        assert!(pending(&platform).await.is_empty(), "{when:?}");
        assert!(platform.alive().is_empty(), "{when:?}");
    }
}

/// A platform with `a`, whose system still shows what is deleted from now on.
async fn lingering(implements: Implements, documents: &str) -> Platform {
    let platform = Platform::with(implements);
    *locked(&platform.driver.grace) = GRACE;
    platform.deploys(documents).await;
    // It is no longer new.
    platform.wait(GRACE);
    *locked(&platform.driver.lingers) = true;
    platform
}

/// The system shows what exists.
fn shows_all(platform: &Platform) {
    *locked(&platform.driver.lingers) = false;
    locked(&platform.driver.lingering).clear();
}

fn is_undecided(summary: &Summary, id: &str) -> bool {
    matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == id)
}

#[tokio::test]
async fn a_lost_deletion_that_is_still_shown_is_undecided() {
    for when in [Lost::Before, Lost::After] {
        let all = documents(&[("a", "v: 1"), ("b", "v: 1")], &[]);
        let platform = lingering(FULL, &all).await;
        lose(&platform, "delete a", when);
        platform.up(&documents(&[("b", "v: 1")], &[])).await;
        assert_eq!(pending(&platform).await, ["delete a"]);
        platform.done();
        // The documents have it again. It is neither kept as it is recorded nor created again.
        let base = platform.base().await.expect("a whole state");
        let plan = purlin_engine::recover(&platform.context(), base, &platform.shelf, false).await;
        let (events, _) = platform.run(plan.expect("a plan"), CancelToken::default()).await;
        assert_eq!(findings(&events), ["shared.a may-disappear "]);
        let summary = platform.up(&all).await;
        assert!(is_undecided(&summary, "shared.a"), "{when:?}: {summary:#?}");
        assert_eq!(pending(&platform).await, ["delete a"]);
        match when {
            Lost::After => shows_all(&platform),
            _ => platform.wait(GRACE),
        }
        assert!(platform.up(&all).await.is_success());
        // Only what was deleted is created again.
        match when {
            Lost::After => assert_eq!(platform.alive(), ["a~2", "b"]),
            _ => assert_eq!(platform.alive(), ["a", "b"]),
        }
    }
}

/// A driver that asks for time may have had its deletion accepted, whatever comes after.
#[tokio::test]
async fn a_deletion_that_was_accepted_and_then_failed_is_undecided() {
    let all = documents(&[("a", "v: 1"), ("b", "v: 1")], &[]);
    let platform = lingering(FULL, &all).await;
    lose(&platform, "delete a", Lost::Accepted);
    let summary = platform.up(&documents(&[("b", "v: 1")], &[])).await;
    assert!(summary.unknown.iter().any(|key| key.id() == "shared.a"), "{summary:#?}");
    assert_eq!(pending(&platform).await, ["delete a"]);
    // The documents have it again, and its system still shows it.
    platform.recover().await;
    assert!(is_undecided(&platform.up(&all).await, "shared.a"));
    shows_all(&platform);
    platform.recover().await;
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a~2", "b"]);
}

/// The same holds where the deletion is a part of a replacement.
#[tokio::test]
async fn a_deletion_to_make_room_that_was_accepted_and_then_failed_is_undecided() {
    let of = |fixed: &str| documents(&[("a", fixed)], &[("a", "delete_before_replace: true")]);
    let platform = lingering(FULL, &of("fixed: 1")).await;
    lose(&platform, "delete a", Lost::Accepted);
    platform.up(&of("fixed: 2")).await;
    assert_eq!(pending(&platform).await, ["delete a"]);
    shows_all(&platform);
    assert!(platform.up(&of("fixed: 2")).await.is_success());
    assert_eq!(platform.alive(), ["a~2"]);
}

/// Deleting a resource that is gone succeeds, so nobody has to wait.
#[tokio::test]
async fn a_lost_deletion_of_what_is_not_wanted_is_repeated_at_once() {
    for when in [Lost::Before, Lost::After] {
        let platform = lingering(FULL, &documents(&[("a", "v: 1"), ("b", "v: 1")], &[])).await;
        let without = documents(&[("b", "v: 1")], &[]);
        lose(&platform, "delete a", when);
        platform.up(&without).await;
        assert!(platform.up(&without).await.is_success(), "{when:?}");
        assert!(pending(&platform).await.is_empty());
        assert_eq!(platform.alive(), ["b"]);
    }
}

/// A replacement deletes the old one again, whatever became of the first attempt.
#[tokio::test]
async fn a_lost_deletion_to_make_room_does_not_wait() {
    let of =
        |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>")], &[("a", "delete_before_replace: true")]);
    for when in [Lost::Before, Lost::After] {
        let platform = lingering(FULL, &of("fixed: 1")).await;
        lose(&platform, "delete a", when);
        platform.up(&of("fixed: 2")).await;
        assert_eq!(pending(&platform).await, ["delete a"]);
        assert!(platform.up(&of("fixed: 2")).await.is_success(), "{when:?}");
        assert_eq!(platform.alive(), ["a~2", "b"]);
    }
}

/// The replacement did nothing, so the deletion before it is as open as it was.
#[tokio::test]
async fn a_failed_replacement_keeps_the_lost_deletion() {
    let of = |fixed: &str| documents(&[("a", fixed)], &[]);
    let platform = lingering(FULL, &of("fixed: 1")).await;
    lose(&platform, "delete a", Lost::Before);
    platform.up(&documents(&[], &[])).await;
    lose(&platform, "create a", Lost::Rejected);
    assert!(!platform.up(&of("fixed: 2")).await.is_success());
    assert_eq!(pending(&platform).await, ["delete a"]);
    assert!(platform.up(&of("fixed: 2")).await.is_success());
    assert_eq!(platform.alive(), ["a~2"]);
}

/// The system still shows the object that made room, by the name of its successor.
#[tokio::test]
async fn a_deleted_object_is_not_taken_for_its_successor() {
    let of = |fixed: &str| documents(&[("a", fixed)], &[("a", "delete_before_replace: true")]);
    for when in [Lost::Before, Lost::After] {
        let platform = lingering(FULL, &of("fixed: 1")).await;
        *locked(&platform.driver.finds_oldest) = true;
        lose(&platform, "create a", when);
        platform.up(&of("fixed: 2")).await;
        assert_eq!(pending(&platform).await, ["create a"]);
        let summary = platform.up(&of("fixed: 2")).await;
        assert!(is_undecided(&summary, "shared.a"), "{when:?}: {summary:#?}");
        shows_all(&platform);
        platform.wait(GRACE);
        assert!(platform.up(&of("fixed: 2")).await.is_success());
        assert_eq!(platform.alive(), ["a~2"], "{when:?}");
        assert_eq!(platform.record("shared.a").await.expect("made").status, Status::Ready);
    }
}

/// Nobody waits until the system no longer shows what was deleted with its host. Its successor may have
/// no host.
#[tokio::test]
async fn an_object_that_was_deleted_with_its_host_is_not_taken_for_its_successor() {
    let before = documents(&[("a", "v: a"), ("b", "v: b")], &[("b", "deleted_with: <a>")]);
    let alone = documents(&[("b", "v: b")], &[]);
    for then in [&before, &alone] {
        let platform = lingering(FULL, &before).await;
        *locked(&platform.driver.finds_oldest) = true;
        platform.deploys(&documents(&[], &[])).await;
        lose(&platform, "create b", Lost::After);
        platform.up(then).await;
        assert_eq!(pending(&platform).await, ["create b"]);
        assert!(is_undecided(&platform.up(then).await, "shared.b"));
        locked(&platform.driver.world).remove("thing.default#shared.b");
        platform.wait(GRACE);
        assert!(platform.up(then).await.is_success());
        let made = platform.record("shared.b").await.expect("made");
        assert_eq!(made.state.id, "thing.default#shared.b~2");
        // What vanished is forgotten once no system shows it.
        assert_eq!(platform.snapshot().await.vanished.len(), 1);
        platform.wait(Duration::from_hours(25));
        platform.deploys(&documents(&[("b", "v: c")], &[])).await;
        assert!(platform.snapshot().await.vanished.is_empty());
    }
}

/// The advice of a plan for a creation that only time decides.
#[tokio::test]
async fn a_plan_says_when_an_undecided_creation_is_decided() {
    let platform = lagging(FULL);
    let all = documents(&[("a", "v: 1")], &[]);
    lose(&platform, "create a", Lost::AtLimit);
    platform.up(&all).await;
    let message = async |documents: &str| {
        let base = platform.base().await.expect("a whole state").at(platform.now());
        let graph = platform.graph(documents);
        let (context, options) = (platform.context(), PlanOptions::default());
        let plan = purlin_engine::plan(graph, &context, base, &platform.shelf, options).await;
        let warnings = plan.expect("a plan").warnings;
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>().join("\n")
    };
    // The host cut the call off, and no run has looked for it yet.
    let text = message(&all).await;
    assert!(text.contains("`purlin up` looks for it, and a second run 30 s later decides that"), "{text}");
    platform.recover().await;
    platform.wait(Duration::from_secs(10));
    let text = message(&all).await;
    assert!(text.contains("a run in 20 s decides that"), "{text}");
    assert!(text.contains("`purlin state settle thing.default#shared.a`"), "{text}");
    // That is true.
    platform.wait(Duration::from_secs(20));
    assert!(platform.up(&all).await.is_success());
    assert_eq!(message(&all).await, "");
}

/// What an answer shows may be as old as the look that asks for it.
#[tokio::test]
async fn a_look_that_outlasts_the_grace_proves_nothing() {
    let all = documents(&[("a", "v: 1")], &[]);
    // The environment is read too.
    let slow = |platform: &Platform| locked(&platform.driver.reads_take).1 = GRACE * 2 / 3;
    // A new resource.
    let platform = lagging(FULL);
    platform.deploys(&all).await;
    slow(&platform);
    let (events, _) = platform.refresh().await;
    assert_eq!(findings(&events), ["shared.a not-visible "]);
    // One whose update was interrupted.
    let platform = lagging(FULL);
    platform.deploys(&all).await;
    lose(&platform, "update a", Lost::Before);
    platform.up(&documents(&[("a", "v: 2")], &[])).await;
    slow(&platform);
    platform.recover().await;
    assert_ne!(platform.record("shared.a").await.expect("it is there").status, Status::Absent);
    // One whose creation was interrupted.
    let platform = lagging(FULL);
    lose(&platform, "create a", Lost::After);
    platform.up(&all).await;
    slow(&platform);
    platform.recover().await;
    assert_eq!(pending(&platform).await, ["create a"]);
    // One whose deletion was interrupted, and that is still shown.
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = GRACE;
    platform.deploys(&all).await;
    platform.wait(GRACE * 2);
    *locked(&platform.driver.lingers) = true;
    lose(&platform, "delete a", Lost::After);
    platform.up(&documents(&[], &[])).await;
    slow(&platform);
    platform.recover().await;
    assert_eq!(pending(&platform).await, ["delete a"]);
}
