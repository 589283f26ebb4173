//! Conversions between the contract's types and those of this crate.

use std::time::Duration;

use serde_json::{Map, Value};

use super::raw;
use crate::{Call, Failure, Forecast, Inputs, ManifestFile, Object, Observed, Part, Raw, State};

fn json(text: &str, what: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::failed(format!("the host sent {what} that are not JSON: {error}")))
}

pub(crate) fn raw_inputs<I>(inputs: raw::Inputs) -> Result<Raw<I>, Failure> {
    let mut document = Map::new();
    for (name, text) in [
        ("values", &inputs.values),
        ("secrets", &inputs.secrets),
        ("params", &inputs.params),
        ("connection", &inputs.connection),
        ("account", &inputs.account),
    ] {
        document.insert(name.to_owned(), json(text, name)?);
    }
    let mut raw = Raw::new(Value::Object(document));
    raw.unknown = inputs.unknown;
    raw.sensitive = inputs.sensitive;
    Ok(raw)
}

pub(super) fn typed<I: serde::de::DeserializeOwned>(inputs: raw::Inputs) -> Result<Inputs<I>, Failure> {
    raw_inputs(inputs)?.into_inputs()
}

pub(super) fn record(state: raw::State) -> Result<State, Failure> {
    state.try_into().map_err(|error: serde_json::Error| {
        Failure::failed(format!("the host sent a state that is not JSON: {error}"))
    })
}

impl TryFrom<raw::Call> for Call {
    type Error = Failure;
    fn try_from(call: raw::Call) -> Result<Self, Self::Error> {
        let hints = call.hints.into_iter().map(|(name, text)| Ok((name, json(&text, "hints")?)));
        Ok(Self {
            idempotency_key: call.idempotency_key,
            deadline: call.deadline,
            hints: hints.collect::<Result<_, Failure>>()?,
        })
    }
}

impl TryFrom<raw::State> for State {
    type Error = serde_json::Error;
    fn try_from(state: raw::State) -> Result<Self, Self::Error> {
        let manifests = state.manifests.into_iter().map(|file| {
            let data = serde_json::from_str(&file.data)?;
            Ok(ManifestFile { name: file.name, location: file.location, data })
        });
        Ok(Self {
            id: state.id,
            outputs: serde_json::from_str(&state.outputs)?,
            secrets: serde_json::from_str(&state.secrets)?,
            cookie: state.cookie,
            manifests: manifests.collect::<Result<_, Self::Error>>()?,
            sensitive: state.sensitive,
            version: state.version,
            notes: objects(state.notes)?,
        })
    }
}

impl From<State> for raw::State {
    fn from(mut state: State) -> Self {
        state.outputs.retain(|name, _| !state.secrets.contains_key(name));
        let manifests = state.manifests.into_iter().map(|file| raw::ManifestFile {
            name: file.name,
            location: file.location,
            data: file.data.to_string(),
        });
        Self {
            id: state.id,
            outputs: text(state.outputs),
            secrets: text(state.secrets),
            cookie: state.cookie,
            manifests: manifests.collect(),
            sensitive: state.sensitive,
            version: state.version,
            notes: texts(state.notes),
        }
    }
}

impl From<Observed> for raw::Observed {
    fn from(observed: Observed) -> Self {
        Self { state: observed.state.into(), values: observed.values.map(text) }
    }
}

impl TryFrom<raw::Observed> for Observed {
    type Error = serde_json::Error;
    fn try_from(observed: raw::Observed) -> Result<Self, Self::Error> {
        let values = observed.values.as_deref().map(serde_json::from_str).transpose()?;
        Ok(Self { state: observed.state.try_into()?, values })
    }
}

impl From<Forecast> for raw::Forecast {
    fn from(mut forecast: Forecast) -> Self {
        forecast.outputs.retain(|name, _| !forecast.secrets.contains_key(name));
        Self {
            outputs: text(forecast.outputs),
            secrets: text(forecast.secrets),
            unknown: forecast.unknown,
            sensitive: forecast.sensitive,
            parts: forecast.parts.into_iter().map(Into::into).collect(),
            token: forecast.token,
            notes: texts(forecast.notes),
        }
    }
}

impl From<Part> for raw::Part {
    fn from(part: Part) -> Self {
        let attributes = |value: Option<Value>| value.map(|value| value.to_string());
        Self {
            address: part.address,
            moved_from: part.moved_from,
            type_name: part.type_name,
            action: part.action,
            before: attributes(part.before),
            after: attributes(part.after),
            unknown: part.unknown,
            sensitive: part.sensitive,
            replaces: part.replaces,
            holds_data: part.holds_data,
            notes: texts(part.notes),
        }
    }
}

impl TryFrom<raw::Forecast> for Forecast {
    type Error = serde_json::Error;
    fn try_from(forecast: raw::Forecast) -> Result<Self, Self::Error> {
        Ok(Self {
            outputs: serde_json::from_str(&forecast.outputs)?,
            secrets: serde_json::from_str(&forecast.secrets)?,
            unknown: forecast.unknown,
            sensitive: forecast.sensitive,
            parts: forecast.parts.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            token: forecast.token,
            notes: objects(forecast.notes)?,
        })
    }
}

impl TryFrom<raw::Part> for Part {
    type Error = serde_json::Error;
    fn try_from(part: raw::Part) -> Result<Self, Self::Error> {
        let attributes = |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose();
        Ok(Self {
            address: part.address,
            moved_from: part.moved_from,
            type_name: part.type_name,
            action: part.action,
            before: attributes(part.before)?,
            after: attributes(part.after)?,
            unknown: part.unknown,
            sensitive: part.sensitive,
            replaces: part.replaces,
            holds_data: part.holds_data,
            notes: objects(part.notes)?,
        })
    }
}

/// The reverse of [`texts`].
fn objects(texts: Vec<(String, String)>) -> Result<Object, serde_json::Error> {
    texts.into_iter().map(|(name, text)| Ok((name, serde_json::from_str(&text)?))).collect()
}

/// A JSON object as text.
fn text(object: Object) -> String {
    Value::Object(object).to_string()
}

/// The members of a JSON object, each as text.
pub(super) fn texts(object: Object) -> Vec<(String, String)> {
    object.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl From<Failure> for raw::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidInputs(faults) => Self::InvalidInputs(faults),
            Failure::Denied { capability, target, message } => {
                Self::Denied(raw::Denial { capability, target, message })
            }
            Failure::NotFound(problem) => Self::NotFound(problem),
            Failure::Conflict(problem) => Self::Conflict(problem),
            Failure::RetryAfter { after, message } => {
                Self::RetryAfter(raw::Retry { after_ms: milliseconds(after), message })
            }
            Failure::Pending { state, after, message } => {
                let state = state.map(|state| (*state).into());
                Self::Pending(raw::Pending { state, after_ms: milliseconds(after), message })
            }
            Failure::Partial { state, problem } => {
                Self::Partial(raw::Partial { state: (*state).into(), problem })
            }
            Failure::Failed(problem) => Self::Failed(problem),
            Failure::Undecided(problem) => Self::Undecided(problem),
            Failure::NeedsDeleteBefore(problem) => Self::NeedsDeleteBefore(problem),
        }
    }
}

/// The reverse conversion, for the tests of drivers.
pub(crate) fn failure(failure: raw::Failure) -> Failure {
    let read = |state: raw::State| State::try_from(state).map(Box::new);
    let broken = |error: serde_json::Error| Failure::failed(format!("its state is not JSON: {error}"));
    match failure {
        raw::Failure::InvalidInputs(faults) => Failure::InvalidInputs(faults),
        raw::Failure::Denied(raw::Denial { capability, target, message }) => {
            Failure::Denied { capability, target, message }
        }
        raw::Failure::NotFound(problem) => Failure::NotFound(problem),
        raw::Failure::Conflict(problem) => Failure::Conflict(problem),
        raw::Failure::RetryAfter(raw::Retry { after_ms, message }) => {
            Failure::RetryAfter { after: Duration::from_millis(after_ms), message }
        }
        raw::Failure::Pending(raw::Pending { state, after_ms, message }) => {
            let after = Duration::from_millis(after_ms);
            match state.map(read).transpose() {
                Ok(state) => Failure::Pending { state, after, message },
                Err(error) => broken(error),
            }
        }
        raw::Failure::Partial(raw::Partial { state, problem }) => match read(state) {
            Ok(state) => Failure::Partial { state, problem },
            Err(error) => broken(error),
        },
        raw::Failure::Failed(problem) => Failure::Failed(problem),
        raw::Failure::Undecided(problem) => Failure::Undecided(problem),
        raw::Failure::NeedsDeleteBefore(problem) => Failure::NeedsDeleteBefore(problem),
    }
}
