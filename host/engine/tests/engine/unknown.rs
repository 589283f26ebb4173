//! Values that are unknown before provisioning, drawn values, ignored changes, and saved plans.

use crate::support::{FULL, Platform, documents, steps};
use purlin_engine::{Action, CancelToken, PlanOptions};
use purlin_model::Value;

// case 45
#[tokio::test]
async fn unknown_values_are_shown_as_unknown_and_may_become_null() {
    let platform = Platform::new();
    let all = documents(&[("a", "v: 1, maybe: null"), ("b", "x: <a.v>, y: <a.maybe>, z: 'is <a.v>'")], &[]);
    let all = all.replace("'is \"", "\"is ").replace("\"'", "\"");
    let plan = platform.plan(&all).await.expect("a plan");
    let b = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    assert_eq!(b.action, Action::Create);
    for change in &b.changes {
        assert!(change.is_unknown(), "{change:?}");
        assert_ne!(change.after, Some(Value::Null));
    }
    assert_eq!(b.changes.len(), 3);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    let params = platform.record("shared.b").await.expect("made").inputs.params;
    assert_eq!(params.get("y"), Some(Value::Null));
    assert_eq!(params.get("z"), Some("is 1".into()));
    assert_eq!(platform.up(&all).await.calls, 0);
}

#[tokio::test]
async fn a_missing_output_fails_its_reader() {
    let platform = Platform::new();
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.missing>"), ("c", "v: 1")], &[]);
    let summary = platform.up(&all).await;
    assert_eq!(summary.failed.iter().map(|(key, _)| key.id()).collect::<Vec<_>>(), ["shared.b"]);
    assert_eq!(platform.alive(), ["a", "c"]);
}

// case 44
#[tokio::test]
async fn values_drawn_during_planning_are_used() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "draw: true")], &[]);
    let drawn_in = |plan: &purlin_engine::Plan| {
        let step = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
        step.changes
            .iter()
            .find(|change| change.path == "/values/drawn")
            .and_then(|change| change.after.clone())
    };
    let plan = platform.plan(&all).await.expect("a plan");
    let drawn = drawn_in(&plan);
    assert!(drawn.is_some());
    // A plan that is made again with the saved values is the same; without them it differs.
    let saved = plan.save();
    let kept = PlanOptions {
        checked_inputs: purlin_engine::checked_inputs(saved.checked_inputs),
        ..PlanOptions::default()
    };
    let again = platform.plan_with(&all, kept).await.expect("a plan");
    assert_eq!(drawn_in(&again), drawn);
    assert!(purlin_engine::deviations(&saved.outline, &again.outline()).is_empty());
    let other = platform.plan(&all).await.expect("a plan");
    assert_ne!(drawn_in(&other), drawn);
    assert_eq!(purlin_engine::deviations(&saved.outline, &other.outline()).len(), 1);
    assert!(platform.run(again, CancelToken::default()).await.1.is_success());
    let values = platform.record("shared.a").await.expect("made").inputs.values;
    assert_eq!(values.get("drawn"), drawn);
    // It is kept from then on.
    assert_eq!(platform.up(&all).await.calls, 0);
    platform.deploys(&documents(&[("a", "draw: true, v: 2")], &[])).await;
    let values = platform.record("shared.a").await.expect("made").inputs.values;
    assert_eq!(values.get("drawn"), drawn);
}

// case 44, with partly unknown inputs
#[tokio::test]
async fn values_drawn_next_to_unknown_ones_are_used_too() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: 1"), ("b", "draw: true, x: <a.id>")], &[]);
    let plan = platform.plan(&all).await.expect("a plan");
    let step = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    let change = step.changes.iter().find(|change| change.path == "/values/drawn").expect("drawn");
    let drawn = change.after.clone();
    let saved = plan.save();
    let kept = PlanOptions {
        checked_inputs: purlin_engine::checked_inputs(saved.checked_inputs),
        ..PlanOptions::default()
    };
    let again = platform.plan_with(&all, kept).await.expect("a plan");
    assert!(purlin_engine::deviations(&saved.outline, &again.outline()).is_empty());
    assert!(platform.run(again, CancelToken::default()).await.1.is_success());
    let values = platform.record("shared.b").await.expect("made").inputs.values;
    assert_eq!(values.get("drawn"), drawn);
}

// case 41
#[tokio::test]
async fn a_saved_plan_does_not_match_other_documents() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "v: 1")], &[])).await;
    let planned = documents(&[("a", "v: 2"), ("b", "v: 1")], &[]);
    let kept = platform.plan(&planned).await.expect("a plan").save().outline;
    let same = platform.plan(&planned).await.expect("a plan").outline();
    assert!(purlin_engine::deviations(&kept, &same).is_empty());
    for other in [
        documents(&[("a", "v: 2"), ("b", "v: 1"), ("c", "v: 1")], &[]),
        documents(&[("a", "v: 2")], &[]),
        documents(&[("a", "v: 3"), ("b", "v: 1")], &[]),
        documents(&[("a", "v: 2, w: 1"), ("b", "v: 1")], &[]),
        documents(&[("a", "v: 1"), ("b", "v: 1")], &[]),
    ] {
        let now = platform.plan(&other).await.expect("a plan");
        let deviations = purlin_engine::deviations(&kept, &now.outline());
        assert!(!deviations.is_empty(), "{:?}", steps(&now));
    }
}

// case 43
#[tokio::test]
async fn a_plan_knows_the_state_that_it_was_made_from() {
    let platform = Platform::new();
    let all = documents(&[("a", "v: 1")], &[]);
    platform.deploys(&all).await;
    let of = async |platform: &Platform| platform.base().await.expect("a state").fingerprint();
    let before = of(&platform).await;
    assert_eq!(platform.plan(&all).await.expect("a plan").fingerprint(), before);
    platform.up(&all).await;
    assert_eq!(of(&platform).await, before, "nothing was done");
    let urn = platform.record("shared.a").await.expect("recorded").urn;
    type Edit = fn(
        purlin_state::Snapshot,
        &purlin_model::Urn,
        bool,
    ) -> Result<Vec<purlin_state::Change>, purlin_engine::Error>;
    for edit in [purlin_engine::protect as Edit, purlin_engine::taint as Edit] {
        platform.write(edit(platform.snapshot().await, &urn, true).expect("changes")).await;
        assert_ne!(of(&platform).await, before);
        platform.write(edit(platform.snapshot().await, &urn, false).expect("changes")).await;
        assert_eq!(of(&platform).await, before);
    }
    platform.deploys(&documents(&[("a", "v: 2")], &[])).await;
    assert_ne!(of(&platform).await, before);
}

// case 20
#[tokio::test]
async fn ignored_changes_have_no_effect_and_missing_paths_are_errors() {
    let platform = Platform::new();
    let of = |params: &str, paths: &str| {
        documents(&[("a", params)], &[("a", &format!("ignore_changes: [{paths}]"))])
    };
    let first = "tags: {x: {on: 1, by: me}, y: {on: 1}}, list: [{n: 1, m: 1}], v: 1";
    platform.deploys(&of(first, "params.v")).await;
    platform.done();
    for (params, paths) in [
        ("tags: {x: {on: 1, by: me}, y: {on: 1}}, list: [{n: 1, m: 1}], v: 2", "params.v"),
        ("tags: {x: {on: 2, by: me}, y: {on: 3}}, list: [{n: 1, m: 1}], v: 1", "params.tags.*.on"),
        ("tags: {x: {on: 1, by: me}, y: {on: 1}}, list: [{n: 9, m: 1}], v: 1", "/params/list/*/n"),
        ("tags: {}, list: [], v: 3", "params"),
    ] {
        assert!(platform.planned(&of(params, paths)).await.is_empty(), "{paths}");
        assert!(platform.deploys(&of(params, paths)).await.is_empty(), "{paths}");
    }
    let faults =
        platform.refused(&of(first, "params.nothing, params.tags.x.no"), PlanOptions::default()).await;
    assert_eq!(faults.len(), 2);
    assert!(faults[0].message.contains("params.nothing"), "{}", faults[0].message);
    // Values next to it count.
    let beside = "tags: {x: {on: 2, by: you}, y: {on: 3}}, list: [{n: 1, m: 1}], v: 1";
    assert_eq!(platform.planned(&of(beside, "params.tags.*.on")).await, ["update a"]);
    platform.deploys(&of(beside, "params.tags.*.on")).await;
    let tags = platform.record("shared.a").await.expect("recorded").inputs.params.get("tags").expect("tags");
    assert_eq!(tags.redact(), serde_json::json!({"x": {"on": 1, "by": "you"}, "y": {"on": 1}}));
}

#[tokio::test]
async fn ignored_changes_stay_ignored_while_unknown() {
    let platform = Platform::new();
    let of = |v: &str, paths: &str| {
        documents(
            &[("a", &format!("v: {{deep: {v}}}")), ("b", "x: <a.v>, y: 1")],
            &[("b", &format!("ignore_changes: [{paths}]"))],
        )
    };
    platform.deploys(&of("1", "params.x")).await;
    platform.done();
    // The ignored path covers the whole unknown value, or only a part of it.
    assert_eq!(platform.planned(&of("2", "params.x")).await, ["update a"]);
    assert_eq!(platform.planned(&of("2", "params.x.deep")).await, ["update a", "update b"]);
    assert_eq!(platform.deploys(&of("2", "params.x.deep")).await, ["update a"]);
    let x = platform.record("shared.b").await.expect("recorded").inputs.params.get("x").expect("x");
    assert_eq!(x.redact(), serde_json::json!({"deep": 1}));
}

#[tokio::test]
async fn inputs_that_turn_out_invalid_fail_before_creation() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: check"), ("b", "fail: <a.v>"), ("c", "x: <b.id>")], &[]);
    let summary = platform.up(&all).await;
    let (key, cause) = summary.failed.first().expect("a failure");
    assert_eq!(key.id(), "shared.b");
    assert!(cause.to_string().contains("/params/fail"), "{cause}");
    assert!(platform.snapshot().await.pending.is_empty() && summary.unknown.is_empty());
    assert_eq!(platform.alive(), ["a"]);
}
