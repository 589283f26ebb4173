//! Calls whose response was lost: their outcome is found out if possible, reported if not, and
//! never guessed.

use std::time::Duration;

use crate::support::{FULL, Lost, PLAIN, Platform, documents, locked, scope};
use purlin_engine::{CancelToken, Cause, DestroyOptions, PlanOptions, Scope};
use purlin_model::driver::Implements;
use purlin_state::{Change, Operation, Status};

const REPEATS: Implements = Implements { repeat_create: true, ..PLAIN };

pub(crate) fn lose(platform: &Platform, call: &str, when: Lost) {
    let (what, name) = call.split_once(' ').expect("`what name`");
    locked(&platform.driver.lost).insert(format!("{what} thing.default#shared.{name}"), when);
}

pub(crate) async fn pending(platform: &Platform) -> Vec<String> {
    let snapshot = platform.snapshot().await;
    let name = |operation: &Operation| match operation {
        Operation::Create(record) => format!("create {}", record.urn),
        Operation::Update(record) => format!("update {}", record.urn),
        Operation::Delete(id) => format!("delete {id}"),
    };
    let short = |text: String| text.replace("urn:purlin:dev/acme::shop::shared::thing.default::shared.", "");
    snapshot.pending.iter().map(|intent| short(name(&intent.operation))).collect()
}

/// `a` was updated and `b` was created, but both responses were lost.
async fn interrupted(implements: Implements) -> (Platform, String) {
    let platform = Platform::with(implements);
    platform.deploys(&documents(&[("a", "v: 1"), ("i", "v: 1")], &[])).await;
    lose(&platform, "update a", Lost::After);
    lose(&platform, "create b", Lost::After);
    let all = documents(&[("a", "v: 2"), ("b", "v: 1"), ("i", "v: 1")], &[]);
    let plan = platform.plan(&all).await.expect("a plan");
    let summary = platform.run(plan, CancelToken::default()).await.1;
    let unknown: Vec<_> = summary.unknown.iter().map(|key| key.id()).collect();
    assert_eq!(unknown, ["shared.a", "shared.b"], "{summary:#?}");
    assert_eq!(summary.failed.len(), 2);
    assert_eq!(pending(&platform).await, ["update a", "create b"]);
    platform.done();
    (platform, all)
}

// case 22
#[tokio::test]
async fn a_refresh_settles_an_update_and_keeps_a_possible_creation() {
    let (platform, all) = interrupted(PLAIN).await;
    let summary = platform.recover().await;
    assert_eq!(summary.unknown.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.b"]);
    assert!(!summary.is_success());
    platform.refresh().await;
    assert_eq!(pending(&platform).await, ["create b"]);
    let plan = platform.plan(&all).await.expect("a plan");
    assert!(plan.warnings.iter().any(|warning| warning.key.id() == "shared.b"), "{:?}", plan.warnings);
}

/// The record of the replaced object does not show what the new one needs.
#[tokio::test]
async fn a_destroy_keeps_the_dependencies_of_a_copy_that_may_exist() {
    let platform = Platform::with(PLAIN);
    platform.deploys(&documents(&[("a", "fixed: 1"), ("b", "v: 1"), ("c", "v: 1")], &[])).await;
    lose(&platform, "create a", Lost::After);
    platform.up(&documents(&[("a", "fixed: 2, x: <b.id>"), ("b", "v: 1"), ("c", "v: 1")], &[])).await;
    assert_eq!(pending(&platform).await, ["create a"]);
    let summary = platform.destroy().await;
    assert!(!summary.is_success(), "{summary:#?}");
    assert_eq!(platform.alive(), ["a", "a~2", "b"]);
    assert_eq!(pending(&platform).await, ["create a"]);
}

#[tokio::test]
async fn a_destroy_keeps_the_dependencies_of_a_resource_that_may_exist() {
    let platform = Platform::with(PLAIN);
    platform.deploys(&documents(&[("b", "v: 1"), ("c", "v: 1")], &[])).await;
    lose(&platform, "create a", Lost::After);
    platform.up(&documents(&[("a", "x: <b.id>"), ("b", "v: 1"), ("c", "v: 1")], &[])).await;
    assert_eq!(pending(&platform).await, ["create a"]);
    let summary = platform.destroy().await;
    assert!(!summary.is_success(), "{summary:#?}");
    assert_eq!(platform.alive(), ["a", "b"]);
    assert_eq!(pending(&platform).await, ["create a"]);
}

// case 23
#[tokio::test]
async fn life_01_the_next_run_reports_undecided_calls_and_does_the_rest() {
    let (platform, all) = interrupted(PLAIN).await;
    let all = all.replacen("    i:", "    n: {type: thing, params: {v: 1}}\n    i:", 1);
    let summary = platform.up(&all).await;
    let mut done = platform.done();
    done.sort_unstable();
    assert_eq!(done, ["create n", "update a"]);
    assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.b"));
    assert_eq!(pending(&platform).await, ["create b"]);
    assert_eq!(platform.alive(), ["a", "b", "i", "n"]);
    // Destroying the environment leaves it too, and reports it.
    let plan = platform.destroy_plan().await.expect("a plan");
    assert_eq!(plan.warnings.len(), 1);
    platform.run(plan, CancelToken::default()).await;
    assert_eq!(pending(&platform).await, ["create b"]);
    assert_eq!(platform.alive(), ["b"]);
    // The user checks the resource and settles the call.
    let documents = documents(&[("b", "v: 1")], &[]);
    let import = vec![("thing#shared.b".into(), "thing.default#shared.b".into())];
    let faults = platform.refused(&documents, PlanOptions { import, ..PlanOptions::default() }).await;
    assert_eq!(faults[0].code, "cannot-read", "this driver cannot look: {faults:#?}");
    let urn = platform.snapshot().await.pending[0].id().urn;
    let forgotten = purlin_engine::forget(platform.snapshot().await, &urn, false).expect("changes");
    platform.write(forgotten).await;
    assert!(platform.snapshot().await.pending.is_empty());
}

#[tokio::test]
async fn life_02_a_readable_resource_is_found_by_name_or_id() {
    for (when, checkpoints, calls) in [
        (Lost::After, false, vec!["read a"]),
        (Lost::After, true, vec!["read a", "update a"]),
        (Lost::Before, false, vec!["read a", "create a"]),
    ] {
        let platform = Platform::with(FULL);
        *locked(&platform.driver.checkpoints) = checkpoints;
        let all = documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[]);
        lose(&platform, "create a", when);
        let summary = platform.up(&all).await;
        assert_eq!(summary.unknown.len(), 1);
        platform.done();
        assert!(platform.up(&all).await.is_success());
        let done = platform.done();
        let read = done.iter().filter(|call| call.starts_with("read")).count();
        assert_eq!((read, done.len()), (1, calls.len() + 1), "{done:?}");
        assert_eq!(platform.alive(), ["a", "b"]);
        assert!(platform.snapshot().await.pending.is_empty());
    }
}

#[tokio::test]
async fn a_repeatable_creation_is_repeated_with_the_same_key() {
    for when in [Lost::Before, Lost::After] {
        let platform = Platform::with(REPEATS);
        let all = documents(&[("a", "v: 1")], &[]);
        lose(&platform, "create a", when);
        platform.up(&all).await;
        assert!(platform.up(&all).await.is_success());
        assert_eq!(platform.alive(), ["a"]);
        let keys = locked(&platform.driver.keys).clone();
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), 2, "one of them for the environment: {keys:?}");
    }
}

#[tokio::test]
async fn the_second_attempt_proves_nothing_about_the_first() {
    let platform = Platform::with(Implements { check: true, ..REPEATS });
    let all = documents(&[("a", "v: 1")], &[]);
    lose(&platform, "create a", Lost::After);
    platform.up(&all).await;
    assert_eq!(platform.alive(), ["a"]);
    // The network fails during the repeated call: this attempt did nothing, but the first one did.
    locked(&platform.driver.unreachable).insert("thing.default#shared.a".into());
    let summary = platform.recover().await;
    assert_eq!((summary.failed.len(), summary.unknown.len()), (1, 1), "{summary:#?}");
    assert_eq!(pending(&platform).await, ["create a"]);
    locked(&platform.driver.unreachable).clear();
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a"]);
}

/// The next holder of the environment waits as long as the repeated call may take.
#[tokio::test]
async fn a_repeated_call_extends_its_deadline() {
    let platform = Platform::with(REPEATS);
    let all = documents(&[("a", "v: 1")], &[]);
    lose(&platform, "create a", Lost::AtLimit);
    platform.up(&all).await;
    let wait = async || purlin_engine::last_attempts(&platform.snapshot().await.pending);
    let first = wait().await;
    assert!(first >= Duration::from_secs(30) && first < Duration::from_secs(60), "{first:?}");
    for (limit, expected) in [(90, 90), (10, 90)] {
        *locked(&platform.driver.longest) = Duration::from_secs(limit);
        lose(&platform, "create a", Lost::AtLimit);
        platform.recover().await;
        assert_eq!(pending(&platform).await, ["create a"]);
        assert!(wait().await >= Duration::from_secs(expected), "{:?}", wait().await);
    }
    assert!(platform.up(&all).await.is_success());
}

#[tokio::test]
async fn the_retain_setting_of_the_interrupted_run_counts() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "fixed: 1")], &[])).await;
    let retained = documents(&[("a", "fixed: 2")], &[("a", "retain: true")]);
    lose(&platform, "create a", Lost::After);
    platform.up(&retained).await;
    assert!(platform.up(&retained).await.is_success());
    assert_eq!(platform.alive(), ["a", "a~2"], "the old one was to be left alone");
    assert_eq!(platform.copies().await, 0);
}

#[tokio::test]
async fn a_lost_deletion_is_completed_and_not_repeated_needlessly() {
    for implements in [PLAIN, FULL] {
        for when in [Lost::Before, Lost::After] {
            let platform = Platform::with(implements);
            platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[])).await;
            lose(&platform, "delete b", when);
            let summary = platform.destroy().await;
            assert_eq!(summary.unknown.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.b"]);
            assert_eq!(pending(&platform).await, ["delete b"]);
            assert!(platform.destroy().await.is_success());
            assert!(platform.alive().is_empty() && platform.records().await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_lost_deletion_to_make_room_is_not_repeated() {
    for implements in [PLAIN, FULL] {
        for when in [Lost::Before, Lost::After] {
            let platform = Platform::with(implements);
            let of = |fixed: &str| {
                documents(&[("a", fixed), ("b", "x: <a.id>")], &[("a", "delete_before_replace: true")])
            };
            platform.deploys(&of("fixed: 1")).await;
            lose(&platform, "delete a", when);
            platform.up(&of("fixed: 2")).await;
            assert!(platform.up(&of("fixed: 2")).await.is_success());
            assert_eq!(platform.alive(), ["a~2", "b"]);
            assert!(platform.records().await.iter().all(|record| record.status == Status::Ready));
        }
    }
}

#[tokio::test]
async fn a_possible_successor_is_not_forgotten_with_its_predecessor() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("n", "v: 1"), ("a", fixed)], &[("a", "depends_on: ['<n>']")]);
    platform.deploys(&of("fixed: 1")).await;
    lose(&platform, "create a", Lost::After);
    platform.up(&of("fixed: 2")).await;
    assert_eq!(platform.alive(), ["a", "a~2", "n"]);
    // It leaves the documents, and two copies may exist.
    for _ in 0..2 {
        let summary = platform.up(&documents(&[], &[])).await;
        assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.a"));
        assert_eq!(pending(&platform).await, ["create a"]);
        assert_eq!(platform.alive(), ["a", "a~2", "n"], "nor does what it needs go");
    }
}

#[tokio::test]
async fn a_resource_found_late_does_not_depend_on_a_missing_one() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[]);
    lose(&platform, "create b", Lost::After);
    platform.up(&all).await;
    // Nothing settles the call. `a` cannot be destroyed on its own, and is forgotten with `force`.
    let options = DestroyOptions { scope: scope(&["a"], &[]), ..DestroyOptions::default() };
    assert!(platform.destroy_plan_with(options).await.is_err());
    let a = platform.record("shared.a").await.expect("recorded").urn;
    platform.write(purlin_engine::forget(platform.snapshot().await, &a, true).expect("changes")).await;
    // The store checks its own consistency.
    platform.recover().await;
    assert!(platform.record("shared.b").await.expect("found").dependencies.is_empty());
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.alive(), ["a"]);
}

#[tokio::test]
async fn a_possible_resource_keeps_its_dependencies() {
    let platform = Platform::with(PLAIN);
    let of = |a: &str| documents(&[("a", a), ("b", "x: <a.id>")], &[]);
    lose(&platform, "create b", Lost::After);
    platform.up(&of("fixed: 1, first: yes")).await;
    platform.done();
    // The old `a` would be deleted first, and `b`, if it exists, refers to it.
    let summary = platform.up(&of("fixed: 2, first: yes")).await;
    assert!(platform.done().is_empty());
    assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.b"));
    assert!(summary.skipped.iter().any(|(key, _)| key.id() == "shared.a"), "{summary:#?}");
    let urn = platform.snapshot().await.pending[0].id().urn;
    platform.write(purlin_engine::forget(platform.snapshot().await, &urn, false).expect("changes")).await;
    let done = platform.deploys(&of("fixed: 2, first: yes")).await;
    assert_eq!(done, ["delete a", "create a~2", "create b~2"]);
}

#[tokio::test]
async fn a_possible_resource_that_is_left_alone_keeps_its_dependencies() {
    let platform = Platform::with(PLAIN);
    lose(&platform, "create b", Lost::After);
    platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[])).await;
    platform.done();
    let plan = platform.plan(&documents(&[("b", "v: 1")], &[("b", "paused: true")])).await.expect("a plan");
    let warned: Vec<_> = plan.warnings.iter().map(|warning| warning.key.id()).collect();
    assert_eq!(warned, ["shared.b", "shared.a"]);
    platform.run(plan, CancelToken::default()).await;
    assert_eq!((platform.done(), platform.alive()), (vec![], vec!["a".to_owned(), "b".to_owned()]));
}

#[tokio::test]
async fn a_possible_resource_that_left_the_documents_keeps_its_dependencies() {
    let platform = Platform::with(PLAIN);
    lose(&platform, "create b", Lost::After);
    platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[])).await;
    platform.done();
    let plan = platform.plan(&documents(&[("c", "v: 1")], &[])).await.expect("a plan");
    let warned: Vec<_> = plan.warnings.iter().map(|warning| warning.key.id()).collect();
    assert_eq!(warned, ["shared.b", "shared.a"]);
    let summary = platform.run(plan, CancelToken::default()).await.1;
    assert_eq!((platform.done(), platform.alive().len()), (vec!["create c".to_owned()], 3));
    // The environment must not appear settled.
    assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.b"));
    let exclude = vec!["thing#shared.b".to_owned()];
    let options = PlanOptions { scope: Scope { exclude, ..Scope::default() }, ..PlanOptions::default() };
    let plan = platform.plan_with(&documents(&[("c", "v: 1")], &[]), options).await.expect("a plan");
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success(), "it is not part of this run");
}

#[tokio::test]
async fn nothing_is_renamed_to_a_possible_resource() {
    let platform = Platform::with(PLAIN);
    platform.deploys(&documents(&[("a", "v: 1"), ("old", "x: <a.id>")], &[])).await;
    lose(&platform, "create new", Lost::After);
    platform.up(&documents(&[("a", "v: 1"), ("old", "x: <a.id>"), ("new", "x: <a.id>")], &[])).await;
    platform.done();
    let renamed = documents(&[("new", "v: 1")], &[("new", "aliases: [thing#shared.old]")]);
    let summary = platform.up(&renamed).await;
    assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.new"));
    assert_eq!(pending(&platform).await, ["create new"], "it is not forgotten");
    assert_eq!((platform.done(), platform.alive().len()), (vec![], 3), "and the old one stays");
    // Once settled, the new resource is the one that was created, and the old one is not needed.
    let ends_so = |id: &&String| id.ends_with("#shared.new");
    let id = locked(&platform.driver.world).keys().find(ends_so).cloned().expect("it was made");
    let urn = platform.snapshot().await.pending[0].id().urn;
    let settled = purlin_engine::settle(platform.snapshot().await, &urn, Some(&id), 0).expect("changes");
    platform.write(settled).await;
    platform.up(&renamed).await;
    assert_eq!(platform.alive(), ["new"]);
}

/// Its creation may have ended with the last attempt, so that its system may not show it yet.
#[tokio::test]
async fn what_is_settled_is_as_new_as_the_last_attempt() {
    let platform = Platform::with(PLAIN);
    lose(&platform, "create a", Lost::After);
    platform.up(&documents(&[("a", "v: 1")], &[])).await;
    let mut snapshot = platform.snapshot().await;
    let now = snapshot.pending[0].since + 100_000;
    let urn = snapshot.pending[0].id().urn;
    for (deadline, ended) in [(None, now), (Some(now - 7), now - 7), (Some(now + 7), now)] {
        snapshot.pending[0].deadline = deadline;
        let changes = purlin_engine::settle(snapshot.clone(), &urn, Some("a"), now).expect("changes");
        let created = changes.iter().find_map(|change| match change {
            Change::Put(record) => Some(record.created),
            _ => None,
        });
        assert_eq!(created, Some(ended), "{deadline:?}");
    }
}

#[tokio::test]
async fn an_excluded_possible_resource_keeps_its_dependencies() {
    let platform = Platform::with(PLAIN);
    lose(&platform, "create b", Lost::After);
    platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.id>"), ("c", "v: 1")], &[])).await;
    platform.done();
    let scope = Scope { exclude: vec!["thing#shared.b".to_owned()], ..Scope::default() };
    let plan = platform
        .destroy_plan_with(DestroyOptions { scope, ..DestroyOptions::default() })
        .await
        .expect("a plan");
    platform.run(plan, CancelToken::default()).await;
    assert_eq!(
        (platform.done(), platform.alive()),
        (vec!["delete c".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
}

#[tokio::test]
async fn a_waiting_resource_that_may_be_gone_is_not_read() {
    let platform = Platform::with(PLAIN);
    let of = |paused: &str| documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[("a", paused)]);
    platform.deploys(&of("paused: false")).await;
    lose(&platform, "delete a", Lost::After);
    platform.destroy().await;
    lose(&platform, "delete a", Lost::Before);
    platform.done();
    platform.up(&of("paused: true")).await;
    assert_eq!((platform.done(), platform.alive()), (vec!["delete a".to_owned()], Vec::<String>::new()));
}

#[tokio::test]
async fn a_possible_resource_depends_on_a_renamed_one() {
    let platform = Platform::with(PLAIN);
    lose(&platform, "create b", Lost::After);
    platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.id>")], &[])).await;
    let old = platform.record("shared.a").await.expect("recorded").urn;
    let new = purlin_model::Urn::parse(&old.as_str().replace("shared.a", "shared.c")).expect("a URN");
    platform.write(purlin_engine::rename(platform.snapshot().await, &old, &new).expect("changes")).await;
    let snapshot = platform.snapshot().await;
    let [Operation::Create(made)] = [&snapshot.pending[0].operation] else { panic!("{snapshot:?}") };
    assert_eq!(*made.dependencies, [new]);
}

#[tokio::test]
async fn looking_ahead_creates_nothing() {
    let (platform, _) = interrupted(REPEATS).await;
    let base = platform.base().await.expect("a state");
    let plan =
        purlin_engine::recover(&platform.context(), base, &platform.shelf, true).await.expect("a plan");
    let before = locked(&platform.driver.keys).len();
    let scratch = std::sync::Arc::new(purlin_engine::Scratch::default());
    platform.run_on(plan, std::sync::Arc::clone(&scratch) as _).await;
    assert_eq!(locked(&platform.driver.keys).len(), before);
    assert!(!scratch.take().is_empty());
    assert_eq!(pending(&platform).await, ["update a", "create b"], "nothing was written down");
    assert!(Scope::default().is_everything());
}

#[tokio::test]
async fn an_aborted_call_is_unknown_and_then_found_out() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "gate: true"), ("b", "x: <a.id>")], &[]);
    let plan = platform.plan(&all).await.expect("a plan");
    let cancel = CancelToken::default();
    platform.driver.shut_gate();
    let run = platform.run(plan, cancel.clone());
    let ask = async {
        // The environment does not wait for `a`.
        platform.driver.until_waiting(1).await;
        platform.driver.until_ended(1).await;
        cancel.request();
        cancel.cut();
    };
    let ((_, summary), ()) = tokio::join!(run, ask);
    assert_eq!(summary.unknown.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.a"]);
    assert_eq!(pending(&platform).await, ["create a"]);
    platform.driver.open_gate();
    assert!(platform.up(&all).await.is_success());
    assert_eq!(platform.alive(), ["a", "b"]);
    assert!(platform.snapshot().await.pending.is_empty());
}

/// Retained, it would be said to exist, although its deletion may still be under way.
#[tokio::test]
async fn what_may_be_gone_is_not_retained() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = Duration::from_mins(1);
    platform.deploys(&documents(&[("a", "fixed: 1")], &[])).await;
    lose(&platform, "delete a", Lost::Before);
    platform.destroy().await;
    assert_eq!(pending(&platform).await, ["delete a"]);
    platform.done();
    let of = |retain: &str| documents(&[("a", "fixed: 2")], &[("a", retain)]);
    let summary = platform.up(&of("retain: true")).await;
    assert!(matches!(&summary.failed[..], [(_, Cause::Undecided)]), "{summary:?}");
    assert_eq!((platform.done(), platform.alive()), (vec!["read a".to_owned()], vec!["a".to_owned()]));
    assert_eq!(pending(&platform).await, ["delete a"]);
    platform.up(&of("retain: false")).await;
    assert_eq!(platform.done(), ["read a", "create a~2", "read a", "delete a"]);
}

/// What a driver does not report, such as params, may be as a lost update left it, also where the documents
/// ask again for what they asked for before.
#[tokio::test(start_paused = true)]
async fn what_a_lost_update_left_is_corrected_also_if_the_documents_go_back() {
    let platform = Platform::with(FULL);
    let of = |v: u8| documents(&[("a", &format!("v: {v}"))], &[]);
    platform.deploys(&of(1)).await;
    lose(&platform, "update a", Lost::After);
    platform.up(&of(2)).await;
    assert_eq!(pending(&platform).await, ["update a"]);
    platform.done();
    platform.up(&of(1)).await;
    assert_eq!(platform.done(), ["read a", "update a"]);
}
