//! What is recorded about a resource.

use std::fmt;
use std::sync::Arc;

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Label, Share, Unfinished, Urn, Value};

/// Whether a resource is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It exists as the last deployment wanted it.
    #[default]
    Ready,
    /// It exists, and is not known to be as the last deployment wanted it.
    Partial(Unfinished),
    /// It was deleted so that a new one can take its place, and that was not made yet. Nothing
    /// exists; the record keeps its place in the graph.
    Absent,
}

/// The driver that made a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverVersion {
    /// `ORG/NAME`.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// Digest of the component, in hex; empty where there is none.
    pub digest: Arc<str>,
}

/// Which record: the current one of a URN, or an old copy that was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// The stable logical name.
    pub urn: Urn,
    /// The number of an old copy that waits to be deleted; none for the current one.
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

/// All that is known about one resource. Its edges are the direct ones only, so that the cost of
/// a change follows the change and not the size of the state (SPEC §10).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The stable logical name.
    pub urn: Urn,
    /// The number of an old copy that was replaced and waits to be deleted; none for the current
    /// record of the URN.
    pub superseded: Option<u32>,
    /// Whether it is whole.
    pub status: Status,
    /// What made it.
    pub driver: Arc<DriverVersion>,
    /// Id of the definition (or reference of the bundle) it was made from, if any.
    pub definition: Option<Arc<str>>,
    /// What the driver's `name` said.
    pub name: Label,
    /// The checked inputs it was last provisioned with, or, where its driver could tell, found with.
    pub inputs: Inputs,
    /// What the driver said about it.
    pub state: ResourceState,
    /// Direct dependencies, by URN.
    pub dependencies: Box<[Urn]>,
    /// Digest of resolved inputs, recipe and driver. Secret where the inputs hold secrets. All
    /// zero where the resource has to be looked at again.
    pub digest: [u8; 32],
    /// Refuse to delete it (SPEC §9, `lifecycle.protect`).
    pub protect: bool,
    /// Refuse to delete it whatever documents say (`purlin state protect`).
    pub pinned: bool,
    /// Forget it in place of deleting it (SPEC §9, `lifecycle.retain`).
    pub retain: bool,
    /// It is only observed: others manage it, and it is never changed or deleted.
    pub external: bool,
    /// It is to be replaced at the next occasion.
    pub tainted: bool,
    /// The id by which the documents name it, to be imported or observed, where its driver knows it by
    /// another one.
    pub named: Option<Arc<str>>,
    /// It goes when this one goes, without a call of its own (`lifecycle.deleted_with`).
    pub deleted_with: Option<Urn>,
    /// What it may go with, each of these or none, where that is not known: a change that was interrupted, or
    /// failed, may have moved it. Then [`deleted_with`](Self::deleted_with) is none.
    pub perhaps_deleted_with: Box<[Urn]>,
    /// What is lost with it, in the words of the driver that made it (`x-purlin-holds-data`);
    /// empty where that says no more than that something is. None where it holds no data, or was
    /// recorded before this was.
    pub holds_data: Option<Arc<str>>,
    /// What others may know of it, where it is an installation (SPEC §6).
    pub share: Option<Arc<Share>>,
    /// No document asks for it any more, and somebody in another environment used it then: it goes when the last
    /// of them does.
    pub abandoned: bool,
    /// When it was first recorded, milliseconds since 1970.
    pub created: u64,
    /// When it was last changed, milliseconds since 1970.
    pub updated: u64,
    /// Id of the deployment that last changed it.
    pub deployment: Arc<str>,
}

impl Record {
    /// Which record this is.
    pub fn id(&self) -> RecordId {
        RecordId { urn: self.urn.clone(), superseded: self.superseded }
    }

    /// Whether it is what a person names by this id: its driver knows it by that, or the documents named it so.
    pub fn is_called(&self, id: &str) -> bool {
        self.state.id.expose() == id || self.named.as_deref() == Some(id)
    }

    /// Whether anything in it is secret. What stands under `secrets` is, whether or not each leaf
    /// says so, and what a driver keeps in its cookie.
    pub(crate) fn has_secret(&self) -> bool {
        let Inputs { values, secrets, params, connection, .. } = &self.inputs;
        let ResourceState { id, outputs, cookie, manifests } = &self.state;
        let in_values = [values, params, connection, outputs].into_iter().any(Value::has_secret);
        in_values
            || is_something(secrets)
            || !cookie.is_empty()
            || self.name.is_secret()
            || id.is_secret()
            || manifests
                .iter()
                .any(|file| file.name.is_secret() || file.location.is_secret() || file.data.has_secret())
    }
}

/// Whether a value says anything: neither null nor an empty map or list.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Map(map) => !map.is_empty(),
        Value::List(list) => !list.is_empty(),
        _ => true,
    }
}
