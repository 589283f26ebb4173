//! A loaded driver: the functions of the contract, in the types of the model.
//!
//! This module answers functions that a driver does not implement, as the contract says, without an
//! instance.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use purlin_model::driver::{Checked, Failure, Impact, Inputs, Manifest, Observed, ResourceState};
use purlin_model::{Grants, Label};

use crate::bindings::exports::purlin::driver::lifecycle as wit;
use crate::call::{CallData, Runner};
use crate::context::CallContext;
use crate::convert::{self, Reader};
use crate::error::CallError;

/// A driver that can be called. Cheap to clone.
#[derive(Clone)]
pub struct Driver(Arc<Inner>);

struct Inner {
    runner: Runner,
    manifest: Manifest,
    digest: String,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("name", &self.name())
            .field("version", &self.0.manifest.version)
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

impl Driver {
    pub(crate) fn new(runner: Runner, manifest: Manifest, digest: String) -> Self {
        Self(Arc::new(Inner { runner, manifest, digest }))
    }

    /// The operator's name for it.
    pub fn name(&self) -> &str {
        &self.0.runner.name
    }

    /// Its description of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// SHA-256 of the component, in hex.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Every capability that its imports could use, as in [`crate::Interfaces::reach`].
    pub fn reach(&self) -> BTreeSet<String> {
        self.0.runner.reach()
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

    fn reader<'a>(&'a self, given: &'a CallData<'_>) -> Reader<'a> {
        let runner = &self.0.runner;
        Reader::new(&runner.name, runner.limits.output, &given.matcher, given.context.observer.as_deref())
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
        if !self.0.manifest.implements.check {
            return Ok(Checked {
                values: inputs.values.clone(),
                secrets: inputs.secrets.clone(),
                warnings: Vec::new(),
            });
        }
        let given = self.0.runner.given(context, &[Some(inputs), previous], None);
        let request = wit::CheckRequest {
            resource: convert::resource(context.subject),
            inputs: convert::inputs(inputs),
            previous: previous.map(convert::document),
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
        if !self.0.manifest.implements.name {
            return Ok(context.subject.urn.guresid().as_str().into());
        }
        let given = self.0.runner.given(context, &[Some(inputs)], None);
        let request = wit::NameRequest {
            resource: convert::resource(context.subject),
            inputs: convert::known(inputs)?,
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
    /// [`CallError::Failure`]: nothing was made, unless it is `Partial` or `Undecided`. Any other error
    /// leaves the outcome open.
    pub async fn create(
        &self,
        context: &CallContext<'_>,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        let given = self.0.runner.given(context, &[Some(inputs)], None).creating();
        let request = wit::CreateRequest {
            resource: convert::resource(context.subject),
            inputs: convert::known(inputs)?,
            name: name.to_owned(),
            replaces: replaces.map(|id| id.expose().to_owned()),
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_create(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        answer.map_or_else(|failure| Err(reader.failure(failure)), |state| reader.state(state))
    }

    /// Reads the resource. `None` if it is gone.
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
        if !self.0.manifest.implements.read {
            // "Nothing found" would be treated as "nothing there".
            let Some(state) = state.cloned() else {
                let message = format!("the driver `{}` cannot read existing objects", self.name());
                return Err(CallError::Failure(Failure::Failed(message)));
            };
            return Ok(Some(Observed { state, values: None }));
        }
        let given = self.0.runner.given(context, &[Some(inputs)], state);
        let request = wit::ReadRequest {
            resource: convert::resource(context.subject),
            id: id.map(str::to_owned),
            name: name.to_owned(),
            inputs: convert::known(inputs)?,
            state: state.map(convert::state),
            known: known.iter().map(|id| id.expose().to_owned()).collect(),
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_read(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        match answer {
            Ok(Some(observed)) => {
                let observed = reader.observed(observed, inputs)?;
                let recorded = state.map(|state| state.id.expose()).filter(|recorded| id == Some(recorded));
                if recorded.is_some_and(|recorded| recorded != observed.state.id.expose()) {
                    return Err(reader.junk("`read` returned another id than the requested one"));
                }
                Ok(Some(observed))
            }
            Ok(None) | Err(wit::Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(reader.failure(failure)),
        }
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
        let implements = self.0.manifest.implements;
        let whole = || vec![String::new()];
        if !implements.update_impact {
            let replaces = if implements.update { Vec::new() } else { whole() };
            return Ok(Impact { replaces, ..Impact::default() });
        }
        let given =
            self.0.runner.given(context, &[Some(change.before), Some(change.after)], Some(change.state));
        let request = self.change(&given, &change, convert::inputs(change.after));
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

    /// Changes the resource in place.
    ///
    /// # Errors
    /// [`CallError::Failure`]: nothing was changed, unless it is `Partial`. Any other error
    /// leaves the outcome open; [`CallError::Junk`] if it answers with another id, also in a
    /// `Partial`.
    pub async fn update(
        &self,
        context: &CallContext<'_>,
        change: Change<'_>,
    ) -> Result<ResourceState, CallError> {
        let given =
            self.0.runner.given(context, &[Some(change.before), Some(change.after)], Some(change.state));
        let request = self.change(&given, &change, convert::known(change.after)?);
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_update(store, &request).await }))
            .await?;
        let reader = self.reader(&given);
        let answer = answer.map_err(|failure| reader.failure(failure)).and_then(|state| reader.state(state));
        let reported = match &answer {
            Ok(state) => Some(state),
            Err(CallError::Failure(Failure::Partial { state, .. })) => Some(&**state),
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
        state: &ResourceState,
        inputs: &Inputs,
    ) -> Result<(), CallError> {
        let given = self.0.runner.given(context, &[Some(inputs)], Some(state));
        let request = wit::DeleteRequest {
            resource: convert::resource(context.subject),
            state: convert::state(state),
            inputs: convert::inputs(inputs),
            call: self.0.runner.facts(&given),
        };
        let answer = self
            .0
            .runner
            .run(&given, |guest, store| Box::pin(async move { guest.call_delete(store, &request).await }))
            .await?;
        match answer {
            Ok(()) | Err(wit::Failure::NotFound(_)) => Ok(()),
            Err(failure) => Err(self.reader(&given).failure(failure)),
        }
    }

    fn change(&self, given: &CallData<'_>, change: &Change<'_>, after: wit::Inputs) -> wit::Change {
        wit::Change {
            resource: convert::resource(given.context.subject),
            state: convert::state(change.state),
            before: convert::inputs(change.before),
            after,
            name: change.name.to_owned(),
            call: self.0.runner.facts(given),
        }
    }
}
