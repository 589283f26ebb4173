//! Records that are older than the real state: a backup was restored, or a repair lost a part of
//! the state.

use crate::refresh::GRACE;
use crate::support::{FULL, Lost, Platform, documents, locked, steps};
use purlin_engine::{Base, CancelToken, Cause, Event, Phase, PlanOptions, Scope, Summary};
use purlin_model::driver::Implements;
use purlin_model::{Finding, Value};
use purlin_state::{Change, RecordId, Snapshot, Staleness};

/// The recorded state, marked as possibly stale.
async fn stale(platform: &Platform) -> Base {
    let staleness = Some(Staleness::Copied);
    Base::new(Snapshot { staleness, ..platform.snapshot().await }).expect("a whole state")
}

/// Runs `up` on a possibly stale state. Also returns the steps of its plan.
async fn up(platform: &Platform, documents: &str) -> (Vec<String>, Vec<Event>, Summary) {
    let (graph, base) = (platform.graph(documents), stale(platform).await);
    let options = PlanOptions::default();
    let plan = purlin_engine::plan(graph, &platform.context(), base, &platform.shelf, options).await;
    let plan = plan.expect("a plan");
    let planned = steps(&plan);
    let (events, summary) = platform.run(plan, CancelToken::default()).await;
    (planned, events, summary)
}

/// Makes the state forget a resource that exists.
async fn lose_record(platform: &Platform, id: &str) {
    let record = platform.record(id).await.expect("recorded");
    platform.write(vec![Change::Remove(record.id())]).await;
}

/// Makes the journal forget that the creation of a recorded resource is settled.
async fn lose_settlement(platform: &Platform, record: &purlin_state::Record) {
    let made = purlin_state::Record { state: Default::default(), ..record.clone() };
    let intent = purlin_state::Intent {
        operation: purlin_state::Operation::Create(Box::new(made)),
        idempotency_key: "k".into(),
        checkpoint: None,
        since: record.created,
        deadline: None,
        open_deletion: None,
    };
    platform.write(vec![Change::Intend(Box::new(intent))]).await;
}

#[tokio::test]
async fn a_forgotten_resource_is_found_by_name_and_not_created_twice() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "v: 1")], &[])).await;
    lose_record(&platform, "shared.a").await;
    let wanted = documents(&[("a", "v: 2"), ("b", "v: 1")], &[]);
    let (planned, events, summary) = up(&platform, &wanted).await;
    assert_eq!(planned, ["create a"]);
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["read a", "update a"]);
    assert_eq!(platform.alive(), ["a", "b"]);
    let is_found = |event: &Event| {
        matches!(event, Event::Resource { phase: Phase::Observed { finding: Finding::FoundByName, .. }, .. })
    };
    assert!(events.iter().any(is_found), "{events:#?}");
    assert!(!summary.ends_staleness, "there may be more");
    let (_, _, summary) = up(&platform, &wanted).await;
    assert!(summary.ends_staleness, "nothing more was found");
    assert_eq!(platform.done(), Vec::<String>::new());
}

#[tokio::test]
async fn a_found_resource_that_cannot_be_updated_is_replaced_by_the_next_run() {
    // The driver reports all values but cannot update them.
    let platform = Platform::with(Implements { update: false, ..FULL });
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    lose_record(&platform, "shared.a").await;
    locked(&platform.driver.world).values_mut().for_each(|thing| thing.values = changed(&thing.values));
    let wanted = documents(&[("a", "v: 1")], &[]);
    let (_, _, summary) = up(&platform, &wanted).await;
    assert!(matches!(&summary.failed[..], [(_, Cause::MoreThanPlanned { .. })]), "{summary:#?}");
    assert!(!summary.ends_staleness);
    assert_eq!(platform.alive(), ["a"]);
    let (planned, _, summary) = up(&platform, &wanted).await;
    assert_eq!((planned, summary.is_success()), (vec!["replace a".to_owned()], true));
    assert_eq!(platform.alive().len(), 1);
}

/// Values that others changed.
fn changed(values: &Value) -> Value {
    let mut values = values.as_map().cloned().unwrap_or_default();
    values.insert("defaulted".into(), "no".into());
    Value::Map(values)
}

#[tokio::test]
async fn resources_are_looked_for_only_if_records_may_be_stale_and_drivers_can_read() {
    for (implements, may_be_stale) in [(FULL, false), (Implements { read: false, ..FULL }, true)] {
        let platform = Platform::with(implements);
        let all = documents(&[("a", "v: 1")], &[]);
        let summary = match may_be_stale {
            true => up(&platform, &all).await.2,
            false => platform.up(&all).await,
        };
        assert_eq!((summary.is_success(), summary.ends_staleness), (true, may_be_stale));
        assert_eq!(platform.done(), ["create a"]);
    }
}

#[tokio::test]
async fn a_pending_call_of_a_backup_is_not_repeated_if_an_object_is_found() {
    let platform = Platform::with(Implements { repeat_create: true, ..FULL });
    locked(&platform.driver.lost).insert("create thing.default#shared.a".into(), Lost::After);
    platform.up(&documents(&[("a", "fixed: 1")], &[])).await;
    let copy = platform.snapshot().await;
    assert_eq!(copy.pending.len(), 1);
    platform.up(&documents(&[("a", "fixed: 1")], &[])).await;
    platform.up(&documents(&[("a", "fixed: 2")], &[])).await;
    let alive = platform.alive();
    assert_eq!(alive.len(), 1);
    // The backup was made before the response to the call.
    let record = platform.record("shared.a").await.expect("recorded");
    let intent = Change::Intend(Box::new(copy.pending[0].clone()));
    platform.write(vec![Change::Remove(RecordId::current(record.urn)), intent]).await;
    platform.done();
    let (context, base) = (platform.context(), stale(&platform).await);
    let plan = purlin_engine::recover(&context, base, &platform.shelf, false).await.expect("a plan");
    let (_, summary) = platform.run(plan, CancelToken::default()).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done(), ["read a"]);
    assert_eq!(platform.alive(), alive);
    assert!(platform.record("shared.a").await.is_some());
}

/// `a` was forgotten, and its driver finds nothing. `b`, which was found, lives in the old `a` that
/// is not recorded.
#[tokio::test]
async fn a_found_guest_does_not_live_in_a_new_host() {
    for update in [true, false] {
        let platform = Platform::with(Implements { update, ..FULL });
        let wanted = documents(&[("a", "v: a"), ("b", "v: b")], &[("b", "deleted_with: <a>")]);
        platform.deploys(&wanted).await;
        lose_record(&platform, "shared.b").await;
        lose_record(&platform, "shared.a").await;
        locked(&platform.driver.world).retain(|_, thing| thing.key != "thing.default#shared.a");
        let (_, _, summary) = up(&platform, &wanted).await;
        assert!(!summary.ends_staleness, "{summary:#?}");
        platform.done();
        let (planned, _, summary) = up(&platform, &wanted).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert_eq!(planned, ["replace b"]);
        assert_eq!(platform.done(), ["create b~2", "delete b"]);
        let (planned, _, summary) = up(&platform, &wanted).await;
        assert_eq!((planned.len(), summary.calls), (0, 0));
    }
}

/// The journal lost the settlement of a creation but not its outcome.
#[tokio::test]
async fn a_recorded_outcome_settles_its_intent() {
    let platform = Platform::with(Implements { read: false, ..FULL });
    let wanted = documents(&[("a", "v: 1")], &[]);
    platform.deploys(&wanted).await;
    let record = platform.record("shared.a").await.expect("recorded");
    lose_settlement(&platform, &record).await;
    platform.done();
    assert!(platform.recover().await.is_success());
    assert_eq!((platform.snapshot().await.pending.len(), platform.done().len()), (0, 0));
    assert_eq!(platform.record("shared.a").await, Some(record));
}

/// `b` left `a` in a run after the backup was made.
#[tokio::test]
async fn a_guest_that_may_have_moved_is_not_deleted_with_its_host() {
    // Some drivers cannot read.
    for read in [true, false] {
        let platform = Platform::with(Implements { read, ..FULL });
        let of = |setting: &'static str| documents(&[("a", "v: a"), ("b", "v: b")], &[("b", setting)]);
        platform.deploys(&of("deleted_with: <a>")).await;
        let copy = platform.record("shared.b").await.expect("recorded");
        platform.deploys(&of("protect: false")).await;
        platform.write(vec![Change::Put(Box::new(copy))]).await;
        platform.done();
        let (_, _, summary) = up(&platform, &documents(&[("c", "v: c")], &[])).await;
        assert!(summary.is_success(), "{summary:#?}");
        let calls = platform.done();
        assert!(calls.contains(&"delete b".to_owned()), "{calls:?}");
        assert_eq!(platform.alive(), ["c"]);
    }
}

/// `a` is found gone. It is unknown whether its guest `b` is gone too, so `b` is deleted and
/// created again.
#[tokio::test]
async fn a_guest_that_may_have_moved_is_not_gone_with_its_host() {
    let mut platform = Platform::with(FULL);
    platform.add_driver("test/other", Implements { read: false, ..FULL });
    let wanted = documents(&[("a", "v: a"), ("b", "v: b")], &[("b", "deleted_with: <a>")]).replace(
        "---",
        "---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: of-b}
spec: {type: thing, driver: test/other, criteria: [{res_id: shared.b}]}
---",
    );
    platform.deploys(&wanted).await;
    locked(&platform.driver.world).clear();
    let (context, base) = (platform.context(), stale(&platform).await);
    let plan = purlin_engine::refresh(&context, base, &platform.shelf, &Scope::default()).await;
    platform.run(plan.expect("a plan"), CancelToken::default()).await;
    let record = platform.record("shared.b").await.expect("recorded");
    assert!(record.tainted && record.status == purlin_state::Status::Ready, "{record:#?}");
    let (planned, _, summary) = up(&platform, &wanted).await;
    assert_eq!((planned, summary.is_success()), (vec!["create a".into(), "replace b".into()], true));
}

/// The move of `b` into `a` was not recorded, but its driver reports it.
#[tokio::test]
async fn a_guest_found_in_a_deleted_host_is_replaced() {
    let platform = Platform::with(FULL);
    let of =
        |fixed: &str, setting: &'static str| documents(&[("a", fixed), ("b", "v: b")], &[("b", setting)]);
    platform.deploys(&of("fixed: 1", "protect: false")).await;
    let record = platform.record("shared.b").await.expect("recorded");
    platform.write(vec![Change::Put(Box::new(purlin_state::Record { digest: [0; 32], ..record }))]).await;
    platform.done();
    let then = of("fixed: 2", "deleted_with: <a>");
    let calls = platform.deploys(&then).await;
    assert!(calls.contains(&"create b~2".to_owned()), "{calls:?}");
}

/// The user imports `b`, which lives in the `a` that the same run replaces.
#[tokio::test]
async fn an_imported_guest_does_not_live_in_a_new_host() {
    let platform = Platform::with(FULL);
    let of = |a: &str, setting: &'static str| documents(&[("a", a), ("b", "v: b")], &[("b", setting)]);
    platform.deploys(&of("fixed: 1", "deleted_with: <a>")).await;
    let id = platform.record("shared.b").await.expect("recorded").state.id;
    lose_record(&platform, "shared.b").await;
    platform.done();
    let setting: &'static str = format!("deleted_with: <a>, import: {}", id.expose()).leak();
    assert!(platform.up(&of("fixed: 2", setting)).await.is_success());
    assert!(platform.record("shared.b").await.expect("recorded").tainted);
    let wanted = of("fixed: 2", "deleted_with: <a>");
    assert_eq!(platform.planned(&wanted).await, ["replace b"]);
}

/// The journal lost the settlement of a creation; the user settles it before a run finds out.
#[tokio::test]
async fn settling_a_recorded_outcome_changes_nothing_else() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    let record = platform.record("shared.a").await.expect("recorded");
    lose_settlement(&platform, &record).await;
    let id = record.state.id.expose();
    let changes =
        purlin_engine::settle(platform.snapshot().await, &record.urn, Some(id), 0).expect("settled");
    assert_eq!(changes, [Change::Settle(record.id())]);
    // An object with another id is not the recorded one.
    assert!(
        purlin_engine::settle(platform.snapshot().await, &record.urn, Some("other"), 0)
            .is_ok_and(|changes| changes.len() > 1)
    );
}

/// What a look does not show yet, it does not confirm.
#[tokio::test]
async fn a_run_names_what_is_not_shown_yet() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = GRACE;
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    for hides in [true, false] {
        *locked(&platform.driver.hides) = hides;
        let (context, base) = (platform.context(), stale(&platform).await);
        let plan = purlin_engine::refresh(&context, base, &platform.shelf, &Scope::default()).await;
        let (_, summary) = platform.run(plan.expect("a plan"), CancelToken::default()).await;
        assert_eq!(summary.not_shown.is_empty(), !hides, "{summary:#?}");
    }
}
