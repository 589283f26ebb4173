//! The decisions of the planner so far, in the form in which the plan keeps them, since a second
//! list would double the memory of a large plan. It does not know how decisions are made.

use std::collections::HashSet;

use purlin_graph::NodeId;
use purlin_state::Record;

use crate::plan::{Operation, OperationKind, Step};

/// The decision about a node.
pub(crate) struct Decided {
    pub node: NodeId,
    pub step: Step,
    pub kind: OperationKind,
    /// Done before the operation: the existing object is recorded as a managed resource.
    pub adopt: Option<Box<Record>>,
    /// Whether the driver requires that a replacement deletes first.
    pub forced_order: bool,
}

/// The decisions about all nodes so far: one step for each, and an operation with the same number.
#[derive(Default)]
pub(crate) struct Decisions {
    pub steps: Vec<Step>,
    pub operations: Vec<Operation>,
    /// The adopted objects, by the number of the step.
    pub adopted: Vec<(u32, Box<Record>)>,
    /// The steps for which the driver requires that a replacement deletes first.
    pub forced_order: HashSet<u32>,
}

impl Decisions {
    /// An empty list with capacity for this number of nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self { steps: Vec::with_capacity(nodes), operations: Vec::with_capacity(nodes), ..Self::default() }
    }

    /// Adds a decision and returns the number of its step.
    pub(crate) fn push(&mut self, decided: Decided) -> u32 {
        let Decided { node, step, kind, adopt, forced_order } = decided;
        let number = self.steps.len() as u32;
        self.adopted.extend(adopt.map(|record| (number, record)));
        if forced_order {
            self.forced_order.insert(number);
        }
        self.operations.push(Operation { step: number, node: Some(node), kind, after: Vec::new() });
        self.steps.push(step);
        number
    }

    /// Each step with the kind of its operation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Step, &OperationKind)> {
        self.steps.iter().zip(self.operations.iter().map(|operation| &operation.kind))
    }
}
