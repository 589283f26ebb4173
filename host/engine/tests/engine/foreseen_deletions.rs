//! What drivers foresee of deletions: the parts that go, the consent that their data needs, and previews that
//! fail, which prevent no deletion.

use purlin_engine::{CancelToken, DestroyOptions, LostData, Plan, PlanOptions, Step};
use purlin_model::driver::{Failure, Forecast, Inputs, Part, PartAction};
use purlin_sandbox::CallError;

use crate::previews::{asked, part};
use crate::support::{FULL, Platform, documents, locked, steps};

type Foresight = Box<dyn Fn() -> Result<Forecast, CallError> + Send>;

/// What the driver says of the deletion of each resource with the param `v`.
fn foreseeing(platform: &Platform, foresight: impl Fn() -> Result<Forecast, CallError> + Send + 'static) {
    let of_those = move |inputs: &Inputs| match inputs.params.get("v") {
        Some(_) => foresight(),
        None => Ok(Forecast::default()),
    };
    *locked(&platform.driver.foresight_of_deletions) = Some(Box::new(of_those));
}

fn with_parts(parts: Vec<Part>) -> impl Fn() -> Result<Forecast, CallError> + Send + 'static {
    move || Ok(Forecast { parts: parts.clone(), token: Some(b"seen".to_vec().into()), ..Forecast::default() })
}

fn rows() -> Part {
    part("x", PartAction::Delete, Some("rows"))
}

fn step<'p>(plan: &'p Plan, id: &str) -> &'p Step {
    plan.steps.iter().find(|step| step.key.id() == format!("shared.{id}")).expect("a step")
}

fn tokens(platform: &Platform) -> Vec<String> {
    let tokens = std::mem::take(&mut *locked(&platform.driver.tokens));
    tokens.into_iter().filter(|call| !call.contains("base-env")).collect()
}

/// Deleted as a whole, or because the documents no longer have it.
#[tokio::test]
async fn a_deletion_shows_its_parts_and_their_data_needs_consent() {
    for destroys in [true, false] {
        let platform = Platform::with(FULL);
        platform.deploys(&documents(&[("a", "v: 1"), ("b", "w: 1")], &[])).await;
        let plan = async || match destroys {
            true => platform.destroy_plan().await.expect("a plan"),
            false => platform.plan(&documents(&[], &[])).await.expect("a plan"),
        };
        foreseeing(&platform, with_parts(vec![rows(), part("y", PartAction::Forget, Some("files"))]));
        let mut first = plan().await;
        assert_eq!(steps(&first), ["delete a", "delete b"]);
        assert_eq!(asked(&platform), ["delete a", "delete b"]);
        assert!(step(&first, "b").parts().next().is_none());
        let a = step(&first, "a");
        let loss = a.loss().expect("it loses data");
        assert_eq!((loss.what(), loss.is_allowed()), (&LostData::Named("rows (`x`)".into()), false));
        let json = serde_json::to_value(a).expect("JSON");
        assert_eq!(json["parts"][0]["address"], "x");
        assert_eq!(
            (&json["parts"][0]["action"], &json["parts"][1]["action"]),
            (&"delete".into(), &"forget".into())
        );
        let outline = first.outline();

        // One of other parts is another plan.
        foreseeing(&platform, with_parts(vec![rows(), part("z", PartAction::Delete, None)]));
        assert!(!purlin_engine::deviations(&outline, &plan().await.outline()).is_empty());

        let keys = first.losses_not_allowed();
        assert_eq!(keys.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.a"]);
        first.allow_losses(&keys);
        assert!(platform.run(first, CancelToken::default()).await.1.is_success());
        assert_eq!(tokens(&platform), ["delete a seen"]);
        // Its driver knows that somebody agreed.
        assert_eq!(*locked(&platform.driver.lost_data), ["a"]);
        assert!(platform.alive().is_empty());
    }
}

/// What the record knows of the data of parts counts, whatever its driver foresees of the deletion.
#[tokio::test]
async fn recorded_data_needs_consent_although_its_deletion_is_not_foreseen() {
    let fails = || Err(CallError::Failure(Failure::Failed("the service is away".into())));
    let silent = with_parts(vec![part("x", PartAction::Delete, None)]);
    let other = with_parts(vec![part("y", PartAction::Delete, None)]);
    let kept = with_parts(vec![part("x", PartAction::Forget, None)]);
    let foresights: [(Foresight, bool); 4] =
        [(Box::new(fails), true), (Box::new(silent), true), (Box::new(other), true), (Box::new(kept), false)];
    for (foresight, is_lost) in foresights {
        let platform = Platform::with(FULL);
        let created = Forecast {
            parts: vec![part("x", PartAction::Create, Some("rows"))],
            outputs: purlin_model::Value::map(),
            ..Forecast::default()
        };
        *locked(&platform.driver.foresight) =
            Some(Box::new(move |inputs: &Inputs| match inputs.params.get("v") {
                Some(_) => Ok(created.clone()),
                None => Ok(Forecast::default()),
            }));
        platform.deploys(&documents(&[("a", "v: 1"), ("b", "w: 1")], &[])).await;
        foreseeing(&platform, foresight);
        let mut plan = platform.destroy_plan().await.expect("a plan");
        let lost = step(&plan, "a").loss().map(|loss| loss.what().clone());
        assert_eq!(lost, is_lost.then(|| LostData::Named("rows (`x`)".into())));
        let keys = plan.losses_not_allowed();
        assert_eq!(keys.len(), usize::from(is_lost));
        plan.allow_losses(&keys);
        assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
        assert_eq!(locked(&platform.driver.lost_data).len(), usize::from(is_lost));
        assert!(platform.alive().is_empty());
    }
}

/// A replacement has two forecasts, and each effect the token of its own, also from a saved plan.
#[tokio::test]
async fn a_replacement_shows_the_parts_of_both_resources() {
    for order in ["delete_before_replace: false", "delete_before_replace: true"] {
        let platform = Platform::with(FULL);
        let all = |fixed: u32| documents(&[("a", &format!("v: 1, fixed: {fixed}"))], &[("a", order)]);
        platform.deploys(&all(1)).await;
        foreseeing(&platform, with_parts(vec![rows()]));
        let created = || {
            let parts = vec![part("x", PartAction::Create, Some("rows"))];
            Ok(Forecast { parts, token: Some(b"made".to_vec().into()), ..Forecast::default() })
        };
        *locked(&platform.driver.foresight) = Some(Box::new(move |_: &Inputs| created()));
        let first = platform.plan(&all(2)).await.expect("a plan");
        let actions: Vec<_> = step(&first, "a").parts().map(|part| part.action).collect();
        assert_eq!(actions, [PartAction::Create, PartAction::Delete]);
        let saved = first.save();
        assert_eq!(saved.tokens.len(), 2);

        let mut plan = platform.plan(&all(2)).await.expect("a plan");
        assert!(purlin_engine::deviations(&saved.outline, &plan.outline()).is_empty());
        plan.agree_to(saved.tokens);
        let keys = plan.losses_not_allowed();
        plan.allow_losses(&keys);
        assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
        let mut tokens = tokens(&platform);
        tokens.sort();
        assert_eq!(tokens, ["create a made", "delete a seen"], "{order}");
        assert_eq!(platform.alive().len(), 1);
    }
}

/// The plan says that it does not know the parts, and people can still delete everything.
#[tokio::test]
async fn a_preview_that_fails_prevents_no_deletion() {
    let busy = || Failure::RetryAfter { after: std::time::Duration::from_secs(1), message: "busy".into() };
    let trap = || CallError::Trap { driver: "test/scripted".into(), message: "it panicked".into() };
    let failures: [fn() -> CallError; 2] = [
        || CallError::Failure(Failure::Failed("no".into())),
        || CallError::Failure(Failure::InvalidInputs(Vec::new())),
    ];
    for failure in failures.map(|failure| failure()).into_iter().chain([CallError::Failure(busy()), trap()]) {
        let platform = Platform::with(FULL);
        platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
        let message = failure.to_string();
        let failure = std::sync::Mutex::new(Some(failure));
        foreseeing(&platform, move || Err(locked(&failure).take().expect("it is asked once")));
        let plan = platform.destroy_plan().await.expect("a plan");
        let [warning] = &plan.warnings[..] else { panic!("{:?}", plan.warnings) };
        assert_eq!(warning.key.id(), "shared.a");
        assert!(warning.message.starts_with("the plan does not show the parts"), "{warning:?}");
        assert!(warning.message.contains(&message), "{warning:?}");
        assert_eq!(plan.losses().count(), 0);
        assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
        assert!(platform.alive().is_empty());
        assert!(tokens(&platform).is_empty());
    }
}

/// What is gone already has no parts, which is no reason to warn.
#[tokio::test]
async fn what_a_preview_does_not_find_is_deleted_without_a_warning() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    foreseeing(&platform, || Err(CallError::Failure(Failure::NotFound("a".into()))));
    let plan = platform.destroy_plan().await.expect("a plan");
    assert!(plan.warnings.is_empty() && plan.losses().count() == 0);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
}

/// A deletion without a call, and a plan without drivers, ask nothing.
#[tokio::test]
async fn what_is_not_deleted_by_a_call_is_not_foreseen() {
    let platform = Platform::with(FULL);
    let all = documents(
        &[("host", "w: 1"), ("guest", "v: 1"), ("kept", "v: 1")],
        &[("guest", "deleted_with: <host>"), ("kept", "retain: true")],
    );
    platform.deploys(&all).await;
    foreseeing(&platform, with_parts(vec![rows()]));
    let offline = PlanOptions { offline: true, ..PlanOptions::default() };
    platform.plan_with(&documents(&[], &[]), offline).await.expect("a plan");
    assert_eq!(asked(&platform), [""; 0]);
    let plan = platform.destroy_plan_with(DestroyOptions::default()).await.expect("a plan");
    assert_eq!(asked(&platform), ["delete host"]);
    assert_eq!(plan.losses().count(), 0);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.done().last().map(String::as_str), Some("delete host"));
}

/// Once people agreed to lose the data of parts, the record has it: another run needs consent too, even if
/// the driver does not answer then.
#[tokio::test]
async fn the_data_of_parts_is_remembered_until_they_are_deleted() {
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1, fail: delete")], &[])).await;
    foreseeing(&platform, with_parts(vec![rows()]));
    let mut plan = platform.destroy_plan().await.expect("a plan");
    let keys = plan.losses_not_allowed();
    plan.allow_losses(&keys);
    assert_eq!(platform.run(plan, CancelToken::default()).await.1.failed.len(), 1);
    let record = platform.record("shared.a").await.expect("recorded");
    assert_eq!(record.holds_data.as_deref(), Some("rows (`x`)"));

    foreseeing(&platform, || Err(CallError::Failure(Failure::Failed("no".into()))));
    let plan = platform.destroy_plan().await.expect("a plan");
    let loss = plan.losses().find_map(Step::loss).expect("it loses data");
    assert_eq!(loss.what(), &LostData::Named("rows (`x`)".into()));
    assert_eq!(plan.losses_not_allowed().len(), 1);
}
