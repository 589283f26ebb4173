//! Edges between operations: those that must be, and those that give way where they would form a
//! loop.

use purlin_graph::{Graph, NodeId};

use crate::error::Error;
use crate::plan::{Operation, Work};

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

    /// Puts the edges into the operations. Returns those that gave way.
    ///
    /// # Errors
    /// [`Error::Integrity`] if even those that must be form a loop.
    pub(super) fn settle(self, operations: &mut [Operation]) -> Result<Vec<(u32, u32)>, Error> {
        for (before, after) in &self.hard {
            add(operations, *before, *after);
        }
        let hard: Vec<Vec<u32>> = operations.iter().map(|operation| operation.after.clone()).collect();
        for (before, after) in &self.soft {
            add(operations, *before, *after);
        }
        tidy(operations);
        if !has_loop(operations) {
            return Ok(Vec::new());
        }
        // Rare: somebody moves to another dependency that cannot be there before the old one goes.
        for (operation, after) in operations.iter_mut().zip(hard) {
            operation.after = after;
        }
        if has_loop(operations) {
            return Err(Error::Integrity("what is recorded allows no order of deletion".into()));
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

fn has_loop(operations: &[Operation]) -> bool {
    let mut followers: Vec<Vec<u32>> = vec![Vec::new(); operations.len()];
    let mut waiting: Vec<usize> = Vec::with_capacity(operations.len());
    for (index, operation) in (0u32..).zip(operations) {
        waiting.push(operation.after.len());
        for before in &operation.after {
            if let Some(followers) = followers.get_mut(*before as usize) {
                followers.push(index);
            }
        }
    }
    let mut ready: Vec<u32> =
        (0u32..).zip(&waiting).filter(|(_, count)| **count == 0).map(|(index, _)| index).collect();
    let mut passed = 0;
    while let Some(index) = ready.pop() {
        passed += 1;
        for follower in followers.get_mut(index as usize).map(std::mem::take).unwrap_or_default() {
            if let Some(count) = waiting.get_mut(follower as usize) {
                *count -= 1;
                if *count == 0 {
                    ready.push(follower);
                }
            }
        }
    }
    passed < operations.len()
}

/// Whether `operation` waits for `other`, at any distance, or is it.
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

/// What waits for what in a graph: dependencies, and everything for the foundation (SPEC §2).
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
        // What cannot be done waits for nothing, and what it may need is not deleted before it.
        if let Some(operation) = operations.get_mut(index as usize)
            && !matches!(operation.work, Work::Undecided)
        {
            operation.after = after;
        }
    }
}
