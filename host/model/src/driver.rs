//! The data of the driver contract (SPEC §8, `wit/`), without WebAssembly.
//!
//! The sandbox turns these into calls of a component; the engine sees nothing else.

mod failure;
pub mod keywords;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::{Context, Key, Label, Urn, Value};

pub use failure::Failure;

/// The optional functions that a driver implements.
///
/// They serialise as part of a [`Manifest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Implements {
    /// `check`; without it inputs are used unchanged.
    pub check: bool,
    /// `name`; without it the name is the guresid.
    pub name: bool,
    /// `read`; without it reality is assumed to equal the record, and nothing else is found.
    pub read: bool,
    /// `update-impact`; without it every change is an update in place.
    pub update_impact: bool,
    /// `update`; without it every change is a replacement.
    pub update: bool,
    /// A promise about `create`: with the key of an earlier attempt it returns the object of that
    /// attempt, or it creates nothing outside itself. So it may be called again after a crash (SPEC
    /// §10).
    pub repeat_create: bool,
}

/// A capability that a driver requests.
///
/// It serialises in the published, versioned form: `requested_capabilities` of `driver inspect` and
/// `driver run` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestedCapability {
    /// `http`, `tcp`, `udp`, `dns`, `env`, `dirs` or `secrets`.
    pub capability: String,
    /// The target, empty if the inputs decide.
    pub pattern: String,
    /// The purpose.
    pub reason: String,
}

/// A driver's description of one resource type.
///
/// It serialises as part of a [`Manifest`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeSchema {
    /// Resource type, or `*`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// JSON Schema of `{values, secrets, params, connection}`. If it has [`HOLDS_DATA`](keywords::HOLDS_DATA),
    /// deleting loses data.
    pub inputs: serde_json::Value,
    /// JSON Schema of the outputs; `"x-purlin-outputs": "inputs"` mirrors the inputs, `"computed"`
    /// computes the outputs without any effect.
    pub outputs: serde_json::Value,
}

/// A driver's description of itself.
///
/// It serialises in the published, versioned form: `driver run` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// `ORG/NAME`.
    pub name: String,
    /// Version.
    pub version: semver::Version,
    /// Its purpose, in one sentence.
    pub description: String,
    /// Which functions it implements.
    pub implements: Implements,
    /// The types that it provisions.
    pub types: Vec<TypeSchema>,
    /// The requested capabilities.
    pub requested_capabilities: Vec<RequestedCapability>,
}

impl Manifest {
    /// The schema for a type: the exact one, else that of `*`.
    pub fn schema(&self, type_name: &str) -> Option<&TypeSchema> {
        let named = |name: &str| self.types.iter().find(|schema| schema.type_name == name);
        named(type_name).or_else(|| named("*"))
    }
}

/// The resource that a call is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Stable logical name.
    pub urn: Urn,
    /// Key within the environment.
    pub key: Key,
    /// Where it is deployed.
    pub context: Context,
}

/// The inputs of a resource. All four are maps, or null, which means an empty one. There may be
/// secret leaves anywhere, and unknown ones only in `check` and `update-impact`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// `inputs.values`, resolved.
    pub values: Value,
    /// `inputs.secrets` or `secret_refs`, resolved.
    pub secrets: Value,
    /// The developer's params.
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
    /// Its destination.
    pub location: Label,
    /// The manifest; it may have secret leaves.
    pub data: Value,
}

/// A live resource as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceState {
    /// The driver's own name for the real object.
    pub id: Label,
    /// Outputs, a map; secret ones are secret values.
    pub outputs: Value,
    /// Opaque to us, at most 10 KiB.
    pub cookie: Box<[u8]>,
    /// Manifests to deliver.
    pub manifests: Vec<ManifestFile>,
}

/// The existing resource, as `read` found it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The resource.
    pub state: ResourceState,
    /// `inputs.values` as reality has them, a map in the shape that `check` returns. Values that
    /// the driver cannot determine are missing; `None` if it can determine none. If it differs from
    /// the record, the resource has drifted (SPEC §9).
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidInput {
    /// JSON Pointer into `{values, secrets, params, connection}`.
    pub pointer: String,
    /// The fault.
    pub message: String,
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "`{pointer}`: {}", self.message),
        }
    }
}

/// The effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Places that force a replacement.
    pub replaces: Vec<String>,
    /// Whether the old one must be deleted first.
    pub delete_before_replace: bool,
    /// Outputs that certainly keep their value.
    pub stable_outputs: Vec<String>,
    /// Places whose change is rejected, unless the resource is replaced. The schema decides it, not
    /// the driver.
    pub immutable: Vec<String>,
}
