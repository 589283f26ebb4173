//! `operation`: what a driver tells its host during a call, and what it asks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use purlin_model::driver::{Checkpoint, ResourceState};
use purlin_model::{Label, Limits};
use purlin_sandbox::{CallContext, CallError, Change, CheckpointSink, Driver, Progress, ReadRequest};
use serde_json::json;

use crate::common::{PASSWORD, deed_within, guest, inputs, seconds, subject, with_password};

/// Stores an id only when told to.
struct Slow(tokio::sync::Semaphore);

#[async_trait::async_trait]
impl CheckpointSink for Slow {
    async fn checkpoint(&self, _: &Checkpoint) -> Result<(), String> {
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

/// Keeps checkpoints, and counts them.
#[derive(Default)]
struct Kept {
    checkpoints: Mutex<Vec<Checkpoint>>,
    count: tokio::sync::watch::Sender<usize>,
}

#[async_trait::async_trait]
impl CheckpointSink for Kept {
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        // Storing takes a while; the driver waits.
        tokio::time::sleep(Duration::from_millis(10)).await;
        if checkpoint.id == *"unlucky" {
            return Err("the disk is full".into());
        }
        self.checkpoints.lock().expect("ours").push(checkpoint.clone());
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
    assert_eq!(*kept.checkpoints.lock().expect("ours"), ["real-1".into(), "real-2".into()]);
}

/// The checkpoints of one call of `create`, or of `update` of `i`, and its outcome.
async fn reported(
    driver: &Driver,
    updates: bool,
    values: serde_json::Value,
) -> (Vec<Checkpoint>, Result<ResourceState, CallError>) {
    let subject = subject();
    let kept = Arc::new(Kept::default());
    let context = CallContext { checkpoint: Some(kept.clone()), ..CallContext::new(&subject, "k") };
    let given = with_password(values);
    let state = ResourceState { id: "i".into(), ..ResourceState::default() };
    let change = Change { state: &state, before: &inputs(json!({})), after: &given, name: "n" };
    let outcome = match updates {
        true => driver.update(&context, change).await,
        false => driver.create(&context, &given, "n", None).await,
    };
    let checkpoints = std::mem::take(&mut *kept.checkpoints.lock().expect("ours"));
    (checkpoints, outcome)
}

fn with_cookie(cookie: &[u8]) -> Checkpoint {
    Checkpoint { cookie: Some(cookie.to_vec().into()), ..Checkpoint::from("i") }
}

#[tokio::test]
async fn a_checkpoint_may_have_a_cookie() {
    let driver = guest(Limits::default()).await;
    for updates in [false, true] {
        let (kept, outcome) =
            reported(&driver, updates, json!({"do": "checkpoint", "id": "i", "cookie": "step 1"})).await;
        outcome.expect("done");
        assert_eq!(kept, [with_cookie(b"step 1")], "{updates}");
        // An empty one is not the same as none.
        let (kept, outcome) =
            reported(&driver, updates, json!({"do": "checkpoint", "id": "i", "cookie": ""})).await;
        outcome.expect("done");
        assert_eq!(kept, [with_cookie(b"")], "{updates}");
        let (kept, outcome) = reported(&driver, updates, json!({"do": "checkpoint", "id": "i"})).await;
        outcome.expect("done");
        assert_eq!(kept, [Checkpoint::from("i")], "{updates}");
    }
    // What was made from a secret is secret.
    let (kept, _) = reported(&driver, false, json!({"do": "checkpoint", "id": "of-{secret}"})).await;
    assert_eq!(kept, [Checkpoint::from(Label::new(format!("of-{PASSWORD}"), true))]);
}

#[tokio::test]
async fn wrong_checkpoints_end_the_call() {
    const LARGEST: usize = Limits::STATE as usize;
    let driver = guest(Limits::default()).await;
    let refused = async |driver: &Driver, updates, values| {
        let (kept, outcome) = reported(driver, updates, values).await;
        let error = outcome.expect_err("refused");
        assert!(matches!(error, CallError::Junk { .. }) && kept.is_empty(), "{error}: {kept:?}");
        error.to_string()
    };
    for updates in [false, true] {
        for id in [String::new(), "i".repeat(4097)] {
            let error = refused(&driver, updates, json!({"do": "checkpoint", "id": id})).await;
            assert!(error.contains("the id of a checkpoint has 1 to 4096 bytes"), "{error}");
        }
        let cookie = |bytes: usize| json!({"do": "checkpoint", "id": "i", "cookie-bytes": bytes});
        let error = refused(&driver, updates, cookie(LARGEST + 1)).await;
        assert!(
            error.contains(
                "the cookie of its checkpoint has 10241 bytes, and 10240 are allowed; \
                 `drivers.acme/bad.limits.state` in purlin.yaml raises it"
            ),
            "{error}"
        );
        let (kept, _) = reported(&driver, updates, cookie(LARGEST)).await;
        assert_eq!(kept, [with_cookie(&[0; LARGEST])]);
        let roomy = guest(Limits { state: Some(1 << 20), ..Limits::default() }).await;
        let (kept, _) = reported(&roomy, updates, cookie(LARGEST + 1)).await;
        assert_eq!(kept, [with_cookie(&[0; LARGEST + 1])]);
    }
    let error = refused(&driver, true, json!({"do": "checkpoint", "id": "another"})).await;
    assert!(error.contains("a checkpoint of another resource than the one that it updates"), "{error}");
}

#[tokio::test]
async fn only_create_and_update_have_checkpoints() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let kept = Arc::new(Kept::default());
    let context = CallContext { checkpoint: Some(kept.clone()), ..CallContext::new(&subject, "k") };
    let given = inputs(json!({"do": "checkpoint", "id": "do"}));
    let state = ResourceState { id: "do".into(), ..ResourceState::default() };
    let request = ReadRequest { id: Some("do"), name: "n", inputs: &given, state: Some(&state), known: &[] };
    let read = driver.read(&context, request).await.map(drop);
    let delete = driver.delete(&context, (&state, false), &given).await;
    for outcome in [read, delete] {
        let error = outcome.expect_err("refused").to_string();
        assert!(error.contains("it reported a checkpoint outside `create` and `update`"), "{error}");
    }
    assert_eq!(*kept.checkpoints.lock().expect("ours"), []);
}

#[tokio::test]
async fn the_time_that_is_left_passes() {
    let driver = guest(Limits { time: Some(seconds(600)), ..Limits::default() }).await;
    for time in [seconds(600), seconds(300)] {
        let state = deed_within(time, &driver, json!({"do": "time-left", "ms": 20})).await.expect("it asks");
        let left = state.outputs.redact();
        let left = |name: &str| Duration::from_millis(left[name].as_u64().expect("a time"));
        assert!(left("before") <= time && left("before") > time - seconds(120), "{:?}", left("before"));
        let passed = left("before") - left("after");
        assert!((Duration::from_millis(20)..seconds(120)).contains(&passed), "{passed:?}");
    }
}

/// The package `purlin:programs` is there for drivers, and grants nothing.
#[tokio::test]
async fn no_program_is_granted() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let given = inputs(json!({"do": "programs"}));
    let made = driver.create(&CallContext::new(&subject, "k"), &given, "n", None).await.expect("an answer");
    let told = json!({
        "granted": 0, "run": "Err(StartError::NotGranted)", "path": null,
        "write": "Err(\"unusable\")", "read": "Err(\"unusable\")",
    });
    assert_eq!(made.outputs, told.into());
}
