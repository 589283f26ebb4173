//! Outdated recorded inputs: those of the current documents replace them.

use std::sync::Arc;

use crate::support::{FULL, Lost, PLAIN, Platform, documents, locked};
use purlin_engine::{CancelToken, CurrentInputs, DestroyOptions, Event, Phase, PlanOptions, Scope, Summary};
use purlin_model::driver::Implements;
use purlin_model::{Finding, Value};
use purlin_state::{Change, Operation, Status};

const READS: Implements = Implements { read: true, ..PLAIN };
const REPEATS: Implements = Implements { repeat_create: true, ..PLAIN };

/// A credential that was rotated.
fn old() -> Value {
    Value::Map([("key".into(), Value::from("old").into_secret())].into_iter().collect())
}

fn one(params: &str) -> String {
    documents(&[("a", params)], &[])
}

/// The inputs of the current documents.
fn current(platform: &Platform, documents: &str) -> CurrentInputs {
    let (graph, options) = (platform.graph(documents), PlanOptions::default());
    CurrentInputs::new(graph, &platform.context(), Arc::clone(&options.rules), options.stores, 1)
}

/// The resources for which other inputs than the recorded ones were reported, with the paths.
fn outdated(events: &[Event]) -> Vec<String> {
    let all = events.iter().filter_map(|event| match event {
        Event::Resource {
            key, phase: Phase::Observed { finding: Finding::CurrentInputs, changes }, ..
        } => {
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            Some(format!("{} {}", key.id(), paths.join(" ")))
        }
        _ => None,
    });
    all.collect()
}

async fn destroy(platform: &Platform, documents: Option<&str>) -> (Vec<Event>, Summary) {
    let base = platform.base().await.expect("whole");
    let base = base.with_inputs(documents.map(|documents| current(platform, documents)));
    let context = platform.context();
    let plan = purlin_engine::destroy(&context, base, &platform.shelf, DestroyOptions::default());
    platform.run(plan.await.expect("a plan"), CancelToken::default()).await
}

async fn refresh(platform: &Platform, documents: Option<&str>) -> (Vec<Event>, Summary) {
    let base = platform.base().await.expect("whole");
    let base = base.with_inputs(documents.map(|documents| current(platform, documents)));
    let scope = Scope::default();
    let context = platform.context();
    let plan = purlin_engine::refresh(&context, base, &platform.shelf, &scope);
    platform.run(plan.await.expect("a plan"), CancelToken::default()).await
}

async fn recover(platform: &Platform, documents: Option<&str>) -> (Vec<Event>, Summary) {
    let base = platform.base().await.expect("whole");
    let base = base.with_inputs(documents.map(|documents| current(platform, documents)));
    let context = platform.context();
    let plan = purlin_engine::recover(&context, base, &platform.shelf, false);
    platform.run(plan.await.expect("a plan"), CancelToken::default()).await
}

#[tokio::test]
async fn a_deletion_uses_the_current_inputs_if_they_lead_to_the_resource() {
    let platform = Platform::with(FULL);
    platform.deploys(&one("fail: delete")).await;
    assert!(!destroy(&platform, None).await.1.is_success());
    // Equal inputs do not count as other inputs, and neither do those of another resource.
    for other in [one("fail: delete"), documents(&[("b", "v: 1")], &[])] {
        assert!(!destroy(&platform, Some(&other)).await.1.is_success());
    }
    let (events, summary) = destroy(&platform, Some(&one("v: 1"))).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(outdated(&events), ["shared.a /params/v /params/fail"]);
    assert!(platform.alive().is_empty() && platform.records().await.is_empty());
    assert!(platform.snapshot().await.pending.is_empty());
}

#[tokio::test]
async fn an_object_with_the_same_id_elsewhere_is_not_deleted() {
    let platform = Platform::with(FULL);
    platform.deploys(&one("fail: delete")).await;
    // At the place that the documents name, the id belongs to another object.
    {
        let mut world = locked(&platform.driver.world);
        let thing = world.values_mut().find(|thing| thing.key.contains("shared.a")).expect("there");
        thing.name = "of-others".into();
        thing.key = "thing.default#shared.others".into();
        thing.values = Value::Map([("size".into(), "other".into())].into_iter().collect());
    }
    let summary = destroy(&platform, Some(&one("v: 1"))).await.1;
    assert!(!summary.is_success());
    assert_eq!(platform.alive().len(), 1);
    // A driver that cannot read cannot tell.
    let platform = Platform::with(PLAIN);
    platform.deploys(&one("fail: delete")).await;
    assert!(!destroy(&platform, Some(&one("v: 1"))).await.1.is_success());
    assert_eq!(platform.alive().len(), 1);
}

#[tokio::test]
async fn current_secrets_suffice_for_a_driver_that_cannot_read() {
    for implements in [PLAIN, FULL] {
        let platform = Platform::with(implements);
        platform.deploys(&one("v: 1")).await;
        let mut record = platform.record("shared.a").await.expect("recorded");
        // The recorded credential is outdated, and the server rejects it.
        record.inputs.secrets = old();
        platform.write(vec![Change::Put(Box::new(record))]).await;
        *locked(&platform.driver.rejected) = Some("old".into());
        assert!(!destroy(&platform, None).await.1.is_success());
        let (events, summary) = destroy(&platform, Some(&one("v: 2"))).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert_eq!(outdated(&events), ["shared.a /secrets/key"], "and nothing else of the documents");
        assert!(platform.alive().is_empty());
    }
}

#[tokio::test]
async fn the_old_resource_of_a_replacement_is_never_looked_for_elsewhere() {
    let platform = Platform::with(FULL);
    platform.deploys(&one("fixed: 1, fail: delete")).await;
    let summary = platform.up(&one("fixed: 2")).await;
    assert!(!summary.is_success());
    assert_eq!(platform.alive(), ["a", "a~2"], "the old one is still there, and so is the new one");
    assert_eq!(platform.copies().await, 1);
}

#[tokio::test]
async fn a_refresh_uses_the_current_inputs() {
    let platform = Platform::with(FULL);
    platform.deploys(&one("fail: read")).await;
    assert!(!refresh(&platform, None).await.1.is_success());
    let (events, summary) = refresh(&platform, Some(&one("v: 1"))).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(outdated(&events), ["shared.a /params/v /params/fail"]);
    // The record still has the old inputs, so the plan updates the resource.
    assert_eq!(platform.planned(&one("v: 1")).await, ["update a"]);
}

#[tokio::test]
async fn recovery_uses_the_current_inputs() {
    for (implements, when, made) in [
        (FULL, Lost::After, true),
        (FULL, Lost::Before, false),
        (READS, Lost::After, true),
        (REPEATS, Lost::After, true),
    ] {
        let platform = Platform::with(implements);
        locked(&platform.driver.lost).insert("create thing.default#shared.a".into(), when);
        platform.up(&one("v: 1")).await;
        let mut snapshot = platform.snapshot().await;
        let mut intent = snapshot.pending.remove(0);
        let Operation::Create(record) = &mut intent.operation else { panic!("a creation") };
        record.inputs.secrets = old();
        platform.write(vec![Change::Intend(Box::new(intent))]).await;
        *locked(&platform.driver.rejected) = Some("old".into());
        assert!(!recover(&platform, None).await.1.is_success());
        assert_eq!(platform.snapshot().await.pending.len(), 1);
        let (events, summary) = recover(&platform, Some(&one("v: 1"))).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert_eq!(outdated(&events), ["shared.a /secrets/key"], "{implements:?}");
        assert!(platform.snapshot().await.pending.is_empty());
        assert_eq!(platform.record("shared.a").await.is_some(), made);
        // From here on everything succeeds.
        assert!(platform.up(&one("v: 1")).await.is_success());
        assert_eq!(platform.record("shared.a").await.expect("recorded").status, Status::Ready);
        assert_eq!(platform.alive().len(), 1, "{implements:?}");
        assert!(destroy(&platform, None).await.1.is_success());
    }
}

#[tokio::test]
async fn a_wrong_recorded_address_leaves_no_call_undecided() {
    for (when, made) in [(Lost::After, true), (Lost::Before, false)] {
        let platform = Platform::with(FULL);
        locked(&platform.driver.lost).insert("create thing.default#shared.a".into(), when);
        platform.up(&one("fail: read")).await;
        assert!(!recover(&platform, None).await.1.is_success());
        let (events, summary) = recover(&platform, Some(&one("v: 1"))).await;
        assert!(summary.is_success(), "{summary:#?}");
        assert_eq!(outdated(&events), ["shared.a /params/v /params/fail"]);
        let record = platform.record("shared.a").await;
        assert_eq!(record.is_some(), made);
        // The record has the inputs that lead to the object.
        assert!(record.is_none_or(|record| record.inputs.params.get("fail").is_none()));
        assert!(platform.up(&one("v: 1")).await.is_success());
        assert!(destroy(&platform, None).await.1.is_success());
    }
}
