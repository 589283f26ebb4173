//! The data of the driver contract (SPEC §8, `wit/`), without WebAssembly.
//!
//! The sandbox turns these into calls of a component; the engine sees nothing else.

pub mod keywords;

use std::sync::Arc;
use std::time::Duration;

use crate::{Context, Key, Label, Urn, Value};

/// Which optional functions a driver implements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Implements {
    /// `check`; without it inputs are taken as they are.
    pub check: bool,
    /// `name`; without it the name is the guresid.
    pub name: bool,
    /// `read`; without it reality is taken to be what was recorded, and nothing else is found.
    pub read: bool,
    /// `update-impact`; without it every change is an update in place.
    pub update_impact: bool,
    /// `update`; without it every change is a replacement.
    pub update: bool,
    /// A promise about `create`: with the key of an earlier attempt it returns what that made, or
    /// it makes nothing outside itself. So it may be called again after a crash (SPEC §10).
    pub repeat_create: bool,
}

/// A capability that a driver asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// `http`, `tcp`, `udp`, `dns`, `env`, `dirs` or `secrets`.
    pub capability: String,
    /// What is to be reached, empty where the inputs decide.
    pub pattern: String,
    /// What for.
    pub reason: String,
}

/// The keyword of a schema of inputs by which a driver says that a resource holds data, which is
/// lost when it is deleted: `true`, or what is lost, in a few words.
pub const HOLDS_DATA: &str = "x-purlin-holds-data";

/// What a driver says about one resource type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeSchema {
    /// Resource type, or `*`.
    pub type_name: String,
    /// JSON Schema of `{values, secrets, params, connection}`. Where it says [`HOLDS_DATA`], deleting loses
    /// data.
    pub inputs: serde_json::Value,
    /// JSON Schema of the outputs; `"x-purlin-outputs": "inputs"` mirrors the inputs.
    pub outputs: serde_json::Value,
}

/// What a driver is.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// `ORG/NAME`.
    pub name: String,
    /// Version.
    pub version: semver::Version,
    /// In a sentence.
    pub description: String,
    /// Which functions it implements.
    pub implements: Implements,
    /// The types that it provisions.
    pub types: Vec<TypeSchema>,
    /// Capabilities wished for.
    pub wishes: Vec<Wish>,
}

impl Manifest {
    /// The schema for a type: the exact one, else that of `*`.
    pub fn schema(&self, type_name: &str) -> Option<&TypeSchema> {
        let named = |name: &str| self.types.iter().find(|schema| schema.type_name == name);
        named(type_name).or_else(|| named("*"))
    }
}

/// Which resource a call is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Stable logical name.
    pub urn: Urn,
    /// Key within the environment.
    pub key: Key,
    /// Where it is deployed.
    pub context: Context,
}

/// What a resource is made from. All four are maps, or null, which counts as an empty one. Secret leaves
/// may stand anywhere, unknown ones only in `check` and `update-impact`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// `inputs.values`, resolved.
    pub values: Value,
    /// `inputs.secrets` or `secret_refs`, resolved.
    pub secrets: Value,
    /// What the developer gave.
    pub params: Value,
    /// `inputs.connection`, resolved: how to reach the system that the resource is in.
    pub connection: Value,
    /// `driver_account`.
    pub account: Option<Arc<str>>,
}

/// A manifest that a driver wants delivered with the workloads (SPEC §5).
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// File name.
    pub name: Label,
    /// Where it goes.
    pub location: Label,
    /// The manifest; secret leaves are possible.
    pub data: Value,
}

/// A live resource as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceState {
    /// The driver's own name for the real thing.
    pub id: Label,
    /// Outputs, a map; secret ones are secret values.
    pub outputs: Value,
    /// Opaque to us, at most 10 KiB.
    pub cookie: Box<[u8]>,
    /// Manifests to deliver.
    pub manifests: Vec<ManifestFile>,
}

/// What there is, as `read` found it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The resource.
    pub state: ResourceState,
    /// `inputs.values` as reality has them, a map in the shape that `check` returns. What the
    /// driver cannot tell is missing; `None` when it can tell nothing. Where it differs from what
    /// is recorded, the resource has drifted (SPEC §9).
    pub values: Option<Value>,
}

/// Inputs as they will be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// With defaults.
    pub values: Value,
    /// With defaults.
    pub secrets: Value,
    /// Advice, as (pointer, message).
    pub warnings: Vec<InvalidInput>,
}

/// One input that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidInput {
    /// JSON Pointer into `{values, secrets, params, connection}`.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// What a change would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Places that force a replacement.
    pub replaces: Vec<String>,
    /// Whether the old one has to go first.
    pub delete_before_replace: bool,
    /// Outputs that keep their value for certain.
    pub stable_outputs: Vec<String>,
    /// Places that change and may not, unless the resource is replaced. The schema says it, not the driver.
    pub immutable: Vec<String>,
}

/// Why a driver could not do what it was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The inputs are wrong.
    #[error("invalid inputs: {}", .0.iter().map(|i| if i.pointer.is_empty() { i.message.clone() } else { format!("`{}`: {}", i.pointer, i.message) }).collect::<Vec<_>>().join("; "))]
    InvalidInputs(Vec<InvalidInput>),
    /// A capability is missing.
    #[error("denied: {capability} {target}: {message}")]
    Denied {
        /// Which.
        capability: String,
        /// To what.
        target: String,
        /// What for.
        message: String,
    },
    /// The resource, or one it needs, does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// Somebody else's change stands in the way.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Busy; nothing was changed.
    #[error("{message} (the driver asks to be called again after {} ms)", after.as_millis())]
    RetryAfter {
        /// How long to wait.
        after: Duration,
        /// What the outside said.
        message: String,
    },
    /// Something exists that must not be forgotten.
    #[error("partly done: {message}")]
    Partial {
        /// What exists.
        state: Box<ResourceState>,
        /// What failed.
        message: String,
    },
    /// Any other failure; nothing was changed.
    #[error("{0}")]
    Failed(String),
    /// Whether anything was changed is not known.
    #[error("{0}; whether it was carried out is not known")]
    Undecided(String),
    /// The resource that this one replaces has to be deleted first; nothing was made.
    #[error("the current one has to be deleted first: {0}")]
    NeedsDeleteBefore(String),
}
