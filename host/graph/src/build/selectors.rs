//! Selectors: queries over the graph as it is without their own edges (SPEC §4), so that the
//! order in which they are answered does not matter.

use std::collections::HashMap;

use purlin_model::{Diagnostic, Direction, Hop, Key, Part, Reference, Selector};

use super::Builder;
use crate::adjacency::Adjacency;
use crate::docs::{self, Nodes};
use crate::node::{EdgeKind, NodeId};
use crate::text;

/// What each selector, with "here" written out, selects: sorted by key. Whoever reads it leaves
/// itself out.
pub(crate) type Selections = HashMap<Selector, Box<[NodeId]>>;

impl Builder<'_> {
    /// Answers every selector and adds its edges.
    pub(super) fn select(&mut self) -> Selections {
        let mut selections = Selections::new();
        let selectors = std::mem::take(&mut self.selectors);
        if selectors.is_empty() {
            return selections;
        }
        let adjacency = Adjacency::new(self.nodes.map.len(), &self.edges);
        let mut search = Search::new(&self.nodes, &adjacency);
        let mut found: Vec<(NodeId, NodeId)> = Vec::new();
        let mut read = Vec::new();
        for (owner, scope, placeholder) in selectors {
            let Reference::Selected(selector, access) = &placeholder.reference else { continue };
            let full = match text::full_selector(self.docs, &self.nodes, selector, scope) {
                Ok(full) => full,
                Err((fault, descriptor)) => {
                    self.faults.push(docs::at(placeholder, fault.diagnose(&descriptor)));
                    continue;
                }
            };
            if !selections.contains_key(&full) {
                let start = full.start.absolute();
                let Some(start) = start.as_ref().and_then(|key| self.nodes.id(key.as_str())) else {
                    self.faults.push(docs::at(placeholder, no_start(&self.nodes, &full)));
                    continue;
                };
                let selected = search.run(start, &full.hops);
                selections.insert(full.clone(), selected);
            }
            let selected = selections.get(&full).map_or(&[][..], |selected| selected);
            for node in selected.iter().filter(|node| **node != owner) {
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
        selections
    }
}

fn no_start(nodes: &Nodes, selector: &Selector) -> Diagnostic {
    let start = &selector.start;
    let mut same: Vec<&str> =
        nodes.map.keys().filter(|key| *key.type_name() == *start.type_name).map(Key::as_str).collect();
    same.sort_unstable();
    let fault = Diagnostic::error(
        "selector-start",
        format!("the selector starts at `{start}`, which is not in the graph"),
    );
    if same.is_empty() {
        return fault.help(format!("there is no resource of type `{}`", start.type_name));
    }
    fault.help(purlin_expression::did_you_mean(&start.to_string(), "resources of its type", same))
}

/// Searches one graph many times without clearing its marks in between.
struct Search<'a> {
    nodes: &'a Nodes,
    adjacency: &'a Adjacency,
    marks: Vec<u32>,
    round: u32,
}

impl<'a> Search<'a> {
    fn new(nodes: &'a Nodes, adjacency: &'a Adjacency) -> Self {
        Self { nodes, adjacency, marks: vec![0; nodes.map.len()], round: 0 }
    }

    fn run(&mut self, start: NodeId, hops: &[Hop]) -> Box<[NodeId]> {
        let mut set = vec![start];
        for hop in hops {
            set = self.hop(&set, hop);
        }
        set.sort_unstable_by(|a, b| self.nodes.key(*a).cmp(&self.nodes.key(*b)));
        set.into()
    }

    /// All resources of the hop's kind at any distance of at least one.
    fn hop(&mut self, set: &[NodeId], hop: &Hop) -> Vec<NodeId> {
        if self.round == u32::MAX {
            self.marks.fill(0);
            self.round = 0;
        }
        self.round += 1;
        let mut stack = set.to_vec();
        let mut found = Vec::new();
        while let Some(node) = stack.pop() {
            let next = match hop.direction {
                Direction::Dependents => self.adjacency.dependents(node),
                Direction::Dependencies => self.adjacency.dependencies(node),
            };
            for node in next {
                let Some(mark) = self.marks.get_mut(node.index()) else { continue };
                if std::mem::replace(mark, self.round) == self.round {
                    continue;
                }
                stack.push(*node);
                if self.nodes.key(*node).is_some_and(|key| fits(hop, key)) {
                    found.push(*node);
                }
            }
        }
        found
    }
}

fn fits(hop: &Hop, key: &Key) -> bool {
    fn part<T: std::ops::Deref<Target = str>>(part: &Part<T>, actual: &str) -> bool {
        match part {
            Part::Named(name) => **name == *actual,
            // "Here" was written out before.
            Part::Omitted | Part::Here => true,
        }
    }
    *hop.target.type_name == *key.type_name()
        && part(&hop.target.class, key.class())
        && part(&hop.target.id, key.id())
}
