//! Selectors: queries over the graph without their own edges (SPEC §4), so that their order does
//! not matter.

use std::collections::HashMap;

use petgraph::visit::{Dfs, GraphRef, IntoNeighbors, Reversed, Visitable};
use purlin_model::{DescriptorPart, Diagnostic, Direction, Hop, Key, Reference, Selector};

use super::Builder;
use crate::adjacency::{Adjacency, Visited};
use crate::docs::{self, Nodes};
use crate::nested_text;
use crate::node::{EdgeKind, NodeId};
use crate::targets::Target;

/// The memory of a search, reused for the next one.
type Space = Dfs<NodeId, Visited>;

impl Builder<'_> {
    /// Evaluates every selector and adds its edges.
    pub(super) fn select(&mut self) {
        // By selector, with "here" expanded.
        let mut selections: HashMap<Selector, Target> = HashMap::new();
        let selectors = std::mem::take(&mut self.selectors);
        if selectors.is_empty() {
            return;
        }
        let adjacency = Adjacency::new(self.nodes.map.len(), &self.edges);
        let mut space = Space::empty(&adjacency);
        let mut found: Vec<(NodeId, NodeId)> = Vec::new();
        let mut read = Vec::new();
        for (owner, scope, placeholder) in selectors {
            let Reference::Selected(selector, access) = &placeholder.reference else { continue };
            let full = match nested_text::full_selector(self.docs, &self.nodes, selector, scope) {
                Ok(full) => full,
                Err((fault, descriptor)) => {
                    self.faults.push(docs::at(placeholder, fault.diagnose(&descriptor)));
                    continue;
                }
            };
            let target = match selections.get(&full) {
                Some(target) => *target,
                None => {
                    let start = full.start.absolute();
                    let Some(start) = start.as_ref().and_then(|key| self.nodes.meant(key.as_str())) else {
                        self.faults.push(docs::at(placeholder, no_start(&self.nodes, &full, selector)));
                        continue;
                    };
                    let selected = search(&self.nodes, &adjacency, &mut space, start, &full.hops);
                    let target = self.targets.list(selected);
                    selections.insert(full, target);
                    target
                }
            };
            self.targets.set(&placeholder.reference, scope, target);
            for node in self.targets.nodes(target).iter().filter(|node| **node != owner) {
                found.push((owner, *node));
                read.push((*node, access, placeholder));
            }
        }
        for (owner, node) in found {
            self.edge(owner, node, EdgeKind::Selector);
        }
        for (node, access, placeholder) in read {
            self.access(node, access, placeholder);
        }
    }
}

/// `written` is the selector before "here" was expanded.
fn no_start(nodes: &Nodes, selector: &Selector, written: &Selector) -> Diagnostic {
    let start = &selector.start;
    let mut same: Vec<&str> =
        nodes.map.keys().filter(|key| *key.type_name() == *start.type_name).map(Key::as_str).collect();
    same.sort_unstable();
    let fault = Diagnostic::error(
        "selector-start",
        format!("the selector starts at `{start}`, which is not in the graph"),
    );
    let text = written.to_string();
    if text.contains("->") {
        return fault.help(format!("a hop is `<` or `>`: write `{}`", text.replace("->", ">")));
    }
    if same.is_empty() {
        return fault.help(format!("there is no resource of type `{}`", start.type_name));
    }
    fault.help(purlin_expression::did_you_mean(&start.to_string(), "resources of its type", same))
}

/// All resources that a sequence of hops selects, sorted by key.
fn search(
    nodes: &Nodes,
    adjacency: &Adjacency,
    space: &mut Space,
    start: NodeId,
    hops: &[Hop],
) -> Box<[NodeId]> {
    let mut set = vec![start];
    for hop in hops {
        set = match hop.direction {
            Direction::Dependencies => beyond(adjacency, space, &set),
            Direction::Dependents => beyond(Reversed(adjacency), space, &set),
        };
        set.retain(|node| nodes.key(*node).is_some_and(|key| fits(hop, key)));
    }
    set.sort_unstable_by(|a, b| nodes.key(*a).cmp(&nodes.key(*b)));
    set.into()
}

/// All nodes at a distance of at least one.
fn beyond<G>(graph: G, space: &mut Space, set: &[NodeId]) -> Vec<NodeId>
where
    G: GraphRef + IntoNeighbors<NodeId = NodeId> + Visitable<NodeId = NodeId, Map = Visited>,
{
    space.reset(graph);
    space.stack.extend(set.iter().flat_map(|node| graph.neighbors(*node)));
    std::iter::from_fn(|| space.next(graph)).collect()
}

fn fits(hop: &Hop, key: &Key) -> bool {
    fn part<T: std::ops::Deref<Target = str>>(part: &DescriptorPart<T>, actual: &str) -> bool {
        match part {
            DescriptorPart::Named(name) => **name == *actual,
            // "Here" was expanded before.
            DescriptorPart::Omitted | DescriptorPart::Here => true,
        }
    }
    *hop.target.type_name == *key.type_name()
        && part(&hop.target.class, key.class())
        && part(&hop.target.id, key.id())
}
