//! Deleting resources, or forgetting them.

use std::collections::HashSet;

use purlin_model::Finding;
use purlin_model::driver::ResourceState;
use purlin_state::{Change, Operation, Record, RecordId, Status};

use super::{Done, Outcome, Task, Turn};
use crate::plan::Action;
use crate::recorded::exists;
use crate::sides::Side;

impl Task<'_> {
    /// Deletes what is recorded under `id`; nothing happens where nothing is: what was to be
    /// replaced could stay, or went with something else.
    pub(super) async fn delete(self, id: &RecordId, call: bool, stays: bool, turn: Turn) -> Outcome {
        let Some(record) = self.recorded(id) else {
            let went = self.step.action == Action::Delete;
            return Ok(Done { action: if went { Action::Delete } else { Action::None }, durable: None });
        };
        let mut changes = gone(&record, stays);
        // What was never found out about something that is gone does not matter any more.
        let pending = |id: &&RecordId| self.shared.plan.recorded.pending(id).is_some();
        changes.extend(std::iter::once(id).filter(pending).cloned().map(Change::Settle));
        let _side = match call {
            true => Some(self.shared.sides.enter(&record.driver.name, Side::Deleting).await),
            false => None,
        };
        // Where a new one, or one of another name, is the same real thing, it has to stay.
        let shared = self.shared.is_shared(&record);
        // Of the old one of a replacement nobody asked.
        if exists(&record) && (!call || shared) && self.step.action == Action::Delete {
            let finding = if shared { Finding::ForgottenShared } else { Finding::Forgotten };
            self.observed(finding, Vec::new());
        }
        if call && exists(&record) && !shared {
            let driver = self.driver_of(&record)?;
            let mut call = self.call();
            let intent = self.intend(Operation::Delete(id.clone()), &**driver, &mut call).await?;
            let may_move = id.superseded.is_none() && self.step.action == Action::Delete;
            let result = self.delete_record(&**driver, &call, &record, may_move).await;
            drop(turn);
            if let Err(error) = result {
                return Err(self.failed(intent, error).await);
            }
            changes.push(Change::Settle(intent));
            // Only what is really deleted takes others along.
            changes.extend(self.company(id, true));
        } else if exists(&record) {
            changes.extend(self.shared.left_behind(id));
        }
        let durable = self.shared.submit(changes)?;
        Ok(Done { action: Action::Delete, durable: Some(durable) })
    }
}

impl Task<'_> {
    /// What is written down of something that is gone, and of all that went with it. Where a part of the
    /// journal was lost, another record may say that something is the same thing, which is gone there as well.
    pub(super) fn gone_with_company(self, record: &Record, deleted: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        for record in self.shared.with_twins(record) {
            // Somebody may still refer to it; a place that nobody needs goes with the next plan.
            changes.extend(gone(&record, record.superseded.is_none()));
            changes.extend(self.company(&record.id(), deleted));
        }
        changes
    }

    /// What is written down of all that went with something (`lifecycle.deleted_with`), at any distance. Where
    /// that was not `deleted` by us but found gone, what can be looked at by itself is. What lived there only
    /// perhaps is deleted and made again: whether it is there is not known to anybody.
    fn company(self, host: &RecordId, deleted: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut seen = HashSet::from([host.clone()]);
        let mut hosts = vec![(host.clone(), true)];
        while let Some((host, is_gone)) = hosts.pop() {
            for (guest, lives_there) in self.shared.guests_of(&host) {
                let id = guest.id();
                let reads = || self.driver_of(&guest).is_ok_and(|driver| driver.manifest().implements.read);
                if !exists(&guest) || guest.external || !deleted && reads() || !seen.insert(id.clone()) {
                    continue;
                }
                if is_gone && lives_there {
                    for guest in self.shared.with_twins(&guest) {
                        let id = guest.id();
                        changes.extend(gone(&guest, id.superseded.is_none()));
                        // What was never found out about it does not matter any more, but for a new one of it.
                        if !self.shared.plan.recorded.is_perhaps_made(&id)
                            && self.shared.plan.recorded.pending(&id).is_some()
                        {
                            changes.push(Change::Settle(id.clone()));
                        }
                        seen.insert(id.clone());
                        hosts.push((id, true));
                    }
                    continue;
                }
                if !guest.tainted && id.superseded.is_none() {
                    self.shared.note_found(id.urn.clone());
                    changes.push(Change::Put(Box::new(Record { tainted: true, ..Record::clone(&guest) })));
                }
                hosts.push((id, false));
            }
        }
        changes
    }
}

/// What is written down of something that is gone: nothing, or, where its place is to stay, that.
pub(super) fn gone(record: &Record, stays: bool) -> Vec<Change> {
    if !stays {
        return vec![Change::Remove(record.id())];
    }
    vec![Change::Put(Box::new(emptied(record)))]
}

/// The record of something that is not there, and whose place is kept.
pub(crate) fn emptied(record: &Record) -> Record {
    Record {
        status: Status::Absent,
        state: ResourceState::default(),
        digest: [0; 32],
        tainted: false,
        // What is not there needs nothing, so nothing has to stay for it.
        dependencies: Box::default(),
        ..record.clone()
    }
}
