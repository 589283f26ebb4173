//! What is to happen: data only, made by the planner, obeyed by apply.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_graph::{Graph, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Key, Urn, Value};
use purlin_state::Record;

use crate::driver::Driver;

/// What happens to a resource (SPEC §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// It is deleted.
    Delete,
    /// Nothing.
    None,
}

impl Action {
    /// The word for it, as in the JSON of a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::None => "none",
        }
    }
}

/// One input or output that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// JSON Pointer into `{values, secrets, params, account}`.
    pub path: String,
    /// What is recorded; `None` where there was nothing.
    pub before: Option<Value>,
    /// What it becomes, perhaps unknown; `None` where there will be nothing.
    pub after: Option<Value>,
}

impl Change {
    /// Whether the new value only exists after provisioning.
    pub fn is_unknown(&self) -> bool {
        self.after.as_ref().is_some_and(Value::has_unknown)
    }

    /// Whether either side is secret.
    pub fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Value::has_secret)
    }
}

/// What happens to one resource, and why.
#[derive(Clone, Debug)]
pub struct Step {
    /// The resource's key.
    pub key: Key,
    /// Its URN.
    pub urn: Urn,
    /// What happens.
    pub action: Action,
    /// Why, in sentences for people.
    pub reasons: Vec<String>,
    /// What changes.
    pub changes: Vec<Change>,
    /// Its node, but for what is deleted.
    pub(crate) node: Option<NodeId>,
    /// Steps that have to be done before, by index.
    pub(crate) after: Vec<u32>,
    /// Inputs as the driver's `check` returned them, where all of them were known at plan time.
    /// For what is left alone: there only if the digest that it is known by changed.
    pub(crate) prepared: Option<Box<Prepared>>,
}

impl Step {
    /// A step that waits for nothing and changes nothing yet.
    pub(crate) fn new(key: Key, urn: Urn, action: Action) -> Self {
        Self {
            key,
            urn,
            action,
            reasons: Vec::new(),
            changes: Vec::new(),
            node: None,
            after: Vec::new(),
            prepared: None,
        }
    }
}

/// Inputs ready to be used.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// As the driver gets them.
    pub inputs: Inputs,
    /// Digest of the inputs before `check`, the recipe and the driver.
    pub digest: [u8; 32],
}

/// How many resources meet which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// To be made.
    pub create: usize,
    /// To be changed in place.
    pub update: usize,
    /// To be replaced.
    pub replace: usize,
    /// To be deleted.
    pub delete: usize,
    /// To be left alone.
    pub none: usize,
}

impl Tally {
    /// Whether anything is to change.
    pub fn changes(self) -> bool {
        self.create + self.update + self.replace + self.delete > 0
    }
}

/// Everything that is to happen, in order.
pub struct Plan {
    /// Where.
    pub context: Context,
    /// The steps: by level and key, then what is deleted, dependents first.
    pub steps: Vec<Step>,
    /// Advice of drivers, as (key, message).
    pub warnings: Vec<(Key, String)>,
    /// Whether no driver was asked: such a plan is for looking at only.
    pub offline: bool,
    pub(crate) graph: Option<Arc<Graph>>,
    /// The step of each node.
    pub(crate) step_of: Vec<u32>,
    pub(crate) records: HashMap<Urn, Arc<Record>>,
    pub(crate) drivers: DriverSet,
}

/// Drivers by the requirement that they satisfy.
pub(crate) type DriverSet = HashMap<Arc<str>, Arc<dyn Driver>>;

impl Plan {
    /// How many resources meet which fate.
    pub fn summary(&self) -> Tally {
        let mut tally = Tally::default();
        for step in &self.steps {
            match step.action {
                Action::Create => tally.create += 1,
                Action::Update => tally.update += 1,
                Action::Delete => tally.delete += 1,
                Action::None => tally.none += 1,
            }
        }
        tally
    }

    /// The graph that it was made from; none when everything is deleted.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_deref()
    }
}
