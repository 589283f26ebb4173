//! What is about to be done: written down before a driver is called, so that a crash leaves a
//! trace of what may have happened (SPEC §10).

use purlin_model::Label;

use crate::{Record, RecordId};

/// A call that is about to be made, or whose outcome is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// What the call does.
    pub operation: Operation,
    /// The idempotency key of the call, the same for every attempt at it.
    pub idempotency_key: String,
    /// The provider id that the driver named before it was done.
    pub checkpoint: Option<Label>,
    /// Since when, milliseconds since 1970.
    pub since: u64,
    /// When every attempt at the call has ended, however it went, milliseconds since 1970: whoever takes the
    /// environment over knows by then that nothing more comes of it. None where the driver has no limit, and in
    /// what was recorded before this was.
    pub deadline: Option<u64>,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Makes the resource: what will be recorded should it succeed, with an empty
    /// [`purlin_model::driver::ResourceState`]. Where the URN has a current record that exists,
    /// the new one takes its place.
    Create(Box<Record>),
    /// Changes the resource: what will be recorded should it succeed, with the state from before.
    Update(Box<Record>),
    /// Deletes what is recorded here.
    Delete(RecordId),
}

impl Intent {
    /// Whether anything in it is secret.
    pub(crate) fn has_secret(&self) -> bool {
        let recorded = match &self.operation {
            Operation::Create(record) | Operation::Update(record) => record.has_secret(),
            Operation::Delete(_) => false,
        };
        recorded || self.checkpoint.as_ref().is_some_and(Label::is_secret)
    }

    /// Which record it is for.
    pub fn id(&self) -> RecordId {
        match &self.operation {
            Operation::Create(record) | Operation::Update(record) => record.id(),
            Operation::Delete(id) => id.clone(),
        }
    }
}
