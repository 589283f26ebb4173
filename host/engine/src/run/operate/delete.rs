//! Deletes resources, or only forgets them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use purlin_model::driver::Failure;
use purlin_model::{Finding, Urn};
use purlin_sandbox::CallError;
use purlin_state::{Change, Operation, Record, RecordId, Vanished};

use super::pending::Patience;
use super::{CallPermit, Completed, Outcome, Task};
use crate::changes::data_loss::LostData;
use crate::changes::fate;
use crate::driver::{Call, Driver};
use crate::error::Cause;
use crate::plan::Action;
use crate::records::making::emptied;
use crate::records::recorded::exists;
use crate::records::visibility::{may_be_shown, seconds};
use crate::run::exclusion::Side;

impl Task<'_> {
    /// Deletes the resource that is recorded under `id`. Does nothing if there is no record: the
    /// resource that was to be replaced was kept, or was deleted together with its host.
    pub(super) async fn delete(
        self,
        id: &RecordId,
        call: bool,
        stays: bool,
        mut permit: CallPermit,
    ) -> Outcome {
        let Some(record) = self.recorded(id) else {
            let was_planned = self.step.action == Action::Delete;
            return Ok(Completed {
                action: if was_planned { Action::Delete } else { Action::None },
                durable: None,
            });
        };
        let mut changes = gone(&record, stays);
        // An unknown outcome no longer matters once the resource is gone.
        let pending = |id: &&RecordId| self.shared.plan.recorded.pending(id).is_some();
        changes.extend(std::iter::once(id).filter(pending).cloned().map(Change::Settle));
        let mut side = match call {
            true => Some(self.shared.sides.enter(&record.driver.name, Side::Deleting).await),
            false => None,
        };
        // If the successor or a resource with another name is the same real object, it must stay.
        let shared = self.shared.is_shared(&record);
        // The old copy of a replacement needs no finding of its own.
        if exists(&record) && (!call || shared) && self.step.action == Action::Delete {
            let finding = if shared { Finding::ForgottenShared } else { Finding::Forgotten };
            self.observed(finding, Vec::new());
        }
        if call && exists(&record) && !shared {
            let driver = self.driver_of(&record)?;
            // One that is going away may be shown no longer.
            if !fate::is_going(&record) {
                self.is_shown(&**driver, &record).await?;
            }
            let token = self.token_of_deletion(&**driver, &record).await?;
            let record = self.holding_parts(record).await?;
            let patience = Patience::of(&**driver);
            let may_move = id.superseded.is_none() && self.step.action == Action::Delete;
            let intent = loop {
                let mut call = Call { token: token.clone(), ..self.call() };
                let intent = self.intend(Operation::Delete(id.clone()), &**driver, &mut call).await?;
                match self.delete_record(&**driver, &call, &record, may_move).await {
                    Ok(()) => break intent,
                    Err(CallError::Failure(Failure::Pending { pending, .. })) => {
                        self.goes(&record, Change::Settle(intent), &pending).await?;
                        // Neither other calls nor creations wait with it.
                        drop((permit.take(), side.take()));
                        self.pause(&pending, true, &patience).await?;
                        side = Some(self.shared.sides.enter(&record.driver.name, Side::Deleting).await);
                    }
                    Err(error) => return Err(self.failed_deletion(intent, error).await),
                }
            };
            drop(permit);
            changes.push(Change::Settle(intent));
            // Only a real deletion removes the guests too.
            changes.extend(self.guests_gone(id, true));
        } else if exists(&record) {
            changes.extend(self.shared.left_behind(id));
        }
        let durable = self.shared.submit(changes)?;
        drop(side);
        Ok(Completed { action: Action::Delete, durable: Some(durable) })
    }
}

impl Task<'_> {
    /// The record of a resource that is deleted with parts whose data people agreed to lose: it holds that
    /// data, also if another run has to delete it again.
    async fn holding_parts(self, record: Arc<Record>) -> Result<Arc<Record>, Cause> {
        let lost = LostData::of_deleted(&record, self.step.deletion.as_deref());
        match lost.filter(|_| record.holds_data.is_none()) {
            Some(lost) => {
                let record = Record { holds_data: lost.recorded(), ..Record::clone(&record) };
                self.written(vec![Change::Put(Box::new(record.clone()))]).await?;
                Ok(Arc::new(record))
            }
            None => Ok(record),
        }
    }

    /// Checks that the system shows a resource so new that it may not: whatever it answers about what it
    /// does not show, the resource may appear afterwards. A system that cannot be read is no reason to
    /// wait: the deletion itself says why.
    ///
    /// # Errors
    /// [`Cause::NotVisible`] if it is not shown.
    async fn is_shown(self, driver: &dyn Driver, record: &Record) -> Result<(), Cause> {
        let now = self.shared.moments.now();
        let left = self.not_shown_for(driver, record, now).filter(|_| driver.implements_for(record).read);
        let Some(left) = left else { return Ok(()) };
        match self.look_at_record(driver, record).await {
            Ok(None) => Err(Cause::NotVisible { seconds: seconds(left) }),
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    /// The changes that record that a resource and its guests are gone. If a part of the journal
    /// was lost, another record may stand for the same object, which is then gone as well. Whoever finds
    /// gone what was going away finds that it was deleted.
    pub(super) fn gone_with_guests(self, record: &Record, deleted: bool) -> Vec<Change> {
        let deleted = deleted || fate::is_going(record);
        let mut changes = Vec::new();
        for record in self.shared.with_twins(record) {
            // Other records may still refer to it; the next plan removes entries that are not
            // needed.
            changes.extend(gone(&record, record.superseded.is_none()));
            changes.extend(self.guests_gone(&record.id(), deleted));
        }
        changes
    }

    /// The changes that record that all direct and indirect guests of a host are gone
    /// (`lifecycle.deleted_with`). If the host was found gone rather than `deleted` by Purlin,
    /// guests that their drivers can read are left out, since their own read decides; that of an old
    /// copy is its deletion, in the next run. Possible
    /// guests are deleted and created again, since it is unknown whether they still exist. A guest that
    /// others manage is left to them, and its own guests are possible ones.
    fn guests_gone(self, host: &RecordId, deleted: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut vanished: BTreeMap<Urn, Vec<Vanished>> = BTreeMap::new();
        let mut seen = HashSet::from([host.clone()]);
        let mut hosts = vec![(host.clone(), true)];
        while let Some((host, is_gone)) = hosts.pop() {
            for (guest, lives_there) in self.shared.guests_of(&host) {
                let id = guest.id();
                let reads = || self.driver_of(&guest).is_ok_and(|driver| driver.implements_for(&guest).read);
                if !exists(&guest) || !deleted && reads() || !seen.insert(id.clone()) {
                    continue;
                }
                if is_gone && lives_there && !guest.external {
                    for guest in self.shared.with_twins(&guest) {
                        let id = guest.id();
                        changes.extend(gone(&guest, id.superseded.is_none()));
                        let object =
                            Vanished { id: guest.state.id.clone(), since: self.shared.moments.now() };
                        vanished.entry(id.urn.clone()).or_default().push(object);
                        // An unknown outcome no longer matters, unless a new copy of the guest may
                        // have been created.
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
                if !(guest.tainted || guest.external) && id.superseded.is_none() {
                    self.shared.note_found(id.urn.clone());
                    changes.push(Change::Put(Box::new(Record { tainted: true, ..Record::clone(&guest) })));
                }
                hosts.push((id, false));
            }
        }
        for (urn, objects) in vanished {
            let now = self.shared.moments.now();
            let before = self.shared.vanished(&urn).into_iter();
            let before = before.filter(|object| may_be_shown(object, now));
            changes.push(Change::Vanish { urn, objects: before.chain(objects).collect() });
        }
        changes
    }
}

/// The changes that record that a resource is gone: its record is removed or, with `stays`,
/// emptied.
pub(super) fn gone(record: &Record, stays: bool) -> Vec<Change> {
    if !stays {
        return vec![Change::Remove(record.id())];
    }
    vec![Change::Put(Box::new(emptied(record)))]
}
