//! The record of a resource.

use std::fmt;
use std::sync::Arc;

use purlin_model::driver::{Inputs, RecordedPart, ResourceState};
use purlin_model::{InstallationShare, Label, Unfinished, Urn, Value};

/// The status of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It matches the last deployment.
    #[default]
    Ready,
    /// It exists but may not match the last deployment.
    Partial(Unfinished),
    /// It was deleted to make room for a new one, which was not created yet. Nothing exists; the
    /// record keeps the resource's place in the graph.
    Absent,
}

/// The driver that made a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverVersion {
    /// `ORG/NAME`.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// The digest of the component, in hex; empty if there is none.
    pub digest: Arc<str>,
}

/// Identifies a record: the current one of a URN, or an old copy that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// The stable logical name.
    pub urn: Urn,
    /// The number of an old copy that will be deleted; `None` for the current record.
    pub superseded: Option<u32>,
}

impl RecordId {
    /// The current record of a URN.
    pub fn current(urn: Urn) -> Self {
        Self { urn, superseded: None }
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.superseded {
            None => self.urn.fmt(f),
            Some(number) => write!(f, "{} (replaced, copy {number})", self.urn),
        }
    }
}

/// Everything that is known about one resource. Contains only the direct edges, so that the cost of
/// a change depends on the change and not on the size of the state (SPEC §10).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The stable logical name.
    pub urn: Urn,
    /// The number of an old copy that was replaced and will be deleted; `None` for the current
    /// record of the URN.
    pub superseded: Option<u32>,
    /// Its status.
    pub status: Status,
    /// The driver that made it.
    pub driver: Arc<DriverVersion>,
    /// The id of the definition (or the reference of the bundle) that it was made from, if any.
    pub definition: Option<Arc<str>>,
    /// The name that the driver's `name` returned.
    pub name: Label,
    /// The checked inputs with which it was last provisioned or, if its driver reports them, found.
    pub inputs: Inputs,
    /// The state that the driver returned.
    pub state: ResourceState,
    /// Direct dependencies, by URN.
    pub dependencies: Box<[Urn]>,
    /// The digest of the resolved inputs and the driver. Secret if the inputs contain
    /// secrets. All zeros if the resource must be checked again.
    pub digest: [u8; 32],
    /// Whether deletion is rejected (SPEC §9, `lifecycle.protect`).
    pub protect: bool,
    /// Whether deletion is rejected regardless of the documents (`purlin state protect`).
    pub pinned: bool,
    /// Whether it is forgotten instead of deleted (SPEC §9, `lifecycle.retain`).
    pub retain: bool,
    /// Whether it is only observed: others manage it, and Purlin never changes or deletes it.
    pub external: bool,
    /// Whether the next run replaces it.
    pub tainted: bool,
    /// The id by which the documents name it for import or observation, if its driver uses a
    /// different one.
    pub named: Option<Arc<str>>,
    /// Its host, together with which it is deleted, without a call of its own
    /// (`lifecycle.deleted_with`).
    pub deleted_with: Option<Urn>,
    /// Its possible hosts, if an interrupted or failed update may have moved it: each of these or
    /// none. In this case, [`deleted_with`](Self::deleted_with) is `None`.
    pub perhaps_deleted_with: Box<[Urn]>,
    /// The data that is lost with it, in the words of the driver that made it
    /// (`x-purlin-holds-data`); empty if the driver only says that there is data. `None` if it
    /// holds no data.
    pub holds_data: Option<Arc<str>>,
    /// The objects that it consists of, by address, as far as its driver foresaw its effects; after a
    /// failure, those that may exist.
    pub parts: Arc<[RecordedPart]>,
    /// The data that other environments may see, if it is an installation (SPEC §6).
    pub share: Option<Arc<InstallationShare>>,
    /// Whether the documents no longer contain it but another environment used it then. It is
    /// deleted with its last user.
    pub abandoned: bool,
    /// When it was first recorded, in milliseconds since 1970.
    pub created: u64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated: u64,
    /// The id of the deployment that last changed it.
    pub deployment: Arc<str>,
}

impl Record {
    /// The id of this record.
    pub fn id(&self) -> RecordId {
        RecordId { urn: self.urn.clone(), superseded: self.superseded }
    }

    /// Whether a user can mean it by this id: its driver or the documents name it so.
    pub fn is_called(&self, id: &str) -> bool {
        self.state.id.expose() == id || self.named.as_deref() == Some(id)
    }

    /// Whether anything in it is secret. Everything under `secrets` and in a driver's cookie is,
    /// whether or not each leaf is marked.
    pub(crate) fn has_secret(&self) -> bool {
        let Inputs { values, secrets, params, connection, .. } = &self.inputs;
        let ResourceState { id, outputs, cookie, manifests, version: _, notes } = &self.state;
        let in_values = [values, params, connection, outputs].into_iter().any(Value::has_secret);
        in_values
            || is_something(secrets)
            || !cookie.is_empty()
            || self.name.is_secret()
            || id.is_secret()
            || notes.values().any(Value::has_secret)
            || manifests
                .iter()
                .any(|file| file.name.is_secret() || file.location.is_secret() || file.data.has_secret())
    }
}

/// Whether a value is neither null nor an empty map or list.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Map(map) => !map.is_empty(),
        Value::List(list) => !list.is_empty(),
        _ => true,
    }
}
