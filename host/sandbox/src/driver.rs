//! A loaded driver: the functions of the contract, in the types of the model.
//!
//! This module answers functions that a driver does not implement, as the contract says, without an
//! instance.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use purlin_model::driver::{
    Checked, DriverInfo, Failure, Forecast, Impact, Implements, Inputs, Observed, ResourceState,
};
use purlin_model::{Grants, Label};

use crate::bindings::preview::purlin::preview::types as preview;
use crate::bindings::purlin::driver::types as wit;
use crate::call::{CallData, Runner};
use crate::capability::CallEffect;
use crate::context::CallContext;
use crate::convert::{self, Reader};
use crate::error::CallError;

/// A driver that can be called. Cheap to clone.
#[derive(Clone)]
pub struct Driver(Arc<Inner>);

struct Inner {
    runner: Runner,
    info: DriverInfo,
    digest: String,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("name", &self.name())
            .field("version", &self.0.info.version)
            .field("digest", &self.0.digest)
            .finish_non_exhaustive()
    }
}

/// A change of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The existing resource.
    pub state: &'a ResourceState,
    /// The inputs that it was created with.
    pub before: &'a Inputs,
    /// The new inputs.
    pub after: &'a Inputs,
    /// The result of [`Driver::name_of`].
    pub name: &'a str,
}

/// The resource to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The driver's id; none for a search by name.
    pub id: Option<&'a str>,
    /// The result of [`Driver::name_of`].
    pub name: &'a str,
    /// The inputs of the last or the next provisioning.
    pub inputs: &'a Inputs,
    /// The record, if any.
    pub state: Option<&'a ResourceState>,
    /// Ids of other resources that may have this name.
    pub known: &'a [Label],
}

/// An effect to foresee. Inputs may be unknown, and then a new resource has no name yet: an empty one.
#[derive(Clone, Copy, Debug)]
pub enum Effect<'a> {
    /// Of [`Driver::create`].
    Create {
        /// The inputs of the new resource.
        inputs: &'a Inputs,
        /// The result of [`Driver::name_of`].
        name: &'a str,
        /// The id of the resource that it replaces.
        replaces: Option<&'a Label>,
    },
    /// Of [`Driver::update`].
    Update(Change<'a>),
    /// Of [`Driver::delete`].
    Delete {
        /// The resource.
        state: &'a ResourceState,
        /// The inputs of its last provisioning.
        inputs: &'a Inputs,
        /// Whether somebody agreed to lose the data that it holds.
        data_loss_allowed: bool,
    },
}

impl Driver {
    pub(crate) fn new(runner: Runner, info: DriverInfo, digest: String) -> Self {
        Self(Arc::new(Inner { runner, info, digest }))
    }

    /// The operator's name for it.
    pub fn name(&self) -> &str {
        &self.0.runner.name
    }

    /// Its description of itself.
    pub fn info(&self) -> &DriverInfo {
        &self.0.info
    }

    /// What it implements for the type of a call's resource.
    fn implements(&self, context: &CallContext<'_>) -> Implements {
        self.0.info.implements(context.subject.key.type_name())
    }

    /// SHA-256 of the component, in hex.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Every capability that its imports could use, as in [`crate::Interfaces::reach`].
    pub fn reach(&self) -> BTreeSet<String> {
        self.0.runner.reach()
    }

    /// Whether it foresees its effects ([`Driver::preview`]).
    pub fn previews(&self) -> bool {
        self.0.runner.previews()
    }

    /// The operator's grants for it.
    pub fn grants(&self) -> &Grants {
        self.0.runner.grants()
    }

    /// The wall-clock time after which any call is ended.
    pub fn longest(&self) -> Duration {
        self.0.runner.longest()
    }

    /// How long one operation waits between its calls, if the driver asks for it.
    pub fn patience(&self) -> Duration {
        self.0.runner.patience()
    }

    /// How long its system may not show a new resource ([`purlin_model::Limits::grace`]).
    pub fn grace(&self) -> Duration {
        self.0.runner.grace()
    }

    /// How long a run waits for one of its resources that is in progress
    /// ([`purlin_model::Limits::pending`]).
    pub fn pending(&self) -> Duration {
        self.0.runner.limits.pending
    }

    fn reader<'a>(&'a self, given: &'a CallData<'_>) -> Reader<'a> {
        let runner = &self.0.runner;
        Reader::new(
            &runner.name,
            (runner.limits.output, runner.limits.state),
            &given.matcher,
            given.context.observer.as_deref(),
        )
    }

    /// Validates inputs and fills in defaults. `previous` is the result of the last provisioning.
    /// No effects; inputs may be unknown.
    ///
    /// # Errors
    /// [`CallError::Failure`] with every fault, or the reason that ended the call.
    pub async fn check(
        &self,
        context: &CallContext<'_>,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Result<Checked, CallError> {
        if !self.implements(context).check {
            return Ok(Checked {
                values: inputs.values.clone(),
                secrets: inputs.secrets.clone(),
                warnings: Vec::new(),
            });
        }
        let given = self.0.runner.given(context, &[Some(inputs), previous], None);
        let request = wit::CheckRequest {
            subject: self.0.runner.subject(context),
            inputs: convert::inputs(inputs),
            previous: previous.map(convert::previous),
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_check(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        answer.map_or_else(|failure| Err(reader.failure(failure)), |checked| reader.checked(checked, inputs))
    }

    /// The friendly name of the real object. No effects.
    ///
    /// # Errors
    /// [`CallError::Failure`], or the reason that ended the call.
    pub async fn name_of(&self, context: &CallContext<'_>, inputs: &Inputs) -> Result<Label, CallError> {
        if !self.implements(context).name {
            return Ok(context.subject.urn.guresid().as_str().into());
        }
        let given = self.0.runner.given(context, &[Some(inputs)], None);
        let request = wit::NameRequest {
            subject: self.0.runner.subject(context),
            inputs: convert::known(inputs)?,
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_name(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        answer.map_or_else(|failure| Err(reader.failure(failure)), |name| reader.name(name))
    }

    /// Creates the resource. `replaces` is the id of the one that it replaces, if that still
    /// exists.
    ///
    /// # Errors
    /// [`CallError::Failure`]: nothing was made, unless it is `Pending`, `Partial` or `Undecided`. Any other error
    /// leaves the outcome open.
    pub async fn create(
        &self,
        context: &CallContext<'_>,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        let given = self.0.runner.given(context, &[Some(inputs)], None).with(CallEffect::Create);
        let request = wit::CreateRequest {
            subject: self.0.runner.subject(context),
            inputs: convert::known(inputs)?,
            name: name.to_owned(),
            replaces: replaces.map(|id| id.expose().to_owned()),
            call: self.0.runner.facts_of_effect(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_create(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        answer.map_or_else(|failure| Err(reader.failure(failure)), |state| reader.state(state))
    }

    /// Reads the resource. `None` if it is gone. One that is not done yet is there, and says what it waits
    /// for.
    ///
    /// A driver without `read` is not called: the record is treated as reality, and nothing else
    /// can be found.
    ///
    /// # Errors
    /// [`CallError::Failure`], also without a record if the driver has no `read`;
    /// [`CallError::Junk`] if it answers with an id other than the recorded one; or the reason that
    /// ended the call.
    pub async fn read(
        &self,
        context: &CallContext<'_>,
        request: ReadRequest<'_>,
    ) -> Result<Option<Observed>, CallError> {
        let ReadRequest { id, name, inputs, state, known } = request;
        if !self.implements(context).read {
            // "Nothing found" would be treated as "nothing there".
            let Some(state) = state.cloned() else {
                let message = format!("the driver `{}` cannot read existing objects", self.name());
                return Err(CallError::Failure(Failure::Failed(message.into())));
            };
            return Ok(Some(Observed { state, ..Observed::default() }));
        }
        let given = self.0.runner.given(context, &[Some(inputs)], state);
        let request = wit::ReadRequest {
            subject: self.0.runner.subject(context),
            id: id.map(str::to_owned),
            name: name.to_owned(),
            inputs: convert::known(inputs)?,
            state: state.map(|state| convert::state(state, self.name())).transpose()?,
            known: known.iter().map(|id| id.expose().to_owned()).collect(),
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_read(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        let observed = match answer {
            Ok(Some(observed)) => reader.observed(observed, inputs)?,
            Ok(None) => return Ok(None),
            Err(failure) => match reader.failure(failure) {
                // It exists: what is not done yet is as it was recorded, if the driver does not say more.
                CallError::Failure(Failure::Pending { state: found, pending }) => {
                    match found.map(|found| *found).or_else(|| state.cloned()) {
                        Some(state) => Observed { state, values: None, pending: Some(pending) },
                        None => {
                            return Err(CallError::Failure(Failure::Pending { state: None, pending }));
                        }
                    }
                }
                error => return Err(error),
            },
        };
        let recorded = state.map(|state| state.id.expose()).filter(|recorded| id == Some(recorded));
        if recorded.is_some_and(|recorded| recorded != observed.state.id.expose()) {
            return Err(reader.junk("`read` returned another id than the requested one"));
        }
        Ok(Some(observed))
    }

    /// Decides which changes replace and which update in place, and in which order. No effects;
    /// `after` may be unknown. For a driver without `update`, every change replaces.
    ///
    /// # Errors
    /// [`CallError::Failure`], or the reason that ended the call.
    pub async fn update_impact(
        &self,
        context: &CallContext<'_>,
        change: Change<'_>,
    ) -> Result<Impact, CallError> {
        let implements = self.implements(context);
        let whole = || vec![String::new()];
        if !implements.update_impact {
            let replaces = if implements.update { Vec::new() } else { whole() };
            return Ok(Impact { replaces, ..Impact::default() });
        }
        let given =
            self.0.runner.given(context, &[Some(change.before), Some(change.after)], Some(change.state));
        let facts = self.0.runner.facts(&given);
        let request = self.change(&given, &change, convert::inputs(change.after), facts)?;
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| {
                Box::pin(async move { guest.call_update_impact(store, &request).await })
            })
            .await?;
        let reader = self.reader(&given);
        let answer = answer.map_err(|failure| reader.failure(failure));
        let mut impact = reader.impact(answer?)?;
        if !implements.update && impact.replaces.is_empty() {
            impact.replaces = whole();
        }
        Ok(impact)
    }

    /// Says what an effect would make; `None` if the driver does not foresee its effects. No effects.
    ///
    /// # Errors
    /// [`CallError::Failure`], none of which is about an effect; [`CallError::Junk`] for a forecast that cannot
    /// be used; or the reason that ended the call.
    pub async fn preview(
        &self,
        context: &CallContext<'_>,
        effect: Effect<'_>,
    ) -> Result<Option<Forecast>, CallError> {
        if !self.previews() {
            return Ok(None);
        }
        let runner = &self.0.runner;
        let given = match effect {
            Effect::Create { inputs, .. } => runner.given(context, &[Some(inputs)], None),
            Effect::Update(Change { before, after, state, .. }) => {
                runner.given(context, &[Some(before), Some(after)], Some(state))
            }
            Effect::Delete { state, inputs, .. } => runner.given(context, &[Some(inputs)], Some(state)),
        };
        let effect = match effect {
            Effect::Create { inputs, name, replaces } => preview::Effect::Create(wit::CreateRequest {
                subject: runner.subject(context),
                inputs: convert::inputs(inputs),
                name: name.to_owned(),
                replaces: replaces.map(|id| id.expose().to_owned()),
                call: runner.facts(&given),
            }),
            Effect::Update(change) => {
                let facts = runner.facts(&given);
                preview::Effect::Update(self.change(&given, &change, convert::inputs(change.after), facts)?)
            }
            Effect::Delete { state, inputs, data_loss_allowed } => {
                preview::Effect::Delete(wit::DeleteRequest {
                    subject: runner.subject(context),
                    state: convert::state(state, self.name())?,
                    inputs: convert::inputs(inputs),
                    data_loss_allowed,
                    call: runner.facts(&given),
                })
            }
        };
        let reader = self.reader(&given);
        match runner.foresee(&given, effect).await? {
            Some(Ok(forecast)) => reader.forecast(forecast).map(Some),
            Some(Err(failure)) => Err(reader.failed_forecast(failure)),
            None => Ok(None),
        }
    }

    /// Changes the resource in place.
    ///
    /// # Errors
    /// [`CallError::Failure`]: nothing was changed, unless it is `Pending` or `Partial`. Any other error
    /// leaves the outcome open; [`CallError::Junk`] if it answers with another id, also in a
    /// `Partial`.
    pub async fn update(
        &self,
        context: &CallContext<'_>,
        change: Change<'_>,
    ) -> Result<ResourceState, CallError> {
        let given = self
            .0
            .runner
            .given(context, &[Some(change.before), Some(change.after)], Some(change.state))
            .with(CallEffect::Update(change.state.id.clone()));
        let facts = self.0.runner.facts_of_effect(&given);
        let request = self.change(&given, &change, convert::known(change.after)?, facts)?;
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_update(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        let answer = answer.map_err(|failure| reader.failure(failure)).and_then(|state| reader.state(state));
        let reported = match &answer {
            Ok(state) => Some(state),
            Err(CallError::Failure(
                Failure::Partial { state, .. } | Failure::Pending { state: Some(state), .. },
            )) => Some(&**state),
            Err(_) => None,
        };
        if reported.is_some_and(|state| state.id.expose() != change.state.id.expose()) {
            return Err(reader.junk("`update` changed the id of the resource"));
        }
        answer
    }

    /// Deletes the resource. A missing resource is a success.
    ///
    /// # Errors
    /// [`CallError::Failure`]: the resource is assumed to exist. Any other error leaves the outcome
    /// open.
    pub async fn delete(
        &self,
        context: &CallContext<'_>,
        (state, data_loss_allowed): (&ResourceState, bool),
        inputs: &Inputs,
    ) -> Result<(), CallError> {
        let given = self.0.runner.given(context, &[Some(inputs)], Some(state)).with(CallEffect::Delete);
        let request = wit::DeleteRequest {
            subject: self.0.runner.subject(context),
            state: convert::state(state, self.name())?,
            inputs: convert::inputs(inputs),
            data_loss_allowed,
            call: self.0.runner.facts_of_effect(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_delete(store, &request).await }))
            .await?;
        match answer {
            // A missing resource is a success.
            Ok(()) | Err(wit::Failure::NotFound(_)) => Ok(()),
            Err(failure) => Err(self.reader(&given).failure(failure)),
        }
    }

    fn change(
        &self,
        given: &CallData<'_>,
        change: &Change<'_>,
        after: wit::Inputs,
        call: wit::Call,
    ) -> Result<wit::Change, CallError> {
        Ok(wit::Change {
            subject: self.0.runner.subject(given.context),
            state: convert::state(change.state, self.name())?,
            before: convert::inputs(change.before),
            after,
            name: change.name.to_owned(),
            call,
        })
    }
}
