//! Badly behaved drivers fail alone, in time, and with helpful messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use purlin_model::Limits;
use purlin_sandbox::{CallContext, CallError, CancelToken};
use serde_json::json;

use crate::common::{deed, deed_within, guest, inputs, load, sandbox, seconds, setup, subject};

/// The limit of drivers whose calls have to end before that.
const LONG: Duration = seconds(600);
/// Far longer than a busy machine takes, and far shorter than [`LONG`].
const PATIENCE: Duration = seconds(120);

fn with_much_time() -> Limits {
    Limits { time: Some(LONG), ..Limits::default() }
}

#[tokio::test]
async fn a_loop_ends_at_its_time_limit() {
    let driver = guest(with_much_time()).await;
    let brief = Duration::from_millis(300);
    let start = Instant::now();
    let error = deed_within(brief, &driver, json!({"do": "loop"})).await.expect_err("it loops");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert_eq!(
        error.to_string(),
        "the driver `acme/bad` was stopped after 300ms, its time limit; \
         `drivers.acme/bad.limits.time` in purlin.yaml raises it"
    );
    // Waiting is treated like computing.
    let error =
        deed_within(brief, &driver, json!({"do": "sleep", "ms": 600_000})).await.expect_err("it sleeps");
    assert!(matches!(error, CallError::TimeLimit { .. }), "{error}");
    assert!(deed(&driver, json!({"do": "echo"})).await.is_ok());
}

#[tokio::test]
async fn a_good_driver_next_to_hostile_ones_is_unharmed() {
    // All share one thread: a driver that holds it harms the others.
    let sandbox = sandbox();
    let bad = load(&sandbox, &setup(with_much_time())).await;
    let good = load(&sandbox, &setup(with_much_time())).await;
    let endless = CancelToken::default();
    let bad_ones = ["loop", "alloc", "stack", "flood", "trap", "huge", "sleep", "loop"].map(|name| {
        let (bad, subject) = (bad.clone(), subject());
        let cancel = if matches!(name, "loop" | "sleep") { endless.clone() } else { CancelToken::default() };
        let given = inputs(json!({"do": name, "lines": 1000, "ms": 600_000}));
        tokio::spawn(async move {
            let context = CallContext { cancel, ..CallContext::new(&subject, "key-1") };
            bad.create(&context, &given, "name", None).await
        })
    });
    tokio::task::yield_now().await;
    let start = Instant::now();
    let mut slowest = Duration::ZERO;
    for n in 0..50 {
        let begun = Instant::now();
        let state = deed(&good, json!({"n": n})).await.expect("good");
        assert_eq!(state.outputs.reveal().expect("known"), json!({"n": n}));
        slowest = slowest.max(begun.elapsed());
    }
    assert!(slowest < PATIENCE, "the slowest call took {slowest:?}");
    assert!(start.elapsed() < 2 * PATIENCE, "{:?}", start.elapsed());
    // The endless ones were there all the time.
    endless.cut();
    for (n, bad) in bad_ones.into_iter().enumerate() {
        let result = bad.await.expect("the host is well");
        assert_eq!(result.is_ok(), n == 3, "{n}: {result:?}");
        assert_eq!(result == Err(CallError::Cancelled), matches!(n, 0 | 6 | 7), "{n}: {result:?}");
    }
}

#[tokio::test]
async fn memory_ends_at_its_limit() {
    let driver = guest(Limits { memory: Some(16 << 20), ..Limits::default() }).await;
    let error = deed(&driver, json!({"do": "alloc"})).await.expect_err("it is greedy");
    assert_eq!(
        error.to_string(),
        "the driver `acme/bad` needs more than 16 MiB, its memory limit; \
         `drivers.acme/bad.limits.memory` in purlin.yaml raises it"
    );
    assert!(deed(&driver, json!({"do": "echo"})).await.is_ok());
}

#[tokio::test]
async fn crashes_report_the_known_cause() {
    let driver = guest(Limits::default()).await;
    let message = async |name: &str| match deed(&driver, json!({"do": name})).await {
        Err(CallError::Trap { message, .. }) => message,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(message("trap").await, "it panicked or aborted");
    assert!(message("panic").await.contains("I give up on"));
    assert!(message("exit").await.contains("exit status"));
    assert!(message("stack").await.contains("stack"));
}

#[tokio::test]
async fn junk_is_rejected() {
    let driver = guest(Limits::default()).await;
    for (name, expected) in [
        ("junk", "outputs cannot be read as JSON"),
        ("list", "its outputs are a list, not a JSON object"),
        ("deep", "outputs cannot be read as JSON: recursion limit exceeded"),
        ("deep-object", "outputs cannot be read as JSON: recursion limit exceeded"),
        ("twice", "`x` is in both outputs and secrets"),
        ("twins", "the manifest `a` has no name, or that of another one"),
        ("empty-id", "the id of a resource has 1 to 4096 bytes"),
        ("long-id", "the id of a resource has 1 to 4096 bytes"),
        ("cookie", "its cookie has 10241 bytes, and 10240 are allowed"),
    ] {
        match deed(&driver, json!({"do": name})).await {
            Err(CallError::Junk { what, .. }) => assert!(what.contains(expected), "{name}: {what}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(deed(&driver, json!({"do": "deep", "depth": 1})).await.is_err());
}

#[tokio::test]
async fn output_ends_at_its_limit() {
    let driver = guest(Limits::default()).await;
    deed(&driver, json!({"do": "huge", "bytes": (4 << 20) - 100})).await.expect("just within");
    for values in [
        json!({"do": "huge", "bytes": 4 << 20}),
        json!({"do": "huge", "bytes": 8 << 20}),
        json!({"do": "many"}),
    ] {
        assert_eq!(
            deed(&driver, values).await.expect_err("too much").to_string(),
            "the driver `acme/bad` returned more than 4 MiB, its output limit; \
             `drivers.acme/bad.limits.output` in purlin.yaml raises it"
        );
    }
    let roomy = guest(Limits { output: Some(64 << 20), ..Limits::default() }).await;
    assert!(deed(&roomy, json!({"do": "many"})).await.is_ok());
}

#[tokio::test]
async fn more_calls_than_places_wait_for_their_turn() {
    let sandbox = sandbox();
    let driver = load(&sandbox, &setup(Limits { concurrency: Some(100), ..Limits::default() })).await;
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let driver = driver.clone();
            tokio::spawn(async move { deed(&driver, json!({"do": "sleep", "ms": 5})).await })
        })
        .collect();
    for call in calls {
        call.await.expect("joined").expect("slept");
    }
}

#[tokio::test]
async fn a_call_can_be_cancelled_and_cut_off() {
    let driver = guest(with_much_time()).await;
    let subject = subject();
    let cancel = CancelToken::default();
    let context = CallContext { cancel: cancel.clone(), ..CallContext::new(&subject, "k") };
    let later = |act: fn(&CancelToken)| {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            act(&cancel);
        });
    };
    later(CancelToken::request);
    let given = inputs(json!({"do": "wait-for-cancel"}));
    let error = driver.create(&context, &given, "n", None).await.expect_err("it stopped");
    assert_eq!(error.to_string(), "cancelled, so it stopped");
    later(CancelToken::cut);
    let start = Instant::now();
    let error = driver.create(&context, &inputs(json!({"do": "loop"})), "n", None).await;
    assert_eq!(error, Err(CallError::Cancelled));
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    let error = driver.create(&context, &inputs(json!({})), "n", None).await;
    assert_eq!(error, Err(CallError::Cancelled));
}

#[tokio::test]
async fn a_dropped_caller_ends_the_call() {
    let sandbox = sandbox();
    let one = load(&sandbox, &setup(Limits { concurrency: Some(1), ..Limits::default() })).await;
    for _ in 0..20 {
        let gone = tokio::time::timeout(Duration::from_millis(20), deed(&one, json!({"do": "loop"}))).await;
        assert!(gone.is_err());
    }
    deed(&one, json!({})).await.expect("its only place is free again");
}

#[tokio::test]
async fn a_panic_of_the_host_fails_one_call() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let context = CallContext {
        progress: Some(std::sync::Arc::new(|_| panic!("the host is at fault"))),
        ..CallContext::new(&subject, "k")
    };
    let given = inputs(json!({"do": "say"}));
    for _ in 0..20 {
        let error = driver.create(&context, &given, "n", None).await.expect_err("the host panics");
        assert!(error.to_string().contains("a bug in Purlin"), "{error}");
    }
    deed(&driver, json!({})).await.expect("others are served");
}

#[tokio::test]
async fn a_call_begins_only_if_it_may_when_its_turn_comes() {
    let sandbox = sandbox();
    let one = load(&sandbox, &setup(Limits { concurrency: Some(1), ..Limits::default() })).await;
    let subject = subject();
    let others_have_it = std::sync::Arc::new(AtomicBool::new(false));
    let lost = std::sync::Arc::clone(&others_have_it);
    let context = CallContext {
        may_begin: Some(std::sync::Arc::new(move || !lost.load(Ordering::SeqCst))),
        ..CallContext::new(&subject, "k")
    };
    let echo = inputs(json!({"do": "echo"}));
    one.create(&context, &echo, "n", None).await.expect("it may");
    let first_inputs = inputs(json!({"do": "wait-for-cancel"}));
    let cancel = CancelToken::default();
    let running = CallContext { cancel: cancel.clone(), ..CallContext::new(&subject, "k") };
    let mut first = std::pin::pin!(one.create(&running, &first_inputs, "n", None));
    // The first call has the only place, and the second one waits for it.
    let mut second = std::pin::pin!(one.create(&context, &echo, "n", None));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    others_have_it.store(true, Ordering::SeqCst);
    cancel.request();
    first.await.expect_err("it stopped");
    assert_eq!(second.await, Err(CallError::Cancelled));
}
