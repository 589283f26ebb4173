//! Connects the generated bindings and the traits. For [`crate::export!`] and the tests only.

#![allow(clippy::result_large_err)] // The generated signatures cannot be changed.

mod convert;

use std::marker::PhantomData;

use crate::{
    Check, CheckRequest, CreateRequest, DeleteRequest, DriverInfo, ImpactRequest, Name, NameRequest, Preview,
    PreviewRequest, Problem, Read, ReadRequest, ResourceType, TypeSchema, Update, UpdateImpact,
    UpdateRequest,
};
pub(crate) use convert::{failure, raw_inputs};
use convert::{record, typed};

/// The contract's own types, and the trait of its functions.
pub mod raw {
    pub use crate::bindings::exports::purlin::driver::lifecycle::Guest;
    pub use crate::bindings::purlin::driver::types::*;
    pub use crate::preview_bindings::exports::purlin::preview::preview::Guest as PreviewGuest;
    pub use crate::preview_bindings::purlin::preview::types::{Effect, Forecast, Part};
}

/// Logs a driver's panic before the instance dies.
fn begin() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| crate::log::error(format!("the driver panicked: {panic}"))));
}

pub fn describe<D: DriverInfo>(version: &str, types: Vec<raw::TypeSchema>) -> raw::DriverInfo {
    raw::DriverInfo {
        name: D::NAME.to_owned(),
        version: version.to_owned(),
        description: D::DESCRIPTION.to_owned(),
        types,
        requested_capabilities: D::requested_capabilities(),
        notes: convert::texts(D::notes()),
    }
}

pub fn types<R: ResourceType>(implements: [(&str, bool); 6]) -> Vec<raw::TypeSchema> {
    let implements: Vec<String> =
        implements.into_iter().filter(|(_, it_does)| *it_does).map(|(name, _)| name.to_owned()).collect();
    let described = |schema: TypeSchema| raw::TypeSchema {
        type_name: schema.type_name,
        implements: implements.clone(),
        inputs: schema.inputs.to_string(),
        outputs: schema.outputs.to_string(),
    };
    R::types().into_iter().map(described).collect()
}

/// The types of one of a driver's resources, and its function for a request.
pub type Route<Q, A> = (fn() -> Vec<TypeSchema>, fn(Q) -> Result<A, raw::Failure>);

/// Passes a request on to the resource of its type, or else to the one of every other type.
pub fn dispatch<Q, A>(type_name: String, request: Q, routes: &[Route<Q, A>]) -> Result<A, raw::Failure> {
    let route_of =
        |name: &str| routes.iter().find(|(types, _)| types().iter().any(|schema| schema.type_name == name));
    match route_of(&type_name).or_else(|| route_of("*")) {
        Some((_, function)) => function(request),
        None => {
            let types =
                routes.iter().flat_map(|(types, _)| types()).map(|schema| format!("`{}`", schema.type_name));
            let types = types.collect::<Vec<_>>().join(", ");
            let message = format!("this driver does not provision `{type_name}`; its types are {types}");
            Err(raw::Failure::Failed(Problem::new(message)))
        }
    }
}

pub fn create<R: ResourceType>(request: raw::CreateRequest) -> Result<raw::State, raw::Failure> {
    begin();
    let raw::CreateRequest { subject, inputs, name, replaces, call } = request;
    let (inputs, call) = (typed(inputs)?, call.try_into()?);
    Ok(R::create(CreateRequest { subject, inputs, name, replaces, call })?.into())
}

pub fn delete<R: ResourceType>(request: raw::DeleteRequest) -> Result<(), raw::Failure> {
    begin();
    let raw::DeleteRequest { subject, state, inputs, data_loss_allowed, call } = request;
    let (state, inputs, call) = (record(state)?, raw_inputs(inputs)?, call.try_into()?);
    Ok(R::delete(DeleteRequest { subject, state, inputs, data_loss_allowed, call })?)
}

/// Finds out which further traits a driver implements. An inherent method is used if the bound of
/// its block holds, and otherwise the one of the `Without…` trait, so that the result cannot get
/// out of step with the code.
pub struct Probe<D>(PhantomData<D>);

pub trait WithoutCheck {
    const CHECK: bool = false;
    fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
        let raw::Inputs { values, secrets, .. } = request.inputs;
        Ok(raw::Checked { values, secrets, warnings: Vec::new() })
    }
}
impl<D> WithoutCheck for Probe<D> {}
impl<D: Check> Probe<D> {
    pub const CHECK: bool = true;
    pub fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
        begin();
        let raw::CheckRequest { subject, inputs, previous, call } = request;
        let (inputs, previous) = (raw_inputs(inputs)?, previous.map(raw_inputs).transpose()?);
        let checked = D::check(CheckRequest { subject, inputs, previous, call: call.try_into()? })?;
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
        Ok(request.subject.guresid)
    }
}
impl<D> WithoutName for Probe<D> {}
impl<D: Name> Probe<D> {
    pub const NAME: bool = true;
    pub fn name(request: raw::NameRequest) -> Result<String, raw::Failure> {
        begin();
        let raw::NameRequest { subject, inputs, call } = request;
        Ok(D::name(NameRequest { subject, inputs: typed(inputs)?, call: call.try_into()? })?)
    }
}

pub trait WithoutRead {
    const READ: bool = false;
    fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
        match request.state {
            Some(state) => Ok(Some(raw::Observed { state, values: None })),
            None => Err(raw::Failure::Failed(Problem::new("this driver cannot read existing resources"))),
        }
    }
}
impl<D> WithoutRead for Probe<D> {}
impl<D: Read> Probe<D> {
    pub const READ: bool = true;
    pub fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
        begin();
        let raw::ReadRequest { subject, id, name, inputs, state, known, call } = request;
        let (inputs, state) = (raw_inputs(inputs)?, state.map(record).transpose()?);
        let call = call.try_into()?;
        Ok(D::read(ReadRequest { subject, id, name, inputs, state, known, call })?.map(Into::into))
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
        let raw::Change { subject, state, before, after, name, call } = request;
        let (state, before, after) = (record(state)?, raw_inputs(before)?, raw_inputs(after)?);
        let call = call.try_into()?;
        let impact = D::update_impact(ImpactRequest { subject, state, before, after, name, call })?;
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
        Err(raw::Failure::Failed(Problem::new("this driver does not update: every change replaces")))
    }
}
impl<D> WithoutUpdate for Probe<D> {}
impl<D: Update> Probe<D> {
    pub const UPDATE: bool = true;
    pub fn update(request: raw::Change) -> Result<raw::State, raw::Failure> {
        begin();
        let raw::Change { subject, state, before, after, name, call } = request;
        let (state, before, after) = (record(state)?, raw_inputs(before)?, typed(after)?);
        let call = call.try_into()?;
        Ok(D::update(UpdateRequest { subject, state, before, after, name, call })?.into())
    }
}

pub trait WithoutPreview {
    const PREVIEW: bool = false;
    fn preview(_: raw::Effect) -> Result<raw::Forecast, raw::Failure> {
        Ok(crate::Forecast::default().into())
    }
}
impl<D> WithoutPreview for Probe<D> {}
impl<D: Preview> Probe<D> {
    pub const PREVIEW: bool = true;
    pub fn preview(effect: raw::Effect) -> Result<raw::Forecast, raw::Failure> {
        begin();
        let (subject, name, call, effect) = match effect {
            raw::Effect::Create(request) => {
                let raw::CreateRequest { subject, inputs, name, replaces, call } = request;
                (
                    subject,
                    name,
                    call,
                    crate::preview::Effect::Create { inputs: raw_inputs(inputs)?, replaces },
                )
            }
            raw::Effect::Update(request) => {
                let raw::Change { subject, state, before, after, name, call } = request;
                let (state, before, after) = (record(state)?, raw_inputs(before)?, raw_inputs(after)?);
                (subject, name, call, crate::preview::Effect::Update { state, before, after })
            }
            raw::Effect::Delete(request) => {
                let raw::DeleteRequest { subject, state, inputs, data_loss_allowed, call } = request;
                let (state, inputs) = (record(state)?, raw_inputs(inputs)?);
                let effect = crate::preview::Effect::Delete { state, inputs, data_loss_allowed };
                (subject, String::new(), call, effect)
            }
        };
        Ok(D::preview(PreviewRequest { subject, effect, name, call: call.try_into()? })?.into())
    }
}

/// The resource type of an effect.
pub fn type_of(effect: &raw::Effect) -> String {
    let subject = match effect {
        raw::Effect::Create(request) => &request.subject,
        raw::Effect::Update(request) => &request.subject,
        raw::Effect::Delete(request) => &request.subject,
    };
    subject.type_name.clone()
}

/// Makes a component of a [`crate::Driver`], `purlin_sdk::export!(Echo);`, or of several
/// [`ResourceType`]s and what is said once about their driver, `purlin_sdk::export!(Messaging: Queue, Topic);`.
/// If it, or one of its types, is a [`Preview`], `export!(Echo with preview);` or
/// `export!(Messaging with preview: Queue, Topic);` exports that too.
/// Once per crate, whose version is that of the driver. Outside of WebAssembly it only serves
/// [`crate::testing`].
#[macro_export]
macro_rules! export {
    ($driver:ident) => {
        $crate::export!(@one $driver);
        $crate::export!(@unforeseen $driver);
    };
    ($driver:ident with preview) => {
        $crate::export!(@one $driver);
        #[cfg(target_family = "wasm")]
        $crate::preview_bindings::export_preview!($driver with_types_in $crate::preview_bindings);
    };
    ($info:ident: $($resource:ty),+ $(,)?) => {
        $crate::export!(@several $info: $($resource),+);
        $crate::export!(@unforeseen $($resource),+);
    };
    ($info:ident with preview: $($resource:ty),+ $(,)?) => {
        $crate::export!(@several $info: $($resource),+);
        const _: () = {
            use $crate::glue::{dispatch, raw};
            impl raw::PreviewGuest for $info {
                fn preview(effect: raw::Effect) -> Result<raw::Forecast, raw::Failure> {
                    dispatch($crate::glue::type_of(&effect), effect, &[
                        $((<$resource as $crate::ResourceType>::types, <$resource as raw::PreviewGuest>::preview)),+
                    ])
                }
            }
        };
        #[cfg(target_family = "wasm")]
        $crate::preview_bindings::export_preview!($info with_types_in $crate::preview_bindings);
    };
    // Nothing exports a preview, so that there must be none.
    (@unforeseen $($resource:ty),+) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::glue::{Probe, WithoutPreview as _};
            $(assert!(
                !Probe::<$resource>::PREVIEW,
                "it implements `Preview`: write `with preview` after the first name in `export!`"
            );)+
        };
    };
    (@one $driver:ident) => {
        $crate::export!(@resource $driver, $driver);
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_lifecycle!($driver with_types_in $crate::bindings);
    };
    (@several $info:ident: $($resource:ty),+) => {
        $($crate::export!(@resource $info, $resource);)+
        const _: () = {
            use $crate::glue::{dispatch, raw};
            impl raw::Guest for $info {
                fn describe() -> raw::DriverInfo {
                    let types = [$(<$resource as raw::Guest>::describe().types),+].into_iter().flatten();
                    $crate::glue::describe::<$info>(env!("CARGO_PKG_VERSION"), types.collect())
                }
                $crate::export!(@functions $($resource),+);
            }
        };
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_lifecycle!($info with_types_in $crate::bindings);
    };
    // The functions of a driver of several types, each of which goes to the type of its request.
    (@functions $($resource:ty),+) => {
        $crate::export!(@function check(raw::CheckRequest) -> raw::Checked: $($resource),+);
        $crate::export!(@function name(raw::NameRequest) -> String: $($resource),+);
        $crate::export!(@function create(raw::CreateRequest) -> raw::State: $($resource),+);
        $crate::export!(@function read(raw::ReadRequest) -> Option<raw::Observed>: $($resource),+);
        $crate::export!(@function update_impact(raw::Change) -> raw::Impact: $($resource),+);
        $crate::export!(@function update(raw::Change) -> raw::State: $($resource),+);
        $crate::export!(@function delete(raw::DeleteRequest) -> (): $($resource),+);
    };
    (@function $name:ident($request:ty) -> $answer:ty: $($resource:ty),+) => {
        fn $name(request: $request) -> Result<$answer, raw::Failure> {
            dispatch(request.subject.type_name.clone(), request, &[
                $((<$resource as $crate::ResourceType>::types, <$resource as raw::Guest>::$name)),+
            ])
        }
    };
    // One resource, by itself.
    (@resource $info:ty, $resource:ty) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::glue::{
                Probe, WithoutCheck as _, WithoutName as _, WithoutPreview as _, WithoutRead as _,
                WithoutUpdate as _, WithoutUpdateImpact as _, raw,
            };
            impl raw::PreviewGuest for $resource {
                fn preview(effect: raw::Effect) -> Result<raw::Forecast, raw::Failure> {
                    Probe::<$resource>::preview(effect)
                }
            }
            impl raw::Guest for $resource {
                fn describe() -> raw::DriverInfo {
                    let implements = [
                        ("check", Probe::<$resource>::CHECK),
                        ("name", Probe::<$resource>::NAME),
                        ("read", Probe::<$resource>::READ),
                        ("update-impact", Probe::<$resource>::UPDATE_IMPACT),
                        ("update", Probe::<$resource>::UPDATE),
                        ("repeat-create", <$resource as $crate::ResourceType>::REPEAT_CREATE),
                    ];
                    let types = $crate::glue::types::<$resource>(implements);
                    $crate::glue::describe::<$info>(env!("CARGO_PKG_VERSION"), types)
                }
                fn check(request: raw::CheckRequest) -> Result<raw::Checked, raw::Failure> {
                    Probe::<$resource>::check(request)
                }
                fn name(request: raw::NameRequest) -> Result<String, raw::Failure> {
                    Probe::<$resource>::name(request)
                }
                fn create(request: raw::CreateRequest) -> Result<raw::State, raw::Failure> {
                    $crate::glue::create::<$resource>(request)
                }
                fn read(request: raw::ReadRequest) -> Result<Option<raw::Observed>, raw::Failure> {
                    Probe::<$resource>::read(request)
                }
                fn update_impact(request: raw::Change) -> Result<raw::Impact, raw::Failure> {
                    Probe::<$resource>::update_impact(request)
                }
                fn update(request: raw::Change) -> Result<raw::State, raw::Failure> {
                    Probe::<$resource>::update(request)
                }
                fn delete(request: raw::DeleteRequest) -> Result<(), raw::Failure> {
                    $crate::glue::delete::<$resource>(request)
                }
            }
        };
    };
}

#[cfg(test)]
mod tests;
