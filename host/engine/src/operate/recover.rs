//! Finding out what became of a call that was interrupted (SPEC §10): it is never guessed.

use purlin_model::driver::{Failure, Inputs, Observed};
use purlin_model::{Finding, Label, Unfinished, Urn};
use purlin_sandbox::CallError;
use purlin_state::{Change, Intent, Operation, Record, RecordId, Status};

use super::call::patiently;
use super::inputs::Attempt;
use super::read::{refreshed, tells_all};
use super::{Done, Outcome, Task, nothing, somewhere};
use crate::driver::{Call, Driver};
use crate::error::Cause;
use crate::fate;
use crate::plan::Action;
use crate::recorded::{exists, is_outcome};

impl Task<'_> {
    /// Settles what is pending for a record, where that can be known.
    pub(super) async fn recover(self, id: &RecordId, look_only: bool) -> Outcome {
        let Some(intent) = self.shared.plan.recorded.pending(id).cloned() else { return Ok(nothing()) };
        match &intent.operation {
            Operation::Create(record) => self.recover_create(&intent, record, look_only).await,
            Operation::Update(record) => self.recover_update(record).await,
            Operation::Delete(id) => self.recover_delete(&intent, id, look_only).await,
        }
    }

    fn settled(self, mut changes: Vec<Change>, id: RecordId, finding: Finding) -> Outcome {
        self.observed(finding, Vec::new());
        changes.push(Change::Settle(id));
        Ok(Done { action: Action::Read, durable: Some(self.shared.submit(changes)?) })
    }

    /// By the id that the driver named, else by its name, else by asking for it again with the
    /// same idempotency key; else it stays undecided.
    ///
    /// What is recorded already, such as the one that was to be replaced, is no evidence: the new one may
    /// exist beside it under the same name, or not.
    async fn recover_create(self, intent: &Intent, made: &Record, look_only: bool) -> Outcome {
        let driver = self.driver_of(made)?;
        let implements = driver.manifest().implements;
        let there = self.current().filter(|record| exists(record));
        // A journal that lost a part of itself may have the outcome and no longer that it is settled.
        if there.as_ref().is_some_and(|there| is_outcome(there, made)) {
            return self.settled(Vec::new(), intent.id(), Finding::Created);
        }
        let (mut found, mut other) = (None, None);
        if implements.read {
            let id = intent.checkpoint.as_ref().map(Label::expose);
            // A driver that marks what it makes tells the new one from another of its name by the key.
            let call = Call { idempotency_key: intent.idempotency_key.clone(), ..self.call() };
            (found, other) = self.look(&**driver, &call, made, id, None).await?;
            let Some(seen) = &found else {
                return self.settled(Vec::new(), intent.id(), Finding::NotCreated);
            };
            if self.shared.is_held(&Record { state: seen.state.clone(), ..made.clone() }) {
                found = None;
            }
        }
        if implements.repeat_create && look_only && found.is_none() {
            return self.settled(Vec::new(), intent.id(), Finding::CreateRepeated);
        }
        // Where the records are older than what is real, the answer may not have been lost, and what was made
        // then may have been replaced since.
        let is_repeated = found.is_none() || !self.shared.plan.doubted;
        if implements.repeat_create && !look_only && is_repeated {
            match self.create_again(&**driver, intent, with(made, other.clone()), there.as_deref()).await {
                // What was seen is there, whatever asking for it again came to.
                Err(_) if found.is_some() => {}
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
        let mut record =
            refreshed(&Record { state: found.state.clone(), ..with(made, other.take()) }, &found);
        let is_as_made = tells_all(made, &found) && record.inputs.values == made.inputs.values;
        if self.shared.plan.doubted && !is_as_made {
            // It may have been moved or replaced since.
            record = somewhere(&record);
        }
        if implements.update && unsure {
            // Whether all of it was made is not known; changing it to what is wanted is.
            record.status = Status::Partial(Unfinished::InterruptedCreate);
        }
        let mut changes = instead_of(there.as_deref(), self, &record);
        changes.push(Change::Settle(intent.id()));
        match self.shared.claim(&record, |_| true, changes)? {
            Ok(durable) => {
                self.observed(Finding::Created, Vec::new());
                Ok(Done { action: Action::Read, durable: Some(durable) })
            }
            // Another one was found to be it meanwhile.
            Err(_) => Ok(self.undecided()),
        }
    }

    fn undecided(self) -> Done {
        self.shared.leave_unknown(&self.step.key);
        self.observed(Finding::MayExist, Vec::new());
        nothing()
    }

    /// The contract says that a repeated call with the same key finds what the first one made.
    async fn create_again(
        self,
        driver: &dyn Driver,
        intent: &Intent,
        made: Record,
        there: Option<&Record>,
    ) -> Outcome {
        let mut call = self.call();
        call.idempotency_key.clone_from(&intent.idempotency_key);
        call.checkpoint = Some(self.checkpoints(&intent.id()));
        self.shared.count_call();
        let mut attempt = Attempt::new(self, driver, &made, true).await;
        let replaces = there.filter(|there| fate::made_it(driver, there)).map(|there| &there.state.id);
        let result = loop {
            let create = || driver.create(&call, attempt.inputs(), made.name.expose(), replaces);
            match patiently(&self.shared.cancel, self.effort, create).await {
                Err(error) if attempt.next(driver, &error).await => {}
                result => break result,
            }
        };
        let record = match result {
            Ok(state) => Record { state, ..with(&made, attempt.succeeded()) },
            Err(CallError::Failure(Failure::Partial { state, message })) => {
                let status = Status::Partial(Unfinished::Failed { message });
                Record { state: *state, status, ..with(&made, attempt.succeeded()) }
            }
            // The same inputs were refused the first time, too.
            Err(CallError::Failure(Failure::InvalidInputs(_))) => {
                return self.settled(Vec::new(), intent.id(), Finding::NotCreated);
            }
            // This attempt made nothing, perhaps; of the first one it says nothing.
            Err(error) => return Err(error.into()),
        };
        // Whether it was made then or now is not known, and so may be in which of two it lives.
        let may_be_in_two = made.deleted_with.as_ref().is_some_and(|host| self.is_younger(host, &made));
        let record = if may_be_in_two { somewhere(&record) } else { record };
        let mut changes = instead_of(there, self, &record);
        changes.push(Change::Settle(intent.id()));
        let durable = self.shared.submit(changes)?;
        self.observed(Finding::Created, Vec::new());
        Ok(Done { action: Action::Read, durable: Some(durable) })
    }

    /// Whether it was changed does not matter much: it is looked at, or changed again.
    async fn recover_update(self, changed: &Record) -> Outcome {
        let id = changed.id();
        let Some(record) = self.recorded(&id) else { return self.settled(Vec::new(), id, Finding::Gone) };
        let mut known = Record {
            status: Status::Partial(Unfinished::InterruptedUpdate),
            ..self.between(&record, changed)
        };
        match self.look_after_update(changed, &record).await {
            Ok(Looked::Not) => {}
            Ok(Looked::Found(found)) => known = refreshed(&known, &found),
            Ok(Looked::Gone) => {
                return self.settled(self.gone_with_company(&record, false), id, Finding::Gone);
            }
            Err(cause) => {
                // What else this run does has to know how far it may have come.
                self.shared.submit(vec![Change::Put(Box::new(known))])?.await?;
                return Err(cause);
            }
        }
        self.settled(vec![Change::Put(Box::new(known))], id, Finding::MayBeUpdated)
    }

    async fn look_after_update(self, changed: &Record, record: &Record) -> Result<Looked, Cause> {
        let driver = self.driver_of(changed)?;
        if !driver.manifest().implements.read {
            return Ok(Looked::Not);
        }
        Ok(self.look_at_record(&**driver, record).await?.map_or(Looked::Gone, Looked::Found))
    }

    /// A deletion is finished: deleting what is gone is a success.
    async fn recover_delete(self, intent: &Intent, id: &RecordId, look_only: bool) -> Outcome {
        let Some(record) = self.recorded(id) else {
            return self.settled(Vec::new(), id.clone(), Finding::Gone);
        };
        let driver = self.driver_of(&record)?;
        if driver.manifest().implements.read {
            if self.look_at_record(&**driver, &record).await?.is_some() {
                return self.settled(Vec::new(), id.clone(), Finding::NotDeleted);
            }
        } else if !look_only {
            let mut call = self.call();
            call.idempotency_key.clone_from(&intent.idempotency_key);
            self.shared.count_call();
            // This attempt did nothing, perhaps; of the first one it says nothing.
            if let Err(error) = self.delete_record(&**driver, &call, &record, false).await {
                self.shared.leave_unknown(&self.step.key);
                return Err(error.into());
            }
        }
        self.settled(self.gone_with_company(&record, true), id.clone(), Finding::Gone)
    }
}

/// What a look at something came to.
enum Looked {
    /// Its driver cannot look.
    Not,
    Gone,
    Found(Observed),
}

/// What was made, with the inputs that were needed to find it. With other ones than it was made with, it is
/// compared with the documents once more.
fn with(made: &Record, other: Option<Inputs>) -> Record {
    match other {
        None => made.clone(),
        Some(inputs) => Record { inputs, digest: [0; 32], ..made.clone() },
    }
}

/// What a new one replaces becomes an old copy.
fn instead_of(there: Option<&Record>, task: Task<'_>, made: &Record) -> Vec<Change> {
    let mut changes = Vec::with_capacity(3);
    // What it depended on may be gone since, or depend on it.
    let may_depend = |on: &&Urn| task.shared.may_depend(&made.urn, on);
    let dependencies = made.dependencies.iter().filter(may_depend).cloned().collect();
    let made = Record { dependencies, ..made.clone() };
    let Some(there) = there else {
        changes.push(Change::Put(Box::new(made)));
        return changes;
    };
    // The wish of the run that was interrupted counts.
    if made.retain {
        changes.extend(task.shared.left_behind(&there.id()));
    } else {
        let number = task.shared.plan.recorded.next_copy(&made.urn);
        changes.push(Change::Put(Box::new(Record { superseded: Some(number), ..there.clone() })));
    }
    // Nothing that is recorded so far lives in what nobody knew of.
    changes.push(Change::Put(Box::new(Record { created: (task.shared.clock)(), ..made })));
    changes
}
