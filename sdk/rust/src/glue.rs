//! Connects the generated bindings and the traits. For [`crate::export!`] and the tests only.

#![allow(clippy::result_large_err)] // The generated signatures cannot be changed.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::{Map, Value};

pub use crate::bindings::exports::purlin::driver::lifecycle as raw;
use crate::bindings::purlin::driver::types;
use crate::{
    Check, CheckRequest, CreateRequest, DeleteRequest, Driver, Failure, ImpactRequest, Inputs, ManifestFile,
    Name, NameRequest, Object, Observed, Raw, Read, ReadRequest, SENSITIVE, State, Update, UpdateImpact,
    UpdateRequest,
};

/// Logs a driver's panic before the instance dies.
fn begin() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| crate::log::error(format!("the driver panicked: {panic}"))));
}

pub fn describe<D: Driver>(version: &str, implements: [(raw::Implements, bool); 6]) -> raw::Manifest {
    let implements = implements.into_iter().filter(|(_, it_does)| *it_does).map(|(flag, _)| flag);
    let types = D::types().into_iter().map(|schema| raw::TypeSchema {
        type_name: schema.type_name,
        inputs: schema.inputs.to_string(),
        outputs: schema.outputs.to_string(),
    });
    raw::Manifest {
        name: D::NAME.to_owned(),
        version: version.to_owned(),
        description: D::DESCRIPTION.to_owned(),
        implements: implements.fold(raw::Implements::empty(), |all, flag| all | flag),
        types: types.collect(),
        requested_capabilities: D::requested_capabilities(),
    }
}

pub fn create<D: Driver>(request: raw::CreateRequest) -> Result<raw::State, raw::Failure> {
    begin();
    let raw::CreateRequest { resource, inputs, name, replaces, call } = request;
    Ok(D::create(CreateRequest { resource, inputs: typed(inputs)?, name, replaces, call })?.into())
}

pub fn delete<D: Driver>(request: raw::DeleteRequest) -> Result<(), raw::Failure> {
    begin();
    let raw::DeleteRequest { resource, state, inputs, call } = request;
    Ok(D::delete(DeleteRequest { resource, state: record(state)?, inputs: raw_inputs(inputs)?, call })?)
}

/// Finds out which further traits a driver implements. An inherent method is used if the bound of
/// its block holds, and otherwise the one of the `Without…` trait, so that the result cannot get
/// out of step with the code.
pub struct Probe<D>(PhantomData<D>);

pub trait WithoutCheck {
    const CHECK: bool = false;
    fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
        let types::Inputs { values, secrets, .. } = request.inputs;
        Ok(raw::Checked { values, secrets, warnings: Vec::new() })
    }
}
impl<D> WithoutCheck for Probe<D> {}
impl<D: Check> Probe<D> {
    pub const CHECK: bool = true;
    pub fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
        begin();
        let raw::CheckRequest { resource, inputs, previous } = request;
        let previous = previous.map(|text| json(&text, "previous").map(Raw::new)).transpose()?;
        let checked = D::check(CheckRequest { resource, inputs: raw_inputs(inputs)?, previous })?;
        Ok(raw::Checked {
            values: checked.values.to_string(),
            secrets: checked.secrets.to_string(),
            warnings: checked.warnings,
        })
    }
}

pub trait WithoutName {
    const NAME: bool = false;
    fn name(request: raw::NameRequest) -> Result<String, raw::Failure> {
        Ok(request.resource.guresid)
    }
}
impl<D> WithoutName for Probe<D> {}
impl<D: Name> Probe<D> {
    pub const NAME: bool = true;
    pub fn name(request: raw::NameRequest) -> Result<String, raw::Failure> {
        begin();
        let raw::NameRequest { resource, inputs } = request;
        Ok(D::name(NameRequest { resource, inputs: typed(inputs)? })?)
    }
}

pub trait WithoutRead {
    const READ: bool = false;
    fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
        match request.state {
            Some(state) => Ok(Some(raw::Observed { state, values: None })),
            None => Err(raw::Failure::Failed("this driver cannot read existing resources".to_owned())),
        }
    }
}
impl<D> WithoutRead for Probe<D> {}
impl<D: Read> Probe<D> {
    pub const READ: bool = true;
    pub fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
        begin();
        let raw::ReadRequest { resource, id, name, inputs, state, known, call } = request;
        let (inputs, state) = (raw_inputs(inputs)?, state.map(record).transpose()?);
        Ok(D::read(ReadRequest { resource, id, name, inputs, state, known, call })?.map(Into::into))
    }
}

pub trait WithoutUpdateImpact {
    const UPDATE_IMPACT: bool = false;
    fn update_impact(_: raw::Change) -> Result<raw::Impact, raw::Failure> {
        let (replaces, stable_outputs) = (Vec::new(), Vec::new());
        Ok(raw::Impact { replaces, delete_before_replace: false, stable_outputs })
    }
}
impl<D> WithoutUpdateImpact for Probe<D> {}
impl<D: UpdateImpact> Probe<D> {
    pub const UPDATE_IMPACT: bool = true;
    pub fn update_impact(request: raw::Change) -> Result<raw::Impact, raw::Failure> {
        begin();
        let raw::Change { resource, state, before, after, name, call } = request;
        let (state, before, after) = (record(state)?, raw_inputs(before)?, raw_inputs(after)?);
        let impact = D::update_impact(ImpactRequest { resource, state, before, after, name, call })?;
        Ok(raw::Impact {
            replaces: impact.replaces,
            delete_before_replace: impact.delete_before_replace,
            stable_outputs: impact.stable_outputs,
        })
    }
}

pub trait WithoutUpdate {
    const UPDATE: bool = false;
    fn update(_: raw::Change) -> Result<raw::State, raw::Failure> {
        Err(raw::Failure::Failed("this driver does not update: every change replaces".to_owned()))
    }
}
impl<D> WithoutUpdate for Probe<D> {}
impl<D: Update> Probe<D> {
    pub const UPDATE: bool = true;
    pub fn update(request: raw::Change) -> Result<raw::State, raw::Failure> {
        begin();
        let raw::Change { resource, state, before, after, name, call } = request;
        let (state, before, after) = (record(state)?, raw_inputs(before)?, typed(after)?);
        Ok(D::update(UpdateRequest { resource, state, before, after, name, call })?.into())
    }
}

fn json(text: &str, what: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Failed(format!("the host sent {what} that are not JSON: {error}")))
}

pub(crate) fn raw_inputs<I>(inputs: types::Inputs) -> Result<Raw<I>, Failure> {
    let mut document = Map::new();
    for (name, text) in [
        ("values", &inputs.values),
        ("secrets", &inputs.secrets),
        ("params", &inputs.params),
        ("connection", &inputs.connection),
    ] {
        document.insert(name.to_owned(), json(text, name)?);
    }
    let mut raw = Raw::new(Value::Object(document));
    raw.account = inputs.account;
    raw.unknown = inputs.unknown;
    raw.sensitive = inputs.sensitive;
    Ok(raw)
}

fn typed<I: serde::de::DeserializeOwned>(inputs: types::Inputs) -> Result<Inputs<I>, Failure> {
    raw_inputs(inputs)?.into_inputs()
}

fn record(state: types::State) -> Result<State, Failure> {
    state.try_into().map_err(|error: serde_json::Error| {
        Failure::Failed(format!("the host sent a state that is not JSON: {error}"))
    })
}

impl TryFrom<types::State> for State {
    type Error = serde_json::Error;
    fn try_from(state: types::State) -> Result<Self, Self::Error> {
        let manifests = state.manifests.into_iter().map(|file| {
            let data = serde_json::from_str(&file.data)?;
            Ok(ManifestFile { name: file.name, location: file.location, data })
        });
        let mut secrets: Object = serde_json::from_str(&state.secrets)?;
        let sensitive = secrets.shift_remove(SENSITIVE).map(serde_json::from_value).transpose()?;
        Ok(Self {
            id: state.id,
            outputs: serde_json::from_str(&state.outputs)?,
            secrets,
            cookie: state.cookie,
            manifests: manifests.collect::<Result<_, Self::Error>>()?,
            sensitive: sensitive.unwrap_or_default(),
        })
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

/// A JSON object as text.
fn text(object: Object) -> String {
    Value::Object(object).to_string()
}

impl From<State> for types::State {
    fn from(mut state: State) -> Self {
        state.outputs.retain(|name, _| !state.secrets.contains_key(name));
        if !state.sensitive.is_empty() {
            state.secrets.insert(SENSITIVE.to_owned(), state.sensitive.into());
        }
        let manifests = state.manifests.into_iter().map(|file| types::ManifestFile {
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
        }
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidInputs(faults) => Self::InvalidInputs(faults),
            Failure::Denied { capability, target, message } => {
                Self::Denied(types::Denial { capability, target, message })
            }
            Failure::NotFound(message) => Self::NotFound(message),
            Failure::Conflict(message) => Self::Conflict(message),
            Failure::RetryAfter { after, message } => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                Self::RetryAfter(types::Retry { after_ms, message })
            }
            Failure::Partial { state, message } => {
                Self::Partial(types::Partial { state: (*state).into(), message })
            }
            Failure::Failed(message) => Self::Failed(message),
            Failure::Undecided(message) => Self::Undecided(message),
            Failure::NeedsDeleteBefore(message) => Self::NeedsDeleteBefore(message),
        }
    }
}

/// The reverse conversion, for the tests of drivers.
pub(crate) fn failure(failure: types::Failure) -> Failure {
    match failure {
        types::Failure::InvalidInputs(faults) => Failure::InvalidInputs(faults),
        types::Failure::Denied(types::Denial { capability, target, message }) => {
            Failure::Denied { capability, target, message }
        }
        types::Failure::NotFound(message) => Failure::NotFound(message),
        types::Failure::Conflict(message) => Failure::Conflict(message),
        types::Failure::RetryAfter(types::Retry { after_ms, message }) => {
            Failure::RetryAfter { after: Duration::from_millis(after_ms), message }
        }
        types::Failure::Partial(types::Partial { state, message }) => match State::try_from(state) {
            Ok(state) => Failure::Partial { state: Box::new(state), message },
            Err(error) => Failure::Failed(format!("{message}; and its state is not JSON: {error}")),
        },
        types::Failure::Failed(message) => Failure::Failed(message),
        types::Failure::Undecided(message) => Failure::Undecided(message),
        types::Failure::NeedsDeleteBefore(message) => Failure::NeedsDeleteBefore(message),
    }
}

/// Turns a [`Driver`] into a component: `purlin_sdk::export!(Echo);`, once per crate. Its version
/// is that of the crate. Outside of WebAssembly it only serves [`crate::testing`].
#[macro_export]
macro_rules! export {
    ($driver:ident) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::glue::{
                Probe, WithoutCheck as _, WithoutName as _, WithoutRead as _, WithoutUpdate as _,
                WithoutUpdateImpact as _, raw,
            };
            impl raw::Guest for $driver {
                fn describe() -> raw::Manifest {
                    let implements = [
                        (raw::Implements::CHECK, Probe::<$driver>::CHECK),
                        (raw::Implements::NAME, Probe::<$driver>::NAME),
                        (raw::Implements::READ, Probe::<$driver>::READ),
                        (raw::Implements::UPDATE_IMPACT, Probe::<$driver>::UPDATE_IMPACT),
                        (raw::Implements::UPDATE, Probe::<$driver>::UPDATE),
                        (raw::Implements::REPEAT_CREATE, <$driver as $crate::Driver>::REPEAT_CREATE),
                    ];
                    $crate::glue::describe::<$driver>(env!("CARGO_PKG_VERSION"), implements)
                }
                fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
                    Probe::<$driver>::check(request)
                }
                fn name(request: raw::NameRequest) -> Result<String, raw::Failure> {
                    Probe::<$driver>::name(request)
                }
                fn create(request: raw::CreateRequest) -> Result<raw::State, raw::Failure> {
                    $crate::glue::create::<$driver>(request)
                }
                fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
                    Probe::<$driver>::read(request)
                }
                fn update_impact(request: raw::Change) -> Result<raw::Impact, raw::Failure> {
                    Probe::<$driver>::update_impact(request)
                }
                fn update(request: raw::Change) -> Result<raw::State, raw::Failure> {
                    Probe::<$driver>::update(request)
                }
                fn delete(request: raw::DeleteRequest) -> Result<(), raw::Failure> {
                    $crate::glue::delete::<$driver>(request)
                }
            }
        };
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_lifecycle!($driver with_types_in $crate::bindings);
    };
}
