//! Edges between operations: hard ones, and soft ones that are dropped if they would form a cycle.

use petgraph::algo::toposort;
use petgraph::graph::DiGraph;
use purlin_graph::{Graph, NodeId};

use crate::error::Error;
use crate::plan::{Operation, OperationKind};

/// Edges, as (before, after).
#[derive(Default)]
pub(super) struct Edges {
    hard: Vec<(u32, u32)>,
    soft: Vec<(u32, u32)>,
}

impl Edges {
    pub(super) fn hard(&mut self, before: u32, after: u32) {
        self.hard.push((before, after));
    }

    pub(super) fn soft(&mut self, before: u32, after: u32) {
        self.soft.push((before, after));
    }

    /// Adds the edges to the operations. Returns the edges that were dropped.
    ///
    /// # Errors
    /// [`Error::Integrity`] if the hard edges alone form a cycle.
    pub(super) fn apply_to(self, operations: &mut [Operation]) -> Result<Vec<(u32, u32)>, Error> {
        for (before, after) in &self.hard {
            add(operations, *before, *after);
        }
        let hard: Vec<Vec<u32>> = operations.iter().map(|operation| operation.after.clone()).collect();
        for (before, after) in &self.soft {
            add(operations, *before, *after);
        }
        tidy(operations);
        if in_order(operations).is_some() {
            return Ok(Vec::new());
        }
        // Rare: a resource moves to a dependency that cannot exist before the old one is deleted.
        for (operation, after) in operations.iter_mut().zip(hard) {
            operation.after = after;
        }
        if in_order(operations).is_none() {
            return Err(Error::Integrity("the recorded dependencies allow no order of deletion".into()));
        }
        let mut given_way = Vec::new();
        for (before, after) in self.soft {
            if waits_for(operations, before, after) {
                given_way.push((before, after));
            } else {
                add(operations, before, after);
            }
        }
        tidy(operations);
        Ok(given_way)
    }
}

fn add(operations: &mut [Operation], before: u32, after: u32) {
    if let Some(operation) = operations.get_mut(after as usize) {
        operation.after.push(before);
    }
}

fn tidy(operations: &mut [Operation]) {
    for operation in operations {
        operation.after.sort_unstable();
        operation.after.dedup();
    }
}

/// The operations in an order in which each comes after those it waits for; `None` if there is a
/// cycle.
pub(super) fn in_order(operations: &[Operation]) -> Option<Vec<u32>> {
    let mut graph = DiGraph::<(), (), u32>::with_capacity(operations.len(), operations.len());
    for _ in operations {
        graph.add_node(());
    }
    for (index, operation) in (0u32..).zip(operations) {
        for before in operation.after.iter().filter(|before| (**before as usize) < operations.len()) {
            graph.add_edge((*before).into(), index.into(), ());
        }
    }
    let order = toposort(&graph, None).ok()?;
    Some(order.into_iter().map(|node| node.index() as u32).collect())
}

/// The operations that directly wait for each operation.
pub(super) fn followers(operations: &[Operation]) -> Vec<Vec<u32>> {
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); operations.len()];
    for (index, operation) in (0u32..).zip(operations) {
        for before in &operation.after {
            followers.get_mut(*before as usize).into_iter().for_each(|followers| followers.push(index));
        }
    }
    followers
}

/// Whether `operation` is `other` or waits for it, directly or indirectly.
pub(super) fn waits_for(operations: &[Operation], operation: u32, other: u32) -> bool {
    let mut seen = vec![false; operations.len()];
    let mut stack = vec![operation];
    while let Some(index) = stack.pop() {
        if index == other {
            return true;
        }
        if seen.get_mut(index as usize).is_some_and(|seen| !std::mem::replace(seen, true))
            && let Some(operation) = operations.get(index as usize)
        {
            stack.extend(&operation.after);
        }
    }
    false
}

/// Orders operations by the dependencies in a graph, and everything after the foundation (SPEC §2).
pub(super) fn dependencies_first(graph: &Graph, step_of: &[u32], operations: &mut [Operation]) {
    let own = |node: NodeId| step_of.get(node.index()).copied().filter(|step| *step != u32::MAX);
    let is_foundation = |node: NodeId| graph.node(node).is_some_and(|node| node.foundation);
    let foundation: Vec<u32> = graph.order().filter(|id| is_foundation(*id)).filter_map(own).collect();
    for id in graph.order() {
        let Some(index) = own(id) else { continue };
        let dependencies = graph.dependencies(id);
        let mut after: Vec<u32> = dependencies.iter().copied().filter_map(own).collect();
        if !foundation.is_empty() && !is_foundation(id) && dependencies.iter().all(|id| is_foundation(*id)) {
            after.extend_from_slice(&foundation);
        }
        after.sort_unstable();
        after.dedup();
        // An undecided resource waits for nothing, and its possible dependencies are not deleted
        // before it. Nor does one with which nothing can be done: its failure is known.
        if let Some(operation) = operations.get_mut(index as usize)
            && !matches!(operation.kind, OperationKind::Undecided | OperationKind::Refused(_))
        {
            operation.after = after;
        }
    }
}
