//! The order of provisioning: foundation first, then by level and key; and the loops that prevent
//! one (SPEC §4).

use std::collections::{BTreeSet, HashMap, HashSet};

use petgraph::algo::{astar, kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, EdgeRef as _, VisitMap as _};
use purlin_model::Diagnostic;

use super::gather::FOUNDATION;
use crate::adjacency::{Adjacency, Visited};
use crate::docs::{Nodes, Source};
use crate::graph::Graph;
use crate::node::NodeId;

/// The number of resources of a strongly connected component from which a shortest loop is searched.
const STARTS: usize = 256;

/// Sorts the nodes into levels and marks the foundation and the shown nodes.
///
/// # Errors
/// The shortest loop of every strongly connected component: its nodes, in order of dependency.
pub(super) fn order(nodes: &mut Nodes, adjacency: &Adjacency) -> Result<Vec<Vec<NodeId>>, Vec<Vec<NodeId>>> {
    let Ok(mut sorted) = toposort(adjacency, None) else { return Err(loops(nodes, adjacency)) };
    // Dependencies come first.
    sorted.reverse();
    let foundation = foundation(nodes, adjacency);
    let is_foundation = |node: &NodeId| foundation.is_visited(node);
    let mut levels = vec![0_u32; sorted.len()];
    let mut lift = |node: NodeId, ground: u32| {
        let below = adjacency.dependencies(node).iter().filter_map(|to| levels.get(to.index()));
        let level = below.map(|level| level + 1).max().unwrap_or(0).max(ground);
        if let Some(slot) = levels.get_mut(node.index()) {
            *slot = level;
        }
        level
    };
    // The dependencies of the foundation are part of it.
    let highest = sorted.iter().filter(|node| is_foundation(node)).map(|node| lift(*node, 0)).max();
    let ground = highest.map_or(0, |highest| highest + 1);
    for node in sorted.iter().filter(|node| !is_foundation(node)) {
        lift(*node, ground);
    }
    let mut order: Vec<Vec<NodeId>> = Vec::new();
    for node in nodes.ids() {
        let Some(level) = levels.get(node.index()).copied() else { continue };
        if let Some(data) = nodes.get_mut(node) {
            data.level = level;
            data.foundation = is_foundation(&node);
        }
        if order.len() <= level as usize {
            order.resize_with(level as usize + 1, Vec::new);
        }
        order[level as usize].push(node);
    }
    show(nodes, adjacency);
    for level in &mut order {
        level.sort_unstable_by(|a, b| nodes.key(*a).cmp(&nodes.key(*b)));
        level.shrink_to_fit();
    }
    Ok(order)
}

/// The implicit resources that come before all others, and all their dependencies.
fn foundation(nodes: &Nodes, adjacency: &Adjacency) -> Visited {
    let starts = FOUNDATION.iter().filter_map(|key| nodes.id(key));
    reachable(adjacency, starts)
}

/// All nodes reachable from some nodes, including these.
fn reachable(adjacency: &Adjacency, starts: impl Iterator<Item = NodeId>) -> Visited {
    let mut search = Dfs::empty(adjacency);
    search.stack.extend(starts);
    while search.next(adjacency).is_some() {}
    search.discovered
}

/// Marks the shown nodes: all except the part of the foundation that no shown node refers to.
fn show(nodes: &mut Nodes, adjacency: &Adjacency) {
    let hidden: HashSet<NodeId> = FOUNDATION.iter().filter_map(|key| nodes.id(key)).collect();
    let starts = nodes.ids().filter(|node| {
        let Some((_, data)) = nodes.get(*node) else { return false };
        let is_declared = !matches!(data.params, None | Some(Source::Implicit | Source::Provision { .. }));
        !data.foundation || is_declared || (data.implicit && !hidden.contains(node))
    });
    let shown = reachable(adjacency, starts);
    for node in nodes.ids() {
        if let Some(data) = nodes.get_mut(node) {
            data.shown = shown.is_visited(&node);
        }
    }
}

/// The shortest loop of every strongly connected component, each from its first key.
fn loops(nodes: &Nodes, adjacency: &Adjacency) -> Vec<Vec<NodeId>> {
    let by_key = |a: &NodeId, b: &NodeId| nodes.key(*a).cmp(&nodes.key(*b));
    let mut found: Vec<Vec<NodeId>> = kosaraju_scc(adjacency)
        .into_iter()
        .filter_map(|mut knot| {
            if let [node] = *knot {
                return adjacency.dependencies(node).contains(&node).then(|| vec![node]);
            }
            knot.sort_unstable_by(by_key);
            shortest_loop(adjacency, &knot)
        })
        .collect();
    found.sort_unstable_by(|a, b| nodes.key(a[0]).cmp(&nodes.key(b[0])));
    found
}

/// The shortest loop through one of the first nodes of a strongly connected component.
fn shortest_loop(adjacency: &Adjacency, knot: &[NodeId]) -> Option<Vec<NodeId>> {
    let mut graph: DiGraph<NodeId, ()> = DiGraph::with_capacity(knot.len(), knot.len());
    let inside: HashMap<NodeId, NodeIndex> = knot.iter().map(|node| (*node, graph.add_node(*node))).collect();
    for (from, node) in graph.node_indices().zip(knot) {
        // By key, so that the choice among several shortest loops is deterministic.
        let within = adjacency.dependencies(*node).iter().filter_map(|to| inside.get(to).copied());
        within.collect::<BTreeSet<_>>().into_iter().for_each(|to| {
            graph.add_edge(from, to, ());
        });
    }
    let mut shortest: Option<Vec<NodeIndex>> = None;
    for start in graph.node_indices().take(STARTS) {
        let closes = |node: NodeIndex| graph.edges(node).any(|edge| edge.target() == start);
        if let Some((length, way)) = astar(&graph, start, closes, |_| 1_usize, |_| 0)
            && shortest.as_ref().is_none_or(|known| length + 1 < known.len())
        {
            shortest = Some(way);
        }
    }
    let mut way: Vec<NodeId> =
        shortest?.into_iter().filter_map(|index| graph.node_weight(index).copied()).collect();
    // The nodes of a knot are sorted by key.
    let first = (0..way.len()).min_by_key(|at| inside.get(&way[*at]));
    way.rotate_left(first.unwrap_or(0));
    Some(way)
}

/// Reports the loops, and the placeholders that cause them.
pub(super) fn diagnose(graph: &Graph, loops: &[Vec<NodeId>]) -> Vec<Diagnostic> {
    /// The number of steps of a very long loop that are looked up in the documents.
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
