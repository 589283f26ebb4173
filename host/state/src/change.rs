//! What a commit consists of, and what a store gives back.

use purlin_model::{Label, Obstacle, Urn};

use crate::{Deployment, Environment, Holder, Intent, Record, RecordId};

/// One step of a commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Record a resource, in place of what is recorded under its [`Record::id`].
    Put(Box<Record>),
    /// Forget a record; nothing happens where there is none.
    Remove(RecordId),
    /// A driver is about to be called. Replaces an earlier intent for the same record.
    Intend(Box<Intent>),
    /// The driver named the id of what it is making; nothing happens without an intent.
    Checkpoint {
        /// The record that the intent is for.
        id: RecordId,
        /// What the driver said.
        provider_id: Label,
    },
    /// The call's outcome is known and part of this commit, or stands for nothing.
    Settle(RecordId),
    /// A deployment ended, or (with the same id) its entry changes.
    Deployed {
        /// Where.
        environment: Environment,
        /// What happened.
        deployment: Box<Deployment>,
        /// The documents that it was made from, sealed like secrets when they are stored. None
        /// leaves what is stored under [`Deployment::documents`] as it is.
        documents: Option<Vec<u8>>,
    },
    /// A resource, recorded or not, is not as the documents want it; with `None` it is. Replaces an
    /// earlier obstacle of it.
    Obstruct {
        /// Its URN.
        urn: Urn,
        /// What is in its way.
        unmet: Option<Box<Unmet>>,
    },
    /// Closes an environment to deployments until it is opened again with `None`.
    Hold {
        /// Which.
        environment: Environment,
        /// By whom, and what for.
        holder: Option<Holder>,
    },
}

impl Change {
    /// What it is about, for people.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Put(record) => record.id().to_string(),
            Self::Remove(id) | Self::Checkpoint { id, .. } | Self::Settle(id) => id.to_string(),
            Self::Intend(intent) => intent.id().to_string(),
            Self::Obstruct { urn, .. } => urn.to_string(),
            Self::Deployed { deployment, .. } => deployment.id.to_string(),
            Self::Hold { environment, .. } => environment.to_string(),
        }
    }
}

/// A resource that is not as the documents want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The stable logical name.
    pub urn: Urn,
    /// What is in its way.
    pub obstacle: Obstacle,
    /// Since when, milliseconds since 1970. An obstacle that changes only its words keeps its time.
    pub since: u64,
}

/// Everything that is recorded in an environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Every record, sorted by URN; old copies after the current one, by number.
    pub records: Vec<Record>,
    /// Calls whose outcome is not known, sorted by [`Intent::id`].
    pub pending: Vec<Intent>,
    /// Resources that are not as the documents want them, sorted by URN: found by the last run that
    /// was about each.
    pub unmet: Vec<Unmet>,
    /// Who closed it, if anybody.
    pub held: Option<Holder>,
}
