//! Failures: what they stop, what continues, and what is recorded.

use std::time::Duration;

use crate::support::{FULL, PLAIN, Platform, documents, locked};
use purlin_engine::{CancelToken, Cause, Event, Phase};
use purlin_model::driver::{Failure, Implements};
use purlin_model::{Reason, Unfinished};
use purlin_sandbox::CallError;
use purlin_state::Status;

// case 25
#[tokio::test]
async fn a_partly_created_resource_is_updated_by_the_next_run() {
    let platform = Platform::new();
    let all = documents(&[("a", "partial: half way"), ("b", "x: <a.id>")], &[]);
    let summary = platform.up(&all).await;
    assert_eq!((summary.failed.len(), summary.skipped.len()), (1, 1));
    let record = platform.record("shared.a").await.expect("recorded");
    assert_eq!(record.status, Status::Partial(Unfinished::Failed { message: "half way".into() }));
    assert_eq!(platform.done(), ["create a"]);
    let plan = platform.plan(&all).await.expect("a plan");
    let half_way = Reason::Unfinished(Unfinished::Failed { message: "half way".into() });
    assert!(plan.steps.iter().any(|step| step.reasons.contains(&half_way)));
    assert_eq!(platform.deploys(&all).await, ["update a", "create b"]);
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
    assert_eq!(platform.up(&all).await.calls, 0);
}

// case 25, with a refresh
#[tokio::test]
async fn a_refresh_shows_whether_a_partly_created_resource_is_complete() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "partial: half way")], &[]);
    platform.up(&all).await;
    platform.done();
    platform.refresh().await;
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
    // The resource matches the documents.
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test]
async fn a_partly_created_resource_is_replaced_without_update() {
    let platform = Platform::with(Implements { update: false, update_impact: false, ..PLAIN });
    platform.up(&documents(&[("a", "partial: half way")], &[])).await;
    platform.done();
    let all = documents(&[("a", "v: whole")], &[]);
    assert_eq!(platform.deploys(&all).await, ["create a~2", "delete a"]);
}

// case 27
#[tokio::test]
async fn a_failure_stops_only_its_dependents() {
    let platform = Platform::new();
    let all = documents(
        &[
            ("f", "fail: create"),
            ("reads", "x: <f.id>"),
            ("waits", "v: 1"),
            ("lives", "v: 1"),
            ("far", "x: <reads.id>"),
            ("i", "v: 1"),
        ],
        &[("waits", "depends_on: ['<f>']"), ("lives", "deleted_with: <f>")],
    );
    let summary = platform.up(&all).await;
    assert!(!summary.is_success());
    assert_eq!(summary.failed.len(), 1);
    let mut skipped: Vec<_> = summary.skipped.iter().map(|(key, _)| key.id()).collect();
    skipped.sort_unstable();
    assert_eq!(skipped, ["shared.far", "shared.lives", "shared.reads", "shared.waits"]);
    assert_eq!(platform.alive(), ["i"]);
    assert_eq!(platform.records().await.len(), 2, "`i` and the environment");
    assert!(platform.snapshot().await.pending.is_empty(), "it is certain that nothing was made");
}

#[tokio::test]
async fn each_resource_is_reported_once() {
    let platform = Platform::new();
    let of = |f: &str| documents(&[("f", f), ("a", "fixed: <f.id>"), ("b", "fixed: <a.id>")], &[]);
    platform.deploys(&of("fixed: 1")).await;
    let summary = platform.up(&of("fixed: 2, fail: create")).await;
    assert_eq!(summary.failed.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.f"]);
    assert_eq!(summary.skipped.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.a", "shared.b"]);
    assert_eq!(platform.alive(), ["a", "b", "f"]);
}

// case 26
#[tokio::test]
async fn documents_that_cannot_be_resolved_delete_nothing() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "x: <a.v>"), ("c", "v: 1")], &[])).await;
    platform.done();
    let before = platform.snapshot().await;
    let summary = platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.nothing>")], &[])).await;
    let [(key, Cause::Inputs(faults))] = &summary.failed[..] else { panic!("{summary:#?}") };
    assert!(key.id() == "shared.b" && faults[0].message.contains("nothing"), "{}", faults[0].message);
    assert_eq!(platform.snapshot().await.records, before.records);
    assert!(platform.done().is_empty());
}

// case 55
#[tokio::test]
async fn a_broken_promise_is_reported_and_the_resource_recorded() {
    let mut platform = Platform::new();
    let mirror = crate::support::Scripted::with_outputs(
        "test/scripted",
        PLAIN,
        serde_json::json!({"x-purlin-outputs": "inputs"}),
    );
    platform.shelf.drivers = vec![std::sync::Arc::clone(&mirror)];
    platform.driver = mirror;
    let of = |params: &str| {
        documents(&[("a", params), ("b", "x: <a.v>")], &[]).replacen(
            "  criteria: [{}]",
            "  inputs: {values: {v: promised}}\n  criteria: [{}]",
            1,
        )
    };
    let summary = platform.up(&of("lie: other")).await;
    let cause = summary.failed.iter().find(|(key, _)| key.id() == "shared.a").map(|(_, cause)| cause);
    assert!(matches!(cause, Some(Cause::Inconsistent { path, .. }) if path == "/v"), "{summary:#?}");
    let text = cause.map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("test/scripted") && text.contains("`/v`"), "{text}");
    let record = platform.record("shared.a").await.expect("what exists is recorded");
    assert_eq!(record.state.outputs.get("v"), Some("other".into()));
    assert!(matches!(record.status, Status::Partial(Unfinished::Failed { .. })));
    // It is repaired, not created again.
    platform.done();
    assert_eq!(platform.deploys(&of("v: right")).await, ["update a", "create b"]);
}

#[tokio::test]
async fn a_busy_driver_is_called_again_with_the_same_key() {
    let platform = Platform::new();
    let summary = platform.up(&documents(&[("a", "busy: '3'")], &[])).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.done().len(), 4);
    let keys = locked(&platform.driver.keys).clone();
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), 2, "one for the environment, one for `a`: {keys:?}");
}

/// No driver makes a run wait for longer than the operator allows.
#[tokio::test(start_paused = true)]
async fn waits_that_a_driver_asks_for_are_limited() {
    for (wait, calls) in [("25000", 3), ("60000", 2), ("61000", 1), ("4611686018427387904", 1)] {
        let platform = Platform::new();
        let begun = tokio::time::Instant::now();
        let busy = format!("busy: '9', wait: '{wait}'");
        let summary = platform.up(&documents(&[("a", &busy)], &[])).await;
        let cause = summary.failed.first().map(|(_, cause)| cause);
        let Some(Cause::Call(error)) = cause else { panic!("{summary:#?}") };
        assert_eq!(error.attempts, calls, "{wait}");
        assert!(begun.elapsed() <= Duration::from_secs(61), "{wait}: {:?}", begun.elapsed());
        assert_eq!(error.most_wait, Some(Duration::from_secs(60)), "{wait}");
        let faults = cause.expect("a cause").diagnostics();
        let said =
            faults.iter().any(|fault| fault.notes.iter().any(|fact| fact.contains("1 min 0 s at most")));
        assert!(said, "{faults:#?}");
        assert!(platform.snapshot().await.pending.is_empty(), "nothing was done");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_end_and_leave_nothing_behind() {
    let platform = Platform::new();
    let summary = platform.up(&documents(&[("a", "busy: '9'")], &[])).await;
    let cause = summary.failed.first().map(|(_, cause)| cause);
    let Some(Cause::Call(error)) = cause else { panic!("{summary:#?}") };
    assert!(matches!(error.error, CallError::Failure(Failure::RetryAfter { .. })));
    assert_eq!(platform.done().len(), 5);
    // Five calls, and the delays that the driver requested between them.
    assert_eq!(error.attempts, 5);
    assert!(error.took >= 4 * Duration::from_millis(5) && error.took < Duration::from_secs(1), "{error:?}");
    assert!(error.definition.as_ref().is_some_and(|defined| defined.name.is_some()), "{error:?}");
    assert!(platform.snapshot().await.pending.is_empty());
}

#[tokio::test]
async fn a_cancelled_run_makes_no_retries() {
    let platform = Platform::new();
    let plan = platform.plan(&documents(&[("a", "busy: '4'")], &[])).await.expect("a plan");
    let cancel = CancelToken::default();
    let run = platform.run(plan, cancel.clone());
    let ask = async {
        while locked(&platform.driver.log).len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cancel.request();
        locked(&platform.driver.log).len()
    };
    let ((_, summary), calls) = tokio::join!(run, ask);
    assert_eq!(locked(&platform.driver.log).len(), calls, "{summary:#?}");
    assert!(platform.snapshot().await.pending.is_empty());
    assert!(platform.alive().is_empty());
}

#[tokio::test]
async fn every_call_has_its_own_key() {
    let platform = Platform::new();
    let names: Vec<String> = (0..40).map(|i| format!("r{i}")).collect();
    let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "sleep: '2'")).collect();
    // The clock stands still, so all calls begin in the same millisecond.
    platform.stop_the_clock();
    platform.deploys(&documents(&all, &[])).await;
    let keys = locked(&platform.driver.keys).clone();
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!((keys.len(), distinct.len()), (41, 41));
}

#[tokio::test]
async fn cancelled_between_creation_and_deletion_both_are_recorded() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed), ("b", "x: <a.id>, gate: true")], &[]);
    platform.deploys(&of("fixed: 1")).await;
    platform.done();
    let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    let cancel = CancelToken::default();
    platform.driver.shut_gate();
    let run = platform.run(plan, cancel.clone());
    let ask = async {
        // The new one exists, and `b` is being updated.
        platform.driver.until_waiting(1).await;
        cancel.request();
        platform.driver.open_gate();
    };
    let ((events, summary), ()) = tokio::join!(run, ask);
    assert!(summary.cancelled && summary.failed.is_empty(), "{summary:#?}");
    assert_eq!(platform.done(), ["create a~2", "update b"]);
    assert_eq!((platform.copies().await, platform.alive().len()), (1, 3));
    let skipped = events.iter().any(|event| {
        matches!(event, Event::Resource { key, phase: Phase::Skipped { because: None }, .. } if key.id() == "shared.a")
    });
    assert!(skipped, "the old one was not deleted: {events:#?}");
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["delete a"]);
}

#[tokio::test]
async fn cancelled_between_deletion_and_creation_the_next_run_continues() {
    let platform = Platform::new();
    let of = |fixed: &str| documents(&[("a", fixed)], &[("a", "delete_before_replace: true")]);
    platform.deploys(&of("fixed: 1, gate: true")).await;
    platform.done();
    let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    let cancel = CancelToken::default();
    platform.driver.shut_gate();
    let run = platform.run(plan, cancel.clone());
    let ask = async {
        // The old one is being deleted.
        platform.driver.until_waiting(1).await;
        cancel.request();
        platform.driver.open_gate();
    };
    let ((_, summary), ()) = tokio::join!(run, ask);
    assert!(summary.cancelled, "{summary:#?}");
    assert_eq!(platform.done(), ["delete a"]);
    assert_eq!(platform.deploys(&of("fixed: 2")).await, ["create a~2"]);
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_began_does_nothing() {
    let platform = Platform::new();
    let plan = platform.plan(&documents(&[("a", "v: 1")], &[])).await.expect("a plan");
    let cancel = CancelToken::default();
    cancel.request();
    let (_, summary) = platform.run(plan, cancel).await;
    assert!(summary.cancelled && summary.calls == 0);
    assert!(platform.records().await.is_empty());
}

#[tokio::test]
async fn invalid_inputs_are_the_same_diagnostics_in_a_run_and_in_a_plan() {
    let platform = Platform::with(Implements { check: true, ..PLAIN });
    let all = documents(&[("a", "v: check"), ("b", "fail: <a.v>")], &[]);
    let summary = platform.up(&all).await;
    let [(_, Cause::Call(failed))] = &summary.failed[..] else { panic!("{summary:#?}") };
    let plan = platform.plan(&all).await.expect("a plan of the rest");
    let [(_, Cause::Call(refused))] = &plan.refused()[..] else { panic!("{:?}", plan.refused()) };
    assert!(!refused.invalid.is_empty());
    assert_eq!(failed.invalid, refused.invalid);
}
