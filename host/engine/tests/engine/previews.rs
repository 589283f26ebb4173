//! What drivers foresee: outputs that are certain before an effect, and failures of the preview.

use purlin_engine::{Action, CancelToken, Cause, LostData, Plan, Step};
use purlin_model::driver::{Failure, Forecast, InputFinding, Inputs, Part, PartAction};
use purlin_model::{Map, Reason, Unfinished, Value};
use purlin_sandbox::CallError;
use purlin_state::Status;

use crate::support::{FULL, Lost, Platform, documents, locked, steps};

/// The outputs that follow from params: those with these names that are known.
fn of_params(names: &'static [&'static str]) -> impl Fn(&Inputs) -> Result<Forecast, CallError> {
    move |inputs| {
        let known = |name: &&'static str| {
            let value = inputs.params.get(name).filter(|value| !value.has_unknown())?;
            Some(((*name).into(), value))
        };
        let outputs: Map = names.iter().filter_map(known).collect();
        Ok(Forecast { outputs: Value::Map(outputs), ..Forecast::default() })
    }
}

fn foreseeing(
    platform: &Platform,
    foresight: impl Fn(&Inputs) -> Result<Forecast, CallError> + Send + 'static,
) {
    *locked(&platform.driver.foresight) = Some(Box::new(foresight));
}

pub(crate) fn asked(platform: &Platform) -> Vec<String> {
    let asked = std::mem::take(&mut *locked(&platform.driver.foreseen));
    asked.into_iter().filter(|call| !call.contains("base-env")).collect()
}

/// The new value of an input in a plan, if it is known.
fn planned(plan: &Plan, id: &str, path: &str) -> Option<Value> {
    let step = plan.steps.iter().find(|step| step.key.id() == format!("shared.{id}")).expect("a step");
    let change = step.changes.iter().find(|change| change.path == path).expect("a change");
    change.after.clone().filter(|_| !change.is_unknown())
}

#[tokio::test]
async fn dependents_are_planned_with_what_is_certain() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, of_params(&["v"]));
    let of = |v: &str, more: &str| {
        let a = format!("v: {v}, w: 1{more}");
        documents(&[("a", &a), ("b", "x: <a.v>, y: <a.w>"), ("c", "v: <b.x>"), ("d", "v: <a.v>")], &[])
    };
    let all = of("one", "");
    let plan = platform.plan(&all).await.expect("a plan");
    assert_eq!(planned(&plan, "b", "/params/x"), Some("one".into()));
    // Nothing is said about other outputs, so that they may be there.
    assert_eq!(planned(&plan, "b", "/params/y"), None);
    assert_eq!(planned(&plan, "c", "/params/v"), None);
    assert_eq!(planned(&plan, "d", "/params/v"), Some("one".into()));
    assert_eq!(asked(&platform), ["create `shared.a`", "create ``", "create `shared.d`", "create ``"]);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(platform.alive(), ["a", "b", "c", "d"]);

    // What is certain to stay changes no dependent.
    asked(&platform);
    let plan = platform.plan(&of("one", ", z: 2")).await.expect("a plan");
    assert_eq!(steps(&plan), ["update a", "update b", "update c"]);
    assert_eq!(asked(&platform), ["update a", "update b", "update c"]);
    let plan = platform.plan(&of("two", "")).await.expect("a plan");
    assert_eq!(planned(&plan, "b", "/params/x"), Some("two".into()));
    assert_eq!(platform.up(&all).await.calls, 0);
    asked(&platform);
    // A replacement is foreseen as the creation that it begins with.
    let plan = platform.plan(&of("one", ", fixed: 2")).await.expect("a plan");
    assert_eq!(steps(&plan)[0], "replace a");
    assert_eq!(asked(&platform)[0], "create `shared.a` instead of a");
    // Nothing that stays is asked about.
    assert_eq!(platform.up(&all).await.calls, 0);
    assert_eq!(asked(&platform), [""; 0]);
}

#[tokio::test]
async fn an_output_that_is_certain_is_held_to_it() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, of_params(&["v"]));
    let of = |lie: &str| documents(&[("a", &format!("v: one{lie}")), ("b", "x: <a.v>"), ("c", "v: 1")], &[]);
    let summary = platform.up(&of(", lie: two")).await;
    let [(key, Cause::Inconsistent { path, driver })] = &summary.failed[..] else { panic!("{summary:#?}") };
    assert_eq!((key.id(), &**path, &**driver), ("shared.a", "/v", "test/scripted"));
    // What exists is recorded, and nothing is made from the broken promise.
    let record = platform.record("shared.a").await.expect("recorded");
    assert!(matches!(record.status, Status::Partial(Unfinished::Failed { .. })));
    assert_eq!(platform.alive(), ["a", "c"]);
    platform.done();
    assert_eq!(platform.deploys(&of("")).await, ["update a", "create b"]);

    // The same after an update, and where the inputs were unknown in the plan.
    let of = |lie: &str| {
        documents(&[("a", "v: three"), ("b", &format!("x: <a.w>, v: 5{lie}")), ("c", "v: <b.v>")], &[])
    };
    let of = |lie: &str| of(lie).replace("v: three", "v: three, w: 1");
    let plan = platform.plan(&of(", lie: six")).await.expect("a plan");
    assert_eq!(
        (planned(&plan, "b", "/params/x"), planned(&plan, "c", "/params/v")),
        (None, Some(serde_json::json!(5).into()))
    );
    let (_, summary) = platform.run(plan, CancelToken::default()).await;
    assert!(
        matches!(&summary.failed[..], [(key, Cause::Inconsistent { .. })] if key.id() == "shared.b"),
        "{summary:#?}"
    );
}

#[tokio::test]
async fn an_output_is_held_to_its_promise_once_the_resource_is_ready() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, of_params(&["v"]));
    let all = documents(&[("a", "v: one"), ("b", "x: <a.v>")], &[]);
    locked(&platform.driver.takes).insert("create thing.default#shared.a".into(), 1);
    locked(&platform.driver.weather).insert("v".into(), "two".into());
    let summary = platform.up(&all).await;
    let [(key, Cause::Inconsistent { path, .. })] = &summary.failed[..] else { panic!("{summary:#?}") };
    assert_eq!((key.id(), &**path), ("shared.a", "/v"));
    assert_eq!(platform.alive(), ["a"]);
}

#[tokio::test]
async fn a_certain_output_may_be_secret() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, |inputs| {
        let secret = inputs.params.get("v").unwrap_or_default().into_secret();
        Ok(Forecast { outputs: Value::Map(Map::from_iter([("v".into(), secret)])), ..Forecast::default() })
    });
    let all = documents(&[("a", "v: hidden"), ("b", "x: 'is <a.v>'")], &[]);
    let all = all.replace("'is \"", "\"is ").replace("\"'", "\"");
    let plan = platform.plan(&all).await.expect("a plan");
    let after = planned(&plan, "b", "/params/x").expect("known");
    assert!(after.has_secret());
    let step = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step");
    assert!(step.changes.iter().any(|change| change.is_secret()));
    assert!(!serde_json::to_string(&plan).expect("JSON").contains("is hidden"));
}

/// Wrong inputs are faults of the documents.
#[tokio::test]
async fn inputs_that_a_preview_rejects_are_findings_of_the_plan() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, |_| {
        let input = InputFinding { pointer: "/params/v".into(), message: "it is taken".into() };
        Err(CallError::Failure(Failure::InvalidInputs(vec![input])))
    });
    let faults = platform.refused(&documents(&[("a", "v: 1")], &[]), Default::default()).await;
    assert!(faults.iter().any(|fault| fault.message.contains("it is taken")), "{faults:?}");
}

/// Any other failure holds back that resource, and those that depend on it.
#[tokio::test]
async fn a_preview_that_fails_holds_back_its_resource() {
    let platform = Platform::with(FULL);
    let all = documents(&[("a", "v: bad"), ("b", "x: <a.v>"), ("c", "v: 1")], &[]);
    foreseeing(&platform, |inputs| match inputs.params.get("v") {
        Some(Value::String(text)) if *text == *"bad" => {
            Err(CallError::Trap { driver: "test/scripted".into(), message: "it panicked".into() })
        }
        _ => of_params(&[])(inputs),
    });
    let plan = platform.plan(&all).await.expect("a plan");
    let a = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
    assert_eq!(a.action, Action::Read);
    assert_eq!(plan.refused().len(), 1);
    let summary = platform.up(&all).await;
    assert!(matches!(&summary.failed[0], (key, Cause::Call(_)) if key.id() == "shared.a"), "{summary:#?}");
    assert_eq!(platform.alive(), ["c"]);
    // An existing resource stays as it is.
    *locked(&platform.driver.foresight) = None;
    platform.deploys(&all).await;
    platform.done();
    foreseeing(&platform, |_| Err(CallError::Failure(Failure::Failed("no".into()))));
    let summary = platform.up(&all.replace("v: bad", "v: worse")).await;
    assert_eq!(summary.failed.len(), 1, "{summary:#?}");
    assert!(platform.done().is_empty());
}

/// Only a plan that may lead to effects asks.
#[tokio::test]
async fn a_plan_without_drivers_foresees_nothing() {
    let platform = Platform::with(FULL);
    foreseeing(&platform, of_params(&["v"]));
    let offline = purlin_engine::PlanOptions { offline: true, ..Default::default() };
    platform.plan_with(&documents(&[("a", "v: 1")], &[]), offline).await.expect("a plan");
    assert_eq!(asked(&platform), [""; 0]);
}

pub(crate) fn part(address: &str, action: PartAction, holds_data: Option<&str>) -> Part {
    Part {
        address: address.into(),
        moved_from: None,
        type_name: "thing".into(),
        action,
        before: None,
        after: None,
        replaces: Vec::new(),
        holds_data: holds_data.map(str::to_owned),
        notes: Map::default(),
    }
}

/// What happens to parts is in the plan, and the loss of their data needs consent as any other.
#[tokio::test]
async fn parts_that_hold_data_need_consent() {
    let platform = Platform::with(FULL);
    let foresees = |parts: Vec<Part>| {
        let forecast = Forecast { parts, ..Forecast::default() };
        foreseeing(&platform, move |inputs| match inputs.params.get("v") {
            Some(_) => Ok(forecast.clone()),
            None => Ok(Forecast::default()),
        });
    };
    let all = |v: &str| documents(&[("a", &format!("v: {v}"))], &[]);
    foresees(vec![part("x", PartAction::Create, Some("rows"))]);
    let plan = platform.plan(&all("1")).await.expect("a plan");
    assert_eq!(plan.losses().count(), 0);
    let a = plan.steps.iter().find(|step| step.key.id() == "shared.a").expect("a step");
    assert!(a.parts().eq([&part("x", PartAction::Create, Some("rows"))]));
    let json = serde_json::to_value(a).expect("JSON");
    let expected =
        serde_json::json!([{"address": "x", "type": "thing", "action": "create", "holds_data": "rows"}]);
    assert_eq!(json["parts"], expected);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());

    foresees(vec![
        part("x", PartAction::DeleteThenCreate, Some("rows")),
        part("y", PartAction::Forget, Some("files")),
        part("z", PartAction::Delete, None),
    ]);
    let mut plan = platform.plan(&all("2")).await.expect("a plan");
    assert_eq!(steps(&plan), ["update a"]);
    let outline = plan.outline();
    let [step] = &plan.losses().collect::<Vec<_>>()[..] else { panic!("one loses data") };
    let loss = step.loss().expect("it loses data");
    assert_eq!((loss.what(), loss.is_allowed()), (&LostData::Named("rows (`x`)".into()), false));
    let keys = plan.losses_not_allowed();
    assert_eq!(keys.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.a"]);
    plan.allow_losses(&keys);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());

    // A saved plan differs if its parts do, and the documents can allow the loss.
    foresees(Vec::new());
    platform.up(&all("1")).await;
    foresees(vec![part("x", PartAction::Create, None)]);
    let other = platform.plan(&all("2")).await.expect("a plan");
    assert!(!purlin_engine::deviations(&outline, &other.outline()).is_empty());
    foresees((0..7).map(|number| part(&number.to_string(), PartAction::Delete, Some("rows"))).collect());
    let allowed = documents(&[("a", "v: 3")], &[("a", "allow_data_loss: true")]);
    let plan = platform.plan(&allowed).await.expect("a plan");
    let loss = plan.losses().find_map(Step::loss).expect("it loses data");
    let LostData::Named(what) = loss.what() else { panic!("named") };
    assert!(what.ends_with("rows (`4`), and of 2 more parts") && loss.is_allowed(), "{what}");
}

/// A resource is recorded with the parts that its driver foresaw; if the outcome is not known, with those that
/// may exist.
#[tokio::test]
async fn the_parts_that_were_foreseen_are_recorded() {
    let platform = Platform::with(FULL);
    let foresees = |parts: Vec<Part>| {
        let forecast = Forecast { parts, outputs: Value::map(), ..Forecast::default() };
        foreseeing(&platform, move |inputs| match inputs.params.get("x") {
            // Only the forecast just before the effect knows the parts.
            Some(x) if x.has_unknown() => Ok(Forecast { parts: Vec::new(), ..forecast.clone() }),
            Some(_) => Ok(forecast.clone()),
            None => Ok(Forecast::default()),
        });
    };
    let recorded = async || {
        let record = platform.record("shared.b").await.expect("recorded");
        record.parts.iter().map(|part| part.address.to_string()).collect::<Vec<_>>()
    };
    let all = |more: &str| documents(&[("a", "v: 1"), ("b", &format!("x: <a.v>{more}"))], &[]);
    foresees(vec![part("x", PartAction::Create, Some("rows")), part("y", PartAction::Create, None)]);
    locked(&platform.driver.lost).insert("create thing.default#shared.b".into(), Lost::After);
    platform.up(&all("")).await;
    assert!(platform.snapshot().await.pending.iter().any(|intent| intent.id().urn.as_str().ends_with(".b")));
    locked(&platform.driver.lost).clear();
    foresees(Vec::new());
    assert!(platform.up(&all("")).await.is_success());
    assert_eq!(recorded().await, ["x", "y"]);
    let record = platform.record("shared.b").await.expect("recorded");
    assert_eq!(record.parts[0].holds_data.as_deref(), Some("rows"));

    // Half an update: what was to go may still be there.
    foresees(vec![part("y", PartAction::Delete, None), part("z", PartAction::Create, None)]);
    platform.up(&all(", stuck: half")).await;
    assert_eq!(recorded().await, ["x", "y", "z"]);
    assert!(platform.up(&all("")).await.is_success());
    assert_eq!(recorded().await, ["x", "z"]);
    // Nothing else changes them: neither a run without changes, nor a driver that foresees nothing.
    *locked(&platform.driver.foresight) = None;
    platform.up(&all("")).await;
    assert!(platform.up(&all(", w: 2")).await.is_success());
    assert_eq!(recorded().await, ["x", "z"]);
    // A replacement has only its own parts, and the data of the others goes.
    foresees(vec![part("n", PartAction::Create, None)]);
    let mut plan = platform.plan(&all(", fixed: 2")).await.expect("a plan");
    let losses = plan.losses_not_allowed();
    assert_eq!(losses.iter().map(|key| key.id()).collect::<Vec<_>>(), ["shared.b"]);
    plan.allow_losses(&losses);
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    assert_eq!(recorded().await, ["n"]);
}

/// An effect gets the token of the forecast that people agreed to, also from a saved plan.
#[tokio::test]
async fn an_effect_has_the_token_of_its_forecast() {
    let platform = Platform::with(FULL);
    let count = std::sync::atomic::AtomicU64::new(0);
    foreseeing(&platform, move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let token = Some(number.to_string().into_bytes().into());
        Ok(Forecast { outputs: Value::map(), token, ..Forecast::default() })
    });
    let tokens = || {
        let tokens = std::mem::take(&mut *locked(&platform.driver.tokens));
        tokens.into_iter().filter(|call| !call.contains("base-env")).collect::<Vec<_>>()
    };
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[]);
    let saved = platform.plan(&all).await.expect("a plan").save();
    // The implicit resource, and `a`; the inputs of `b` are unknown.
    assert_eq!(saved.tokens.len(), 2);
    let mut plan = platform.plan(&all).await.expect("a plan");
    assert!(purlin_engine::deviations(&saved.outline, &plan.outline()).is_empty());
    let of_a = saved.tokens.iter().find(|(urn, _)| urn.ends_with("shared.a")).expect("a token").1.clone();
    plan.agree_to(saved.tokens);
    tokens();
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    let [a, b] = &tokens()[..] else { panic!("two effects") };
    assert_eq!(*a, format!("create a {}", String::from_utf8_lossy(of_a.as_bytes())));
    // The driver was asked again about `b`, just before its effect.
    assert_eq!(b, "create b 6");
}

/// Where the plan did not know all inputs, the effect may do less to parts than planned, and never more.
#[tokio::test]
async fn parts_never_change_more_than_planned() {
    use PartAction::{CreateThenDelete, Delete, DeleteThenCreate, Forget, Update};
    for (planned, now, reasons) in [
        (part("x", Delete, Some("rows")), part("x", CreateThenDelete, Some("rows")), 0),
        (part("x", CreateThenDelete, None), part("x", DeleteThenCreate, None), 0),
        (part("x", Delete, None), part("y", Update, Some("rows")), 0),
        (part("x", Update, None), part("x", Forget, Some("rows")), 0),
        (part("x", Update, Some("rows")), part("x", Delete, Some("rows")), 1),
        (part("x", CreateThenDelete, None), part("x", Delete, None), 1),
        (part("x", Delete, None), part("y", Delete, None), 1),
        (part("x", Delete, None), part("x", Delete, Some("rows")), 1),
    ] {
        let platform = Platform::with(FULL);
        let all = |v: &str| documents(&[("a", &format!("v: {v}")), ("b", "x: <a.v>")], &[]);
        platform.deploys(&all("1")).await;
        platform.done();
        let parts = (planned.clone(), now.clone());
        foreseeing(&platform, move |inputs| {
            let parts = match inputs.params.get("x") {
                Some(x) if x.has_unknown() => vec![parts.0.clone()],
                Some(_) => vec![parts.1.clone()],
                None => Vec::new(),
            };
            Ok(Forecast { outputs: Value::map(), parts, ..Forecast::default() })
        });
        let mut plan = platform.plan(&all("2")).await.expect("a plan");
        let losses = plan.losses_not_allowed();
        plan.allow_losses(&losses);
        let (_, summary) = platform.run(plan, CancelToken::default()).await;
        match (&summary.failed[..], reasons) {
            ([], 0) => assert_eq!(platform.done(), ["update a", "update b"]),
            ([(key, Cause::MoreThanPlanned { reasons })], 1) => {
                let expected = Reason::PartNotPlanned {
                    part: now.address.as_str().into(),
                    action: now.action,
                    loses: now.loss().map(Into::into),
                };
                assert_eq!((key.id(), &reasons[..]), ("shared.b", &[expected][..]));
                // Nothing happened to it.
                assert_eq!(platform.done(), ["update a"]);
            }
            other => panic!("{planned:?} {now:?}: {other:?}"),
        }
    }
}

/// A run that goes on with a saved plan does no more to parts than that plan.
#[tokio::test]
async fn the_rest_of_a_plan_does_no_more_to_parts() {
    use PartAction::{Create, CreateThenDelete, Delete};
    let platform = Platform::with(FULL);
    platform.deploys(&documents(&[("a", "v: 1")], &[])).await;
    let plan = async |parts: Vec<Part>| {
        foreseeing(&platform, move |inputs| match inputs.params.get("v") {
            Some(_) => Ok(Forecast { outputs: Value::map(), parts: parts.clone(), ..Forecast::default() }),
            None => Ok(Forecast::default()),
        });
        platform.plan(&documents(&[("a", "v: 2")], &[])).await.expect("a plan")
    };
    let saved =
        plan(vec![part("x", CreateThenDelete, None), part("y", Delete, Some("rows"))]).await.outline();
    for (now, expected) in [
        (vec![part("x", CreateThenDelete, None), part("new", Create, None)], None),
        (vec![part("y", CreateThenDelete, Some("rows"))], None),
        (vec![part("z", Delete, None)], Some("the plan does not delete the part `z` of")),
        (vec![part("x", Delete, None)], Some("the plan does not delete the part `x` of")),
        (vec![part("x", CreateThenDelete, Some("rows"))], Some("`thing.default#shared.a` with its data")),
    ] {
        let rest = plan(now.clone()).await;
        for deviations in [
            purlin_engine::deviations_of_rest(&saved, &rest),
            // All of another plan differs; this says how.
            purlin_engine::deviations(&saved, &rest.outline()),
        ] {
            let said: Vec<String> = deviations.iter().map(ToString::to_string).collect();
            match expected {
                Some(expected) => assert!(said.len() == 1 && said[0].contains(expected), "{now:?}: {said:?}"),
                None => assert!(said.iter().all(|said| !said.contains("part")), "{now:?}: {said:?}"),
            }
        }
        assert_eq!(purlin_engine::deviations_of_rest(&saved, &rest).is_empty(), expected.is_none());
    }
}

/// What was certain may become uncertain, and not another value.
#[tokio::test]
async fn a_certain_output_stays_as_it_was_said_to_be() {
    for (later, is_kept) in [(Some("same"), true), (None, true), (Some("other"), false)] {
        let platform = Platform::with(FULL);
        foreseeing(&platform, move |inputs| {
            let said = match inputs.params.get("x") {
                Some(x) if x.has_unknown() => Some("same"),
                Some(_) => later,
                None => None,
            };
            let outputs = said.map(|said| ("v".into(), said.into())).into_iter().collect();
            Ok(Forecast { outputs: Value::Map(outputs), ..Forecast::default() })
        });
        let summary = platform.up(&documents(&[("a", "v: 1"), ("b", "x: <a.v>, v: same")], &[])).await;
        match (&summary.failed[..], is_kept) {
            ([], true) => assert_eq!(platform.alive(), ["a", "b"]),
            ([(_, Cause::Inconsistent { path, .. })], false) => {
                assert_eq!((&**path, &platform.alive()[..]), ("/v", &["a".to_owned()][..]));
            }
            other => panic!("{later:?}: {other:?}"),
        }
    }
}

/// As for any call without effects in a run.
#[tokio::test(start_paused = true)]
async fn a_busy_preview_before_an_effect_is_asked_again() {
    let platform = Platform::with(FULL);
    let busy = std::sync::atomic::AtomicU32::new(2);
    // `b` reads what is known only in the run, so that it is foreseen again then.
    foreseeing(&platform, move |inputs| {
        let is_known = inputs.params.get("x").is_some_and(|value| !value.has_unknown());
        let is_busy = |left: u32| left.checked_sub(1).filter(|_| is_known);
        use std::sync::atomic::Ordering::Relaxed;
        if busy.fetch_update(Relaxed, Relaxed, is_busy).is_ok() {
            let after = std::time::Duration::from_millis(5);
            return Err(CallError::Failure(Failure::RetryAfter { after, message: "busy".into() }));
        }
        Ok(Forecast::default())
    });
    let all = documents(&[("a", "v: 1"), ("b", "x: <a.v>")], &[]);
    let summary = platform.up(&all).await;
    assert!(summary.is_success(), "{summary:#?}");
    assert_eq!(platform.alive(), ["a", "b"]);
    let of_b = asked(&platform).into_iter().filter(|call| call == "create `shared.b`").count();
    assert_eq!(of_b, 3, "twice busy");
}
