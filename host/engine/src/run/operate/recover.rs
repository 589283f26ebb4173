//! Finds out the outcome of an interrupted call (SPEC §10), without guessing.

use std::sync::Arc;

use purlin_model::driver::{Checkpoint, Failure, Inputs, Observed};
use purlin_model::{Finding, Unfinished, Urn};
use purlin_sandbox::CallError;
use purlin_state::{Change, Intent, Operation, Record, RecordId, Status};

use super::call::patiently;
use super::inputs::Attempt;
use super::provision::partial;
use super::{Completed, Outcome, Task, nothing};
use crate::changes::fate;
use crate::driver::{Call, Driver, Effect};
use crate::error::Cause;
use crate::plan::Action;
use crate::records::making::{going, in_progress, old_copy, reports_all, with_unknown_host};
use crate::records::recorded::{exists, is_outcome};
use crate::records::visibility::{self, not_shown_for, seconds};

impl Task<'_> {
    /// Ends the pending call of a record, if its outcome can be determined.
    pub(super) async fn recover(self, id: &RecordId, look_only: bool) -> Outcome {
        let Some(intent) = self.shared.plan.recorded.pending(id).cloned() else { return Ok(nothing()) };
        match &intent.operation {
            Operation::Create(record) => {
                let completed = self.recover_create(&intent, record, look_only).await?;
                // Nothing was created, so the deletion before it decides.
                match self.shared.pending(id).map(|intent| intent.operation.clone()) {
                    Some(Operation::Delete(id)) => {
                        let deletion = intent.open_deletion.as_deref().unwrap_or(&intent);
                        self.recover_delete(deletion, &id, look_only).await
                    }
                    _ => Ok(completed),
                }
            }
            Operation::Update(record) => self.recover_update(record, intent.checkpoint.as_ref()).await,
            Operation::Delete(id) => self.recover_delete(&intent, id, look_only).await,
        }
    }

    fn not_created(self, intent: &Intent) -> Outcome {
        self.observed(Finding::NotCreated, Vec::new());
        Ok(Completed { action: Action::Read, durable: Some(self.shared.submit(vec![intent.withdrawn()])?) })
    }

    fn settled(self, mut changes: Vec<Change>, id: RecordId, finding: Finding) -> Outcome {
        self.observed(finding, Vec::new());
        changes.push(Change::Settle(id));
        Ok(Completed { action: Action::Read, durable: Some(self.shared.submit(changes)?) })
    }

    /// Looks for the resource by the id that the driver reported, or else by its name. If the driver
    /// promises that this is safe, the call is repeated with the same idempotency key, which is the
    /// key of this effect until its outcome is known. If nothing answers the question, the call
    /// stays undecided.
    ///
    /// Without that promise, a resource that is not found was not created only if every attempt is
    /// older than the grace of the driver. Until then, its system may not show it yet.
    ///
    /// An object that is already recorded, such as the one to be replaced, proves nothing: the new
    /// object may or may not exist beside it under the same name.
    async fn recover_create(self, intent: &Intent, made: &Record, look_only: bool) -> Outcome {
        let driver = self.driver_of(made)?;
        let implements = driver.implements_for(made);
        let there = self.current().filter(|record| exists(record));
        // A damaged journal may contain the outcome but not the settlement.
        if there.as_ref().is_some_and(|there| is_outcome(there, made)) {
            return self.settled(Vec::new(), intent.id(), Finding::Created);
        }
        let (mut found, mut other, mut is_absent, mut not_shown) = (None, None, false, None);
        // What an answer shows may be as old as the look that asks for it.
        let now = self.shared.moments.now();
        if implements.read {
            let id = intent.checkpoint.as_ref().map(|checkpoint| checkpoint.id.expose());
            let begun = intent.checkpoint.as_ref().and_then(Checkpoint::begun);
            // A driver that marks its objects distinguishes the new one from others of the same
            // name by the key.
            let call = Call { idempotency_key: intent.idempotency_key.clone(), ..self.call() };
            (found, other) = self.read_recorded(&**driver, &call, made, id, begun.as_ref()).await?;
            // The object of this call may have been replaced since, by one that is not recorded.
            if found.is_none() && id.is_some() && self.shared.plan.may_be_stale {
                (found, other) = self.read_recorded(&**driver, &call, made, None, None).await?;
            }
            let is_recorded = |seen: &Observed| {
                self.shared.is_object_recorded(&Record { state: seen.state.clone(), ..made.clone() })
            };
            is_absent = found.is_none();
            if is_absent {
                not_shown = not_shown_for(visibility::ended(intent, now), now, driver.grace());
            }
            // That would have been deleted before this call was intended.
            if found.as_ref().is_some_and(|seen| self.may_be_deleted(seen, made)) {
                let left = not_shown_for(intent.since, now, driver.grace());
                (not_shown, is_absent) = (left, left.is_some());
            }
            found = found.filter(|seen| !is_recorded(seen) && !is_absent);
        }
        if is_absent && !implements.repeat_create {
            return match not_shown {
                None => self.not_created(intent),
                Some(left) => {
                    let seconds = seconds(left);
                    self.undecided_until(intent, Finding::MayAppear { seconds }, look_only).await
                }
            };
        }
        if implements.repeat_create && look_only && found.is_none() {
            return self.settled(Vec::new(), intent.id(), Finding::CreateRepeated);
        }
        // If the records are older than the real state, the response may not have been lost, and
        // the created object may have been replaced since.
        let is_repeated = found.is_none() || !self.shared.plan.may_be_stale;
        if implements.repeat_create && !look_only && is_repeated {
            match self
                .create_again(&**driver, intent, with(made, other.clone()), there.as_deref(), found.is_some())
                .await
            {
                // The object was seen, regardless of the result of the repeated call.
                Err(_) if found.is_some() => {}
                // Neither the first attempts nor this one created it.
                Err(cause) if is_absent && not_shown.is_none() && cause.did_nothing() => {
                    return self.not_created(intent);
                }
                Err(cause) => {
                    self.shared.leave_unknown(&self.step.key);
                    return Err(cause);
                }
                done => return done,
            }
        }
        let Some(found) = found else { return Ok(self.undecided()) };
        let unsure = found.values.is_none()
            || intent.checkpoint.is_some()
            || implements.repeat_create
            || other.is_some();
        let mut record = self.refreshed(
            &**driver,
            &Record { state: found.state.clone(), ..with(made, other.take()) },
            &found,
        );
        let is_as_made = reports_all(&made.inputs, &found) && record.inputs.values == made.inputs.values;
        if self.shared.plan.may_be_stale && !is_as_made {
            // The object may have been moved or replaced since.
            record = with_unknown_host(&record);
        }
        if implements.update && unsure {
            // It is unknown whether the creation was complete. An update brings the resource to the
            // desired state, once it is ready.
            let begun = Record { status: Status::Partial(Unfinished::InterruptedCreate), ..record };
            record = match &found.pending {
                Some(pending) => in_progress(begun, pending),
                None => begun,
            };
        }
        let broken = self.broken_promise(&**driver, &record.state);
        if let Some(cause) = &broken {
            record = partial(record, cause);
        }
        // It may be as new as the last attempt.
        record.created = record.created.max(visibility::ended(intent, self.shared.moments.now()));
        let mut changes = instead_of(there.as_deref(), self, &record);
        changes.push(Change::Settle(intent.id()));
        match self.shared.claim(&record, |_| true, changes)? {
            Ok(durable) => {
                self.observed(Finding::Created, Vec::new());
                self.recorded_unless(broken, Completed { action: Action::Read, durable: Some(durable) }).await
            }
            // Meanwhile another resource turned out to be this object.
            Err(_) => Ok(self.undecided()),
        }
    }

    /// Whether what was found may be a deleted object that its system still shows: the one that made
    /// room, or one that was deleted with its host, since nobody waits until that is no longer shown.
    fn may_be_deleted(self, seen: &Observed, made: &Record) -> bool {
        let id = seen.state.id.expose();
        let before = self.current();
        let is_it = |old: &Record| old.state.id.expose() == id && old.driver.name == made.driver.name;
        let made_room = before.as_deref().is_some_and(|old| !exists(old) && is_it(old));
        made_room || self.shared.vanished(&made.urn).iter().any(|object| object.id.expose() == id)
    }

    /// Leaves the call undecided until the grace of the driver has passed, as the finding says. The end
    /// of the attempts is recorded: later runs count from there. Who only looks, records nothing.
    async fn undecided_until(self, intent: &Intent, finding: Finding, look_only: bool) -> Outcome {
        if !look_only {
            self.note_end(intent).await?;
        }
        self.shared.leave_unknown(&self.step.key);
        self.observed(finding, Vec::new());
        Ok(nothing())
    }

    fn undecided(self) -> Completed {
        self.shared.leave_unknown(&self.step.key);
        self.observed(Finding::MayExist, Vec::new());
        nothing()
    }

    /// Repeats the creation. The contract requires that a repeated call with the same key finds the
    /// object of the first call.
    async fn create_again(
        self,
        driver: &dyn Driver,
        intent: &Intent,
        made: Record,
        there: Option<&Record>,
        is_seen: bool,
    ) -> Outcome {
        let (mut call, name) = (self.call(), made.name.expose());
        let mut attempt = Attempt::new(self, driver, &made, true).await;
        let replaces = there.filter(|there| fate::made_it(driver, there)).map(|there| &there.state.id);
        // The first attempt may have changed what its forecast was for.
        let effect = Effect::Create { inputs: attempt.inputs(), name, replaces };
        let agreed = self.agreed(driver, &call, effect, &made.parts, (None, false)).await?;
        call.token = agreed.token;
        let mut parts = agreed.parts;
        self.attempt_again(intent, driver).await?;
        call.idempotency_key.clone_from(&intent.idempotency_key);
        call.checkpoint = Some(self.checkpoints(&intent.id()));
        self.shared.count_call();
        let result = loop {
            let create = || driver.create(&call, attempt.inputs(), name, replaces);
            match patiently(self.shared, self.effort, driver.patience(), create).await {
                Err(error) if attempt.next(driver, &error).await => {
                    let effect = Effect::Create { inputs: attempt.inputs(), name, replaces };
                    let agreed = self.agreed(driver, &self.call(), effect, &parts, (None, false)).await?;
                    call.token = agreed.token;
                    parts = agreed.parts;
                }
                result => break result,
            }
        };
        let mut broken = None;
        let record = match result {
            Ok(state) => {
                broken = self.broken_promise(driver, &state);
                let record = Record { state, ..with(&made, attempt.succeeded()) };
                match &broken {
                    Some(cause) => partial(record, cause),
                    None => record,
                }
            }
            Err(CallError::Failure(Failure::Partial { state, problem })) => {
                let status = Status::Partial(Unfinished::Failed { message: problem.to_string() });
                Record { state: *state, status, ..with(&made, attempt.succeeded()) }
            }
            Err(CallError::Failure(Failure::Pending { state: Some(state), pending })) => {
                in_progress(Record { state: *state, ..with(&made, attempt.succeeded()) }, &pending)
            }
            // The first call rejected the same inputs.
            Err(CallError::Failure(Failure::InvalidInputs(_))) => {
                return self.not_created(intent);
            }
            // This attempt may have done nothing, but that says nothing about the first attempt.
            Err(error) => {
                self.attempts_ended(&intent.id(), &error).await;
                return Err(error.into());
            }
        };
        let record = Record { parts, ..record };
        // If it was not found before, this call may have created it, and it is new.
        let now = self.shared.moments.next();
        let record = if is_seen { record } else { Record { created: now, updated: now, ..record } };
        // It is unknown whether the first or this call created the object, so the object may live
        // in either of two hosts.
        let may_be_in_two = made.deleted_with.as_ref().is_some_and(|host| self.is_younger(host, &made));
        let record = if may_be_in_two { with_unknown_host(&record) } else { record };
        let mut changes = instead_of(there, self, &record);
        changes.push(Change::Settle(intent.id()));
        let durable = self.shared.submit(changes)?;
        self.observed(Finding::Created, Vec::new());
        self.recorded_unless(broken, Completed { action: Action::Read, durable: Some(durable) }).await
    }

    /// The outcome matters little: the resource is read, or updated again.
    async fn recover_update(self, changed: &Record, checkpoint: Option<&Checkpoint>) -> Outcome {
        let id = changed.id();
        let Some(record) = self.recorded(&id) else { return self.settled(Vec::new(), id, Finding::Gone) };
        // What the driver reported on the way is part of the state.
        let record = match checkpoint {
            Some(checkpoint) => {
                Arc::new(Record { state: checkpoint.applied(&record.state), ..Record::clone(&record) })
            }
            None => record,
        };
        let mut known = Record {
            status: Status::Partial(Unfinished::InterruptedUpdate),
            ..self.between(&record, changed)
        };
        let looked = self.look_after_update(changed, &record).await;
        // Meanwhile, its host may have been found gone, and the resource with it, although its system still
        // shows it.
        if exists(&record) && !self.recorded(&id).is_some_and(|now| exists(&now)) {
            return self.settled(Vec::new(), id, Finding::Gone);
        }
        match looked {
            Ok(Looked::Not) => {}
            Ok(Looked::Found(found)) => known = self.refreshed(&**self.driver_of(changed)?, &known, &found),
            Ok(Looked::NotShown) => {}
            Ok(Looked::Gone) => {
                return self.settled(self.gone_with_guests(&record, false), id, Finding::Gone);
            }
            Err(cause) => {
                // The rest of this run must know how far the change may have come.
                self.shared.submit(vec![Change::Put(Box::new(known))])?.await?;
                return Err(cause);
            }
        }
        self.settled(vec![Change::Put(Box::new(known))], id, Finding::MayBeUpdated)
    }

    async fn look_after_update(self, changed: &Record, record: &Record) -> Result<Looked, Cause> {
        let driver = self.driver_of(changed)?;
        if !driver.implements_for(changed).read {
            return Ok(Looked::Not);
        }
        let looked = self.shared.moments.now();
        Ok(match self.look_at_record(&**driver, record).await? {
            Some(found) => Looked::Found(found),
            None if self.not_shown_for(&**driver, record, looked).is_some() => Looked::NotShown,
            None => Looked::Gone,
        })
    }

    /// Completes a deletion. Deleting an object that is already gone succeeds.
    ///
    /// An object that is found was not deleted only if every attempt is older than the grace of the
    /// driver. Until then, its system may still show it.
    async fn recover_delete(self, intent: &Intent, id: &RecordId, look_only: bool) -> Outcome {
        let Some(record) = self.recorded(id) else {
            return self.settled(Vec::new(), id.clone(), Finding::Gone);
        };
        let driver = self.driver_of(&record)?;
        let can_look = driver.implements_for(&record).read;
        let now = self.shared.moments.now();
        if can_look && self.look_at_record(&**driver, &record).await?.is_some() {
            return match not_shown_for(visibility::ended(intent, now), now, driver.grace()) {
                None => self.settled(Vec::new(), id.clone(), Finding::NotDeleted),
                Some(left) => {
                    let seconds = seconds(left);
                    self.undecided_until(intent, Finding::MayDisappear { seconds }, look_only).await
                }
            };
        }
        // If it is so new that its system may not show it yet, that it is not found proves nothing. Its
        // system showed it when the deletion began.
        let is_certain = can_look && self.not_shown_for(&**driver, &record, now).is_none();
        if !is_certain && !look_only {
            let mut call = self.call();
            call.idempotency_key.clone_from(&intent.idempotency_key);
            self.shared.count_call();
            match self.delete_record(&**driver, &call, &record, false).await {
                Ok(()) => {}
                Err(CallError::Failure(Failure::Pending { pending, .. })) => {
                    let going = Change::Put(Box::new(going(Record::clone(&record), &pending)));
                    return self.settled(vec![going], id.clone(), Finding::NotDeleted);
                }
                // This attempt may have done nothing, but that says nothing about the first attempt.
                Err(error) => {
                    self.shared.leave_unknown(&self.step.key);
                    return Err(error.into());
                }
            }
        }
        self.settled(self.gone_with_guests(&record, true), id.clone(), Finding::Gone)
    }
}

/// The result of reading a resource.
enum Looked {
    /// The driver cannot read.
    Not,
    /// It is not found, but so new that its system may not show it yet.
    NotShown,
    Gone,
    Found(Observed),
}

/// The created resource with the inputs that were needed to find it. If these differ from its
/// original inputs, the next plan compares it with the documents again.
fn with(made: &Record, other: Option<Inputs>) -> Record {
    match other {
        None => made.clone(),
        Some(inputs) => Record { inputs, digest: [0; 32], ..made.clone() },
    }
}

/// The changes that record a new object and turn the object that it replaces into an old copy.
fn instead_of(there: Option<&Record>, task: Task<'_>, made: &Record) -> Vec<Change> {
    let mut changes = Vec::with_capacity(3);
    // Some of its dependencies may be gone since, or may depend on it.
    let may_depend = |on: &&Urn| task.shared.may_depend(&made.urn, on);
    let dependencies = made.dependencies.iter().filter(may_depend).cloned().collect();
    let made = Record { dependencies, ..made.clone() };
    let Some(there) = there else {
        changes.push(Change::Put(Box::new(made)));
        return changes;
    };
    // The setting of the interrupted run counts.
    if made.retain {
        changes.extend(task.shared.left_behind(&there.id()));
    } else {
        let number = task.shared.plan.recorded.next_copy(&made.urn);
        changes.push(Change::Put(Box::new(old_copy(there, number, &made))));
    }
    // No resource recorded so far lives in an object that was unknown until now.
    changes.push(Change::Put(Box::new(Record { created: task.shared.moments.next(), ..made })));
    changes
}
