//! A resource that holds data is deleted only with consent (SPEC §9).

use crate::support::{Platform, documents, scope};
use purlin_engine::{ApplyOptions, CancelToken, DestroyOptions, Error, Plan, PlanOptions};
use purlin_model::Key;

/// The losses of a plan, with short names, and whether they are allowed.
fn losses(plan: &Plan) -> Vec<String> {
    let name = |key: &Key| key.id().trim_start_matches("shared.").to_owned();
    let described = |step: &purlin_engine::Step| {
        let loss = step.loss().expect("it loses data");
        let what = match loss.what() {
            purlin_engine::LostData::Named(_) => "data",
            purlin_engine::LostData::Data => "some",
            purlin_engine::LostData::Unknown => "perhaps",
        };
        let allowed = if loss.is_allowed() { ", allowed" } else { "" };
        format!("{} {}: {what}{allowed}", step.action.as_str(), name(&step.key))
    };
    plan.losses().map(described).collect()
}

/// Asserts that the plan is rejected and that no driver is called.
#[track_caller]
fn refused(platform: &Platform, plan: Plan) -> Vec<String> {
    let options = ApplyOptions {
        parallelism: 1,
        cancel: CancelToken::default(),
        clock: std::sync::Arc::new(|| 1),
        seed: [0; 32],
        waits: true,
    };
    let keys = match purlin_engine::apply(plan, std::sync::Arc::clone(&platform.store) as _, options) {
        Err(Error::DataLoss(keys)) => keys,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it runs"),
    };
    assert!(platform.done().is_empty());
    keys.iter().map(|key| key.id().trim_start_matches("shared.").to_owned()).collect()
}

#[tokio::test]
async fn deleting_or_replacing_data_needs_permission() {
    let platform = Platform::new();
    let of = |fixed: &str| {
        documents(&[("a", &format!("fixed: {fixed}, data: x")), ("b", &format!("fixed: {fixed}"))], &[])
    };
    platform.deploys(&of("1")).await;
    let plan = platform.plan(&of("2")).await.expect("a plan");
    assert_eq!(losses(&plan), ["replace a: data"]);
    assert_eq!((plan.summary().replace, plan.summary().loses_data), (2, 1));
    assert_eq!(refused(&platform, plan), ["a"]);
    // An update loses nothing, whatever the resource holds.
    let plan = platform.plan(&documents(&[("a", "fixed: 1, data: y"), ("b", "fixed: 1")], &[])).await;
    assert!(losses(&plan.expect("a plan")).is_empty());
    let plan = platform.plan(&documents(&[], &[])).await.expect("a plan");
    assert_eq!(losses(&plan), ["delete a: data"]);
    assert_eq!(refused(&platform, plan), ["a"]);
    let mut plan = platform.destroy_plan().await.expect("a plan");
    assert_eq!(losses(&plan), ["delete a: data"]);
    // Allowing the loss of another resource has no effect on this one.
    plan.allow_losses(&[Key::parse("thing.default#shared.b").expect("a key")]);
    assert_eq!(refused(&platform, plan), ["a"]);
    let mut plan = platform.destroy_plan().await.expect("a plan");
    let all = plan.losses_not_allowed();
    plan.allow_losses(&all);
    assert_eq!(losses(&plan), ["delete a: data, allowed"]);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert!(platform.alive().is_empty());
}

#[tokio::test]
async fn forgotten_resources_lose_nothing() {
    let platform = Platform::new();
    let of = |fixed: &str, setting: &str| {
        documents(&[("a", &format!("fixed: {fixed}, data: x"))], &[("a", setting)])
    };
    platform.deploys(&of("1", "retain: true")).await;
    let plan = platform.plan(&of("2", "retain: true")).await.expect("a plan");
    assert!(losses(&plan).is_empty(), "replaced, the old one is forgotten");
    assert!(losses(&platform.destroy_plan().await.expect("a plan")).is_empty());
    let keep = PlanOptions { keep_removed: true, ..PlanOptions::default() };
    let plan = platform.plan_with(&documents(&[], &[]), keep).await.expect("a plan");
    assert!(losses(&plan).is_empty());
    // A resource that is already gone has nothing to lose.
    platform.deploys(&of("1", "retain: false")).await;
    let others = DestroyOptions { scope: scope(&[], &["a"]), ..DestroyOptions::default() };
    assert!(losses(&platform.destroy_plan_with(others).await.expect("a plan")).is_empty());
}

#[tokio::test]
async fn documents_can_allow_the_loss_for_one_resource() {
    let platform = Platform::new();
    let of = |fixed: &str, settings: &[(&str, &str)]| {
        let params = format!("fixed: {fixed}, data: x");
        documents(&[("a", &params), ("b", &params)], settings)
    };
    platform.deploys(&of("1", &[])).await;
    let allowed = [("a", "allow_data_loss: true")];
    let plan = platform.plan(&of("2", &allowed)).await.expect("a plan");
    assert_eq!(losses(&plan), ["replace a: data, allowed", "replace b: data"]);
    assert_eq!(refused(&platform, plan), ["b"]);
    let both = [("a", "allow_data_loss: true"), ("b", "allow_data_loss: true")];
    let done = platform.deploys(&of("2", &both)).await;
    assert_eq!(done.iter().filter(|line| line.starts_with("delete")).count(), 2, "{done:?}");
}

#[tokio::test]
async fn a_guest_loses_its_data_with_its_host() {
    let platform = Platform::new();
    let all = documents(
        &[("a", "v: a"), ("b", "data: b"), ("c", "v: c")],
        &[("b", "deleted_with: <a>"), ("c", "deleted_with: <a>")],
    );
    platform.deploys(&all).await;
    platform.done();
    let plan = platform.destroy_plan().await.expect("a plan");
    assert_eq!(losses(&plan), ["delete b: data"]);
    assert_eq!(refused(&platform, plan), ["b"]);
    // A retained resource is still deleted with its host.
    let of = |fixed: &str| {
        documents(
            &[("a", &format!("fixed: {fixed}")), ("b", &format!("fixed: {fixed}, data: x"))],
            &[("a", "delete_before_replace: true"), ("b", "retain: true, deleted_with: <a>")],
        )
    };
    let platform = Platform::new();
    platform.deploys(&of("1")).await;
    let plan = platform.plan(&of("2")).await.expect("a plan");
    assert_eq!(losses(&plan), ["replace b: data"]);
}

#[tokio::test]
async fn an_undeleted_old_copy_needs_permission_again() {
    let platform = Platform::new();
    let of = |params: &str| documents(&[("a", &format!("{params}, data: x"))], &[]);
    platform.deploys(&of("fixed: 1, fail: delete")).await;
    let mut plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    let all = plan.losses_not_allowed();
    plan.allow_losses(&all);
    assert!(!platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.copies().await, 1);
    platform.done();
    let plan = platform.plan(&of("fixed: 2")).await.expect("a plan");
    assert_eq!(losses(&plan), ["delete a: data"]);
    assert_eq!(refused(&platform, plan), ["a"]);
}

#[tokio::test]
async fn a_new_driver_does_not_decide_what_the_old_resource_holds() {
    let mut platform = Platform::new();
    platform.add_driver("test/other", crate::support::PLAIN);
    let documents = documents(&[("a", "data: x")], &[]);
    platform.deploys(&documents).await;
    let plan = platform.plan(&documents.replace("test/scripted", "test/other")).await.expect("a plan");
    assert_eq!(losses(&plan), ["replace a: data"]);
}

#[tokio::test]
async fn late_values_never_lose_more_data_than_allowed() {
    let platform = Platform::new();
    // `b` is replaced only if `a` turns out to have another value.
    let of = |value: &str| documents(&[("a", &format!("v: {value}")), ("b", "fixed: <a.v>, data: x")], &[]);
    platform.deploys(&of("1")).await;
    let mut plan = platform.plan(&of("2")).await.expect("a plan");
    let planned = losses(&plan);
    match planned.is_empty() {
        // A deletion that the plan does not mention does not happen.
        true => {
            platform.run(plan, CancelToken::default()).await;
            assert!(!platform.done().iter().any(|line| line.starts_with("delete")));
        }
        false => {
            assert_eq!(planned, ["replace b: data"]);
            let all = plan.losses_not_allowed();
            plan.allow_losses(&all);
            assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
        }
    }
}
