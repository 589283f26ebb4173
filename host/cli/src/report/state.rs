//! Recorded resources, as plain data.

use std::path::Path;
use std::sync::Arc;

use purlin_engine::{RecordedStatus, recorded_statuses};
use purlin_model::driver::{Inputs as HostInputs, RecordedPart};
use purlin_model::{Condition, Unfinished, Urn, Value, Worded};
use purlin_state::{Environment, Intent, Operation, Record, RecordId, Snapshot, Status};
use serde::Serialize;
use serde_json::Value as Json;

use super::FORMAT;
use crate::{render, text};

/// A list of recorded resources.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    pub(crate) format: u8,
    pub(crate) resources: Vec<Resource>,
}

/// One resource in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Resource {
    pub(crate) urn: String,
    pub(crate) key: String,
    /// The number of an old copy that has yet to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<u32>,
    /// `ready`, `partial`, `absent`, or `pending` if it is unknown whether it was created.
    pub(crate) status: &'static str,
    /// Which of `external`, `tainted` and `protected` apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<Pending>,
    pub(crate) driver: String,
    pub(crate) provider_id: String,
    pub(crate) dependencies: Vec<String>,
    /// The objects that it consists of, as its driver foresaw.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) parts: Arc<[RecordedPart]>,
}

/// A call with an unknown outcome.
#[derive(Debug, Serialize)]
pub(crate) struct Pending {
    /// `create`, `update` or `delete`.
    pub(crate) operation: &'static str,
    pub(crate) since: String,
    /// The provider id that the driver reported while creating the resource.
    pub(crate) checkpoint: Option<String>,
    pub(crate) idempotency_key: String,
}

/// One resource, with the version of the format.
#[derive(Debug, Serialize)]
pub(crate) struct ResourceReport {
    pub(crate) format: u8,
    pub(crate) resource: Details,
}

/// Everything about one resource.
#[derive(Debug, Serialize)]
pub(crate) struct Details {
    urn: String,
    key: String,
    status: &'static str,
    /// The reason for the status `partial`.
    #[serde(flatten)]
    unfinished: Option<Worded<Unfinished>>,
    conditions: [Condition; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
    driver: String,
    driver_digest: String,
    definition: Option<String>,
    name: String,
    provider_id: String,
    /// Whether the documents protect it.
    protect: bool,
    /// Whether a user protected it with a command, regardless of the documents.
    pinned: bool,
    retain: bool,
    external: bool,
    tainted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_with: Option<String>,
    /// The resources with which it may be deleted, if that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    perhaps_deleted_with: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds_data: Option<String>,
    /// The objects that it consists of, as its driver foresaw.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts: Arc<[RecordedPart]>,
    created: String,
    updated: String,
    deployment: String,
    inputs: Inputs,
    outputs: Json,
    /// The driver's number of the form of what it returned.
    #[serde(skip_serializing_if = "is_zero")]
    version: u32,
    /// What the driver says besides, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Json>,
    manifests: Vec<Manifest>,
    dependencies: Vec<String>,
    dependents: Vec<String>,
    /// Old copies that were replaced and have yet to be deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<Copy>,
}

#[derive(Debug, Serialize)]
struct Inputs {
    values: Json,
    secrets: Json,
    params: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

#[derive(Debug, Serialize)]
struct Manifest {
    location: String,
    name: String,
}

#[derive(Debug, Serialize)]
struct Copy {
    copy: u32,
    status: &'static str,
    driver: String,
    provider_id: String,
    /// The objects that it consists of, as its driver foresaw.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts: Arc<[RecordedPart]>,
    created: String,
    updated: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

/// A manual change of a record.
#[derive(Debug, Serialize)]
pub(crate) struct Edited {
    pub(crate) format: u8,
    /// `rename`, `forget`, `protect`, `unprotect`, `taint` or `untaint`.
    pub(crate) edit: &'static str,
    pub(crate) urn: String,
    pub(crate) key: String,
    /// Whether anything changed.
    pub(crate) changed: bool,
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<NamedResource>,
    /// For a renamed resource: the resources that refer to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dependents: Option<Vec<String>>,
    /// Objects that still exist but are no longer managed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Vec<Left>>,
}

/// Resources that moved to another environment.
#[derive(Debug, Serialize)]
pub(crate) struct Moved {
    pub(crate) format: u8,
    pub(crate) from: Environment,
    pub(crate) to: Environment,
    pub(crate) keys: Vec<String>,
    /// Whether anything changed.
    pub(crate) changed: bool,
    /// The resources that stay and lost a dependency.
    pub(crate) dependents: Vec<String>,
    /// The resources of other environments that use what moved.
    pub(crate) users: Vec<String>,
}

/// The URN and the key of a resource.
#[derive(Debug, Serialize)]
pub(crate) struct NamedResource {
    pub(crate) urn: String,
    pub(crate) key: String,
}

/// An existing object without a record.
#[derive(Debug, Serialize)]
pub(crate) struct Left {
    pub(crate) driver: String,
    /// Null if it is unknown whether there is an object.
    pub(crate) provider_id: Option<String>,
}

/// An environment, and whether it is closed to deployments.
#[derive(Debug, Serialize)]
pub(crate) struct LockReport {
    pub(crate) format: u8,
    pub(crate) environment: Environment,
    pub(crate) locked: Option<Holder>,
    /// Whether anything changed.
    pub(crate) changed: bool,
}

/// The environment that `state export` wrote or `state import` read.
#[derive(Debug, Serialize)]
pub(crate) struct Transfer {
    format: u8,
    file: String,
    environment: Environment,
    /// The number of resources.
    resources: usize,
}

impl Transfer {
    pub(crate) fn new(file: &Path, environment: &Environment, resources: usize) -> Self {
        let environment = environment.clone();
        Self { format: FORMAT, file: file.display().to_string(), environment, resources }
    }
}

/// The user who closed an environment.
#[derive(Debug, Serialize)]
pub(crate) struct Holder {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) reason: String,
    pub(crate) since: String,
}

impl Holder {
    pub(crate) fn new(holder: &purlin_state::Holder) -> Self {
        Self {
            user: holder.user.clone(),
            host: holder.host.clone(),
            reason: holder.command.clone(),
            since: text::moment(holder.since),
        }
    }
}

impl NamedResource {
    pub(crate) fn new(urn: &Urn) -> Self {
        Self { urn: urn.to_string(), key: key(urn) }
    }
}

/// The key of a URN; the URN itself if it is not a URN of Purlin.
pub(crate) fn key(urn: &Urn) -> String {
    urn.shown()
}

fn driver(record: &Record) -> String {
    format!("{}@{}", record.driver.name, record.driver.version)
}

/// The provider id; empty for a resource that no longer exists.
pub(super) fn provider_id(record: &Record, show_secrets: bool) -> &str {
    match record.status {
        Status::Absent => "",
        _ => record.state.id.shown(show_secrets),
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's `skip_serializing_if` demands it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn status(record: &Record) -> &'static str {
    match &record.status {
        Status::Ready => "ready",
        Status::Partial(Unfinished::InProgress { .. }) => "in-progress",
        Status::Partial(_) => "partial",
        Status::Absent => "absent",
    }
}

fn marks(record: &Record) -> Vec<&'static str> {
    let protected = record.protect || record.pinned;
    [(record.external, "external"), (record.tainted, "tainted"), (protected, "protected")]
        .into_iter()
        .filter_map(|(holds, mark)| holds.then_some(mark))
        .collect()
}

impl Pending {
    fn new(intent: &Intent, show_secrets: bool) -> Self {
        Self {
            operation: match intent.operation {
                Operation::Create(_) => "create",
                Operation::Update(_) => "update",
                Operation::Delete(_) => "delete",
            },
            since: text::moment(intent.since),
            checkpoint: intent
                .checkpoint
                .as_ref()
                .map(|checkpoint| checkpoint.id.shown(show_secrets).to_owned()),
            idempotency_key: intent.idempotency_key.clone(),
        }
    }
}

fn pending(snapshot: &Snapshot, id: &RecordId, show_secrets: bool) -> Option<Pending> {
    let intent = snapshot.pending.iter().find(|intent| intent.id() == *id)?;
    Some(Pending::new(intent, show_secrets))
}

/// Resources that are about to be created and have no record yet.
pub(crate) fn unborn(snapshot: &Snapshot) -> impl Iterator<Item = (&Intent, &Record)> {
    snapshot.pending.iter().filter_map(|intent| {
        let Operation::Create(record) = &intent.operation else { return None };
        let id = record.id();
        let known = snapshot.records.iter().any(|record| record.id() == id);
        (!known).then_some((intent, &**record))
    })
}

/// The parts of a resource; while it is updated, those that may exist.
pub(crate) fn parts(record: &Record, pending: &[Intent]) -> Arc<[RecordedPart]> {
    let update = pending.iter().find_map(|intent| match &intent.operation {
        Operation::Update(changed) if changed.id() == record.id() => Some(changed),
        _ => None,
    });
    update.map_or_else(
        || Arc::clone(&record.parts),
        |changed| RecordedPart::of_either(&record.parts, &changed.parts),
    )
}

impl Resource {
    fn new(record: &Record, snapshot: &Snapshot) -> Self {
        Self {
            urn: record.urn.to_string(),
            key: key(&record.urn),
            copy: record.superseded,
            status: status(record),
            marks: marks(record),
            pending: pending(snapshot, &record.id(), false),
            driver: driver(record),
            provider_id: provider_id(record, false).to_owned(),
            dependencies: record.dependencies.iter().map(ToString::to_string).collect(),
            parts: parts(record, &snapshot.pending),
        }
    }

    /// Every resource of an environment, sorted by URN, with old copies after the current one.
    pub(crate) fn all(snapshot: &Snapshot) -> Vec<Self> {
        let mut all: Vec<Self> = snapshot.records.iter().map(|record| Self::new(record, snapshot)).collect();
        all.extend(unborn(snapshot).map(|(intent, record)| Self {
            status: "pending",
            pending: Some(Pending::new(intent, false)),
            provider_id:
                intent.checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_string()).unwrap_or_default(),
            ..Self::new(record, snapshot)
        }));
        all.sort_by(|a, b| (&a.urn, a.copy).cmp(&(&b.urn, b.copy)));
        all
    }
}

impl Details {
    /// The resource with this URN, recorded or about to be created. Secrets are shown if
    /// `show_secrets` is set.
    pub(crate) fn new(urn: &Urn, snapshot: &Snapshot, show_secrets: bool) -> Option<Self> {
        let current = RecordId::current(urn.clone());
        let of = |record: &&Arc<Record>| record.urn == *urn;
        let recorded = snapshot.records.iter().filter(of).find(|record| record.superseded.is_none());
        let recorded = recorded.map(|record| &**record);
        let (record, unborn) = match recorded {
            Some(record) => (record, false),
            None => match unborn(snapshot).find(|(_, record)| record.urn == *urn) {
                Some((_, record)) => (record, true),
                // An old copy may exist longer than the resource itself.
                None => (&**snapshot.records.iter().find(of)?, false),
            },
        };
        let nothing = RecordedStatus { urn, record: None, pending: None, obstacle: None };
        let recorded =
            recorded_statuses(snapshot).into_iter().find(|recorded| recorded.urn == urn).unwrap_or(nothing);
        let json = |value: &Value| render::value::json(value, show_secrets);
        let HostInputs { values, secrets, params, connection, account, account_fields: _ } = &record.inputs;
        let dependents =
            snapshot.records.iter().filter(|other| other.urn != *urn && other.dependencies.contains(urn));
        let mut dependents: Vec<String> = dependents.map(|other| other.urn.to_string()).collect();
        dependents.dedup();
        let copies = snapshot.records.iter().filter(of).filter_map(|copy| {
            Some(Copy {
                copy: copy.superseded?,
                status: status(copy),
                driver: driver(copy),
                provider_id: copy.state.id.shown(show_secrets).to_owned(),
                parts: parts(copy, &snapshot.pending),
                created: text::moment(copy.created),
                updated: text::moment(copy.updated),
                pending: pending(snapshot, &copy.id(), show_secrets),
            })
        });
        Some(Self {
            urn: record.urn.to_string(),
            key: key(urn),
            status: if unborn { "pending" } else { status(record) },
            unfinished: match &record.status {
                Status::Partial(unfinished) => Some(unfinished.clone().into()),
                Status::Ready | Status::Absent => None,
            },
            conditions: recorded.conditions(),
            pending: pending(snapshot, &current, show_secrets),
            driver: driver(record),
            driver_digest: record.driver.digest.to_string(),
            definition: record.definition.as_ref().map(ToString::to_string),
            name: record.name.shown(show_secrets).to_owned(),
            provider_id: provider_id(record, show_secrets).to_owned(),
            protect: record.protect,
            pinned: record.pinned,
            retain: record.retain,
            external: record.external,
            tainted: record.tainted,
            deleted_with: record.deleted_with.as_ref().map(ToString::to_string),
            perhaps_deleted_with: record.perhaps_deleted_with.iter().map(ToString::to_string).collect(),
            holds_data: record.holds_data.as_ref().map(ToString::to_string),
            parts: parts(record, &snapshot.pending),
            created: text::moment(record.created),
            updated: text::moment(record.updated),
            deployment: record.deployment.to_string(),
            inputs: Inputs {
                values: json(values),
                secrets: json(secrets),
                params: json(params),
                connection: (!matches!(connection, Value::Null)).then(|| json(connection)),
                account: account.as_deref().map(str::to_owned),
            },
            outputs: json(&record.state.outputs),
            version: record.state.version,
            notes: (!record.state.notes.is_empty()).then(|| json(&Value::Map(record.state.notes.clone()))),
            manifests: record
                .state
                .manifests
                .iter()
                .map(|manifest| Manifest {
                    location: manifest.location.shown(show_secrets).to_owned(),
                    name: manifest.name.shown(show_secrets).to_owned(),
                })
                .collect(),
            dependencies: record.dependencies.iter().map(ToString::to_string).collect(),
            dependents,
            copies: copies.collect(),
        })
    }
}

impl Left {
    /// All known objects of a URN, including retained and external ones.
    pub(crate) fn all(urn: &Urn, snapshot: &Snapshot) -> Vec<Self> {
        let there = |record: &&Arc<Record>| record.urn == *urn && record.status != Status::Absent;
        let mut left: Vec<Self> = snapshot
            .records
            .iter()
            .filter(there)
            .map(|record| Self { driver: driver(record), provider_id: Some(record.state.id.to_string()) })
            .collect();
        // A pending creation may have created an object in addition to the one that it replaces.
        left.extend(snapshot.pending.iter().filter_map(|intent| match &intent.operation {
            Operation::Create(record) if record.urn == *urn => Some(Self {
                driver: driver(record),
                provider_id: intent.checkpoint.as_ref().map(|checkpoint| checkpoint.id.to_string()),
            }),
            _ => None,
        }));
        left
    }
}

impl Edited {
    /// A change of a record that keeps its name.
    pub(crate) fn new(edit: &'static str, urn: &Urn, changed: bool) -> Self {
        Self {
            format: FORMAT,
            edit,
            urn: urn.to_string(),
            key: key(urn),
            changed,
            to: None,
            dependents: None,
            left: None,
        }
    }
}
