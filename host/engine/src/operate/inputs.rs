//! With which inputs a driver is called about something that is recorded: the recorded ones with the current
//! connection; where that fails, with the recorded connection, then with the secrets of the current documents,
//! then with all that these say.
//!
//! A server that the current documents name may hold something else under the same id. So a deletion there
//! comes after a look that finds the resource itself, and what is replaced is only looked for where it was.

use std::borrow::Cow;
use std::sync::Arc;

use purlin_model::driver::{Failure, Inputs, Observed, ResourceState};
use purlin_model::{Finding, Label};
use purlin_sandbox::CallError;
use purlin_state::Record;

use super::Task;
use super::call::{is_certain, repeatedly};
use super::read::look_at;
use crate::diff;
use crate::driver::{Call, Driver, Look};
use crate::error::Cause;
use crate::recorded::exists;

/// How far from the recorded inputs an attempt is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Connection,
    Record,
    Secrets,
    Documents,
}

/// The inputs of a call about something recorded.
pub(super) struct Attempt<'a> {
    task: Task<'a>,
    record: &'a Record,
    from: From,
    /// Whether it may be looked for where the current documents say.
    may_move: bool,
    /// The recorded inputs with the current connection, where that is another one.
    reached: Option<Inputs>,
    other: Option<Inputs>,
}

impl<'a> Attempt<'a> {
    pub(super) async fn new(task: Task<'a>, driver: &dyn Driver, record: &'a Record, may_move: bool) -> Self {
        let plan = &task.shared.plan;
        let reached = match &plan.current {
            Some(current) => current.reached(record, &plan.recorded, driver).await,
            None => None,
        };
        let from = if reached.is_some() { From::Connection } else { From::Record };
        Self { task, record, from, may_move, reached, other: None }
    }

    /// Those that the next call is made with.
    pub(super) fn inputs(&self) -> &Inputs {
        self.other.as_ref().or(self.reached.as_ref()).unwrap_or(&self.record.inputs)
    }

    /// Goes over to other inputs after a failure that they may mend. Says whether there are any.
    pub(super) async fn next(&mut self, driver: &dyn Driver, error: &CallError) -> bool {
        let shared = self.task.shared;
        if self.from == From::Connection {
            (self.from, self.reached) = (From::Record, None);
            return may_be_inputs(error) && !shared.cancel.is_requested();
        }
        if self.from == From::Documents || !may_be_inputs(error) || shared.cancel.is_requested() {
            return false;
        }
        let Some(current) = &shared.plan.current else { return false };
        let call = self.task.call();
        let Some(current) = current.of(self.record, &shared.plan.recorded, driver, &call).await else {
            return false;
        };
        let recorded = &self.record.inputs;
        if self.from == From::Record
            && (&current.secrets, &current.account) != (&recorded.secrets, &recorded.account)
        {
            self.from = From::Secrets;
            let Inputs { secrets, connection, account, .. } = current;
            self.other = Some(Inputs { secrets, connection, account, ..recorded.clone() });
            return true;
        }
        if self.may_move && (&current.values, &current.params) != (&recorded.values, &recorded.params) {
            self.from = From::Documents;
            self.other = Some(current);
            return true;
        }
        false
    }

    /// Says with which inputs it succeeded where these are not the recorded ones, and returns them.
    pub(super) fn succeeded(self) -> Option<Inputs> {
        let used = self.other?;
        let changes = diff::inputs(Some(&self.record.inputs), &used);
        self.task.observed(Finding::CurrentInputs, changes);
        Some(used)
    }
}

/// Whether a call may have failed because of its inputs.
fn may_be_inputs(error: &CallError) -> bool {
    match error {
        CallError::Failure(failure) => {
            !matches!(failure, Failure::Partial { .. } | Failure::Conflict(_) | Failure::NeedsDeleteBefore(_))
        }
        // A place that does not answer.
        CallError::TimeLimit { .. } | CallError::TotalTimeLimit { .. } => true,
        _ => false,
    }
}

impl Task<'_> {
    /// Looks at something recorded. Returns what was found, and the inputs where others than the recorded
    /// ones were needed.
    pub(super) async fn look(
        self,
        driver: &dyn Driver,
        call: &Call,
        record: &Record,
        id: Option<&str>,
        state: Option<&ResourceState>,
    ) -> Result<(Option<Observed>, Option<Inputs>), Cause> {
        let mut attempt = Attempt::new(self, driver, record, true).await;
        let known = if id.is_none() { self.known_as(record) } else { Vec::new() };
        loop {
            let look =
                Look { id, name: record.name.expose(), inputs: attempt.inputs(), state, known: &known };
            match driver.read(call, look).await {
                Ok(found) => return Ok((found, attempt.succeeded())),
                Err(CallError::Failure(Failure::NotFound(_))) => return Ok((None, attempt.succeeded())),
                Err(error) if attempt.next(driver, &error).await => {}
                Err(error) if attempt.from == From::Documents && id.is_some() => {
                    return match self.by_name(driver, record, attempt.inputs()).await {
                        Some(found) => Ok((Some(found), attempt.succeeded())),
                        None => Err(error.into()),
                    };
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The ids of others that may have the name of a resource: of its old and new ones, and of all that its
    /// driver gave the same name.
    pub(super) fn known_as(self, of: &Record) -> Vec<Label> {
        let recorded = &self.shared.plan.recorded;
        let own = recorded.current(&of.urn).into_iter().chain(recorded.copies(&of.urn));
        // The name that nobody chose is that of its URN.
        let is_chosen = of.name.expose() != of.urn.guresid().as_str();
        let others = recorded.records().filter(|other| is_chosen && other.name == of.name);
        let known = own.chain(others).filter(|other| {
            other.driver.name == of.driver.name && other.state.id != of.state.id && exists(other)
        });
        let mut known: Vec<Label> = known.map(|other| other.state.id.clone()).collect();
        known.sort_unstable_by(|one, other| one.expose().cmp(other.expose()));
        known.dedup();
        known
    }

    /// Looks at something recorded, by its id.
    pub(super) async fn look_at_record(
        self,
        driver: &dyn Driver,
        record: &Record,
    ) -> Result<Option<Observed>, Cause> {
        let id = Some(record.state.id.expose());
        let found = self.look(driver, &self.call(), record, id, Some(&record.state)).await?;
        Ok(found.0)
    }

    /// Deletes something recorded; what is gone already is a success.
    pub(super) async fn delete_record(
        self,
        driver: &dyn Driver,
        call: &Call,
        record: &Record,
        may_move: bool,
    ) -> Result<(), CallError> {
        let may_move = may_move && driver.manifest().implements.read;
        let mut attempt = Attempt::new(self, driver, record, may_move).await;
        let (mut uncertain, mut state) = (None, Cow::Borrowed(&record.state));
        loop {
            let result = repeatedly(&self.shared.cancel, self.effort, || {
                driver.delete(call, &state, attempt.inputs())
            })
            .await;
            let error = match result {
                Ok(()) | Err(CallError::Failure(Failure::NotFound(_))) => {
                    attempt.succeeded();
                    return Ok(());
                }
                Err(error) => error,
            };
            let mut goes_on = attempt.next(driver, &error).await;
            if goes_on && attempt.from == From::Documents {
                match self.there(driver, record, attempt.inputs()).await {
                    Some(there) => state = Cow::Owned(there),
                    None => goes_on = false,
                }
            }
            // Of what an earlier attempt did a later one says nothing.
            let error = uncertain.take().unwrap_or(error);
            if !goes_on {
                return Err(error);
            }
            uncertain = Some(error).filter(|error| !is_certain(error));
        }
    }

    /// What these inputs lead to, where it is certain that it is what is recorded: what has the name that
    /// this resource has there, or is in all that is read as it was recorded.
    async fn there(self, driver: &dyn Driver, record: &Record, inputs: &Inputs) -> Option<ResourceState> {
        if let Some(found) = self.by_name(driver, record, inputs).await {
            return Some(found.state);
        }
        let id = Some(record.state.id.expose());
        let by_id = Look { id, name: record.name.expose(), inputs, state: Some(&record.state), known: &[] };
        let found = look_at(driver, &self.call(), by_id).await.ok()??;
        (found.state.outputs == record.state.outputs).then(|| record.state.clone())
    }

    /// What has the name of a recorded resource, which only that resource may have. A place may be part of
    /// an id, so that the id may be another one. None where others are recorded that it may be.
    async fn by_name(self, driver: &dyn Driver, record: &Record, inputs: &Inputs) -> Option<Observed> {
        let known = self.known_as(record);
        let look = Look { id: None, name: record.name.expose(), inputs, state: None, known: &known };
        let found = look_at(driver, &self.call(), look).await.ok()??;
        let recorded = &self.shared.plan.recorded;
        let seen = Record { state: found.state.clone(), ..record.clone() };
        let copies = recorded.copies(&record.urn).chain(recorded.current(&record.urn));
        let mut others = copies.filter(|copy| copy.driver.name == record.driver.name);
        let is_it = |other: &Arc<Record>| other.id() == record.id();
        (others.all(is_it) && recorded.holders(&seen).all(is_it)).then_some(found)
    }
}
