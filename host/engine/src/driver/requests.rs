//! A call of a driver as data: a request and its response. Each function of the contract is also a
//! method, for those who make calls; what stands between them and the driver sees requests.

use purlin_model::Label;
use purlin_model::driver::{Checked, Failure, Forecast, Impact, Inputs, Observed, ResourceState};
use purlin_sandbox::{CallError, Change, Effect, ReadRequest};

use super::{Call, Driver};

/// A function of the contract in `wit/`, with its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Validates and normalises inputs and fills in defaults. Without effects.
    Check {
        /// The inputs to check.
        inputs: &'a Inputs,
        /// Those of the last provisioning.
        previous: Option<&'a Inputs>,
    },
    /// Returns the friendly name of the real object. Without effects.
    Name(&'a Inputs),
    /// Reads the resource in its current state. Without effects.
    Read(ReadRequest<'a>),
    /// Says which changes require a replacement. Without effects.
    UpdateImpact(Change<'a>),
    /// Says what an effect would make. Without effects.
    Preview(Effect<'a>),
    /// Creates the resource, updates it in place, or deletes it.
    Effect(Effect<'a>),
}

impl<'a> Request<'a> {
    /// The places of the inputs that the driver is to work with. Those that `check` compares them with are
    /// not among them.
    pub(crate) fn inputs_mut(&mut self) -> Vec<&mut &'a Inputs> {
        match self {
            Self::Check { inputs, .. } | Self::Name(inputs) => vec![inputs],
            Self::Read(request) => vec![&mut request.inputs],
            Self::UpdateImpact(change) => vec![&mut change.before, &mut change.after],
            Self::Preview(effect) | Self::Effect(effect) => match effect {
                Effect::Create { inputs, .. } | Effect::Delete { inputs, .. } => vec![inputs],
                Effect::Update(change) => vec![&mut change.before, &mut change.after],
            },
        }
    }

    /// The place of the existing resource, if it is about one.
    pub(crate) fn state_mut(&mut self) -> Option<&mut &'a ResourceState> {
        match self {
            Self::Check { .. } | Self::Name(_) => None,
            Self::Read(request) => request.state.as_mut(),
            Self::UpdateImpact(change) => Some(&mut change.state),
            Self::Preview(effect) | Self::Effect(effect) => match effect {
                Effect::Create { .. } => None,
                Effect::Update(change) => Some(&mut change.state),
                Effect::Delete { state, .. } => Some(state),
            },
        }
    }
}

/// The state that a driver returned, perhaps with a failure.
pub(crate) fn returned_state(result: &mut Result<Response, CallError>) -> Option<&mut ResourceState> {
    match result {
        Ok(Response::State(state)) => Some(state),
        Ok(Response::Observed(Some(found))) => Some(&mut found.state),
        Err(CallError::Failure(
            Failure::Partial { state, .. } | Failure::Pending { state: Some(state), .. },
        )) => Some(state),
        _ => None,
    }
}

/// What a function of the contract returns.
#[derive(Clone, Debug)]
pub enum Response {
    /// Of `check`.
    Checked(Checked),
    /// Of `name`.
    Name(Label),
    /// Of `create` and `update`.
    State(ResourceState),
    /// Of `read`.
    Observed(Option<Observed>),
    /// Of `update-impact`.
    Impact(Impact),
    /// Of `preview`; `None` of a driver that does not foresee its effects.
    Forecast(Option<Forecast>),
    /// Of `delete`.
    Deleted,
}

/// The functions of the contract.
impl dyn Driver + '_ {
    /// Validates and normalises inputs and fills in defaults. Without effects.
    pub async fn check(
        &self,
        call: &Call,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Result<Checked, CallError> {
        match self.call(call, Request::Check { inputs, previous }).await? {
            Response::Checked(checked) => Ok(checked),
            _ => Err(self.mismatch()),
        }
    }

    /// The friendly name of the real object. Without effects.
    pub async fn name(&self, call: &Call, inputs: &Inputs) -> Result<Label, CallError> {
        match self.call(call, Request::Name(inputs)).await? {
            Response::Name(name) => Ok(name),
            _ => Err(self.mismatch()),
        }
    }

    /// Creates the resource. `replaces` is the id of the resource that this one replaces, if that
    /// still exists.
    pub async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        match self.call(call, Request::Effect(Effect::Create { inputs, name, replaces })).await? {
            Response::State(state) => Ok(state),
            _ => Err(self.mismatch()),
        }
    }

    /// Reads the resource in its current state; `None` if it is gone. Without effects.
    pub async fn read(&self, call: &Call, request: ReadRequest<'_>) -> Result<Option<Observed>, CallError> {
        match self.call(call, Request::Read(request)).await? {
            Response::Observed(found) => Ok(found),
            _ => Err(self.mismatch()),
        }
    }

    /// Says which changes require a replacement. Without effects.
    pub async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        match self.call(call, Request::UpdateImpact(change)).await? {
            Response::Impact(impact) => Ok(impact),
            _ => Err(self.mismatch()),
        }
    }

    /// Says what an effect would make; `None` if the driver does not foresee its effects. Without effects.
    pub async fn preview(&self, call: &Call, effect: Effect<'_>) -> Result<Option<Forecast>, CallError> {
        match self.call(call, Request::Preview(effect)).await? {
            Response::Forecast(forecast) => Ok(forecast),
            _ => Err(self.mismatch()),
        }
    }

    /// Updates the resource in place.
    pub async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        match self.call(call, Request::Effect(Effect::Update(change))).await? {
            Response::State(state) => Ok(state),
            _ => Err(self.mismatch()),
        }
    }

    /// Deletes the resource.
    pub async fn delete(
        &self,
        call: &Call,
        state: &ResourceState,
        inputs: &Inputs,
        data_loss_allowed: bool,
    ) -> Result<(), CallError> {
        let effect = Effect::Delete { state, inputs, data_loss_allowed };
        match self.call(call, Request::Effect(effect)).await? {
            Response::Deleted => Ok(()),
            _ => Err(self.mismatch()),
        }
    }

    fn mismatch(&self) -> CallError {
        let what = "the response is that of another function".to_owned();
        CallError::Junk { driver: self.known_as().to_owned(), what }
    }
}
