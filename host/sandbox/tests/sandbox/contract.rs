//! The functions of the contract, both directions, with a well-behaved driver.

use purlin_model::driver::{Failure, Impact, Inputs, Observed, ResourceState};
use purlin_model::{Limits, Map, Value};
use purlin_sandbox::{CallContext, CallError, CancelToken, Change, ReadRequest};
use serde_json::json;

use crate::common::{PASSWORD, create, guest, inputs, seconds, subject, subject_of, with_password};

#[tokio::test]
async fn a_life_from_check_to_delete() {
    let driver = guest(Limits::default()).await;
    assert_eq!((driver.info().name.as_str(), driver.name()), ("purlin-test/guests", "acme/bad"));
    assert_eq!(driver.digest().len(), 64);
    let subject = subject();
    let context = CallContext::new(&subject, "key-1");
    let given = with_password(json!({"host": "db"}));

    let checked = driver.check(&context, &given, None).await.expect("valid");
    assert_eq!(checked.values.reveal().expect("known"), json!({"host": "db", "size": 1}));
    assert_eq!(checked.secrets.redact(), json!({"password": "[secret]"}));
    assert_eq!(checked.secrets.reveal().expect("known"), json!({"password": PASSWORD}));

    let guresid = subject.urn.guresid();
    let name = driver.name_of(&context, &given).await.expect("named");
    assert_eq!(name, format!("postgres-{}", &guresid.as_str()[..8]));

    let state = driver.create(&context, &given, name.expose(), None).await.expect("made");
    assert_eq!(state.id, format!("id-{guresid}"));
    assert_eq!(state.outputs.redact(), json!({"host": "db", "password": "[secret]"}));
    assert_eq!(state.cookie.bytes(), Some(&b"cookie"[..]));

    let read = driver
        .read(
            &context,
            ReadRequest {
                id: Some(state.id.expose()),
                name: name.expose(),
                inputs: &given,
                state: Some(&state),
                known: &[],
            },
        )
        .await
        .expect("read");
    assert_eq!(read, Some(Observed { state: state.clone(), ..Observed::default() }));
    let gone = ReadRequest {
        id: Some("gone"),
        name: name.expose(),
        inputs: &given,
        state: Some(&state),
        known: &[],
    };
    assert_eq!(driver.read(&context, gone).await, Ok(None));
    // Something else that it needs to look at the resource.
    let missing = driver.read(&context, ReadRequest { id: Some("missing"), ..gone }).await;
    assert_eq!(missing, Err(CallError::Failure(Failure::NotFound("it is missing".into()))));

    let after = with_password(json!({"host": "db2"}));
    let change = Change { state: &state, before: &given, after: &after, name: name.expose() };
    let impact = driver.update_impact(&context, change).await.expect("an impact");
    assert_eq!(impact, Impact { stable_outputs: vec!["/outputs/host".into()], ..Impact::default() });
    let updated = driver.update(&context, change).await.expect("updated");
    assert_eq!(updated.outputs.redact(), json!({"host": "db2", "password": "[secret]"}));
    let moved = inputs(json!({"do": "other-id"}));
    let change = Change { after: &moved, ..change };
    assert!(matches!(driver.update(&context, change).await, Err(CallError::Junk { .. })));

    driver.delete(&context, (&state, false), &given).await.expect("deleted");
    let missing = ResourceState { id: "missing".into(), ..state };
    driver.delete(&context, (&missing, false), &given).await.expect("deleted before");
}

#[tokio::test]
async fn unknown_and_secret_places_are_named_and_come_back() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let context = CallContext::new(&subject, "key-1");
    let given = Inputs {
        values: Value::Map(Map::from_iter([
            ("later".into(), Value::unknown()),
            ("url".into(), Value::from("x://secret-word@h").into_secret()),
            ("show-unknown".into(), Value::Bool(true)),
        ])),
        params: Value::Map(Map::from_iter([("a/b".into(), Value::unknown().into_secret())])),
        secrets: Value::map(),
        connection: Value::Map(Map::from_iter([("server".into(), Value::unknown())])),
        account: None,
        account_fields: Value::Null,
    };
    let checked = driver.check(&context, &given, None).await.expect("valid");
    assert_eq!(
        checked.values.redact(),
        json!({"later": "[unknown]", "url": "[secret]", "show-unknown": true, "size": 1,
            "unknown": ["/values/later", "/params/a~1b", "/connection/server"], "sensitive": ["/values/url"]})
    );
    let error = driver.create(&context, &given, "n", None).await.expect_err("not known yet");
    assert_eq!(error, CallError::Unknown { pointer: "/values/later".into() });
}

#[tokio::test]
async fn failures_keep_their_kind() {
    let driver = guest(Limits::default()).await;
    let failure = async |name: &str| match create(&driver, &with_password(json!({"do": name}))).await {
        Err(CallError::Failure(failure)) => failure,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(
        failure("invalid").await.to_string(),
        "invalid inputs: `/values/a`: not [secret]; `/values/b`: not [secret]"
    );
    assert_eq!(failure("denied").await.to_string(), "denied: tcp db:5432: to talk to it");
    match failure("busy").await {
        Failure::RetryAfter { after, message } => {
            assert_eq!((after, message.as_str()), (seconds(24 * 60 * 60), "later"));
        }
        other => panic!("{other:?}"),
    }
    match failure("half").await {
        Failure::Partial { state, problem } => {
            assert_eq!(state.outputs.redact(), json!({"half": true}));
            assert_eq!(problem, "the other half is missing".into());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(failure("fly").await.to_string(), "it cannot `fly`");
}

#[tokio::test]
async fn values_made_with_a_secret_return_as_secrets() {
    let driver = guest(Limits::default()).await;
    let state = create(&driver, &with_password(json!({"do": "leak"}))).await.expect("it leaks");
    assert_eq!(
        state.outputs.redact(),
        json!({"url": "[secret]", "plain": "host", "list": ["[secret]"], "json": "[secret]"})
    );
    assert_eq!(state.manifests[0].data.redact(), json!({"url": "[secret]", "open": 1}));
}

#[tokio::test]
async fn reads_use_the_id_or_the_name_and_are_validated() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    assert!(driver.info().implements(subject.key.type_name()).repeat_create);
    let context = CallContext::new(&subject, "key-1");
    let none = inputs(json!({}));
    let found = driver
        .read(&context, ReadRequest { id: None, name: "a-name", inputs: &none, state: None, known: &[] })
        .await
        .expect("read")
        .expect("there");
    assert_eq!((found.state.id.expose(), found.values), ("a-name", None));
    let found = driver
        .read(
            &context,
            ReadRequest { id: Some("an-id"), name: "a-name", inputs: &none, state: None, known: &[] },
        )
        .await
        .expect("read");
    assert_eq!(found.expect("there").state.id, "an-id");

    let reality = json!({"host": "db2", "url": "changed", "copy": format!("x{PASSWORD}")}).to_string();
    let mut given = with_password(json!({"host": "db", "url": null, "reality": reality}));
    if let Value::Map(values) = &mut given.values {
        values.insert("url".into(), Value::from("x://secret-word@h").into_secret());
    }
    let state = ResourceState { id: "i".into(), ..ResourceState::default() };
    let seen = driver
        .read(
            &context,
            ReadRequest { id: Some("i"), name: "n", inputs: &given, state: Some(&state), known: &[] },
        )
        .await
        .expect("read")
        .expect("there");
    let values = seen.values.expect("values");
    assert_eq!(values.redact(), json!({"host": "db2", "url": "[secret]", "copy": "[secret]"}));
    assert_eq!(values.reveal().expect("known")["url"], "changed");

    for (reality, fault) in [
        ("[1]", "its observed values are a list, not a JSON object"),
        ("{oops", "its observed values cannot be read as JSON"),
        (&format!("{{\"a\":{}", "[".repeat(1 << 18)), "its observed values cannot be read as JSON"),
    ] {
        let given = inputs(json!({"reality": reality}));
        let error = driver
            .read(
                &context,
                ReadRequest { id: Some("i"), name: "n", inputs: &given, state: Some(&state), known: &[] },
            )
            .await
            .expect_err("junk");
        assert!(error.to_string().contains(fault), "{error}");
    }
    let astray = ResourceState { id: "astray".into(), ..state };
    let error = driver
        .read(
            &context,
            ReadRequest { id: Some("astray"), name: "n", inputs: &none, state: Some(&astray), known: &[] },
        )
        .await
        .expect_err("junk");
    assert!(error.to_string().contains("another id"), "{error}");
}

#[tokio::test]
async fn a_call_knows_its_key_and_deadline_and_one_with_effects_its_deployment() {
    let driver = guest(Limits { time: Some(seconds(1_200)), ..Limits::default() }).await;
    let subject = subject();
    let context = |key| CallContext { time: Some(seconds(600)), ..CallContext::new(&subject, key) };
    let none = inputs(json!({}));
    let state = ResourceState { id: "facts".into(), ..ResourceState::default() };
    let assert_facts = |facts: &serde_json::Value, key: &str, hints: serde_json::Value| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let left = facts["deadline"].as_u64().expect("a time").saturating_sub(now.as_millis() as u64);
        assert!(facts["key"] == key && (1..=600_000).contains(&left), "{facts}, {left} ms left");
        assert_eq!(facts["hints"], hints);
    };
    let read = driver
        .read(
            &context("k-read"),
            ReadRequest { id: Some("facts"), name: "n", inputs: &none, state: Some(&state), known: &[] },
        )
        .await
        .expect("read");
    assert_facts(&read.expect("there").state.outputs.redact(), "k-read", json!({}));
    let change = Change { state: &state, before: &none, after: &none, name: "n" };
    let updated = driver.update(&context("k-update"), change).await.expect("updated");
    assert_facts(&updated.outputs.redact(), "k-update", json!({"deployment": "1"}));
    match driver.delete(&context("k-delete"), (&state, false), &none).await {
        Err(CallError::Failure(Failure::Failed(facts))) => {
            assert_facts(
                &serde_json::from_str(&facts.message).expect("facts"),
                "k-delete",
                json!({"deployment": "1"}),
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_deletion_knows_what_people_agreed_to() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let context = CallContext::new(&subject, "k");
    let state = ResourceState { id: "consent".into(), ..ResourceState::default() };
    for allowed in [false, true] {
        let answer = driver.delete(&context, (&state, allowed), &inputs(json!({}))).await;
        let said = format!("data loss allowed: {allowed}, {{\"token\":null}}");
        assert_eq!(answer, Err(CallError::Failure(Failure::Failed(said.into()))));
    }
    let context = CallContext { token: Some(b"plan".to_vec().into()), ..context };
    let answer = driver.delete(&context, (&state, true), &inputs(json!({}))).await;
    let said = r#"data loss allowed: true, {"token":"plan"}"#;
    assert_eq!(answer, Err(CallError::Failure(Failure::Failed(said.into()))));
}

#[tokio::test]
async fn types_of_one_driver_implement_different_functions() {
    let driver = guest(Limits::default()).await;
    let all = driver.info().implements("postgres");
    assert_eq!(all.names(), ["check", "name", "read", "update-impact", "update", "repeat-create"]);
    assert_eq!(driver.info().implements("plain").names(), ["name"]);
    let subject = subject_of("plain.default#shared.one");
    let context = CallContext::new(&subject, "k");
    let given = inputs(json!({"host": "db", "place": "here"}));

    // Only `name` is called.
    let checked = driver.check(&context, &given, None).await.expect("unchanged");
    assert_eq!(checked.values, given.values);
    let name = driver.name_of(&context, &given).await.expect("named");
    assert_eq!(name, format!("plain-{}", &subject.urn.guresid().as_str()[..8]));
    let state = driver.create(&context, &given, "n", None).await.expect("made");
    let request =
        ReadRequest { id: Some("gone"), name: "n", inputs: &given, state: Some(&state), known: &[] };
    let read = driver.read(&context, request).await.expect("as recorded").expect("there");
    assert_eq!(read, Observed { state: state.clone(), ..Observed::default() });
    let search = ReadRequest { id: None, state: None, ..request };
    let error = driver.read(&context, search).await.expect_err("nothing else can be found");
    assert_eq!(error.to_string(), "the driver `acme/bad` cannot read existing objects");
    let change = Change { state: &state, before: &given, after: &given, name: "n" };
    let impact = driver.update_impact(&context, change).await.expect("an impact");
    assert_eq!(impact, Impact { replaces: vec![String::new()], ..Impact::default() });
}

#[tokio::test]
async fn every_call_with_effects_can_be_cancelled_and_cut_off() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let state = ResourceState { id: "do".into(), ..ResourceState::default() };
    for cut in [false, true] {
        // A driver that listens might answer before it is cut off.
        let deed = if cut { "loop" } else { "wait-for-cancel" };
        let waits = inputs(json!({"do": deed}));
        let cancel = CancelToken::default();
        let context = CallContext { cancel: cancel.clone(), ..CallContext::new(&subject, "k") };
        let change = Change { state: &state, before: &waits, after: &waits, name: "n" };
        let calls = async {
            tokio::join!(
                async { driver.create(&context, &waits, "n", None).await.map(drop) },
                async {
                    driver
                        .read(
                            &context,
                            ReadRequest {
                                id: Some("do"),
                                name: "n",
                                inputs: &waits,
                                state: Some(&state),
                                known: &[],
                            },
                        )
                        .await
                        .map(drop)
                },
                async { driver.update(&context, change).await.map(drop) },
                driver.delete(&context, (&state, false), &waits),
            )
        };
        let stop = async {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            if cut { cancel.cut() } else { cancel.request() }
        };
        let ((create, read, update, delete), ()) = tokio::join!(calls, stop);
        for ended in [create, read, update, delete] {
            match ended {
                Err(CallError::Cancelled) => assert!(cut),
                Err(CallError::Failure(Failure::Failed(why))) => {
                    assert!(!cut && why.message == "cancelled, so it stopped", "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn one_driver_for_many_calls_at_once() {
    let driver = guest(Limits::default()).await;
    let calls: Vec<_> = (0..100)
        .map(|n| {
            let driver = driver.clone();
            tokio::spawn(async move { create(&driver, &inputs(json!({"n": n}))).await })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let state = call.await.expect("joined").expect("made");
        assert_eq!(state.outputs.redact(), json!({"n": n}));
    }
}
