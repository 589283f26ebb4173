//! Creations, updates and deletions through the engine, with a scripted driver.

use crate::support::{PLAIN, Platform, documents, things};
use purlin_engine::{Action, CancelToken, DestroyOptions, Error, Phase};
use purlin_model::Unfinished;
use purlin_model::driver::{Implements, ResourceState};
use purlin_state::{Change, Record, Status};

/// `b` and `c` read `a`, `d` reads nothing.
const FOUR: &str = "
    a: {type: thing, params: {v: one}}
    b: {type: thing, params: {a: \"${resources['thing.default#shared.a'].outputs.v}\"}}
    c: {type: thing, params: {a: \"${resources['thing.default#shared.a'].outputs.id}\"}}
    d: {type: thing, params: {v: four}}
";

fn position(calls: &[String], call: &str) -> usize {
    calls.iter().position(|c| c == call).unwrap_or_else(|| panic!("no `{call}` in {calls:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn existing_resources_stay_and_removed_ones_are_deleted() {
    let platform = Platform::new();
    let documents = things(FOUR);
    let summary = platform.up(&documents).await;
    assert!(summary.is_success(), "{summary:?}");
    // Four things and the environment's own resource.
    assert_eq!(summary.done.create, 5);
    let calls = platform.driver.take_calls();
    let a = position(&calls, "create thing.default#shared.a");
    assert!(a < position(&calls, "create thing.default#shared.b"));
    assert!(a < position(&calls, "create thing.default#shared.c"));

    let again = platform.up(&documents).await;
    assert_eq!((again.calls, again.done.none), (0, 5), "a second run calls no driver");

    // An input of `a` changes: `a` and the readers of the changed output are updated, and nothing
    // else.
    let changed = documents.replace("v: one", "v: two");
    let plan = platform.plan(&changed).await.expect("a plan");
    let planned: Vec<_> = plan.steps.iter().map(|s| (s.key.id().to_owned(), s.action)).collect();
    assert!(planned.contains(&("shared.a".into(), Action::Update)), "{planned:?}");
    assert!(planned.contains(&("shared.b".into(), Action::Update)), "{planned:?}");
    assert!(planned.contains(&("shared.c".into(), Action::None)), "its output is stable: {planned:?}");
    assert!(planned.contains(&("shared.d".into(), Action::None)), "{planned:?}");
    let (_, summary) = platform.run(plan, CancelToken::default()).await;
    assert!(summary.is_success());
    assert_eq!(
        platform.driver.take_calls(),
        ["update thing.default#shared.a", "update thing.default#shared.b"]
    );

    // `a` and its readers leave the documents.
    let less = things("    d: {type: thing, params: {v: four}}\n");
    let summary = platform.up(&less).await;
    assert_eq!(summary.done.delete, 3);
    let calls = platform.driver.take_calls();
    let a = position(&calls, "delete thing.default#shared.a");
    assert!(a > position(&calls, "delete thing.default#shared.b"), "dependents first: {calls:?}");
    assert!(a > position(&calls, "delete thing.default#shared.c"), "dependents first: {calls:?}");

    let summary = platform.destroy().await;
    assert_eq!((summary.done.delete, platform.records().await.len()), (2, 0));
    assert!(platform.driver.alive().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_stops_its_dependents_and_nothing_else() {
    let platform = Platform::new();
    let documents = things(&FOUR.replace("v: one", "v: one, fail: create"));
    let summary = platform.up(&documents).await;
    assert_eq!(summary.failed.len(), 1);
    assert_eq!(summary.failed[0].0.id(), "shared.a");
    let mut skipped: Vec<_> = summary.skipped.iter().map(|(key, _)| key.id()).collect();
    skipped.sort_unstable();
    assert_eq!(skipped, ["shared.b", "shared.c"]);
    assert!(
        summary.skipped.iter().all(|(_, because)| because.as_ref().is_some_and(|key| key.id() == "shared.a"))
    );
    assert_eq!(platform.records().await.len(), 2, "`d` and the environment were made");

    // Once the fault is repaired, the next run creates what is missing, and nothing else.
    let summary = platform.up(&things(FOUR)).await;
    assert_eq!((summary.done.create, summary.done.none), (3, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partly_created_resource_is_recorded_and_completed() {
    let platform = Platform::new();
    let summary = platform.up(&things("    a: {type: thing, params: {partial: half way}}\n")).await;
    assert_eq!(summary.failed.len(), 1);
    let records = platform.records().await;
    let record = records.iter().find(|r| r.urn.as_str().ends_with("shared.a")).expect("recorded");
    assert_eq!(record.status, Status::Partial(Unfinished::Failed { message: "half way".into() }));
    // The next run updates the existing resource and creates nothing twice, which the driver would
    // report.
    let summary = platform.up(&things("    a: {type: thing, params: {v: done}}\n")).await;
    assert!(summary.is_success(), "{summary:?}");
    assert_eq!(
        platform.driver.take_calls().last().map(String::as_str),
        Some("update thing.default#shared.a")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_inputs_are_found_before_anything_runs() {
    let all = Implements { check: true, ..PLAIN };
    let platform = Platform::with(all);
    let documents =
        things("    a: {type: thing, params: {fail: check}}\n    b: {type: thing, params: {fail: check}}\n");
    let Err(Error::Documents(faults)) = platform.plan(&documents).await else { panic!("refused") };
    assert_eq!(faults.len(), 2, "all of them at once: {faults:#?}");
    assert!(faults[0].message.contains("invalid input `fail`: "), "{}", faults[0].message);
    assert!(platform.driver.take_calls().is_empty());

    // Defaults are recorded, and cause no second update.
    let documents = things("    a: {type: thing, params: {v: 1}}\n");
    platform.up(&documents).await;
    let record = platform.records().await.into_iter().find(|r| r.urn.as_str().ends_with("shared.a"));
    let record = record.expect("recorded");
    assert_eq!(record.inputs.values.get("defaulted"), Some("yes".into()));
    assert_eq!(platform.up(&documents).await.calls, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_that_a_driver_normalises_is_not_a_change() {
    let all = Implements { check: true, ..PLAIN };
    let platform = Platform::with(all);
    let thing = |values: &str| {
        things("    a: {type: thing}\n")
            .replace("  criteria: [{}]", &format!("  inputs: {{values: {{{values}}}}}\n  criteria: [{{}}]"))
    };
    platform.up(&thing("v: 1")).await;
    let before = platform.records().await;
    // The documents now contain the default that the driver would have filled in anyway.
    let summary = platform.up(&thing("v: 1, defaulted: 'yes'")).await;
    assert_eq!((summary.calls, summary.done.none), (0, 2));
    let after = platform.records().await;
    assert_ne!(before, after, "it is known by its new digest from now on");
    assert_eq!(platform.up(&thing("v: 1, defaulted: 'yes'")).await.calls, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dependencies_follow_the_documents() {
    let platform = Platform::new();
    let reads = |what: &str| {
        things(&format!(
            "    a: {{type: thing, params: {{v: same}}}}\n    b: {{type: thing, params: {{v: same}}}}\n    c: {{type: thing, params: {{x: \"${{resources['thing.default#shared.{what}'].outputs.v}}\"}}}}\n"
        ))
    };
    platform.up(&reads("a")).await;
    platform.driver.take_calls();
    assert_eq!(platform.up(&reads("b")).await.calls, 0);
    let records = platform.records().await;
    let c = records.iter().find(|r| r.urn.as_str().ends_with("shared.c")).expect("recorded");
    assert!(
        c.dependencies.len() == 1 && c.dependencies[0].as_str().ends_with("shared.b"),
        "{:?}",
        c.dependencies
    );
    // So `a` can be deleted, and the state stays consistent.
    let without_a: String =
        reads("b").lines().filter(|l| !l.starts_with("    a:")).map(|l| format!("{l}\n")).collect();
    assert_eq!(platform.up(&without_a).await.done.delete, 1);
    assert!(platform.plan(&without_a).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_deletion_keeps_the_record_and_its_dependencies() {
    let platform = Platform::new();
    platform.up(&things(FOUR)).await;
    platform.driver.take_calls();
    platform.driver.broken.lock().expect("broken").insert("thing.default#shared.b".into());
    let summary = platform.destroy().await;
    assert_eq!(summary.failed.len(), 1);
    let mut left: Vec<_> =
        platform.records().await.iter().filter_map(|r| Some(r.urn.key()?.id().to_owned())).collect();
    left.sort_unstable();
    assert_eq!(left, ["shared.a", "shared.b"], "what b depends on stays with it");
    platform.driver.broken.lock().expect("broken").clear();
    assert!(platform.destroy().await.is_success());
    assert!(platform.records().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_finishes_calls_in_flight_and_begins_none() {
    let platform = Platform::new();
    let documents = things(&FOUR.replace("v: one", "v: one, gate: true"));
    let plan = platform.plan(&documents).await.expect("a plan");
    let cancel = CancelToken::default();
    platform.driver.shut_gate();
    let ask = async {
        // `a` is in flight; `d` and the environment do not wait for it.
        platform.driver.until_waiting(1).await;
        platform.driver.until_ended(2).await;
        cancel.request();
        platform.driver.open_gate();
    };
    let ((events, summary), ()) = tokio::join!(platform.run(plan, cancel.clone()), ask);
    assert!(summary.cancelled);
    assert!(summary.failed.is_empty(), "{summary:?}");
    let records = platform.records().await;
    assert!(records.iter().any(|r| r.urn.as_str().ends_with("shared.a")), "the call in flight is recorded");
    assert!(!records.iter().any(|r| r.urn.as_str().ends_with("shared.b")));
    let skipped = events.iter().filter(|event| {
        matches!(event, purlin_engine::Event::Resource { phase: Phase::Skipped { because: None }, .. })
    });
    assert_eq!(skipped.count(), 2, "b and c were not begun");
    assert!(platform.up(&documents).await.is_success(), "the next run goes on from there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_operation_does_not_begin_after_cancellation() {
    let platform = Platform::new();
    let many: String =
        (0..40).map(|i| format!("    r{i}: {{type: thing, params: {{gate: true}}}}\n")).collect();
    let plan = platform.plan(&things(&many)).await.expect("a plan");
    let cancel = CancelToken::default();
    platform.driver.shut_gate();
    let ask = async {
        platform.driver.until_waiting(8).await;
        cancel.request();
        platform.driver.open_gate();
    };
    let ((_, summary), ()) = tokio::join!(platform.run(plan, cancel.clone()), ask);
    assert!(summary.cancelled && summary.failed.is_empty());
    assert_eq!(summary.done.create + summary.skipped.len(), 41);
    assert!(summary.calls <= 9, "eight at once and the environment, not {}", summary.calls);
    assert_eq!(platform.records().await.len(), summary.done.create);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn independent_resources_are_created_concurrently_up_to_the_limit() {
    let platform = Platform::new();
    let many: String =
        (0..40).map(|i| format!("    r{i}: {{type: thing, params: {{sleep: '20'}}}}\n")).collect();
    assert!(platform.up(&things(&many)).await.is_success());
    let most = platform.driver.most_running.load(std::sync::atomic::Ordering::SeqCst);
    assert!((4..=8).contains(&most), "{most} at once, 8 allowed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protected_resources_are_not_deleted_and_retained_ones_only_forgotten() {
    let definition = |lifecycle: &str| {
        things("    a: {type: thing, params: {v: 1}}\n")
            .replace("  criteria: [{}]", &format!("  criteria: [{{}}]\n  lifecycle: {{{lifecycle}}}"))
    };
    let platform = Platform::new();
    platform.up(&definition("protect: true")).await;
    let Err(Error::Documents(faults)) = platform.destroy_plan().await else { panic!("refused") };
    assert!(faults[0].message.contains("shared.a"), "{faults:#?}");
    // Removing the protection changes no input, and still takes effect.
    platform.driver.take_calls();
    platform.up(&definition("retain: true")).await;
    assert!(platform.driver.take_calls().is_empty());
    assert!(platform.destroy().await.is_success());
    assert_eq!(platform.driver.take_calls(), ["delete base-env.default#base-env"]);
    assert!(platform.records().await.is_empty());
    assert_eq!(platform.driver.alive().len(), 1, "the real thing is still there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_stay_secret_through_plan_state_and_outputs() {
    let documents = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: keeper}
spec:
  type: keeper
  driver: test/scripted
  inputs: {values: {user: u}, secrets: {password: hunter2}}
  criteria: [{}]
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: web
    variables: {URL: 'db://${resources.db.user}:${resources.db.password}@host'}
resources:
  db: {type: keeper}
";
    let platform = Platform::new();
    let plan = platform.plan(documents).await.expect("a plan");
    assert!(!format!("{:?}", plan.steps).contains("hunter2"));
    assert!(platform.run(plan, CancelToken::default()).await.1.is_success());
    let records = platform.records().await;
    assert!(!format!("{records:?}").contains("hunter2"));
    let workload = records
        .iter()
        .find_map(|record| purlin_engine::workload_document(record))
        .expect("a workload")
        .expect("applies");
    let shown = workload.document.redact().to_string();
    assert!(!shown.contains("hunter2"), "{shown}");
    let clear = workload.document.reveal().expect("known").to_string();
    assert!(clear.contains("db://u:hunter2@host"), "{clear}");
}

/// A run was killed after it deleted a handed-over resource and before it recorded the deletion.
/// The next run found the resource gone.
#[tokio::test]
async fn a_handed_over_resource_that_is_gone_leaves_the_state() {
    let platform = Platform::new();
    platform.deploys(&documents(&[("a", "v: 1"), ("b", "v: 2")], &[])).await;
    let record = platform.record("shared.a").await.expect("recorded");
    let gone = Record { status: Status::Absent, abandoned: true, state: ResourceState::default(), ..record };
    platform.write(vec![Change::Put(Box::new(gone))]).await;
    let base = platform.base().await.expect("records that agree");
    let options = DestroyOptions { only_left: true, ..DestroyOptions::default() };
    let plan = purlin_engine::destroy(&platform.context(), base, &platform.shelf, options).await;
    let summary = platform.run(plan.expect("a plan"), CancelToken::default()).await.1;
    assert!(summary.is_success());
    assert!(platform.record("shared.a").await.is_none());
    assert!(platform.record("shared.b").await.is_some());
}
