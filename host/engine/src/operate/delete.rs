//! Deleting resources, or forgetting them.

use purlin_model::driver::{Failure, ResourceState};
use purlin_sandbox::CallError;
use purlin_state::{Change, Operation, Record, RecordId, Status};

use super::call::patiently;
use super::{Done, Outcome, Task, Turn};
use crate::plan::Action;
use crate::recorded::exists;

impl Task<'_> {
    /// Deletes what is recorded under `id`; nothing happens where nothing is: what was to be
    /// replaced could stay, or went with something else.
    pub(super) async fn delete(
        self,
        id: &RecordId,
        call: bool,
        stays: bool,
        also: &[RecordId],
        turn: Turn<'_>,
    ) -> Outcome {
        let Some(record) = self.recorded(id) else {
            let went = self.step.action == Action::Delete;
            return Ok(Done { action: if went { Action::Delete } else { Action::None }, durable: None });
        };
        let mut changes = gone(&record, stays);
        changes.extend(also.iter().cloned().map(Change::Remove));
        // What was never found out about something that is gone does not matter any more.
        let pending = |id: &&RecordId| self.shared.plan.recorded.pending(id).is_some();
        changes.extend(std::iter::once(id).chain(also).filter(pending).cloned().map(Change::Settle));
        if call && exists(&record) {
            let driver = self.driver_of(&record)?;
            let mut call = self.call();
            let intent = self.intend(Operation::Delete(id.clone()), &mut call).await?;
            let result =
                patiently(&self.shared.cancel, || driver.delete(&call, &record.state, &record.inputs)).await;
            drop(turn);
            match result {
                // Gone already is gone.
                Ok(()) | Err(CallError::Failure(Failure::NotFound(_))) => {}
                Err(error) => return Err(self.failed(intent, error).await),
            }
            changes.push(Change::Settle(intent));
        }
        let durable = self.shared.submit(changes);
        Ok(Done { action: Action::Delete, durable: Some(durable) })
    }
}

/// What is written down of something that is gone: nothing, or, where its place is to stay, that.
pub(super) fn gone(record: &Record, stays: bool) -> Vec<Change> {
    if !stays {
        return vec![Change::Remove(record.id())];
    }
    let absent = Record {
        status: Status::Absent,
        state: ResourceState::default(),
        digest: [0; 32],
        tainted: false,
        ..record.clone()
    };
    vec![Change::Put(Box::new(absent))]
}
