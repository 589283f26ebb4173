//! The status of the resources of an environment, as plain data (SPEC §7).

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_engine::{ResourceStatus, recorded_statuses};
use purlin_model::driver::RecordedPart;
use purlin_model::{Awaited, Condition, Obstacle, Worded};
use purlin_state::{Deployment, Environment, Holder, Outcome, Snapshot};
use serde::{Serialize, Serializer};

use super::FORMAT;
use super::state::{parts, provider_id};
use crate::text;

/// The status of an environment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct StatusReport {
    pub(crate) format: u8,
    pub(crate) environment: Environment,
    /// The latest deployment; null if the history is empty.
    pub(crate) deployment: Option<Latest>,
    /// Newer documents that a watch does not follow, because they are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejected: Option<Rejected>,
    /// Who has the environment locked: what is interrupted may still be under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locked_by: Option<String>,
    /// The number of resources per status that occurs.
    pub(crate) summary: BTreeMap<ResourceStatus, usize>,
    pub(crate) resources: Vec<Resource>,
}

/// The latest deployment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Latest {
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
    pub(crate) user: String,
    /// When it ended or, if it did not end, when it began: milliseconds since 1970.
    #[serde(serialize_with = "moment")]
    pub(crate) at: u64,
}

/// Documents that are wrong.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Rejected {
    /// Milliseconds since 1970.
    #[serde(serialize_with = "moment")]
    pub(crate) since: u64,
    /// The first fault, with its place.
    pub(crate) message: String,
    pub(crate) faults: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn moment<S: Serializer>(millis: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text::moment(*millis))
}

/// A resource.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Resource {
    pub(crate) key: String,
    pub(crate) urn: String,
    /// A summary of its conditions.
    pub(crate) status: ResourceStatus,
    pub(crate) conditions: [Condition; 3],
    /// The obstacle that keeps it from matching the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) obstacle: Option<Worded<Obstacle>>,
    /// The keys of its direct dependencies.
    pub(crate) dependencies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider_id: Option<String>,
    /// The objects that it consists of, as its driver foresaw.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) parts: Arc<[RecordedPart]>,
}

impl StatusReport {
    pub(crate) fn new(
        environment: &Environment,
        (snapshot, holder): (&Snapshot, Option<&Holder>),
        history: &[Deployment],
    ) -> Self {
        let mut summary = BTreeMap::new();
        let mut resources = Vec::new();
        for recorded in recorded_statuses(snapshot) {
            let Some(key) = recorded.urn.key() else { continue };
            let status = recorded.status();
            *summary.entry(status).or_default() += 1;
            let obstacle = recorded.obstacle.map(|obstacle| obstacle.obstacle.clone());
            let mut dependencies: Vec<String> = match recorded.record {
                Some(record) => record
                    .dependencies
                    .iter()
                    .filter_map(|urn| urn.key().map(|key| key.to_string()))
                    .collect(),
                None => obstacle.iter().flat_map(awaited).collect(),
            };
            dependencies.sort_unstable();
            dependencies.dedup();
            resources.push(Resource {
                key: key.to_string(),
                urn: recorded.urn.to_string(),
                status,
                conditions: recorded.conditions(),
                obstacle: obstacle.map(Worded::from),
                dependencies,
                driver: recorded.record.map(|record| record.driver.name.to_string()),
                provider_id: recorded.record.map(|record| provider_id(record, false).to_owned()),
                parts: recorded.record.map(|record| parts(record, &snapshot.pending)).unwrap_or_default(),
            });
        }
        resources.sort_by(|a, b| a.key.cmp(&b.key));
        let deployment = history.last().map(|last| Latest {
            number: last.number,
            outcome: last.outcome,
            user: last.holder.user.clone(),
            at: last.ended.unwrap_or(last.holder.since),
        });
        Self {
            format: FORMAT,
            environment: environment.clone(),
            deployment,
            rejected: history.last().and_then(|last| last.rejected.as_deref()).map(|rejected| Rejected {
                since: rejected.since,
                message: rejected.why.to_string(),
                faults: rejected.faults,
            }),
            locked_by: holder.map(ToString::to_string),
            summary,
            resources,
        }
    }
}

/// The resources that a resource without a record waits for directly. Nothing else is known about
/// its dependencies.
fn awaited(obstacle: &Obstacle) -> Vec<String> {
    let (Obstacle::Waits { waits } | Obstacle::Beside { waits }) = obstacle else { return Vec::new() };
    let first = |wait: &purlin_model::Wait| match (wait.through.first(), &wait.what) {
        (Some(key), _) => Some(key.to_string()),
        (
            None,
            Awaited::Paused { key }
            | Awaited::Failed { key, .. }
            | Awaited::NeedsConsent { key }
            | Awaited::Dependent { key }
            | Awaited::Empty { key, .. },
        ) => Some(key.to_string()),
        (None, _) => None,
    };
    waits.iter().filter_map(first).collect()
}
