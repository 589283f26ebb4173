//! `purlin:preview`: what an effect would make, by drivers that keep the contract and by others.

use std::sync::{Arc, Mutex};

use purlin_model::driver::{Failure, Forecast, Inputs, PartAction, ResourceState};
use purlin_model::{Limits, Value};
use purlin_sandbox::{CallContext, CallError, Change, Driver, Effect};
use serde_json::json;

use crate::common::{PASSWORD, guest, inputs, seconds, subject, with_password};

async fn foreseen(driver: &Driver, given: &Inputs) -> Result<Forecast, CallError> {
    let subject = subject();
    let effect = Effect::Create { inputs: given, name: "name", replaces: None };
    let forecast = driver.preview(&CallContext::new(&subject, ""), effect).await?;
    Ok(forecast.expect("it has a preview"))
}

async fn forecast(wanted: serde_json::Value) -> Result<Forecast, CallError> {
    foreseen(&guest(Limits::default()).await, &with_password(json!({"preview": wanted}))).await
}

async fn junk(wanted: serde_json::Value) -> String {
    match forecast(wanted.clone()).await {
        Err(CallError::Junk { what, .. }) => what,
        other => panic!("{wanted}: {other:?}"),
    }
}

#[tokio::test]
async fn the_request_is_that_of_the_effect() {
    let driver = guest(Limits::default()).await;
    assert!(driver.previews());
    let subject = subject();
    let context = CallContext::new(&subject, "");
    let given = inputs(json!({"preview": {"tell": "all"}}));
    let told = |forecast: Option<Forecast>| forecast.expect("a forecast").outputs.reveal().expect("known");
    let id = "old".into();
    let effect = Effect::Create { inputs: &given, name: "n", replaces: Some(&id) };
    let expected =
        json!({"kind": "create", "name": "n", "of": "old", "unknown": [], "key": "", "token": false});
    assert_eq!(told(driver.preview(&context, effect).await.expect("create")), expected);

    let state = ResourceState { id: "it".into(), outputs: Value::map(), ..ResourceState::default() };
    let mut after = given.clone();
    if let Value::Map(values) = &mut after.values {
        values.insert("host".into(), Value::unknown());
    }
    let effect = Effect::Update(Change { state: &state, before: &given, after: &after, name: "n" });
    let expected = json!({
        "kind": "update", "name": "n", "of": "it", "unknown": ["/values/host"], "key": "", "token": false,
    });
    assert_eq!(told(driver.preview(&context, effect).await.expect("update")), expected);

    let effect = Effect::Delete { state: &state, inputs: &given, data_loss_allowed: false };
    let expected =
        json!({"kind": "delete", "name": "", "of": "it", "unknown": [], "key": "", "token": false});
    assert_eq!(told(driver.preview(&context, effect).await.expect("delete")), expected);
}

#[tokio::test]
async fn outputs_are_secret_or_unknown_where_the_driver_says_so() {
    let found = forecast(json!({
        "outputs": r#"{"host": "db", "url": "pg://{secret}@db", "at": {"ip": null, "port": 1}, "pin": 7, "x": null}"#,
        "secrets": r#"{"token": "t", "later": null}"#,
        "unknown": ["/outputs/at/ip", "/secrets/later", "/outputs/x"],
        "sensitive": ["/outputs/pin"],
        "token": "plan",
    }))
    .await
    .expect("a forecast");
    let expected = json!({
        "host": "db", "url": "[secret]", "at": {"ip": "[unknown]", "port": 1}, "pin": "[secret]",
        "x": "[unknown]", "token": "[secret]", "later": "[unknown]",
    });
    assert_eq!(found.outputs.redact(), expected);
    let outputs = found.outputs.as_map().expect("a map");
    for name in ["at", "x", "later"] {
        assert!(outputs.get(name).is_some_and(Value::has_unknown), "{name}");
    }
    assert!(!outputs.get("host").is_some_and(Value::has_unknown));
    assert_eq!(found.token.map(|token| token.as_bytes().to_vec()), Some(b"plan".to_vec()));

    // Of a group that is unknown as a whole, nothing is certain.
    let found = forecast(json!({"outputs": r#"{"host": "db"}"#, "unknown": ["/outputs"]})).await;
    assert_eq!(found.expect("a forecast").outputs, Value::map());
}

#[tokio::test]
async fn parts_come_as_the_driver_describes_them() {
    let found = forecast(json!({"parts": [
        {"address": "a", "action": "delete-then-create", "holds_data": "the rows", "replaces": ["/after/size"],
         "before": r#"{"size": 1}"#, "after": r#"{"size": 2, "arn": null, "key": "{secret}"}"#,
         "unknown": ["/after/arn"], "reason": "it cannot grow"},
        {"address": "b", "action": "none", "moved_from": "c"},
        {"address": "of {secret}", "after": "[1, 2]", "sensitive": ["/after/1"]},
    ]}))
    .await
    .expect("a forecast");
    let [first, second, third] = &found.parts[..] else { panic!("{:?}", found.parts) };
    assert_eq!((first.action, first.loss()), (PartAction::DeleteThenCreate, Some("the rows")));
    assert!(first.after.as_ref().is_some_and(Value::has_unknown));
    assert_eq!(
        serde_json::to_value(first).expect("JSON"),
        json!({
            "address": "a", "type": "thing", "action": "delete-then-create", "before": {"size": 1},
            "after": {"size": 2, "arn": "[unknown]", "key": "[secret]"}, "replaces": ["/after/size"],
            "holds_data": "the rows", "notes": {"reason": "it cannot grow"},
        })
    );
    assert_eq!((second.moved_from.as_deref(), second.loss()), (Some("c"), None));
    assert_eq!(third.address, "of [secret]");
    assert_eq!(third.after.as_ref().map(Value::redact), Some(json!([1, "[secret]"])));
}

#[tokio::test]
async fn a_forecast_that_cannot_be_used_is_a_fault_of_the_driver() {
    for (wanted, what) in [
        (json!({"outputs": "[]"}), "its outputs are a list, not a JSON object"),
        (json!({"outputs": "{"}), "its outputs cannot be read as JSON"),
        (json!({"secrets": "no"}), "its secrets cannot be read as JSON"),
        (json!({"outputs": r#"{"a": 1}"#, "secrets": r#"{"a": 2}"#}), "`a` is in both outputs and secrets"),
        (
            json!({"unknown": ["/values/a"]}),
            r#"its unknown place `/values/a` is no place in {"outputs":…,"secrets":…}"#,
        ),
        (json!({"parts": 10_001}), "it foresees 10001 parts, and 10000 are allowed"),
        (json!({"parts": [{"address": ""}]}), "the address of a part has 1 to 4096 bytes"),
        (json!({"parts": [{"address": "x".repeat(4097)}]}), "the address of a part has 1 to 4096 bytes"),
        (json!({"parts": [{"address": "a"}, {"address": "a"}]}), "two parts have the address `a`"),
        (
            json!({"parts": [{"address": "a", "after": "{"}]}),
            "its attributes of a part cannot be read as JSON",
        ),
        (
            json!({"parts": [{"address": "a", "unknown": ["/x"]}]}),
            r#"its unknown place `/x` is no place in {"before":…,"after":…}"#,
        ),
        (json!({"do": "undecided"}), "`preview` has no effects, and cannot fail with `undecided`"),
        (json!({"do": "checkpoint"}), "it reported a checkpoint outside `create` and `update`"),
    ] {
        let found = junk(wanted.clone()).await;
        assert!(found.contains(what) && !found.contains(PASSWORD), "{wanted}: {found}");
    }
    let many = forecast(json!({"parts": 10_000})).await.expect("as many as there may be");
    assert_eq!(many.parts.len(), 10_000);
}

#[tokio::test]
async fn a_preview_keeps_to_the_limits_of_its_driver() {
    let crashed = forecast(json!({"do": "trap"})).await;
    assert!(matches!(crashed, Err(CallError::Trap { .. })), "{crashed:?}");
    let invalid = forecast(json!({"do": "invalid"})).await;
    assert!(matches!(invalid, Err(CallError::Failure(Failure::InvalidInputs(_)))), "{invalid:?}");

    let small = guest(Limits { output: Some(1 << 10), ..Limits::default() }).await;
    let large = |part: serde_json::Value| inputs(json!({"preview": part}));
    for part in [
        json!({"outputs": json!({"a": "x".repeat(2000)}).to_string()}),
        json!({"token": "x".repeat(2000)}),
        json!({"parts": [{"address": "a", "after": json!("x".repeat(2000)).to_string()}]}),
    ] {
        let refused = foreseen(&small, &large(part.clone())).await;
        assert!(matches!(refused, Err(CallError::OutputLimit { .. })), "{part}: {refused:?}");
    }

    let hasty = guest(Limits { time: Some(seconds(1)), ..Limits::default() }).await;
    let stopped = foreseen(&hasty, &inputs(json!({"preview": {"do": "loop"}}))).await;
    assert!(matches!(stopped, Err(CallError::TimeLimit { .. })), "{stopped:?}");
}

/// Only a function with effects has the token, and a part that is done is progress.
#[tokio::test]
async fn an_effect_asks_for_the_consent() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let reached = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reached);
    let context = CallContext {
        progress: Some(Arc::new(move |progress| heard.lock().expect("ours").push(progress.message))),
        ..CallContext::new(&subject, "k")
    };
    let given = inputs(json!({"do": "agreed"}));
    let made = driver.create(&context, &given, "n", None).await.expect("made");
    assert_eq!(made.outputs, json!({"token": null}).into());
    assert_eq!(*reached.lock().expect("ours"), ["module.a: create"]);
    let context = CallContext { token: Some(b"plan".to_vec().into()), ..context };
    let made = driver.create(&context, &given, "n", None).await.expect("made");
    assert_eq!(made.outputs, json!({"token": "plan"}).into());
    let change = Change { state: &made, before: &given, after: &given, name: "n" };
    let changed = driver.update(&context, change).await.expect("changed");
    assert_eq!(changed.outputs, json!({"token": "plan"}).into());
    let given = inputs(json!({"preview": {"tell": "all"}}));
    let effect = Effect::Create { inputs: &given, name: "n", replaces: None };
    let forecast = driver.preview(&context, effect).await.expect("told").expect("a forecast");
    assert_eq!(forecast.outputs.get("token"), Some(Value::from(json!(false))));
}
