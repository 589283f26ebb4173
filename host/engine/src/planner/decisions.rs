//! The decisions of the planner so far, in the form in which the plan keeps them, since a second
//! list would double the memory of a large plan. It does not know how decisions are made.

use std::collections::{HashMap, HashSet};

use purlin_graph::NodeId;
use purlin_state::Record;

use crate::plan::{Action, Operation, OperationKind, Step};

/// How certain a replacement is when the plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// It depends on a value that is not known yet, of a resource that stays.
    MayDiffer,
    /// It depends on a value of a resource whose own replacement is not decided.
    MayFollow,
    /// It depends on a value of a resource that is replaced or created.
    Follows,
    /// It is decided.
    Decided,
}

/// The decision about a node.
pub(crate) struct Decided {
    pub node: NodeId,
    pub step: Step,
    pub kind: OperationKind,
    /// Done before the operation: the existing object is recorded as a managed resource.
    pub adopt: Option<Box<Record>>,
    /// Whether the driver requires that a replacement deletes first.
    pub forced_order: bool,
    /// How certain a replacement is.
    pub certainty: Certainty,
}

impl Decided {
    /// A decision that replaces nothing.
    pub(crate) fn certain(node: NodeId, step: Step, kind: OperationKind, adopt: Option<Box<Record>>) -> Self {
        Self { node, step, kind, adopt, forced_order: false, certainty: Certainty::Decided }
    }
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
    /// The steps that replace only perhaps.
    pub undecided: HashMap<u32, Certainty>,
}

impl Decisions {
    /// An empty list with capacity for this number of nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self { steps: Vec::with_capacity(nodes), operations: Vec::with_capacity(nodes), ..Self::default() }
    }

    /// Adds a decision and returns the number of its step.
    pub(crate) fn push(&mut self, decided: Decided) -> u32 {
        let Decided { node, step, kind, adopt, forced_order, certainty } = decided;
        let number = self.steps.len() as u32;
        self.adopted.extend(adopt.map(|record| (number, record)));
        if forced_order {
            self.forced_order.insert(number);
        }
        if certainty != Certainty::Decided {
            self.undecided.insert(number, certainty);
        }
        self.operations.push(Operation { step: number, node: Some(node), kind, after: Vec::new() });
        self.steps.push(step);
        number
    }

    /// How certain the replacement of a step is; `None` if it does not replace.
    pub(crate) fn certainty(&self, step: u32) -> Option<Certainty> {
        let replaces = self.steps.get(step as usize)?.action == Action::Replace;
        replaces.then(|| self.undecided.get(&step).copied().unwrap_or(Certainty::Decided))
    }

    /// Each step with the kind of its operation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Step, &OperationKind)> {
        self.steps.iter().zip(self.operations.iter().map(|operation| &operation.kind))
    }
}
