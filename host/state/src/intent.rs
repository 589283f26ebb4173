//! Intents: the record of a call that is written before the driver is called, so that a crash
//! leaves a trace of what may have happened (SPEC §10).

use purlin_model::driver::{Checkpoint, Cookie};

use crate::{Change, Record, RecordId};

/// A call that is about to be made, or whose outcome is unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The operation of the call.
    pub operation: Operation,
    /// The idempotency key of the call, the same for every attempt at it.
    pub idempotency_key: String,
    /// What the driver reported before it finished.
    pub checkpoint: Option<Checkpoint>,
    /// When the call began, in milliseconds since 1970.
    pub since: u64,
    /// When every attempt at the call has ended, in milliseconds since 1970. A process that takes
    /// over the environment knows that the call has no further effects after that. `None` if the
    /// driver has no limit.
    pub deadline: Option<u64>,
    /// A deletion of the resource that a creation replaces, if its outcome was unknown when the
    /// creation began. It is open again as soon as nothing was created.
    pub open_deletion: Option<Box<Intent>>,
}

/// The operation of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Creates the resource. Contains the record for the case of success, with an empty
    /// [`purlin_model::driver::ResourceState`]. If the URN has a current record of an existing
    /// resource, the new one replaces it.
    Create(Box<Record>),
    /// Updates the resource. Contains the record for the case of success, with the previous state.
    Update(Box<Record>),
    /// Deletes the recorded resource.
    Delete(RecordId),
}

impl Intent {
    /// Whether anything in it is secret.
    pub(crate) fn has_secret(&self) -> bool {
        let recorded = match &self.operation {
            Operation::Create(record) | Operation::Update(record) => record.has_secret(),
            Operation::Delete(_) => false,
        };
        recorded || self.checkpoint.as_ref().is_some_and(Checkpoint::has_secret)
    }

    /// The cookies in it.
    pub(crate) fn cookies(&self) -> Vec<&Cookie> {
        let recorded = match &self.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&record.state.cookie),
            Operation::Delete(_) => None,
        };
        let reported = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.cookie.as_ref());
        let of_deletion = self.open_deletion.iter().flat_map(|deletion| deletion.cookies());
        recorded.into_iter().chain(reported).chain(of_deletion).collect()
    }

    /// The same, to change them.
    pub(crate) fn cookies_mut(&mut self) -> Vec<&mut Cookie> {
        let recorded = match &mut self.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&mut record.state.cookie),
            Operation::Delete(_) => None,
        };
        let reported = self.checkpoint.as_mut().and_then(|checkpoint| checkpoint.cookie.as_mut());
        let of_deletion = self.open_deletion.iter_mut().flat_map(|deletion| deletion.cookies_mut());
        recorded.into_iter().chain(reported).chain(of_deletion).collect()
    }

    /// The change that ends it without effects. A deletion that it replaced is open again.
    pub fn withdrawn(&self) -> Change {
        match &self.open_deletion {
            Some(deletion) => Change::Intend(deletion.clone()),
            None => Change::Settle(self.id()),
        }
    }

    /// The id of its record.
    pub fn id(&self) -> RecordId {
        match &self.operation {
            Operation::Create(record) | Operation::Update(record) => record.id(),
            Operation::Delete(id) => id.clone(),
        }
    }
}
