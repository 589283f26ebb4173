//! The order of provisioning: foundation first, then by level and key; and the loops that leave
//! none (SPEC §4).

use std::collections::HashSet;

use purlin_model::Diagnostic;

use super::gather::FOUNDATION;
use crate::adjacency::Adjacency;
use crate::docs::{Nodes, Source};
use crate::graph::Graph;
use crate::node::NodeId;

/// Sorts the nodes into levels and marks the foundation and what is shown.
///
/// # Errors
/// Loops, one at least of every knot: each the nodes of the way round, in order of dependence.
pub(super) fn order(nodes: &mut Nodes, adjacency: &Adjacency) -> Result<Vec<Vec<NodeId>>, Vec<Vec<NodeId>>> {
    let count = nodes.map.len();
    let mut waiting: Vec<u32> = nodes.ids().map(|node| adjacency.dependencies(node).len() as u32).collect();
    let mut levels = vec![0_u32; count];
    let mut ready: Vec<NodeId> = nodes.ids().filter(|node| waiting[node.index()] == 0).collect();
    let mut at = 0;
    while let Some(node) = ready.get(at).copied() {
        at += 1;
        let above = levels[node.index()] + 1;
        for dependent in adjacency.dependents(node) {
            let level = &mut levels[dependent.index()];
            *level = above.max(*level);
            let left = &mut waiting[dependent.index()];
            *left -= 1;
            if *left == 0 {
                ready.push(*dependent);
            }
        }
    }
    if ready.len() < count {
        return Err(loops(nodes, adjacency, &waiting));
    }
    let foundation = foundation(nodes, adjacency);
    if foundation.iter().any(|mark| *mark) {
        lift(&ready, adjacency, &foundation, &mut levels);
    }
    for node in nodes.ids() {
        if let Some(data) = nodes.get_mut(node) {
            data.level = levels[node.index()];
            data.foundation = foundation[node.index()];
        }
    }
    show(nodes, adjacency);
    let mut sorted: Vec<Vec<NodeId>> = Vec::new();
    for node in nodes.ids() {
        let level = levels[node.index()] as usize;
        if sorted.len() <= level {
            sorted.resize_with(level + 1, Vec::new);
        }
        sorted[level].push(node);
    }
    for level in &mut sorted {
        level.sort_unstable_by(|a, b| nodes.key(*a).cmp(&nodes.key(*b)));
        level.shrink_to_fit();
    }
    Ok(sorted)
}

/// The implicit resources that come before all others, and all that they depend on.
fn foundation(nodes: &Nodes, adjacency: &Adjacency) -> Vec<bool> {
    let mut marks = vec![false; nodes.map.len()];
    let mut stack: Vec<NodeId> = FOUNDATION.iter().filter_map(|key| nodes.id(key)).collect();
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut marks[node.index()], true) {
            stack.extend(adjacency.dependencies(node));
        }
    }
    marks
}

/// Puts everything that is not foundation above all that is.
fn lift(ready: &[NodeId], adjacency: &Adjacency, foundation: &[bool], levels: &mut [u32]) {
    let ground = ready
        .iter()
        .filter(|node| foundation[node.index()])
        .map(|node| levels[node.index()] + 1)
        .max()
        .unwrap_or(0);
    // In the order of dependence, so that what a node depends on has been lifted already.
    for node in ready.iter().filter(|node| !foundation[node.index()]) {
        let below = adjacency.dependencies(*node).iter().map(|to| levels[to.index()] + 1).max().unwrap_or(0);
        levels[node.index()] = below.max(ground);
    }
}

/// Marks what is shown: all but the part of the foundation that nothing shown refers to.
fn show(nodes: &mut Nodes, adjacency: &Adjacency) {
    let hidden: HashSet<NodeId> = FOUNDATION.iter().filter_map(|key| nodes.id(key)).collect();
    let mut stack: Vec<NodeId> = Vec::new();
    for node in nodes.ids() {
        let Some((_, data)) = nodes.get(node) else { continue };
        let asked =
            matches!(data.params, Some(Source::Workload(_) | Source::Request { .. } | Source::Shared(_)));
        if !data.foundation || asked || (data.implicit && !hidden.contains(&node)) {
            stack.push(node);
        }
    }
    while let Some(node) = stack.pop() {
        let Some(data) = nodes.get_mut(node) else { continue };
        if !std::mem::replace(&mut data.shown, true) {
            stack.extend(
                adjacency
                    .dependencies(node)
                    .iter()
                    .filter(|to| nodes.get(**to).is_some_and(|(_, data)| !data.shown)),
            );
        }
    }
}

/// Ways round: from each node that waits for ever, always on to its first dependency that does.
fn loops(nodes: &Nodes, adjacency: &Adjacency, waiting: &[u32]) -> Vec<Vec<NodeId>> {
    let mut stuck: Vec<NodeId> = nodes.ids().filter(|node| waiting[node.index()] > 0).collect();
    stuck.sort_unstable_by(|a, b| nodes.key(*a).cmp(&nodes.key(*b)));
    let mut done = vec![0_u32; nodes.map.len()];
    let mut found = Vec::new();
    for (round, start) in (1_u32..).zip(stuck) {
        let mut way: Vec<NodeId> = Vec::new();
        let mut node = start;
        while done[node.index()] == 0 {
            done[node.index()] = round;
            way.push(node);
            let next = adjacency
                .dependencies(node)
                .iter()
                .filter(|to| waiting[to.index()] > 0)
                .min_by(|a, b| nodes.key(**a).cmp(&nodes.key(**b)));
            match next {
                Some(next) => node = *next,
                None => break,
            }
        }
        if done[node.index()] == round
            && let Some(from) = way.iter().position(|step| *step == node)
        {
            let mut round = way.split_off(from);
            let first = (0..round.len()).min_by(|a, b| nodes.key(round[*a]).cmp(&nodes.key(round[*b])));
            round.rotate_left(first.unwrap_or(0));
            found.push(round);
        }
    }
    found
}

/// Says what the loops are, and which placeholders made them.
pub(super) fn diagnose(graph: &Graph, loops: &[Vec<NodeId>]) -> Vec<Diagnostic> {
    /// Steps of a very long loop that are looked up in the documents.
    const SHOWN: usize = 100;
    loops
        .iter()
        .map(|way| {
            let key = |node: NodeId| graph.nodes.key(node).map_or("", purlin_model::Key::as_str);
            let mut text = String::new();
            for node in way {
                text.push_str(&format!("`{}` → ", key(*node)));
            }
            text.push_str(&format!("`{}`", way.first().map_or("", |node| key(*node))));
            let mut fault =
                Diagnostic::error("loop", format!("resources depend on each other in a loop: {text}"));
            for (index, from) in way.iter().enumerate().take(SHOWN) {
                let Some(to) = way.get((index + 1) % way.len()) else { continue };
                for reason in graph.reasons(*from, *to) {
                    let how = match &reason.placeholder {
                        Some(placeholder) => format!(" ({}) by {placeholder}", reason.kind.name()),
                        None => format!(" ({})", reason.kind.name()),
                    };
                    let message = format!("`{}` depends on `{}`{how}", key(*from), key(*to));
                    match reason.location {
                        Some(location) => {
                            if fault.location.is_none() {
                                fault.location = Some(location.clone());
                                fault.length = reason
                                    .placeholder
                                    .as_ref()
                                    .map_or(0, |text| u32::try_from(text.chars().count()).unwrap_or(0));
                            }
                            fault.related.push((location, message));
                        }
                        None => fault.notes.push(message),
                    }
                }
            }
            fault.help("remove one of these references, or move what is shared into a resource of its own")
        })
        .collect()
}
