//! What waits for what in a plan.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::{Graph, NodeId};
use purlin_model::Urn;
use purlin_state::Record;

use crate::plan::{Action, Step};

/// What waits for what: dependencies, and everything for the foundation (SPEC §2).
pub(crate) fn dependencies_first(graph: &Graph, step_of: &[u32], steps: &mut [Step]) {
    let step = |node: NodeId| step_of.get(node.index()).copied().filter(|step| *step != u32::MAX);
    let is_foundation = |node: NodeId| graph.node(node).is_some_and(|node| node.foundation);
    let foundation: Vec<u32> = graph.order().filter(|id| is_foundation(*id)).filter_map(step).collect();
    for id in graph.order() {
        let Some(own) = step(id) else { continue };
        let dependencies = graph.dependencies(id);
        let mut after: Vec<u32> = dependencies.iter().copied().filter_map(step).collect();
        if !foundation.is_empty() && !is_foundation(id) && dependencies.iter().all(|id| is_foundation(*id)) {
            after.extend_from_slice(&foundation);
        }
        after.sort_unstable();
        after.dedup();
        if let Some(step) = steps.get_mut(own as usize) {
            step.after = after;
        }
    }
}

/// URNs of what a node depends on, sorted: what its record keeps.
pub(crate) fn dependency_urns(graph: &Graph, step_of: &[u32], steps: &[Step], node: NodeId) -> Vec<Urn> {
    let step = |node: NodeId| steps.get(step_of.get(node.index()).copied()? as usize);
    let mut urns: Vec<Urn> =
        graph.dependencies(node).iter().filter_map(|id| Some(step(*id)?.urn.clone())).collect();
    urns.sort_unstable();
    urns.dedup();
    urns
}

/// Steps for what is recorded and no longer wanted: each waits for all that was recorded to depend
/// on it, be that deleted or changed to depend on something else.
pub(crate) fn deletions(records: &HashMap<Urn, Arc<Record>>, kept: &HashSet<Urn>, steps: &mut Vec<Step>) {
    let mut step_of: HashMap<&Urn, u32> = HashMap::new();
    let gone: Vec<&Arc<Record>> = deletion_order(records, kept);
    let positions: Vec<(Urn, u32)> =
        (0u32..).zip(steps.iter()).map(|(i, step)| (step.urn.clone(), i)).collect();
    for (urn, index) in &positions {
        step_of.insert(urn, *index);
    }
    for (offset, record) in (0u32..).zip(&gone) {
        step_of.insert(&record.urn, positions.len() as u32 + offset);
    }
    let mut after: HashMap<&Urn, Vec<u32>> = HashMap::new();
    for record in records.values() {
        let Some(own) = step_of.get(&record.urn) else { continue };
        for dependency in &record.dependencies {
            if !kept.contains(dependency) {
                after.entry(dependency).or_default().push(*own);
            }
        }
    }
    for record in gone {
        let Some(key) = record.urn.key() else { continue };
        let mut before = after.remove(&record.urn).unwrap_or_default();
        before.sort_unstable();
        before.dedup();
        let reasons = reasons(record, kept.is_empty());
        steps.push(Step { reasons, after: before, ..Step::new(key, record.urn.clone(), Action::Delete) });
    }
}

fn reasons(record: &Record, everything: bool) -> Vec<String> {
    let why = if everything { "everything goes" } else { "nothing asks for it any more" };
    let mut reasons = vec![why.to_owned()];
    if record.retain {
        reasons.push("it is retained: only forgotten, not deleted".into());
    }
    reasons
}

/// What goes, dependents first, then by URN.
fn deletion_order<'a>(records: &'a HashMap<Urn, Arc<Record>>, kept: &HashSet<Urn>) -> Vec<&'a Arc<Record>> {
    let gone: Vec<&Arc<Record>> = records.values().filter(|record| !kept.contains(&record.urn)).collect();
    let mut depth: HashMap<&Urn, u32> = HashMap::with_capacity(gone.len());
    let mut waiting: HashMap<&Urn, usize> = gone.iter().map(|record| (&record.urn, 0)).collect();
    for record in &gone {
        for dependency in &record.dependencies {
            if let Some(count) = waiting.get_mut(dependency) {
                *count += 1;
            }
        }
    }
    let mut ready: Vec<&Urn> =
        waiting.iter().filter(|(_, count)| **count == 0).map(|(urn, _)| *urn).collect();
    ready.iter().for_each(|urn| {
        depth.insert(urn, 0);
    });
    while let Some(urn) = ready.pop() {
        let below = depth.get(urn).copied().unwrap_or(0) + 1;
        let Some(record) = records.get(urn) else { continue };
        for dependency in &record.dependencies {
            let Some(count) = waiting.get_mut(dependency) else { continue };
            *count -= 1;
            let own = depth.entry(dependency).or_insert(0);
            *own = below.max(*own);
            if *count == 0 {
                ready.push(dependency);
            }
        }
    }
    let mut gone = gone;
    gone.sort_by(|a, b| {
        let level = |record: &Record| depth.get(&record.urn).copied().unwrap_or(u32::MAX);
        level(a).cmp(&level(b)).then_with(|| a.urn.cmp(&b.urn))
    });
    gone
}
