//! The JSON of plans and events, as an embedding program writes it.

use futures::StreamExt as _;
use purlin_host::{Event, Plan, UpOptions};
use serde_json::Value;

use super::project_folder::{ProjectFolder, SECRET, up};

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

// ANCHOR: lines
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_becomes_json_lines() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let documents = project.documents(&purlin, "readme: {type: note, params: {text: hello}}");
    let plan: Plan = purlin.plan(&documents, Default::default()).await.expect("a plan");
    let plan = parse(&json(&plan));
    assert_eq!(plan["format"], 1);
    assert_eq!(
        plan["summary"],
        serde_json::json!({"create": 2, "update": 0, "replace": 0, "delete": 0, "none": 0})
    );
    let steps = plan["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["urn"].as_str().is_some_and(|urn| urn.contains("note")));
    let step = step.expect("a step");
    assert_eq!((&step["key"], &step["action"]), (&"note.default#shared.readme".into(), &"create".into()));
    assert_eq!(step["reasons"], serde_json::json!([{"reason": "new", "message": "it does not exist yet"}]));
    assert_eq!(
        step["changes"][0],
        serde_json::json!({"path": "/values/path", "before": null, "after": "/data/shared.readme.txt",
                           "unknown": false, "secret": false, "replaces": false})
    );

    let mut lines = Vec::new();
    let mut run = purlin.up(documents, UpOptions::default());
    while let Some(event) = run.next().await {
        lines.push(json(&event.expect("an event")));
    }
    let events: Vec<Value> = lines.iter().map(|line| parse(line)).collect();
    assert!(events.iter().all(|event| event["format"] == 1), "{lines:?}");
    let words: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event["event"].as_str().unwrap_or(""), event["phase"].as_str().unwrap_or("")))
        .collect();
    let one = [("resource", "started"), ("resource", "succeeded")];
    assert_eq!(words, [&one[..], &one, &[("summary", "")]].concat(), "{lines:?}");
    let summary = &events[4];
    assert_eq!((&summary["status"], &summary["done"]["create"]), (&"succeeded".into(), &2.into()));
}
// ANCHOR_END: lines

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_says_where_and_what_to_do() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let shared = format!("bad: {{type: odd, params: {{do: invalid, password: {SECRET}}}}}");
    let documents = project.documents(&purlin, &shared);
    let (events, _) = up(&purlin, documents, UpOptions::default()).await.expect("a run");
    let events: Vec<Value> = events.iter().map(|event| parse(&json(event))).collect();
    let failed = events.iter().find(|event| event["phase"] == "failed").expect("a failure");
    let error = &failed["error"];
    assert_eq!((&error["code"], &error["driver"]), (&"invalid-inputs".into(), &"acme/guests".into()));
    let definition = &error["places"][0];
    assert_eq!((&definition["of"], &definition["name"]), (&"definition".into(), &"odd".into()), "{error}");
    assert!(definition["line"].is_u64() && definition["file"].is_string(), "{error}");
    assert_eq!(error["diagnostics"][0]["severity"], "error", "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_are_the_error_of_the_published_json() {
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let documents = |fixed: &str| {
        project.documents(
            &purlin,
            &format!("one: {{type: thing, params: {{value: v, fixed: {fixed}, data: true}}}}"),
        )
    };
    let (_, summary) = up(&purlin, documents("before"), UpOptions::default()).await.expect("a run");
    assert!(summary.is_success(), "{summary:?}");
    let loss = up(&purlin, documents("after"), UpOptions::default()).await.expect_err("data is lost");
    assert_eq!(parse(&json(&loss)), serde_json::json!({"code": "data-loss", "message": loss.message()}));

    let text = "apiVersion: purlin.dev/v1\nkind: Nothing\n".to_owned();
    let loaded = purlin_host::load(&[purlin_host::Input::Text { name: "a.yaml".into(), text }]);
    let error = purlin.documents(loaded, &Default::default()).err().expect("invalid documents");
    let error = parse(&json(&error));
    let fault = &error["diagnostics"][0];
    assert_eq!((&fault["file"], &fault["line"]), (&"a.yaml".into(), &2.into()), "{error}");
    assert_eq!(error["message"], fault["message"], "{error}");
}

/// Deeds of the driver, each of which reveals the secret where it can.
const DEEDS: [&str; 7] = ["echo", "leak", "leak-id", "say", "panic", "invalid", "half"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_the_json_of_any_plan_or_event() {
    const CHANGED: &str = "battery-staple";
    let project = ProjectFolder::new();
    let purlin = project.purlin();
    let shared = |password: &str| {
        let line =
            |deed: &&str| format!("{deed}: {{type: odd, params: {{do: {deed}, password: {password}}}}}");
        DEEDS.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let mut written = String::new();
    for password in [SECRET, CHANGED] {
        let documents = project.documents(&purlin, &shared(password));
        let plan = purlin.plan(&documents, Default::default()).await.expect("a plan");
        assert!(plan.steps.iter().flat_map(|step| &step.changes).any(|change| change.is_secret()));
        written.push_str(&json(&plan));
        let options = UpOptions { refresh: true, ..UpOptions::default() };
        let (events, summary) = up(&purlin, documents, options).await.expect("a run");
        assert!(!summary.failed.is_empty(), "some deeds fail: {summary:?}");
        events.iter().for_each(|event: &Event| written.push_str(&json(event)));
        written.push_str(&json(&Event::Summary(summary)));
    }
    // The secrets were there: they are marked.
    assert!(written.contains("/secrets/password") && written.contains("[secret]"), "{written}");
    for secret in [SECRET, CHANGED] {
        assert!(!written.contains(secret), "{written}");
    }
}
