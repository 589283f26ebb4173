//! What is recorded about a resource.

use std::sync::Arc;

use purlin_model::Urn;
use purlin_model::driver::{Inputs, ResourceState};

/// Whether a resource is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It exists as the last deployment wanted it.
    #[default]
    Ready,
    /// It exists, but its driver could not finish.
    Partial {
        /// What failed, without secrets: it is stored in clear.
        message: String,
    },
}

/// The driver that made a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverVersion {
    /// `ORG/NAME`.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// Digest of the component, in hex; empty where there is none.
    pub digest: Arc<str>,
}

/// All that is known about one resource. Its edges are the direct ones only, so that the cost of
/// a change follows the change and not the size of the state (SPEC §10).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The stable logical name; the key of the record.
    pub urn: Urn,
    /// Whether it is whole.
    pub status: Status,
    /// What made it.
    pub driver: DriverVersion,
    /// Id of the definition (or reference of the bundle) it was made from, if any.
    pub definition: Option<Arc<str>>,
    /// What the driver's `name` said.
    pub name: String,
    /// The checked inputs it was last provisioned with.
    pub inputs: Inputs,
    /// What the driver said about it.
    pub state: ResourceState,
    /// Direct dependencies.
    pub dependencies: Vec<Urn>,
    /// Digest of resolved inputs, recipe and driver. Secret where the inputs hold secrets.
    pub digest: [u8; 32],
    /// Refuse to delete it (SPEC §9, `lifecycle.protect`).
    pub protect: bool,
    /// Forget it in place of deleting it (SPEC §9, `lifecycle.retain`).
    pub retain: bool,
    /// When it was first recorded, milliseconds since 1970.
    pub created: u64,
    /// When it was last changed, milliseconds since 1970.
    pub updated: u64,
    /// Id of the deployment that last changed it.
    pub deployment: Arc<str>,
}

impl Record {
    /// Whether its inputs hold anything secret, so that their digest could be guessed from.
    pub(crate) fn has_secret_inputs(&self) -> bool {
        let inputs = &self.inputs;
        is_something(&inputs.secrets) || inputs.values.has_secret() || inputs.params.has_secret()
    }
}

/// Whether a value says anything: neither null nor an empty map or list.
pub(crate) fn is_something(value: &purlin_model::Value) -> bool {
    match value {
        purlin_model::Value::Null => false,
        purlin_model::Value::Map(map) => !map.is_empty(),
        purlin_model::Value::List(list) => !list.is_empty(),
        _ => true,
    }
}

/// One step of a commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Record a resource, in place of what is recorded under its URN.
    Put(Box<Record>),
    /// Forget a resource; nothing happens where none is recorded.
    Remove(Urn),
}
