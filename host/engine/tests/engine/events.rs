//! The order and the content of a run's events.

use std::collections::HashMap;

use crate::support::{FULL, Platform, documents};
use purlin_engine::{Action, CancelToken, Event, Phase, PlanOptions};

/// The events of things, in order: `started create a`.
fn lines(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let Event::Resource { key, action, phase } = event else { return None };
        let phase = match phase {
            Phase::Started => "started".to_owned(),
            Phase::Succeeded { done, .. } if done == action => "succeeded".to_owned(),
            Phase::Succeeded { done, .. } => format!("succeeded as {}", done.as_str()),
            Phase::Failed { .. } => "failed".to_owned(),
            Phase::Skipped { .. } => "skipped".to_owned(),
            _ => return None,
        };
        Some(format!("{phase} {} {}", action.as_str(), key.id().strip_prefix("shared.")?))
    };
    events.iter().filter_map(one).collect()
}

async fn run(platform: &Platform, documents: &str) -> Vec<String> {
    let plan = platform.plan_with(documents, PlanOptions::default()).await.expect("a plan");
    lines(&platform.run(plan, CancelToken::default()).await.0)
}

/// A chain of three, seven independent resources, and three that stay.
fn many(version: u32) -> String {
    let alone: Vec<(String, String)> = (0..7)
        .map(|number| (format!("x{number}"), format!("v: {version}, sleep: '{}'", number % 3)))
        .collect();
    let mut resources: Vec<(&str, &str)> =
        alone.iter().map(|(name, params)| (name.as_str(), params.as_str())).collect();
    let first = format!("v: {version}");
    resources.extend([
        ("a", first.as_str()),
        ("b", "x: <a.id>, y: <a.v>"),
        ("c", "x: <b.id>, y: <b.y>"),
        ("s0", "v: 1"),
        ("s1", "v: 1, x: <s0.id>"),
        ("z", "x: <s1.id>, v: <a.v>"),
    ]);
    documents(&resources, &[])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependent_starts_after_its_dependency_has_succeeded() {
    for parallelism in [1, 4, 32] {
        let mut platform = Platform::with(FULL);
        platform.parallelism = parallelism;
        for version in 1..3 {
            let lines = run(&platform, &many(version)).await;
            let places: HashMap<&str, usize> =
                lines.iter().enumerate().map(|(place, line)| (line.as_str(), place)).collect();
            let action = if version == 1 { "create" } else { "update" };
            for (before, after) in [("a", "b"), ("b", "c"), ("a", "z")] {
                let (before, after) =
                    (format!("succeeded {action} {before}"), format!("started {action} {after}"));
                assert!(places[before.as_str()] < places[after.as_str()], "{lines:#?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequential_calls_give_a_deterministic_order_of_events() {
    let mut known: Vec<Vec<String>> = Vec::new();
    for _ in 0..8 {
        let mut platform = Platform::with(FULL);
        platform.parallelism = 1;
        let mut all = Vec::new();
        for documents in [many(1), many(2), documents(&[("a", "v: 1")], &[])] {
            let lines = run(&platform, &documents).await;
            // Each one ends before the next begins.
            for pair in lines.chunks(2) {
                assert_eq!(pair[0].replace("started", "succeeded"), pair[1], "{lines:#?}");
            }
            all.extend(lines);
        }
        known.push(all);
    }
    known.dedup();
    assert_eq!(known.len(), 1, "{known:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_reported_before_the_steps_that_it_blocks() {
    let mut platform = Platform::with(FULL);
    platform.parallelism = 1;
    let all =
        documents(&[("a", "v: 1"), ("b", "x: <a.id>, fail: create"), ("c", "x: <b.id>"), ("d", "v: 1")], &[]);
    let lines = run(&platform, &all).await;
    assert_eq!(
        lines,
        [
            "started create a",
            "succeeded create a",
            "started create d",
            "succeeded create d",
            "started create b",
            "failed create b",
            "skipped create c"
        ]
    );
}

#[tokio::test]
async fn an_operation_keeps_its_action_to_the_end() {
    let platform = Platform::with(FULL);
    let all =
        |version: u32| documents(&[("a", &format!("v: {version}, w: 1")), ("b", "fixed: <a.w>, v: 1")], &[]);
    run(&platform, &all(1)).await;
    // Whether `b` is replaced is known only once `a` was updated: it is not.
    let plan = platform.plan(&all(2)).await.expect("a plan");
    let planned = plan.steps.iter().find(|step| step.key.id() == "shared.b").expect("a step").action;
    assert_eq!(planned, Action::Replace);
    let lines = lines(&platform.run(plan, CancelToken::default()).await.0);
    assert_eq!(lines[2..4], ["started replace b", "succeeded as none replace b"], "{lines:#?}");
    let mut begun: HashMap<String, usize> = HashMap::new();
    for line in &lines {
        let (phase, rest) = line.split_once(' ').expect("words");
        let name = rest.strip_prefix("as none ").unwrap_or(rest).to_owned();
        *begun.entry(name).or_default() += usize::from(phase == "started");
    }
    assert!(begun.values().all(|count| *count == 1), "every end has its beginning: {lines:#?}");
}
