//! What the planner decided so far, in the form in which the plan keeps it: a large plan has no room for a second
//! list. It knows nothing of how things are decided.

use std::collections::HashSet;

use purlin_graph::NodeId;
use purlin_state::Record;

use crate::plan::{Operation, Step, Work};

/// What was decided about a node.
pub(crate) struct Decided {
    pub node: NodeId,
    pub step: Step,
    pub work: Work,
    /// Done before `work`: what exists is recorded as ours.
    pub adopt: Option<Box<Record>>,
    /// Whether the driver says that a replacement has to delete first.
    pub forced_order: bool,
}

/// What was decided about all nodes so far: for each a step, and an operation of the same number.
#[derive(Default)]
pub(crate) struct Decisions {
    pub steps: Vec<Step>,
    pub operations: Vec<Operation>,
    /// What exists and is recorded as ours, by number of the step.
    pub adopted: Vec<(u32, Box<Record>)>,
    /// The steps of which the driver says that a replacement has to delete first.
    pub forced_order: HashSet<u32>,
}

impl Decisions {
    /// None yet, with room for so many.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self { steps: Vec::with_capacity(nodes), operations: Vec::with_capacity(nodes), ..Self::default() }
    }

    /// Adds one; returns the number of its step.
    pub(crate) fn push(&mut self, decided: Decided) -> u32 {
        let Decided { node, step, work, adopt, forced_order } = decided;
        let number = self.steps.len() as u32;
        self.adopted.extend(adopt.map(|record| (number, record)));
        if forced_order {
            self.forced_order.insert(number);
        }
        self.operations.push(Operation { step: number, node: Some(node), work, after: Vec::new() });
        self.steps.push(step);
        number
    }

    /// Each step with what is done.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Step, &Work)> {
        self.steps.iter().zip(self.operations.iter().map(|operation| &operation.work))
    }
}
