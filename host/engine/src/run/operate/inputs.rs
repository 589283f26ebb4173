//! Chooses the inputs of calls on a recorded resource. The first attempt uses the recorded inputs
//! with the current connection. If it fails, the next attempts use the recorded connection, then
//! the secrets of the current documents, then all inputs of the current documents.
//!
//! A server that the current documents name may have a different object with the same id. A
//! deletion there therefore requires a read that finds the resource itself, and a resource that is
//! being replaced is looked for only at its recorded place.

use std::borrow::Cow;
use std::sync::Arc;

use purlin_model::driver::{Failure, Inputs, Observed, ResourceState};
use purlin_model::{Finding, Label};
use purlin_sandbox::CallError;
use purlin_state::Record;

use super::Task;
use super::call::repeatedly;
use super::read::read_if_exists;
use crate::changes::diff;
use crate::driver::{Call, Driver, ReadRequest};
use crate::error::Cause;
use crate::records::recorded::exists;

/// The source of the inputs of an attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Connection,
    Record,
    Secrets,
    Documents,
}

/// The inputs of a call on a recorded resource.
pub(super) struct Attempt<'a> {
    task: Task<'a>,
    record: &'a Record,
    from: From,
    /// Whether the resource may be looked for at the place that the current documents name.
    may_move: bool,
    /// The recorded inputs with the current connection, if that differs from the recorded one.
    reached: Option<Inputs>,
    other: Option<Inputs>,
}

impl<'a> Attempt<'a> {
    pub(super) async fn new(task: Task<'a>, driver: &dyn Driver, record: &'a Record, may_move: bool) -> Self {
        let plan = &task.shared.plan;
        let reached = match &plan.current {
            Some(current) => current.with_current_connection(record, &plan.recorded, driver).await,
            None => None,
        };
        let from = if reached.is_some() { From::Connection } else { From::Record };
        Self { task, record, from, may_move, reached, other: None }
    }

    /// The inputs of the next call.
    pub(super) fn inputs(&self) -> &Inputs {
        self.other.as_ref().or(self.reached.as_ref()).unwrap_or(&self.record.inputs)
    }

    /// Switches to other inputs after a failure that they could resolve. Returns whether there are
    /// any.
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

    /// Reports and returns the inputs that succeeded, if they differ from the recorded ones.
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
        CallError::Failure(failure) => !matches!(
            failure,
            Failure::Pending { .. }
                | Failure::Partial { .. }
                | Failure::Conflict(_)
                | Failure::NeedsDeleteBefore(_)
        ),
        // The server may not respond.
        CallError::TimeLimit { .. } | CallError::TotalTimeLimit { .. } => true,
        _ => false,
    }
}

impl Task<'_> {
    /// Reads a recorded resource. Returns the result, and the inputs if other inputs than the
    /// recorded ones were needed.
    pub(super) async fn read_recorded(
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
            let request = ReadRequest {
                id,
                name: record.name.expose(),
                inputs: attempt.inputs(),
                state,
                known: &known,
            };
            match driver.read(call, request).await {
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

    /// The ids of other objects that may have the same name as a resource: its old and new copies,
    /// and all resources with the same name from its driver.
    pub(super) fn known_as(self, of: &Record) -> Vec<Label> {
        let recorded = &self.shared.plan.recorded;
        let own = recorded.current(&of.urn).into_iter().chain(recorded.copies(&of.urn));
        // The default name derives from the URN and is unique.
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

    /// Reads a recorded resource by its id.
    pub(super) async fn look_at_record(
        self,
        driver: &dyn Driver,
        record: &Record,
    ) -> Result<Option<Observed>, Cause> {
        let id = Some(record.state.id.expose());
        let found = self.read_recorded(driver, &self.call(), record, id, Some(&record.state)).await?;
        Ok(found.0)
    }

    /// Deletes a recorded resource. A resource that is already gone counts as deleted.
    pub(super) async fn delete_record(
        self,
        driver: &dyn Driver,
        call: &Call,
        record: &Record,
        may_move: bool,
    ) -> Result<(), CallError> {
        let may_move = may_move && driver.implements_for(record).read;
        let mut attempt = Attempt::new(self, driver, record, may_move).await;
        let (mut uncertain, mut state) = (None, Cow::Borrowed(&record.state));
        loop {
            let result = repeatedly(self.shared, self.effort, driver.patience(), || {
                driver.delete(call, &state, attempt.inputs(), record.holds_data.is_some())
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
                match self.recorded_object(driver, record, attempt.inputs()).await {
                    Some(found) => state = Cow::Owned(found),
                    None => goes_on = false,
                }
            }
            // A later attempt says nothing about the effects of an earlier one.
            let error = uncertain.take().unwrap_or(error);
            if !goes_on {
                return Err(error);
            }
            uncertain = Some(error).filter(|error| !error.did_nothing());
        }
    }

    /// The object that these inputs lead to, if it certainly is the recorded one: it has the name
    /// of this resource, or all its outputs equal the recorded ones.
    async fn recorded_object(
        self,
        driver: &dyn Driver,
        record: &Record,
        inputs: &Inputs,
    ) -> Option<ResourceState> {
        if let Some(found) = self.by_name(driver, record, inputs).await {
            return Some(found.state);
        }
        let id = Some(record.state.id.expose());
        let by_id =
            ReadRequest { id, name: record.name.expose(), inputs, state: Some(&record.state), known: &[] };
        let found = read_if_exists(driver, &self.call(), by_id).await.ok()??;
        (found.state.outputs == record.state.outputs).then(|| record.state.clone())
    }

    /// The object with the name of a recorded resource, which only that resource may have. Its id
    /// may differ, since ids can contain the place. `None` if other records might match it.
    async fn by_name(self, driver: &dyn Driver, record: &Record, inputs: &Inputs) -> Option<Observed> {
        let known = self.known_as(record);
        let request =
            ReadRequest { id: None, name: record.name.expose(), inputs, state: None, known: &known };
        let found = read_if_exists(driver, &self.call(), request).await.ok()??;
        let recorded = &self.shared.plan.recorded;
        let seen = Record { state: found.state.clone(), ..record.clone() };
        let copies = recorded.copies(&record.urn).chain(recorded.current(&record.urn));
        let mut others = copies.filter(|copy| copy.driver.name == record.driver.name);
        // What the plan knew under this URN is another object, if this run made the one in question.
        let is_it = |other: &Arc<Record>| other.id() == record.id() && other.state.id == record.state.id;
        (others.all(is_it) && recorded.of_same_object(&seen).all(is_it)).then_some(found)
    }
}
