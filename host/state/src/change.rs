//! The changes of a commit, and the snapshots that a store returns.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use purlin_model::driver::Checkpoint;
use purlin_model::{Label, Obstacle, ResourceStatus, Urn};

use crate::{AuditEntry, Deployment, Environment, Holder, Intent, Record, RecordId, Rollout};

/// The names of the entries that belong to no resource, in messages.
pub(crate) const CLOSED_NOTE: &str = "the note that closes the environment";
const UNUSED_COOKIES: &str = "private state that no resource has any more";
pub(crate) const STALENESS_NOTE: &str = "the note that records may be stale";

/// One step of a commit. All steps concern the environment whose lock is held.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Record a resource, replacing the record with the same [`Record::id`].
    Put(Box<Record>),
    /// Remove a record. Does nothing if there is none.
    Remove(RecordId),
    /// A driver is about to be called. Replaces an earlier intent for the same record.
    Intend(Box<Intent>),
    /// The driver reported what it is creating or changing. Does nothing without an intent.
    Checkpoint {
        /// The record of the intent.
        id: RecordId,
        /// What it reported.
        checkpoint: Checkpoint,
    },
    /// The outcome of the call is known and part of this commit, or no longer matters.
    Settle(RecordId),
    /// A deployment ended, or its entry (the one with the same id) changes.
    Deployed {
        /// The deployment.
        deployment: Box<Deployment>,
        /// Its documents, which are sealed like secrets when they are stored. `None` leaves the
        /// documents stored under [`Deployment::documents`] unchanged.
        documents: Option<Vec<u8>>,
    },
    /// A resource, recorded or not, does not match the documents; with `None`, it does. Replaces an
    /// earlier obstacle of the resource.
    Obstruct {
        /// Its URN.
        urn: Urn,
        /// The obstacle.
        obstacle: Option<Box<ObstacleRecord>>,
    },
    /// The objects of a resource, recorded or not, that its system may still show although they are
    /// gone. Replaces those noted before.
    Vanish {
        /// Its URN.
        urn: Urn,
        /// The objects.
        objects: Box<[Vanished]>,
    },
    /// Remove cookies that are stored apart, by their ids, because no record has them any more: those of
    /// [`Snapshot::unused_cookies`].
    RemoveCookies(Box<[[u8; 16]]>),
    /// Record a roll-out, replacing the one with the same number. Only in [`Environment::fleet`].
    Roll {
        /// The roll-out.
        rollout: Box<Rollout>,
        /// Its plan, which is sealed like documents. `None` leaves the stored one unchanged.
        plan: Option<Vec<u8>>,
    },
    /// Remove a roll-out and its plan.
    ForgetRollout(Box<Rollout>),
    /// Record in the audit who makes this commit, and why. The store assigns the number and the digests.
    Audited {
        /// The entry.
        entry: Box<AuditEntry>,
        /// Entries of before this time, in milliseconds since 1970, are removed.
        kept_since: u64,
    },
    /// Closes the environment to deployments until `None` opens it again.
    SetClosed(Option<Holder>),
    /// Records why the records may be older than the real state, until `None` makes them reliable
    /// again.
    SetStaleness(Option<Staleness>),
}

impl Change {
    /// The subject of the change, for messages.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Put(record) => record.id().to_string(),
            Self::Remove(id) | Self::Checkpoint { id, .. } | Self::Settle(id) => id.to_string(),
            Self::Intend(intent) => intent.id().to_string(),
            Self::Obstruct { urn, .. } | Self::Vanish { urn, .. } => urn.to_string(),
            Self::Deployed { deployment, .. } => deployment.id.to_string(),
            Self::Roll { rollout, .. } | Self::ForgetRollout(rollout) => {
                format!("roll-out {}", rollout.number)
            }
            Self::Audited { .. } => "the audit".to_owned(),
            Self::RemoveCookies(_) => UNUSED_COOKIES.to_owned(),
            Self::SetClosed(_) => CLOSED_NOTE.to_owned(),
            Self::SetStaleness(_) => STALENESS_NOTE.to_owned(),
        }
    }
}

/// A resource that does not match the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObstacleRecord {
    /// The stable logical name.
    pub urn: Urn,
    /// The obstacle.
    pub obstacle: Obstacle,
    /// When the obstacle arose, in milliseconds since 1970. An obstacle whose text alone changes
    /// keeps its time.
    pub since: u64,
}

/// An object that was deleted together with its host, without a call of its own, so that nobody waited
/// until its system no longer showed it. An object that is found by name may be this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vanished {
    /// Its provider id.
    pub id: Label,
    /// When its host was deleted, in milliseconds since 1970.
    pub since: u64,
}

/// Why the records of an environment may be stale, that is, older than the real state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staleness {
    /// The server of the database was started since the last commit, perhaps with older files. Nothing
    /// else suggests it, so only what is created is looked up first: see [`Self::is_mere_doubt`].
    Restarted,
    /// The files are a copy of the original ones: restored from a backup, or moved.
    Copied,
    /// The records were imported from a file.
    Imported,
    /// The database was restored, or another server took over that may lack commits.
    Restored,
    /// A repair continued without some of the recorded changes.
    Lost,
}

impl Staleness {
    /// Whether nothing shows that the records are older than the real state. Purlin then searches for
    /// each resource by name before it creates it, but does not read the recorded ones before a plan.
    pub fn is_mere_doubt(self) -> bool {
        self == Self::Restarted
    }

    /// The reason that counts of two: a mere doubt yields to a reason to read everything.
    pub(crate) fn stronger(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match one {
            None | Some(Self::Restarted) => other.or(one),
            Some(_) => one,
        }
    }
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restarted => "the server of its database was started since the last commit",
            Self::Copied => "its files are a copy of the original ones",
            Self::Imported => "it was imported from a file",
            Self::Restored => "its database was restored, or another server took over",
            Self::Lost => "some of its changes were lost",
        })
    }
}

/// A short fingerprint of an environment's content: equal for equal content and, except with a
/// probability of 2⁻⁶⁴, different for different content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Revision(pub(crate) [u64; 3]);

/// An environment in a list of all environments.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentSummary {
    /// The environment.
    pub environment: Environment,
    /// The number of recorded resources, including old copies.
    pub records: usize,
    /// The number of installations and uses of installations among them, including those with
    /// pending calls.
    pub installations: usize,
    /// Its last deployment, without its steps.
    pub last: Option<Deployment>,
    /// The number of resources that do not match the documents, by their status. Ready resources
    /// are not included.
    pub unready: BTreeMap<ResourceStatus, usize>,
    /// The user who closed it, if it is closed.
    pub closed_by: Option<Holder>,
    /// The holder of its lock, if that can be determined.
    pub holder: Option<Holder>,
}

impl EnvironmentSummary {
    /// Whether everything in it was deleted, so that only its history is left: a preview whose work
    /// is done, for example. Nobody holds it.
    pub fn is_destroyed(&self) -> bool {
        // Also if the host died before it could record the end.
        let deleted = |last: &Deployment| last.documents.is_none();
        self.records == 0
            && self.unready.is_empty()
            && self.closed_by.is_none()
            && self.holder.is_none()
            && self.last.as_ref().is_some_and(deleted)
    }
}

/// The complete records of an environment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Every record, sorted by URN; old copies follow the current one, by number.
    pub records: Vec<Arc<Record>>,
    /// Pending calls, sorted by [`Intent::id`].
    pub pending: Vec<Intent>,
    /// Resources that do not match the documents, sorted by URN, each as the last run that covered
    /// it found it.
    pub obstacles: Vec<ObstacleRecord>,
    /// Objects that systems may still show although they are gone, by the URN of their resource.
    pub vanished: BTreeMap<Urn, Box<[Vanished]>>,
    /// The ids of cookies that are stored apart, although no record and no call has them any more, sorted.
    pub unused_cookies: Box<[[u8; 16]]>,
    /// The roll-outs of the state, by number: only of [`Environment::fleet`].
    pub rollouts: Vec<Rollout>,
    /// The user who closed it, if it is closed.
    pub closed_by: Option<Holder>,
    /// Why the records may be older than the real state. Resources are then read before planning.
    pub staleness: Option<Staleness>,
    /// The revision of the content, to find out later whether it changed.
    pub revision: Revision,
}

/// Compares the content, regardless of the stored bytes.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            records,
            pending,
            obstacles,
            vanished,
            rollouts,
            unused_cookies: _,
            closed_by,
            staleness,
            revision: _,
        } = self;
        *records == other.records
            && *pending == other.pending
            && *obstacles == other.obstacles
            && *vanished == other.vanished
            && *rollouts == other.rollouts
            && *closed_by == other.closed_by
            && *staleness == other.staleness
    }
}
