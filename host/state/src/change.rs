//! What a commit consists of, and what a store gives back.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use purlin_model::{Label, Obstacle, Stand, Urn};

use crate::{Deployment, Environment, Holder, Intent, Record, RecordId};

/// One step of a commit. All steps are about the environment whose lock is held.
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
    /// Closes the environment to deployments until it is opened again with `None`.
    Hold(Option<Holder>),
    /// Everything was read, so what is recorded can be relied on again: see [`Doubt`].
    Trust,
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
            Self::Hold(_) => "the note on who closed the environment".to_owned(),
            Self::Trust => "the note on what the state may lack".to_owned(),
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

/// Why the state of an environment may be older than what is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// Its files are a copy of those that were written last: restored from a backup, or moved.
    Copied,
    /// A repair went on without changes that were recorded once.
    Lost,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copied => "its files are a copy of those that were written last",
            Self::Lost => "changes of it were lost",
        })
    }
}

/// What was recorded in an environment at some moment, in a few bytes: equal for the same content and,
/// but for one chance in 2⁶⁴, different for any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Revision(pub(crate) [u64; 3]);

/// An environment in a list of all.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Which.
    pub environment: Environment,
    /// How many resources are recorded, old copies included.
    pub records: usize,
    /// How many of those are installations, or stand for some; what open calls are about counts, too.
    pub installations: usize,
    /// Its last deployment, without its steps.
    pub last: Option<Deployment>,
    /// How many resources are not as the documents want them, by how they stand. Resources that are ready are not
    /// in it.
    pub unready: BTreeMap<Stand, usize>,
    /// Who closed it, if anybody.
    pub held: Option<Holder>,
    /// Whose deployment is running in it, where that can be read.
    pub holder: Option<Holder>,
}

/// Everything that is recorded in an environment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Every record, sorted by URN; old copies after the current one, by number.
    pub records: Vec<Arc<Record>>,
    /// Calls whose outcome is not known, sorted by [`Intent::id`].
    pub pending: Vec<Intent>,
    /// Resources that are not as the documents want them, sorted by URN: found by the last run that
    /// was about each.
    pub unmet: Vec<Unmet>,
    /// Who closed it, if anybody.
    pub held: Option<Holder>,
    /// Why it may be older than what is real: then resources are read before they are planned.
    pub doubt: Option<Doubt>,
    /// Of the content, to find out later whether it changed.
    pub revision: Revision,
}

/// The same records, whatever bytes they were stored as.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        let Self { records, pending, unmet, held, doubt, revision: _ } = self;
        *records == other.records
            && *pending == other.pending
            && *unmet == other.unmet
            && *held == other.held
            && *doubt == other.doubt
    }
}
