#![doc = include_str!("../README.md")]

// The derive macros refer to this crate by the name that drivers use.
#[cfg(test)]
extern crate self as purlin_sdk;

/// The contract in `wit/`, in Rust, as wit-bindgen generates it. The rest of the crate makes it convenient.
/// A test of `purlin-component` compares it with the contract, and updates it with `PURLIN_BLESS=1`.
#[doc(hidden)]
#[rustfmt::skip]
#[allow(missing_docs, unsafe_code, unreachable_pub, unused_qualifications, clippy::all, clippy::restriction)]
pub mod bindings;
pub mod described;
mod driver;
mod failure;
#[doc(hidden)]
pub mod glue;
mod host;
mod inputs;
pub mod preview;
/// `purlin:preview` in `wit/deps/`, as wit-bindgen generates it. The same test compares it.
#[doc(hidden)]
#[rustfmt::skip]
#[allow(missing_docs, unsafe_code, unreachable_pub, unused_qualifications, clippy::all, clippy::restriction)]
pub mod preview_bindings;
mod problem;
mod request;
mod state;
mod table;
pub mod testing;

pub use bindings::purlin::driver::types::{Context, Finding, Problem, RequestedCapability, Subject};
pub use driver::{
    Check, Driver, DriverInfo, Name, Preview, Read, ResourceType, TypeSchema, Update, UpdateImpact,
};
pub use failure::{Failure, Faults};
pub use host::{log, metrics, operation};
pub use inputs::{Anything, Inputs, Raw, only_one};
pub use preview::{Forecast, Part, PreviewRequest};
pub use purlin_sdk_derive::{Input, Inputs, Outputs};
pub use request::{
    Call, CheckRequest, Checked, CreateRequest, DeleteRequest, Impact, ImpactRequest, NameRequest, Observed,
    ReadRequest, UpdateRequest,
};
pub use serde_json::{self, Map as JsonMap, Value as Json};
pub use state::{ManifestFile, State};

/// A JSON object.
pub type Object = JsonMap<String, Json>;
