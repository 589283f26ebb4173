//! Deleting resources, or forgetting them.

use std::collections::HashSet;

use purlin_model::Finding;
use purlin_model::driver::ResourceState;
use purlin_state::{Change, Operation, Record, RecordId, Status};

use super::{Done, Outcome, Task, Turn};
use crate::plan::{Action, Companion};
use crate::recorded::exists;
use crate::sides::Side;

impl Task<'_> {
    /// Deletes what is recorded under `id`; nothing happens where nothing is: what was to be
    /// replaced could stay, or went with something else.
    pub(super) async fn delete(
        self,
        id: &RecordId,
        call: bool,
        stays: bool,
        also: &[Companion],
        turn: Turn,
    ) -> Outcome {
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
            let company = also.iter().filter_map(|other| Some((self.recorded(&other.id)?, other.stays)));
            changes.extend(company.flat_map(|(record, stays)| gone(&record, stays)));
            let company = also.iter().map(|other| &other.id);
            changes.extend(company.filter(pending).cloned().map(Change::Settle));
        }
        let durable = self.shared.submit(changes)?;
        Ok(Done { action: Action::Delete, durable: Some(durable) })
    }
}

impl Task<'_> {
    /// What is written down of something that is gone, and of all that goes with it
    /// (`lifecycle.deleted_with`). Where it was only found gone, what can be looked at by itself is;
    /// where we `deleted` it, all that lived in it went with it.
    pub(super) fn gone_with_company(self, record: &Record, deleted: bool) -> Vec<Change> {
        // Somebody may still refer to it; a place that nobody needs goes with the next plan.
        let stays = |record: &Record| record.superseded.is_none();
        let mut changes = gone(record, stays(record));
        let mut hosts = vec![record.id()];
        let mut seen = HashSet::from([record.id()]);
        let recorded = &self.shared.plan.recorded;
        while let Some(host) = hosts.pop() {
            let guests = recorded.records().filter(|guest| guest.deleted_with.as_ref() == Some(&host.urn));
            for guest in guests.filter_map(|guest| self.recorded(&guest.id())) {
                let lived_there = recorded.home_of(&guest).is_some_and(|home| home.id() == host);
                let reads = self.driver_of(&guest).is_ok_and(|driver| driver.manifest().implements.read);
                let goes = match deleted && lived_there {
                    true => true,
                    false => host.superseded.is_none() && guest.superseded.is_none() && !reads,
                };
                if !goes || !exists(&guest) || guest.external || !seen.insert(guest.id()) {
                    continue;
                }
                if self.shared.plan.doubted {
                    changes.push(Change::Put(Box::new(Record { tainted: true, ..Record::clone(&guest) })));
                } else {
                    changes.extend(gone(&guest, stays(&guest)));
                    hosts.push(guest.id());
                }
            }
        }
        // Records come in no order; what is written down has one.
        changes.sort_by_cached_key(|change| match change {
            Change::Put(record) => Some(record.id()),
            Change::Remove(id) => Some(id.clone()),
            _ => None,
        });
        changes
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
        // What is not there needs nothing, so nothing has to stay for it.
        dependencies: Vec::new(),
        ..record.clone()
    };
    vec![Change::Put(Box::new(absent))]
}
