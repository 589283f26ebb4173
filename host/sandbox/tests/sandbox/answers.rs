//! What a driver may say besides its outputs: details of a failure, that something is pending, which places
//! are secret, and facts that nothing depends on.

use std::time::Duration;

use purlin_model::driver::{Failure, ManifestFile, Observed, Pending, Problem, ResourceState};
use purlin_model::{Limits, Value};
use purlin_sandbox::{CallContext, CallError, Change, ReadRequest};
use serde_json::json;

use crate::common::{PASSWORD, create, guest, inputs, seconds, subject, with_password};

/// The failure of a call.
fn failure<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> Failure {
    match outcome {
        Err(CallError::Failure(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_failure_has_details() {
    let driver = guest(Limits::default()).await;
    let details = json!([["status", "503"], ["request-id", "r-1"], ["operation", "Put{secret}"]]);
    let expected: Vec<(String, String)> =
        [("status", "503"), ("request-id", "r-1"), ("operation", "Put[secret]")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
    let said = "no answer to [secret]: 503";
    for (kind, text) in [
        ("not-found", format!("not found: {said} (request-id r-1, operation Put[secret])")),
        ("conflict", format!("conflict: {said} (request-id r-1, operation Put[secret])")),
        ("failed", format!("{said} (request-id r-1, operation Put[secret])")),
        (
            "undecided",
            format!(
                "{said} (request-id r-1, operation Put[secret]); it is unknown whether it was carried out"
            ),
        ),
        (
            "needs-delete-before",
            format!(
                "the current one has to be deleted first: {said} (request-id r-1, operation Put[secret])"
            ),
        ),
        ("partial", format!("partly done: {said} (request-id r-1, operation Put[secret])")),
    ] {
        let values = json!({"do": "problem", "kind": kind, "message": "no answer to {secret}: 503",
            "details": details});
        let failure = failure(create(&driver, &with_password(values)).await);
        assert_eq!(failure.code(), kind);
        assert_eq!(failure.details(), expected, "{kind}");
        assert_eq!(failure.to_string(), text);
    }
}

/// People read them.
#[tokio::test]
async fn details_are_bounded_and_harmless() {
    let driver = guest(Limits::default()).await;
    let many: Vec<_> = (0..20).map(|n| json!([format!("n{n}"), n.to_string()])).collect();
    let values = json!({"do": "problem", "message": "m", "details": many});
    let failure_of = async |values| failure(create(&driver, &with_password(values)).await);
    let failed = failure_of(values).await;
    assert_eq!(failed.details().len(), 16);
    assert_eq!(failed.details().last(), Some(&("n15".to_owned(), "15".to_owned())));

    let long = "é".repeat(3_000);
    let values = json!({"do": "problem", "message": "m", "details": [[long, long], ["{secret}", "{secret}"],
        ["\u{1b}[31mred", "over\rwritten"]]});
    let failed = failure_of(values).await;
    let [(name, value), secret, escapes] = failed.details() else { panic!("{failed:?}") };
    let cut = format!("{}…", "é".repeat(512));
    assert_eq!((name, value), (&cut, &cut), "1 KiB each");
    assert_eq!(*secret, ("[secret]".to_owned(), "[secret]".to_owned()));
    assert_eq!(*escapes, ("\\u{1b}[31mred".to_owned(), "over\\u{d}written".to_owned()));

    let values = json!({"do": "problem", "message": "m".repeat(10_000)});
    let Failure::Failed(Problem { message, details }) = failure_of(values).await else { panic!("a failure") };
    assert!(message.len() <= (8 << 10) + '…'.len_utf8() && message.ends_with('…') && details.is_empty());
}

#[tokio::test]
async fn what_is_pending_is_no_failure_of_its_driver() {
    let driver = guest(Limits::default()).await;
    let subject = subject();
    let context = CallContext::new(&subject, "k");
    let given = |state: bool| {
        with_password(json!({"do": "pending", "state": state, "after": 1_500, "id": "do",
            "message": "the node of {secret} starts"}))
    };
    let pending =
        Pending { after: Duration::from_millis(1_500), message: "the node of [secret] starts".to_owned() };
    let shown = json!({"starts": true, "url": "[secret]"});

    let made = failure(driver.create(&context, &given(true), "n", None).await);
    let Failure::Pending { state: Some(state), pending: said } = made else { panic!("{made:?}") };
    assert_eq!((state.id.expose(), state.outputs.redact(), said), ("do", shown.clone(), pending.clone()));
    let made = failure(driver.create(&context, &given(false), "n", None).await);
    assert_eq!(made, Failure::Pending { state: None, pending: pending.clone() });
    assert!(!made.did_nothing());

    let record =
        ResourceState { id: "do".into(), outputs: json!({"a": 1}).into(), ..ResourceState::default() };
    let (before, after) = (inputs(json!({})), given(true));
    let change = Change { state: &record, before: &before, after: &after, name: "n" };
    let changed = failure(driver.update(&context, change).await);
    let Failure::Pending { state: Some(state), pending: said } = changed else { panic!("{changed:?}") };
    assert_eq!((state.outputs.redact(), said), (shown.clone(), pending.clone()));
    // It may not get another id.
    let elsewhere = ResourceState { id: "elsewhere".into(), ..record.clone() };
    let moved = with_password(json!({"do": "pending", "state": true, "other-id": true}));
    let change = Change { state: &elsewhere, after: &moved, ..change };
    let error = driver.update(&context, change).await.expect_err("another id");
    assert!(error.to_string().contains("`update` changed the id of the resource"), "{error}");

    let deleted = failure(driver.delete(&context, (&record, false), &given(false)).await);
    assert_eq!(deleted, Failure::Pending { state: None, pending: pending.clone() });

    // `read` finds it: as it is now, or as it was recorded.
    let (with, without) = (given(true), given(false));
    let request = ReadRequest { id: Some("do"), name: "n", inputs: &with, state: Some(&record), known: &[] };
    let seen = driver.read(&context, request).await.expect("read").expect("there");
    assert_eq!((seen.state.outputs.redact(), seen.values), (shown, None));
    assert_eq!(seen.pending.as_ref(), Some(&pending));
    let seen = driver.read(&context, ReadRequest { inputs: &without, ..request }).await;
    let expected = Observed { state: record.clone(), values: None, pending: Some(pending.clone()) };
    assert_eq!(seen, Ok(Some(expected)));
    let import = ReadRequest { inputs: &without, state: None, ..request };
    let seen = failure(driver.read(&context, import).await);
    assert_eq!(seen, Failure::Pending { state: None, pending });
    let other = with_password(json!({"do": "pending", "state": true, "other-id": true}));
    let error = driver.read(&context, ReadRequest { inputs: &other, ..request }).await.expect_err("another");
    assert!(error.to_string().contains("`read` returned another id"), "{error}");
}

#[tokio::test]
async fn a_wait_is_bounded_and_a_bad_state_is_refused() {
    let driver = guest(Limits::default()).await;
    let values = json!({"do": "pending", "after": u64::MAX, "message": "\u{1b}[2J"});
    let Failure::Pending { pending, .. } = failure(create(&driver, &inputs(values)).await) else {
        panic!("pending")
    };
    assert_eq!(pending, Pending { after: seconds(24 * 60 * 60), message: "\\u{1b}[2J".to_owned() });
    let values = json!({"do": "pending", "state": true, "id": ""});
    let error = create(&driver, &inputs(values)).await.expect_err("no id");
    assert!(error.to_string().contains("the id of a resource has 1 to 4096 bytes"), "{error}");
}

/// What the driver says of its state, and gets back.
#[tokio::test]
async fn secret_places_a_version_and_notes_make_the_round_trip() {
    let driver = guest(Limits::default()).await;
    let given = with_password(json!({
        "do": "tell", "id": "told",
        "outputs": {"db": {"host": "h", "p/w": "derived"}, "list": ["a", "b"], "all": {"x": 1}, "open": 1},
        "manifests": {"a/b.yaml": {"data": {"token": "made", "name": "n"}}, "c": {"x": 1}},
        "sensitive": ["/outputs/db/p~1w", "/outputs/list/1", "/outputs/all/none", "/manifests/a~1b.yaml/data/token"],
        "version": u32::MAX,
        "notes": {"console-url": "https://example.org/told", "health": {"ok": true, "seen": "of {secret}"}},
    }));
    let state = create(&driver, &given).await.expect("told");
    let outputs = json!({"db": {"host": "h", "p/w": "[secret]"}, "list": ["a", "[secret]"], "all": "[secret]", "open": 1});
    assert_eq!(state.outputs.redact(), outputs);
    let [first, second] = &state.manifests[..] else { panic!("{:?}", state.manifests) };
    assert_eq!(first.data.redact(), json!({"data": {"token": "[secret]", "name": "n"}}));
    assert_eq!(second.data.redact(), json!({"x": 1}));
    assert_eq!(state.version, u32::MAX);
    let notes = Value::Map(state.notes.clone());
    let shown =
        json!({"console-url": "https://example.org/told", "health": {"ok": true, "seen": "[secret]"}});
    assert_eq!(notes.redact(), shown);
    assert_eq!(notes.reveal().expect("known")["health"]["seen"], format!("of {PASSWORD}"));

    // In the next call, it has all of it, in plain text.
    let subject = subject();
    let context = CallContext::new(&subject, "k");
    let change = Change { state: &state, before: &given, after: &given, name: "n" };
    let recalled = driver.update(&context, change).await.expect("recalled");
    let recalled = recalled.outputs.reveal().expect("known");
    let texts = |name: &str| -> serde_json::Value {
        serde_json::from_str(recalled[name].as_str().expect("a text")).expect("JSON")
    };
    assert_eq!(texts("outputs")["db"], json!({"host": "h", "p/w": "derived"}));
    assert_eq!(texts("secrets"), json!({"all": {"x": 1}}), "secret as a whole");
    let sensitive = ["/outputs/db/p~1w", "/outputs/list/1", "/manifests/a~1b.yaml/data/token"];
    assert_eq!(texts("sensitive"), json!(sensitive));
    assert_eq!(texts("version"), u32::MAX);
    assert_eq!(texts("notes")["health"], json!({"ok": true, "seen": format!("of {PASSWORD}")}));
}

#[tokio::test]
async fn places_that_do_not_exist_hide_what_is_above_them() {
    let driver = guest(Limits::default()).await;
    for (place, outputs, manifest) in [
        ("/outputs/b", json!("[secret]"), json!({"x": 1})),
        ("/outputs", json!("[secret]"), json!({"x": 1})),
        ("/manifests/b/x", json!({"a": 1}), json!("[secret]")),
        ("/manifests", json!({"a": 1}), json!("[secret]")),
        ("/manifests/a/y/z", json!({"a": 1}), json!("[secret]")),
        ("", json!("[secret]"), json!("[secret]")),
        ("/elsewhere", json!("[secret]"), json!("[secret]")),
        ("outputs", json!("[secret]"), json!("[secret]")),
    ] {
        let values =
            json!({"do": "tell", "outputs": {"a": 1}, "manifests": {"a": {"x": 1}}, "sensitive": [place]});
        let state = create(&driver, &inputs(values)).await.expect("told");
        let [ManifestFile { data, .. }] = &state.manifests[..] else { panic!("{:?}", state.manifests) };
        assert_eq!((state.outputs.redact(), data.redact()), (outputs, manifest), "{place}");
    }
}

#[tokio::test]
async fn notes_are_json_and_few_and_have_names_that_can_be_shown() {
    let driver = guest(Limits::default()).await;
    let tell = async |notes| create(&driver, &with_password(json!({"do": "tell", "notes": notes}))).await;
    let named = json!({"a": 1, "": 2, "of {secret}": 3, "\u{1b}[2J": 4, "z": "\u{1b}[2J"});
    let state = tell(named).await.expect("told");
    assert_eq!(Value::Map(state.notes).redact(), json!({"a": 1, "z": "\u{1b}[2J"}));
    let many: serde_json::Map<_, _> = (0..65).map(|n| (n.to_string(), n.into())).collect();
    let error = tell(many.into()).await.expect_err("too many");
    assert!(error.to_string().contains("it has 65 notes, and 64 are allowed"), "{error}");
    let broken = json!({"do": "tell", "note": "{oops"});
    let error = create(&driver, &inputs(broken)).await.expect_err("not JSON");
    assert!(error.to_string().contains("its note cannot be read as JSON"), "{error}");
}

#[tokio::test]
async fn the_limit_of_the_state_is_that_of_the_operator() {
    let cookie = json!({"do": "cookie"});
    let driver = guest(Limits::default()).await;
    let error = create(&driver, &inputs(cookie.clone())).await.expect_err("too large");
    assert!(
        error.to_string().contains(
            "its cookie has 10241 bytes, and 10240 are allowed; `drivers.acme/bad.limits.state` in \
             purlin.yaml raises it"
        ),
        "{error}"
    );
    let roomy = guest(Limits { state: Some(10_241), ..Limits::default() }).await;
    assert_eq!(create(&roomy, &inputs(cookie)).await.expect("made").cookie.len(), 10_241);
}
