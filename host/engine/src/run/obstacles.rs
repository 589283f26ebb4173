//! The obstacles of resources that do not match the documents after a run (SPEC §7). They are
//! computed once at the end of the run and recorded where they changed.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use purlin_graph::NodeId;
use purlin_model::{Awaited, Key, Obstacle, Reason, Urn, Wait};
use purlin_state::{Change, ObstacleRecord};

use crate::error::Cause;
use crate::event::Summary;
use crate::plan::{Action, Plan, Step};
use crate::values::awaited;

/// The number of characters of a failure that are kept.
const LONGEST: usize = 2_000;
/// The maximum number of resources that one resource is reported to wait for.
const MOST_REPORTED: usize = 10;

/// The changes of obstacles after a run.
pub(crate) fn changes(plan: &Plan, summary: &Summary, drifted: Vec<Key>, now: u64) -> Vec<Change> {
    let mut found = found(plan, summary);
    for key in drifted {
        found.entry(key).or_insert(Obstacle::Drifted);
    }
    if found.is_empty() && plan.recorded.all_obstacles().next().is_none() {
        return Vec::new();
    }
    let cut: HashSet<&Key> =
        summary.skipped.iter().filter(|(_, because)| because.is_none()).map(|(key, _)| key).collect();
    let unknown: HashSet<&Key> = summary.unknown.iter().collect();
    let mut changes: BTreeMap<&Urn, Option<Box<ObstacleRecord>>> = BTreeMap::new();
    // A resource and its old copies are separate steps, but share one status.
    let mut steps: BTreeMap<&Urn, Vec<&Step>> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| !step.left_out && !cut.contains(&step.key)) {
        steps.entry(&step.urn).or_default().push(step);
    }
    for steps in steps.values() {
        let Some(step) = steps.first() else { continue };
        let before = plan.recorded.obstacle_of(&step.urn);
        let now_there = found.remove(&step.key);
        match (before, now_there) {
            (Some(before), None)
                if steps.iter().all(|step| is_over(&before.obstacle, step, plan))
                    && !unknown.contains(&step.key) =>
            {
                changes.insert(&step.urn, None);
            }
            (Some(before), Some(obstacle)) if before.obstacle == obstacle => {}
            (before, Some(obstacle)) => {
                let since = before.filter(|before| before.obstacle.is_like(&obstacle));
                let since = since.map_or(now, |before| before.since);
                let obstacle = ObstacleRecord { urn: step.urn.clone(), obstacle, since };
                changes.insert(&step.urn, Some(Box::new(obstacle)));
            }
            _ => {}
        }
    }
    // Resources that were never created and are no longer in the documents.
    if let Some(graph) = &plan.graph
        && !plan.steps.iter().any(|step| step.left_out)
    {
        debug_assert!(graph.len() <= plan.steps.len(), "a step for each resource");
        let known: HashSet<&Urn> = plan.steps.iter().map(|step| &step.urn).collect();
        let strays = plan.recorded.all_obstacles().map(|obstacle| &obstacle.urn);
        let strays = strays.filter(|urn| !known.contains(urn) && plan.recorded.current(urn).is_none());
        changes.extend(strays.map(|urn| (urn, None)));
    }
    let change = |(urn, obstacle): (&Urn, Option<Box<ObstacleRecord>>)| Change::Obstruct {
        urn: urn.clone(),
        obstacle,
    };
    changes.into_iter().map(change).collect()
}

/// Whether a successful step ends an obstacle. A read ends only the failure of an earlier read: a
/// failed update must still be done.
fn is_over(obstacle: &Obstacle, step: &Step, plan: &Plan) -> bool {
    let stays = |reason: &Reason| matches!(reason, Reason::BackedOff { .. } | Reason::DriftReported);
    if step.reasons.iter().any(stays) {
        return false;
    }
    if plan.graph.is_some() || step.action != Action::Read {
        return true;
    }
    matches!(obstacle, Obstacle::Failed { action, .. } if **action == *Action::Read.as_str())
}

/// The obstacles that a run found, by key.
fn found(plan: &Plan, summary: &Summary) -> HashMap<Key, Obstacle> {
    let mut found: HashMap<Key, Obstacle> = HashMap::new();
    for step in &plan.steps {
        for reason in &step.reasons {
            match reason {
                Reason::Paused => {
                    found.insert(step.key.clone(), Obstacle::Paused);
                }
                Reason::NeedsConsent { action } => {
                    let obstacle = Obstacle::NeedsConsent { action: action.clone() };
                    found.insert(step.key.clone(), obstacle);
                }
                _ => {}
            }
        }
        let waits = waits_of(&step.reasons);
        if !waits.is_empty() {
            found.insert(step.key.clone(), Obstacle::Waits { waits });
        }
    }
    // Resources that wait for a value which turned out to be missing only during this run.
    let planned: HashSet<&Key> = plan.steps.iter().filter(|step| step.waits).map(|step| &step.key).collect();
    let late = summary.waiting.iter().filter(|(key, _)| !planned.contains(key));
    let late: Vec<(&Key, Vec<Wait>)> = late.map(|(key, reasons)| (key, waits_of(reasons))).collect();
    for (key, waits) in &late {
        found.insert((*key).clone(), Obstacle::Waits { waits: waits.clone() });
    }
    for (key, waits) in blocked(plan, summary, &late) {
        found.insert(key, Obstacle::Waits { waits });
    }
    // What is in progress did not fail, and its record says so.
    let faults = || summary.failed.iter().filter(|(_, cause)| !matches!(cause, Cause::InProgress { .. }));
    let of_failed: HashSet<&Key> = faults().map(|(key, _)| key).collect();
    let steps = plan.steps.iter().filter(|step| of_failed.contains(&step.key));
    let mut actions: HashMap<&Key, Action> = HashMap::new();
    for step in steps {
        let action = actions.entry(&step.key).or_insert(step.action);
        // The deletion of an old copy is not the resource's main action.
        if *action == Action::Delete {
            *action = step.action;
        }
    }
    for (key, cause) in faults() {
        let action = actions.get(key).copied().unwrap_or(Action::Update);
        found.insert(key.clone(), failed(action, cause));
    }
    let beside = beside(plan, &found);
    for (key, waits) in beside {
        found.entry(key).or_insert(Obstacle::Beside { waits });
    }
    found
}

fn failed(action: Action, cause: &Cause) -> Obstacle {
    Obstacle::Failed { action: action.as_str().into(), code: cause.code().into(), message: message(cause) }
}

fn message(cause: &Cause) -> Arc<str> {
    let message = cause.to_string();
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

fn waits_of(reasons: &[Reason]) -> Vec<Wait> {
    let wait = |reason: &Reason| match reason {
        Reason::Waits(wait) => Some(wait.clone()),
        _ => None,
    };
    reasons.iter().filter_map(wait).collect()
}

/// What each skipped resource waits for: the failures that block it, and the missing values that
/// others wait for, each with the full path.
fn blocked(plan: &Plan, summary: &Summary, late: &[(&Key, Vec<Wait>)]) -> HashMap<Key, Vec<Wait>> {
    let mut blocked: HashMap<Key, Vec<Wait>> = HashMap::new();
    let awaited = |key: &Key, cause: &Cause| {
        Wait::directly(Awaited::Failed { key: key.clone(), message: message(cause) })
    };
    let causes: HashMap<&Key, &Cause> = summary.failed.iter().map(|(key, cause)| (key, cause)).collect();
    let Some(graph) = &plan.graph else {
        // Deletions wait for their dependents, in the opposite direction.
        for (key, because) in &summary.skipped {
            if let Some(cause) = because.as_ref().and_then(|because| causes.get(because).zip(Some(because))) {
                blocked.entry(key.clone()).or_default().push(awaited(cause.1, cause.0));
            }
        }
        return blocked;
    };
    let skipped: HashSet<&Key> = summary.skipped.iter().map(|(key, _)| key).collect();
    let failures = summary.failed.iter().map(|(key, cause)| (key, awaited(key, cause)));
    let late = late.iter().flat_map(|(key, waits)| waits.iter().map(move |wait| (*key, wait.via(key))));
    for (key, wait) in failures.chain(late) {
        let Some(from) = graph.find(key.as_str()) else { continue };
        // Breadth-first search finds the shortest path.
        let mut ways: HashMap<NodeId, Wait> = HashMap::from([(from, wait)]);
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            let Some(way) = ways.get(&node) else { continue };
            let way = match graph.key(node).filter(|_| node != from) {
                Some(key) => way.via(key),
                None => way.clone(),
            };
            for dependent in graph.dependents(node) {
                let Some(key) = graph.key(*dependent).filter(|key| skipped.contains(key)) else { continue };
                if ways.contains_key(dependent) {
                    continue;
                }
                let waits = blocked.entry(key.clone()).or_default();
                // A resource that lists enough waits passes on no more of them to its dependents.
                if waits.len() == MOST_REPORTED {
                    continue;
                }
                waits.push(way.clone());
                ways.insert(*dependent, way.clone());
                open.push_back(*dependent);
            }
        }
    }
    for (key, because) in &summary.skipped {
        // Deletions, which wait for their dependents.
        if let (false, Some(because)) = (blocked.contains_key(key), because)
            && let Some(cause) = causes.get(because)
        {
            blocked.insert(key.clone(), vec![awaited(because, cause)]);
        }
    }
    blocked
}

/// Resources that are done but are ready only together with others that are not.
fn beside(plan: &Plan, found: &HashMap<Key, Obstacle>) -> HashMap<Key, Vec<Wait>> {
    let mut beside: HashMap<Key, Vec<Wait>> = HashMap::new();
    let Some(graph) = &plan.graph else { return beside };
    for (from, to) in graph.non_blocking_dependencies() {
        let (Some(from), Some(to)) = (graph.key(*from), graph.key(*to)) else { continue };
        let waits = match found.get(to) {
            Some(Obstacle::Failed { message, .. }) => {
                vec![Wait::directly(Awaited::Failed { key: to.clone(), message: message.clone() })]
            }
            Some(Obstacle::Waits { waits }) => waits.iter().map(|wait| wait.via(to)).collect(),
            Some(Obstacle::NeedsConsent { .. }) => {
                vec![Wait::directly(Awaited::NeedsConsent { key: to.clone() })]
            }
            Some(Obstacle::Paused) if plan.recorded.current(&Urn::new(&plan.context, to)).is_none() => {
                vec![Wait::directly(Awaited::Paused { key: to.clone() })]
            }
            _ => continue,
        };
        beside.entry(from.clone()).or_default().extend(waits);
    }
    for missing in graph.missing().iter().filter(|missing| !missing.blocking) {
        if let Some(from) = graph.key(missing.from) {
            beside.entry(from.clone()).or_default().push(awaited::missed(missing));
        }
    }
    beside
}
