//! The identity of objects: an object that is already recorded is never mistaken for a new one.

use crate::support::{FULL, Lost, PLAIN, Platform, at, documents, locked};
use purlin_engine::{Cause, Error, PlanOptions};
use purlin_model::driver::Implements;
use purlin_state::{Change, RecordId};

fn lose(platform: &Platform, call: &str, when: Lost) {
    let (what, name) = call.split_once(' ').expect("`what name`");
    locked(&platform.driver.lost).insert(format!("{what} thing.default#shared.{name}"), when);
}

fn of(fixed: &str) -> String {
    documents(&[("a", fixed), ("b", "x: <a.id>")], &[])
}

/// A replacement of `a` whose creation was interrupted; `b` depends on it.
async fn interrupted(implements: Implements, when: Lost, finds_oldest: bool) -> Platform {
    let platform = Platform::with(implements);
    *locked(&platform.driver.finds_oldest) = finds_oldest;
    platform.deploys(&of("fixed: 1")).await;
    lose(&platform, "create a", when);
    assert_eq!(platform.up(&of("fixed: 2")).await.unknown.len(), 1);
    platform.done();
    platform
}

async fn settle(platform: &Platform, id: Option<&str>) -> Result<Vec<Change>, Error> {
    let snapshot = platform.snapshot().await;
    let urn = snapshot.pending[0].id().urn;
    let id = id.map(|id| format!("thing.default#shared.{id}"));
    purlin_engine::settle(snapshot, &urn, id.as_deref(), 0)
}

#[tokio::test]
async fn the_new_resource_is_found_next_to_the_old_one_of_the_same_name() {
    let platform = interrupted(FULL, Lost::After, false).await;
    assert!(platform.up(&of("fixed: 2")).await.is_success());
    let done = platform.done();
    assert!(at(&done, "update b") < at(&done, "delete a"), "{done:?}");
    assert_eq!((platform.alive(), platform.copies().await), (vec!["a~2".to_owned(), "b".into()], 0));
    assert_eq!(platform.up(&of("fixed: 2")).await.calls, 0);
}

#[tokio::test]
async fn finding_the_old_resource_proves_nothing_about_the_new_one() {
    for (when, oldest) in [(Lost::Before, false), (Lost::Before, true), (Lost::After, true)] {
        let platform = interrupted(FULL, when, oldest).await;
        let before = platform.alive();
        let summary = platform.up(&of("fixed: 2")).await;
        assert!(matches!(summary.failed[..], [(ref key, Cause::Undecided)] if key.id() == "shared.a"));
        assert_eq!(platform.alive(), before, "neither made again nor deleted");
        assert_eq!(platform.snapshot().await.pending.len(), 1);
        // The user checks.
        let made = (when == Lost::After).then_some("a~2");
        platform.write(settle(&platform, made).await.expect("changes")).await;
        assert!(platform.up(&of("fixed: 2")).await.is_success());
        assert_eq!(platform.alive(), ["a~2", "b"], "{when:?}");
        assert_eq!(platform.up(&of("fixed: 2")).await.calls, 0);
    }
}

#[tokio::test]
async fn a_repeatable_creation_is_repeated_if_the_old_resource_is_found() {
    let repeats = Implements { repeat_create: true, ..FULL };
    for (when, oldest) in [(Lost::Before, false), (Lost::After, true)] {
        let platform = interrupted(repeats, when, oldest).await;
        assert!(platform.up(&of("fixed: 2")).await.is_success());
        assert_eq!(platform.alive(), ["a~2", "b"], "{when:?}");
        assert_eq!(platform.up(&of("fixed: 2")).await.calls, 0);
    }
}

#[tokio::test]
async fn a_driver_that_marks_its_objects_distinguishes_new_from_old() {
    for when in [Lost::Before, Lost::After] {
        let platform = interrupted(FULL, when, true).await;
        *locked(&platform.driver.marks) = true;
        assert!(platform.up(&of("fixed: 2")).await.is_success(), "{when:?}");
        assert_eq!(platform.alive(), ["a~2", "b"], "{when:?}");
        assert_eq!(platform.up(&of("fixed: 2")).await.calls, 0);
    }
}

#[tokio::test]
async fn an_intent_has_the_deadline_of_its_attempts() {
    let platform = interrupted(FULL, Lost::AtLimit, true).await;
    let pending = &platform.snapshot().await.pending[0];
    // Five attempts of half a minute, and a minute of delays between them.
    assert_eq!(pending.deadline, Some(pending.since + (5 * 30 + 60) * 1_000));
}

#[tokio::test]
async fn an_undeleted_old_copy_is_not_mistaken_for_the_new_resource() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.finds_oldest) = true;
    platform.deploys(&of("fixed: 1, fail: delete")).await;
    platform.up(&of("fixed: 2")).await;
    assert_eq!(
        (platform.alive(), platform.copies().await),
        (vec!["a".to_owned(), "a~2".into(), "b".into()], 1)
    );
    lose(&platform, "create a", Lost::After);
    platform.up(&of("fixed: 3")).await;
    platform.recover().await;
    assert_eq!(platform.snapshot().await.pending.len(), 1, "`a` has the name, and is an old copy");
    assert_eq!(platform.copies().await, 1);
}

#[tokio::test]
async fn an_id_of_another_record_settles_nothing() {
    let platform = interrupted(FULL, Lost::After, true).await;
    for (id, held_by) in [("a", "a"), ("b", "b")] {
        let refused = settle(&platform, Some(id)).await;
        let Err(Error::IdTaken { id: held, by, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(held.expose(), format!("thing.default#shared.{id}"));
        assert_eq!(
            by,
            RecordId::current(platform.record(&format!("shared.{held_by}")).await.expect("recorded").urn)
        );
    }
    assert!(settle(&platform, Some("a~2")).await.is_ok());
}

#[tokio::test]
async fn only_one_of_two_records_gets_a_found_object() {
    // Two creations were interrupted, and both names lead to the same object.
    let platform = Platform::with(Implements { name: false, ..FULL });
    let both = documents(&[("a", "same: it"), ("b", "same: it")], &[]);
    lose(&platform, "create a", Lost::After);
    lose(&platform, "create b", Lost::Before);
    platform.up(&both).await;
    assert_eq!(platform.snapshot().await.pending.len(), 2);
    *locked(&platform.driver.finds_any) = true;
    let summary = platform.recover().await;
    assert_eq!(summary.unknown.len(), 1, "{summary:#?}");
    let recorded = platform.records().await;
    assert_eq!(recorded.iter().filter(|record| record.state.id == "it").count(), 1);
}

/// A driver is believed when it reports that it created an object, so that nothing is lost. But an id
/// belongs to one resource: the run fails, the next plan warns, and each further run fails until one
/// of the two is gone. The object is not deleted with one of its records.
#[tokio::test]
async fn an_object_created_with_an_existing_id_is_shared() {
    for implements in [PLAIN, FULL] {
        let platform = Platform::with(implements);
        platform.deploys(&documents(&[("a", "same: it")], &[])).await;
        let both = documents(&[("a", "same: it"), ("b", "same: it"), ("c", "x: <b.id>")], &[]);
        for _ in 0..2 {
            let summary = platform.up(&both).await;
            let [(key, Cause::IdTaken { id, other, .. })] = &summary.failed[..] else {
                panic!("{summary:#?}")
            };
            assert_eq!((key.id(), id.expose()), ("shared.b", "it"));
            assert_eq!(other.key().expect("a resource").id(), "shared.a");
            let plan = platform.plan(&both).await.expect("a plan");
            assert!(
                plan.warnings.iter().any(|warning| warning.key.id() == "shared.b"),
                "{:?}",
                plan.warnings
            );
        }
        assert!(platform.up(&documents(&[("a", "same: it")], &[])).await.is_success());
        assert!(platform.record("shared.b").await.is_none());
        assert!(locked(&platform.driver.world).contains_key("it"));
    }
}

/// Only the end of a run counts: within it, two resources may exchange their objects.
#[tokio::test]
async fn resources_may_swap_their_ids_within_a_run() {
    let platform = Platform::new();
    let of = |a: &str, b: &str| {
        let (a, b) = (format!("same: {a}, fixed: {a}"), format!("same: {b}, fixed: {b}"));
        documents(&[("a", &a), ("b", &b)], &[])
    };
    platform.deploys(&of("x", "y")).await;
    let summary = platform.up(&of("y", "x")).await;
    assert!(summary.is_success(), "{summary:#?}");
    let id = async |name| platform.record(name).await.expect("recorded").state.id.expose().to_owned();
    assert_eq!((id("shared.a").await, id("shared.b").await), ("y".to_owned(), "x".to_owned()));
    assert!(platform.up(&of("y", "x")).await.is_success());
}

#[tokio::test]
async fn an_object_cannot_be_both_imported_and_created() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "same: it")], &[])).await;
    for setting in ["import: it", "observe: it"] {
        let both = documents(&[("b", "v: 1")], &[("b", setting)]);
        let faults =
            platform.refused(&both, PlanOptions { keep_removed: true, ..PlanOptions::default() }).await;
        assert!(
            faults[0].message.contains("which is already recorded as `thing.default#shared.a`"),
            "{faults:#?}"
        );
    }
}
