//! The functions of the contract, both directions, with a well-behaved driver.

use std::sync::{Arc, Mutex};

use purlin_model::driver::{Failure, Impact, Inputs, Observed, ResourceState};
use purlin_model::{Label, Limits, Map, Value};
use purlin_sandbox::{CallContext, CallError, CancelToken, Change, CheckpointSink, Progress, ReadRequest};
use serde_json::json;

use crate::common::{PASSWORD, create, guest, inputs, seconds, subject, with_password};

#[tokio::test]
async fn a_life_from_check_to_delete() {
    let driver = guest(Limits::default()).await;
    assert_eq!((driver.manifest().name.as_str(), driver.name()), ("purlin-test/guests", "acme/bad"));
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
    assert_eq!(*state.cookie, *b"cookie");

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
    assert_eq!(read, Some(Observed { state: state.clone(), values: None }));
    for gone in ["gone", "missing"] {
        let read = driver
            .read(
                &context,
                ReadRequest {
                    id: Some(gone),
                    name: name.expose(),
                    inputs: &given,
                    state: Some(&state),
                    known: &[],
                },
            )
            .await;
        assert_eq!(read, Ok(None), "{gone}");
    }

    let after = with_password(json!({"host": "db2"}));
    let change = Change { state: &state, before: &given, after: &after, name: name.expose() };
    let impact = driver.update_impact(&context, change).await.expect("an impact");
    assert_eq!(impact, Impact { stable_outputs: vec!["host".into()], ..Impact::default() });
    let updated = driver.update(&context, change).await.expect("updated");
    assert_eq!(updated.outputs.redact(), json!({"host": "db2", "password": "[secret]"}));
    let moved = inputs(json!({"do": "other-id"}));
    let change = Change { after: &moved, ..change };
    assert!(matches!(driver.update(&context, change).await, Err(CallError::Junk { .. })));

    driver.delete(&context, &state, &given).await.expect("deleted");
    let missing = ResourceState { id: "missing".into(), ..state };
    driver.delete(&context, &missing, &given).await.expect("deleted before");
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
        Failure::Partial { state, message } => {
            assert_eq!(state.outputs.redact(), json!({"half": true}));
            assert_eq!(message, "the other half is missing");
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
    assert!(driver.manifest().implements.repeat_create);
    let subject = subject();
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
async fn every_call_with_effects_knows_its_key_and_its_deadline() {
    let driver = guest(Limits { time: Some(seconds(1_200)), ..Limits::default() }).await;
    let subject = subject();
    let context = |key| CallContext { time: Some(seconds(600)), ..CallContext::new(&subject, key) };
    let none = inputs(json!({}));
    let state = ResourceState { id: "facts".into(), ..ResourceState::default() };
    let assert_facts = |facts: &serde_json::Value, key: &str| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let left = facts["deadline"].as_u64().expect("a time").saturating_sub(now.as_millis() as u64);
        assert!(facts["key"] == key && (1..=600_000).contains(&left), "{facts}, {left} ms left");
    };
    let read = driver
        .read(
            &context("k-read"),
            ReadRequest { id: Some("facts"), name: "n", inputs: &none, state: Some(&state), known: &[] },
        )
        .await
        .expect("read");
    assert_facts(&read.expect("there").state.outputs.redact(), "k-read");
    let change = Change { state: &state, before: &none, after: &none, name: "n" };
    let updated = driver.update(&context("k-update"), change).await.expect("updated");
    assert_facts(&updated.outputs.redact(), "k-update");
    match driver.delete(&context("k-delete"), &state, &none).await {
        Err(CallError::Failure(Failure::Failed(facts))) => {
            assert_facts(&serde_json::from_str(&facts).expect("facts"), "k-delete");
        }
        other => panic!("{other:?}"),
    }
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
                driver.delete(&context, &state, &waits),
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
                    assert!(!cut && why == "cancelled, so it stopped", "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Stores an id only when told to.
struct Slow(tokio::sync::Semaphore);

#[async_trait::async_trait]
impl CheckpointSink for Slow {
    async fn checkpoint(&self, _: &Label) -> Result<(), String> {
        self.0.acquire().await.map(drop).map_err(|error| error.to_string())
    }
}

#[tokio::test]
async fn nothing_happens_between_a_checkpoint_and_its_safety() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let slow = Arc::new(Slow(tokio::sync::Semaphore::new(0)));
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let context = CallContext {
        checkpoint: Some(slow.clone()),
        progress: Some(Arc::new(move |progress: Progress| sink.lock().expect("ours").push(progress.message))),
        ..CallContext::new(&subject, "k")
    };
    let given = inputs(json!({"do": "checkpoint", "id": "real", "then": "say"}));
    let mut call = std::pin::pin!(driver.create(&context, &given, "n", None));
    let early = tokio::time::timeout(seconds(1), &mut call).await;
    assert!(early.is_err() && messages.lock().expect("ours").is_empty(), "{early:?}");
    slow.0.add_permits(1);
    call.await.expect("made");
    assert_eq!(*messages.lock().expect("ours"), ["after the checkpoint"]);
}

/// Keeps ids, and counts them.
#[derive(Default)]
struct Kept {
    ids: Mutex<Vec<String>>,
    count: tokio::sync::watch::Sender<usize>,
}

#[async_trait::async_trait]
impl CheckpointSink for Kept {
    async fn checkpoint(&self, id: &Label) -> Result<(), String> {
        // Storing takes a while; the driver waits.
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        if *id == *"unlucky" {
            return Err("the disk is full".into());
        }
        self.ids.lock().expect("ours").push(id.expose().to_owned());
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
}

#[tokio::test]
async fn checkpoints_are_stored_before_the_driver_continues() {
    let driver = guest(Limits { time: Some(seconds(600)), ..Limits::default() }).await;
    let subject = subject();
    let kept = Arc::new(Kept::default());
    let context = CallContext { checkpoint: Some(kept.clone()), ..CallContext::new(&subject, "k") };
    let report = async |values| driver.create(&context, &inputs(values), "n", None).await;

    report(json!({"do": "checkpoint", "id": "real-1"})).await.expect("made");
    // The time of the call passes when the id is kept, however slow the machine is.
    tokio::time::pause();
    let pass = async {
        let mut count = kept.count.subscribe();
        count.wait_for(|count| *count == 2).await.expect("it is kept");
        tokio::time::advance(seconds(600)).await;
    };
    let looping = report(json!({"do": "checkpoint", "id": "real-2", "then": "loop"}));
    let (cut, ()) = tokio::join!(looping, pass);
    assert!(matches!(cut, Err(CallError::TimeLimit { .. })), "{cut:?}");
    let unlucky = report(json!({"do": "checkpoint", "id": "unlucky"})).await.expect_err("not kept");
    assert_eq!(
        unlucky.to_string(),
        "cannot record the id that the driver `acme/bad` reported: the disk is full"
    );
    let empty = report(json!({"do": "checkpoint", "id": ""})).await;
    assert!(matches!(empty, Err(CallError::Junk { .. })));
    assert_eq!(*kept.ids.lock().expect("ours"), ["real-1", "real-2"]);

    let state = ResourceState { id: "i".into(), ..ResourceState::default() };
    let (before, after) = (inputs(json!({})), inputs(json!({"do": "checkpoint", "id": "x"})));
    let change = Change { state: &state, before: &before, after: &after, name: "n" };
    let outside = driver.update(&context, change).await.expect_err("not in update");
    assert!(outside.to_string().contains("a checkpoint outside `create`"), "{outside}");
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
