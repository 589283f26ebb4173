//! What is recorded, as plain data.

use std::path::Path;
use std::sync::Arc;

use purlin_host::engine::{Standing, standings};
use purlin_host::model::driver::Inputs as HostInputs;
use purlin_host::model::{Condition, Unfinished, Urn, Value};
use purlin_host::state::{Environment, Intent, Operation, Record, RecordId, Snapshot, Status};
use serde::Serialize;
use serde_json::Value as Json;

use super::worded::Worded;
use super::{FORMAT, condition};
use crate::{render, text};

/// Resources on record.
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
    /// The number of an old copy that waits to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<u32>,
    /// `ready`, `partial`, `absent`; `pending` where it is not known whether it was made.
    pub(crate) status: &'static str,
    /// Of `external`, `tainted` and `protected` what holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<Pending>,
    pub(crate) driver: String,
    pub(crate) provider_id: String,
    pub(crate) dependencies: Vec<String>,
}

/// A call whose outcome is not known.
#[derive(Debug, Serialize)]
pub(crate) struct Pending {
    /// `create`, `update` or `delete`.
    pub(crate) operation: &'static str,
    pub(crate) since: String,
    /// What the driver said it was making.
    pub(crate) checkpoint: Option<String>,
    pub(crate) idempotency_key: String,
}

/// Everything about one resource.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) format: u8,
    pub(crate) resource: Details,
}

/// Everything about one resource.
#[derive(Debug, Serialize)]
pub(crate) struct Details {
    urn: String,
    key: String,
    status: &'static str,
    /// Why, where the status is `partial`.
    #[serde(flatten)]
    unfinished: Option<Worded<Unfinished>>,
    #[serde(serialize_with = "condition::serialize")]
    conditions: [Condition; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
    driver: String,
    driver_digest: String,
    definition: Option<String>,
    name: String,
    provider_id: String,
    /// As the documents say.
    protect: bool,
    /// By hand, whatever documents say.
    pinned: bool,
    retain: bool,
    external: bool,
    tainted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_with: Option<String>,
    /// Those that it is perhaps deleted with, where that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    perhaps_deleted_with: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds_data: Option<String>,
    created: String,
    updated: String,
    deployment: String,
    inputs: Inputs,
    outputs: Json,
    manifests: Vec<Manifest>,
    dependencies: Vec<String>,
    dependents: Vec<String>,
    /// Old copies that were replaced and wait to be deleted.
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
    created: String,
    updated: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

/// What was done to a record by hand.
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
    pub(crate) to: Option<Named>,
    /// Who refers to it, of a resource that got another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dependents: Option<Vec<String>>,
    /// What stays and nobody looks after any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Vec<Left>>,
}

/// A resource by both its names.
#[derive(Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) urn: String,
    pub(crate) key: String,
}

/// Something real that no record is of any more.
#[derive(Debug, Serialize)]
pub(crate) struct Left {
    pub(crate) driver: String,
    /// None where it is not known whether there is anything.
    pub(crate) provider_id: Option<String>,
}

/// An environment that is closed to deployments, or not.
#[derive(Debug, Serialize)]
pub(crate) struct Held {
    pub(crate) format: u8,
    pub(crate) environment: Place,
    pub(crate) locked: Option<Holder>,
    /// Whether anything changed.
    pub(crate) changed: bool,
}

/// What `state export` wrote or `state import` read.
#[derive(Debug, Serialize)]
pub(crate) struct Transfer {
    format: u8,
    file: String,
    environment: Place,
    /// How many.
    resources: usize,
}

impl Transfer {
    pub(crate) fn new(file: &Path, environment: &Environment, resources: usize) -> Self {
        let environment = Place::new(environment);
        Self { format: FORMAT, file: file.display().to_string(), environment, resources }
    }
}

/// An environment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Place {
    pub(crate) org: String,
    pub(crate) app: String,
    pub(crate) env: String,
}

/// Who closed an environment.
#[derive(Debug, Serialize)]
pub(crate) struct Holder {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) reason: String,
    pub(crate) since: String,
}

impl Place {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            org: environment.org.to_string(),
            app: environment.app.to_string(),
            env: environment.env.to_string(),
        }
    }
}

impl Holder {
    pub(crate) fn new(holder: &purlin_host::state::Holder) -> Self {
        Self {
            user: holder.user.clone(),
            host: holder.host.clone(),
            reason: holder.command.clone(),
            since: text::moment(holder.since),
        }
    }
}

impl Named {
    pub(crate) fn new(urn: &Urn) -> Self {
        Self { urn: urn.to_string(), key: key(urn) }
    }
}

/// The key of a URN; the URN itself for what is none of ours.
pub(crate) fn key(urn: &Urn) -> String {
    urn.key().map_or_else(|| urn.to_string(), |key| key.to_string())
}

fn driver(record: &Record) -> String {
    format!("{}@{}", record.driver.name, record.driver.version)
}

fn status(record: &Record) -> &'static str {
    match record.status {
        Status::Ready => "ready",
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
            checkpoint: intent.checkpoint.as_ref().map(|id| id.shown(show_secrets).to_owned()),
            idempotency_key: intent.idempotency_key.clone(),
        }
    }
}

fn pending(snapshot: &Snapshot, id: &RecordId, show_secrets: bool) -> Option<Pending> {
    let intent = snapshot.pending.iter().find(|intent| intent.id() == *id)?;
    Some(Pending::new(intent, show_secrets))
}

/// What is to be made and has no record yet.
pub(crate) fn unborn(snapshot: &Snapshot) -> impl Iterator<Item = (&Intent, &Record)> {
    snapshot.pending.iter().filter_map(|intent| {
        let Operation::Create(record) = &intent.operation else { return None };
        let id = record.id();
        let known = snapshot.records.iter().any(|record| record.id() == id);
        (!known).then_some((intent, &**record))
    })
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
            provider_id: record.state.id.to_string(),
            dependencies: record.dependencies.iter().map(ToString::to_string).collect(),
        }
    }

    /// Every resource of an environment, sorted by URN, old copies behind the current one.
    pub(crate) fn all(snapshot: &Snapshot) -> Vec<Self> {
        let mut all: Vec<Self> = snapshot.records.iter().map(|record| Self::new(record, snapshot)).collect();
        all.extend(unborn(snapshot).map(|(intent, record)| Self {
            status: "pending",
            pending: Some(Pending::new(intent, false)),
            provider_id: intent.checkpoint.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..Self::new(record, snapshot)
        }));
        all.sort_by(|a, b| (&a.urn, a.copy).cmp(&(&b.urn, b.copy)));
        all
    }
}

impl Details {
    /// What is recorded under a URN, or about to be; secrets in clear where they are asked for.
    pub(crate) fn new(urn: &Urn, snapshot: &Snapshot, show_secrets: bool) -> Option<Self> {
        let current = RecordId::current(urn.clone());
        let of = |record: &&Arc<Record>| record.urn == *urn;
        let recorded = snapshot.records.iter().filter(of).find(|record| record.superseded.is_none());
        let recorded = recorded.map(|record| &**record);
        let (record, unborn) = match recorded {
            Some(record) => (record, false),
            None => match unborn(snapshot).find(|(_, record)| record.urn == *urn) {
                Some((_, record)) => (record, true),
                // An old copy may outlive the resource.
                None => (&**snapshot.records.iter().find(of)?, false),
            },
        };
        let nothing = Standing { urn, record: None, pending: None, unmet: None };
        let standing =
            standings(snapshot).into_iter().find(|standing| standing.urn == urn).unwrap_or(nothing);
        let json = |value: &Value| render::value::json(value, show_secrets);
        let HostInputs { values, secrets, params, connection, account } = &record.inputs;
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
            conditions: standing.conditions(),
            pending: pending(snapshot, &current, show_secrets),
            driver: driver(record),
            driver_digest: record.driver.digest.to_string(),
            definition: record.definition.as_ref().map(ToString::to_string),
            name: record.name.shown(show_secrets).to_owned(),
            provider_id: record.state.id.shown(show_secrets).to_owned(),
            protect: record.protect,
            pinned: record.pinned,
            retain: record.retain,
            external: record.external,
            tainted: record.tainted,
            deleted_with: record.deleted_with.as_ref().map(ToString::to_string),
            perhaps_deleted_with: record.perhaps_deleted_with.iter().map(ToString::to_string).collect(),
            holds_data: record.holds_data.as_ref().map(ToString::to_string),
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
    /// Everything real under a URN, as far as it is known: what is retained or external included.
    pub(crate) fn all(urn: &Urn, snapshot: &Snapshot) -> Vec<Self> {
        let there = |record: &&Arc<Record>| record.urn == *urn && record.status != Status::Absent;
        let mut left: Vec<Self> = snapshot
            .records
            .iter()
            .filter(there)
            .map(|record| Self { driver: driver(record), provider_id: Some(record.state.id.to_string()) })
            .collect();
        // A creation under way may have made something, beside what it was to replace.
        left.extend(snapshot.pending.iter().filter_map(|intent| match &intent.operation {
            Operation::Create(record) if record.urn == *urn => Some(Self {
                driver: driver(record),
                provider_id: intent.checkpoint.as_ref().map(ToString::to_string),
            }),
            _ => None,
        }));
        left
    }
}

impl Edited {
    /// An edit of a record that stays where it is.
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
