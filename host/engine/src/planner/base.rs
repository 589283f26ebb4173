//! What a plan starts from: recorded state, perhaps with what was just found out about it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use purlin_model::{Location, Obstacle, Unfinished, Urn};
use purlin_state::{Change, Doubt, Durable, Record, Snapshot, Status, Writer};

use super::Users;
use crate::current::CurrentInputs;
use crate::error::Error;
use crate::recorded::Recorded;

/// What a plan starts from.
#[derive(Clone, Debug)]
pub struct Base {
    pub(crate) recorded: Recorded,
    /// What is not written down yet, and is before the plan is carried out.
    pub(crate) prelude: Vec<Change>,
    /// Of what is written down.
    pub(crate) fingerprint: [u8; 32],
    /// Where it is written that nothing of it may be deleted.
    pub(crate) protected: Option<Location>,
    /// The resources that the documents pause. None where no documents are at hand: then those count that
    /// the last run found paused.
    pub(crate) paused: Option<Arc<HashSet<Urn>>>,
    /// Why the records may be older than what is real.
    doubt: Option<Doubt>,
    /// Who uses what is recorded here from other environments.
    pub(crate) users: Arc<Users>,
    /// What the current documents give resources; none where no documents are at hand.
    pub(crate) current: Option<CurrentInputs>,
}

impl Base {
    /// From what a store gave.
    ///
    /// # Errors
    /// [`Error::Integrity`] when the records contradict each other: nothing may work from them.
    pub fn new(snapshot: Snapshot) -> Result<Self, Error> {
        let doubt = snapshot.doubt;
        let recorded = Recorded::new(snapshot)?;
        let fingerprint = recorded.fingerprint();
        Ok(Self {
            recorded,
            prelude: Vec::new(),
            fingerprint,
            protected: None,
            paused: None,
            doubt,
            users: Arc::default(),
            current: None,
        })
    }

    /// With changes that are still to be written down.
    ///
    /// # Errors
    /// [`Error::Integrity`] when the records then contradict each other.
    pub fn with(mut self, changes: Vec<Change>) -> Result<Self, Error> {
        for change in changes {
            self.recorded.apply(change.clone());
            self.prelude.push(change);
        }
        self.recorded.verify()?;
        Ok(self)
    }

    /// The same, of which nothing may be deleted or replaced where a place is given: the one that
    /// says so.
    #[must_use]
    pub fn protected(self, place: Option<Location>) -> Self {
        Self { protected: place, ..self }
    }

    /// The same, of which the documents pause these resources: no driver is called for them.
    #[must_use]
    pub fn paused(self, paused: Arc<HashSet<Urn>>) -> Self {
        Self { paused: Some(paused), ..self }
    }

    /// The same, with who uses what is recorded here from other environments: none of that may go.
    #[must_use]
    pub fn used_by(self, users: Arc<Users>) -> Self {
        Self { users, ..self }
    }

    /// The same, with what the current documents give resources: it is used where a call with the recorded
    /// inputs fails, and that is told ([`Finding::CurrentInputs`](purlin_model::Finding)).
    #[must_use]
    pub fn with_inputs(self, current: Option<CurrentInputs>) -> Self {
        Self { current, ..self }
    }

    /// Whether no driver may be called for a resource.
    pub(crate) fn is_paused(&self, urn: &Urn) -> bool {
        match &self.paused {
            Some(paused) => paused.contains(urn),
            None => self.recorded.unmet(urn).is_some_and(|unmet| unmet.obstacle == Obstacle::Paused),
        }
    }

    /// By which the state is known that it was made from.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Why the records may be older than what is real: then all resources are read before a plan is made.
    pub fn doubt(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Whether calls are pending whose outcome is not known.
    pub fn has_pending(&self) -> bool {
        self.recorded.all_pending().next().is_some()
    }

    /// Whether nothing is recorded: no resource, no old copy, and no call whose outcome is not known.
    pub fn is_empty(&self) -> bool {
        self.recorded.records().next().is_none() && !self.has_pending()
    }

    /// The current record of a resource.
    pub fn current(&self, urn: &Urn) -> Option<&Record> {
        self.recorded.current(urn).map(|record| &**record)
    }

    /// Whether others changed a resource since it was last made as the documents want it.
    pub fn is_drifted(&self, urn: &Urn) -> bool {
        let record = self.recorded.current(urn);
        record.is_some_and(|record| record.status == Status::Partial(Unfinished::Drifted))
            || self.recorded.unmet(urn).is_some_and(|unmet| unmet.obstacle == Obstacle::Drifted)
    }

    /// Every current record, in no order.
    pub fn all_current(&self) -> impl Iterator<Item = &Record> {
        self.recorded.all_current().map(|record| &**record)
    }

    /// What is recorded, with what is still to be written down.
    pub fn snapshot(&self) -> Snapshot {
        self.recorded.snapshot()
    }
}

/// A writer that only remembers what it was told: for finding out what is real without writing it
/// down. What was found becomes a [`Base`] for a plan.
#[derive(Default)]
pub struct Scratch(Mutex<Vec<Change>>);

impl Scratch {
    /// What it was told, in order.
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
