//! The starting point of a plan: the recorded state, possibly with findings that are not yet
//! recorded.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use purlin_model::{Location, Obstacle, Unfinished, Urn};
use purlin_state::{Change, Durable, Record, Snapshot, Staleness, Status, Writer};

use super::Users;
use crate::error::Error;
use crate::records::recorded::Recorded;
use crate::values::current::CurrentInputs;

/// The starting point of a plan.
#[derive(Clone, Debug)]
pub struct Base {
    pub(crate) recorded: Recorded,
    /// Changes that are not recorded yet. They are recorded before the plan is executed.
    pub(crate) prelude: Vec<Change>,
    /// The fingerprint of the recorded state.
    pub(crate) fingerprint: [u8; 32],
    /// The location that forbids all deletions.
    pub(crate) protected: Option<Location>,
    /// The resources that the documents pause. `None` if there are no documents; the resources that
    /// the last run found paused then count.
    pub(crate) paused: Option<Arc<HashSet<Urn>>>,
    /// Why the records may be older than the real state.
    staleness: Option<Staleness>,
    /// The users in other environments of the resources recorded here.
    pub(crate) users: Arc<Users>,
    /// The time, in milliseconds since 1970; `None` if nobody needs it.
    pub(crate) now: Option<u64>,
    /// The inputs that the current documents give resources; `None` if there are no documents.
    pub(crate) current: Option<CurrentInputs>,
}

impl Base {
    /// Takes the snapshot of a store.
    ///
    /// # Errors
    /// [`Error::Integrity`] if the records contradict each other.
    pub fn new(snapshot: Snapshot) -> Result<Self, Error> {
        let staleness = snapshot.staleness;
        let recorded = Recorded::new(snapshot)?;
        let fingerprint = recorded.fingerprint();
        Ok(Self {
            recorded,
            prelude: Vec::new(),
            fingerprint,
            protected: None,
            paused: None,
            staleness,
            users: Arc::default(),
            now: None,
            current: None,
        })
    }

    /// Adds changes that are still to be recorded.
    ///
    /// # Errors
    /// [`Error::Integrity`] if the records then contradict each other.
    pub fn with(mut self, changes: Vec<Change>) -> Result<Self, Error> {
        for change in changes {
            self.recorded.apply(change.clone());
            self.prelude.push(change);
        }
        self.recorded.verify()?;
        Ok(self)
    }

    /// Forbids deletions and replacements if a location is given: that of the setting that forbids them.
    #[must_use]
    pub fn protected(self, place: Option<Location>) -> Self {
        Self { protected: place, ..self }
    }

    /// Sets the resources that the documents pause. No driver is called for them.
    #[must_use]
    pub fn paused(self, paused: Arc<HashSet<Urn>>) -> Self {
        Self { paused: Some(paused), ..self }
    }

    /// Sets the users in other environments of the resources recorded here. Resources in use must
    /// not be deleted.
    #[must_use]
    pub fn used_by(self, users: Arc<Users>) -> Self {
        Self { users, ..self }
    }

    /// Sets the time, in milliseconds since 1970, by the clock that recorded the pending calls. Warnings
    /// about them then say how long they stay undecided.
    #[must_use]
    pub fn at(self, now: u64) -> Self {
        Self { now: Some(now), ..self }
    }

    /// Sets the inputs that the current documents give resources. They are used if a call with the
    /// recorded inputs fails, and that use is reported
    /// ([`Finding::CurrentInputs`](purlin_model::Finding)).
    #[must_use]
    pub fn with_inputs(self, current: Option<CurrentInputs>) -> Self {
        Self { current, ..self }
    }

    /// Whether no driver may be called for a resource.
    pub(crate) fn is_paused(&self, urn: &Urn) -> bool {
        match &self.paused {
            Some(paused) => paused.contains(urn),
            None => {
                self.recorded.obstacle_of(urn).is_some_and(|obstacle| obstacle.obstacle == Obstacle::Paused)
            }
        }
    }

    /// The fingerprint of the state that this was made from.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Why the records may be older than the real state. All resources are then read before a plan
    /// is made.
    pub fn staleness(&self) -> Option<Staleness> {
        self.staleness
    }

    /// Whether there are pending calls with an unknown outcome.
    pub fn has_pending(&self) -> bool {
        self.recorded.all_pending().next().is_some()
    }

    /// Whether nothing is recorded: no resource, no old copy, and no pending call.
    pub fn is_empty(&self) -> bool {
        self.recorded.records().next().is_none() && !self.has_pending()
    }

    /// The current record of a resource.
    pub fn current(&self, urn: &Urn) -> Option<&Record> {
        self.recorded.current(urn).map(|record| &**record)
    }

    /// Whether others changed a resource since it last matched the documents.
    pub fn is_drifted(&self, urn: &Urn) -> bool {
        let record = self.recorded.current(urn);
        record.is_some_and(|record| record.status == Status::Partial(Unfinished::Drifted))
            || self.recorded.obstacle_of(urn).is_some_and(|obstacle| obstacle.obstacle == Obstacle::Drifted)
    }

    /// Every current record, in no particular order.
    pub fn all_current(&self) -> impl Iterator<Item = &Record> {
        self.recorded.all_current().map(|record| &**record)
    }

    /// The records, including the changes that are still to be recorded.
    pub fn snapshot(&self) -> Snapshot {
        self.recorded.snapshot()
    }
}

/// A writer that keeps changes in memory, for reading the real resources without recording the
/// result. The changes become part of the [`Base`] of a plan.
#[derive(Default)]
pub struct Scratch(Mutex<Vec<Change>>);

impl Scratch {
    /// The changes that were submitted, in order.
    pub fn take(&self) -> Vec<Change> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Writer for Scratch {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, purlin_state::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(changes);
        Ok(Box::pin(std::future::ready(Ok(()))))
    }
}
