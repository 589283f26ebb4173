//! Changes by others: found, shown and repaired.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::{FULL, PLAIN, Platform, documents, locked};
use purlin_engine::{CancelToken, Event, Phase, Scope};
use purlin_model::Unfinished;
use purlin_state::Status;

/// Documents with an input whose value others can change.
fn sized(resources: &[(&str, &str)]) -> String {
    documents(resources, &[]).replacen(
        "  criteria: [{}]",
        "  inputs: {values: {size: small}}\n  criteria: [{}]",
        1,
    )
}

/// A grace that the clock of a test outlasts only if the test lets time pass.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

pub(crate) fn observed(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| match event {
        Event::Resource { key, phase: Phase::Observed { finding, changes }, .. } => {
            let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
            Some(format!("{} {} {}", key.id(), finding.code(), paths.join(" ")))
        }
        _ => None,
    };
    events.iter().filter_map(one).collect()
}

#[tokio::test]
async fn drift_is_shown_by_input_and_repaired_by_the_next_run() {
    let platform = Platform::with(FULL);
    let all = sized(&[("a", "v: 1"), ("b", "x: <a.size>")]);
    platform.deploys(&all).await;
    platform.driver.drift("thing.default#shared.a", "size", "huge");
    let (events, summary) = platform.refresh().await;
    assert!(summary.is_success());
    assert_eq!(observed(&events), ["shared.a changed /values/size /outputs/size"]);
    assert_eq!(summary.calls, 0, "reading has no effects");
    platform.done();
    // It is repaired, and its readers are checked again.
    let plan = platform.plan(&all).await.expect("a plan");
    let change = &plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step").changes[0];
    assert_eq!(
        (change.path.as_str(), change.before.clone(), change.after.clone()),
        ("/values/size", Some("huge".into()), Some("small".into()))
    );
    assert_eq!(platform.deploys(&all).await, ["update a"]);
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test]
async fn drift_of_an_output_reaches_its_readers() {
    let platform = Platform::with(FULL);
    let all = sized(&[("a", "v: 1"), ("b", "x: <a.ip>")]);
    // An output that does not depend on inputs.
    locked(&platform.driver.weather).insert("ip".into(), "10.0.0.1".into());
    platform.deploys(&all).await;
    locked(&platform.driver.weather).insert("ip".into(), "10.0.0.2".into());
    platform.refresh().await;
    platform.done();
    assert_eq!(platform.planned(&all).await, ["update b"]);
    assert_eq!(platform.deploys(&all).await, ["update b"]);
    let b = platform.record("shared.b").await.expect("recorded");
    assert_eq!(b.inputs.params.get("x"), Some("10.0.0.2".into()));
}

/// A driver does not return secret inputs, so a change may be visible only in the outputs. The
/// first refresh records those, and the second one must not mistake them for the desired ones.
#[tokio::test]
async fn drift_visible_only_in_outputs_lasts_until_repaired() {
    let platform = Platform::with(FULL);
    let all = sized(&[("a", "v: 1")]).replacen("size: small}", "size: small}, secrets: {token: t}", 1);
    locked(&platform.driver.weather).insert("ip".into(), "10.0.0.1".into());
    platform.deploys(&all).await;
    locked(&platform.driver.weather).insert("ip".into(), "10.0.0.2".into());
    for _ in 0..2 {
        platform.refresh().await;
        platform.done();
        let a = platform.record("shared.a").await.expect("recorded");
        assert_eq!(a.status, Status::Partial(Unfinished::Drifted));
    }
    assert_eq!(platform.deploys(&all).await, ["update a"]);
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
}

#[tokio::test]
async fn a_missing_resource_is_created_again_and_its_readers_follow() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.id>"), ("c", "v: 1")], &[]);
    platform.deploys(&all).await;
    locked(&platform.driver.world).remove("thing.default#shared.a");
    let (events, _) = platform.refresh().await;
    assert_eq!(observed(&events), ["shared.a gone "]);
    assert_eq!(platform.record("shared.a").await.expect("its place").status, Status::Absent);
    platform.done();
    assert_eq!(platform.deploys(&all).await, ["create a~2", "update b"]);
}

#[tokio::test]
async fn an_update_notices_a_missing_resource_and_the_next_run_creates_it() {
    let platform = Platform::with(FULL);
    *locked(&platform.driver.grace) = GRACE;
    let all = |v: u8| documents(&[("a", &format!("v: {v}")), ("b", "x: <a.id>")], &[]);
    platform.deploys(&all(1)).await;
    locked(&platform.driver.world).remove("thing.default#shared.a");
    // A new resource may not be visible yet, so it is not created twice.
    let summary = platform.up(&all(2)).await;
    assert!(!summary.is_success());
    assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
    platform.wait(GRACE);
    assert!(!platform.up(&all(2)).await.is_success());
    assert_eq!(platform.record("shared.a").await.expect("its place").status, Status::Absent);
    platform.done();
    assert_eq!(platform.deploys(&all(2)).await, ["create a~2", "update b"]);
}

#[tokio::test]
async fn a_missing_resource_that_left_the_documents_is_forgotten() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1"), ("c", "v: 1")], &[("a", "protect: true")])).await;
    locked(&platform.driver.world).remove("thing.default#shared.a");
    platform.refresh().await;
    platform.done();
    // The protection applies only to an existing resource.
    assert!(platform.deploys(&documents(&[("c", "v: 1")], &[])).await.is_empty());
    assert!(platform.record("shared.a").await.is_none());
}

// case 30
#[tokio::test]
async fn a_cancelled_refresh_keeps_its_findings() {
    let mut platform = Platform::with(FULL);
    platform.parallelism = 1;
    let all = sized(&[("a", "gate: true"), ("b", "v: 1"), ("c", "v: 1")]);
    platform.deploys(&all).await;
    for name in ["a", "b", "c"] {
        platform.driver.drift(&format!("thing.default#shared.{name}"), "size", "huge");
    }
    let before = platform.records().await;
    let cancel = CancelToken::default();
    let plan = platform.refresh_plan(&Scope::default()).await.expect("a plan");
    platform.driver.shut_gate();
    let run = platform.run(plan, cancel.clone());
    let ask = async {
        // The environment may be read first.
        platform.driver.until_waiting(1).await;
        cancel.request();
        platform.driver.open_gate();
    };
    let ((_, summary), ()) = tokio::join!(run, ask);
    assert!(summary.cancelled, "{summary:#?}");
    let after = platform.records().await;
    let differ: Vec<_> =
        before.iter().zip(&after).filter(|(old, new)| old != new).map(|(_, new)| new.urn.as_str()).collect();
    assert!(matches!(differ[..], [urn] if urn.ends_with("shared.a")), "{differ:?}");
    let a = platform.record("shared.a").await.expect("recorded");
    assert_eq!(a.inputs.values.get("size"), Some("huge".into()));
}

// case 31
#[tokio::test]
async fn more_resources_are_read_than_concurrently_allowed() {
    let mut platform = Platform::with(FULL);
    platform.parallelism = 2;
    let names: Vec<String> = (0..60).map(|i| format!("r{i}")).collect();
    let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v: 1")).collect();
    platform.deploys(&documents(&all, &[])).await;
    platform.driver.most_running.store(0, Ordering::SeqCst);
    let (_, summary) =
        tokio::time::timeout(Duration::from_secs(300), platform.refresh()).await.expect("an end");
    assert!(summary.is_success());
    assert_eq!(summary.done.read, 61);
    assert!(platform.driver.most_running.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn unreadable_resources_are_skipped() {
    let platform = Platform::with(PLAIN);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    let plan = platform.refresh_plan(&Scope::default()).await.expect("a plan");
    assert!(plan.steps.is_empty());
}

#[tokio::test]
async fn a_refresh_that_fails_for_one_resource_reports_the_others() {
    let platform = Platform::with(FULL);
    let all = sized(&[("a", "v: 1"), ("b", "v: 1")]);
    platform.deploys(&all).await;
    platform.driver.drift("thing.default#shared.b", "size", "huge");
    locked(&platform.driver.broken).insert("thing.default#shared.a".into());
    let before = platform.record("shared.a").await;
    let (events, summary) = platform.refresh().await;
    assert_eq!(summary.failed.len(), 1);
    assert_eq!(observed(&events).len(), 1);
    assert_eq!(platform.record("shared.a").await, before);
}
