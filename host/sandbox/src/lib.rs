//! Runs drivers: WebAssembly components in wasmtime, within limits and grants (SPEC §8).
//!
//! A [`Sandbox`] owns one engine. [`Sandbox::load`] turns a component into a [`Driver`], whose
//! methods are the functions of the contract in `wit/`. Every call gets a fresh instance, which is
//! dropped afterwards, whatever happened in it.
//!
//! This crate knows nothing of graphs, plans or stores. It prints nothing, reads no environment
//! variable and no home folder, starts no runtime and installs no global: the caller passes in the
//! cache's folder, the values of environment variables and the destination of checkpoints. Its
//! futures need a tokio runtime with time and I/O enabled.

mod artifact;
mod bindings;
mod cache;
mod call;
mod capability;
pub mod clock;
mod compile;
mod compiler;
mod component;
mod context;
mod contract;
mod convert;
mod deadline;
mod driver;
mod engine;
mod error;
mod facts;
mod functions;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod info;
mod inspect;
mod instances;
mod json;
mod limits;
mod modules;
mod observer;
mod sandbox;
mod secrets;
mod sensitive;
mod ticker;
mod worker;

pub use artifact::Precompiled;
pub use compile::{Target, precompile};
pub use compiler::{Compilation, Compiler, InProcess, Names};
pub use context::{CallContext, CancelToken, CheckpointSink, Permission, Progress, ProgressSink};
pub use driver::{Change, Driver, Effect, ReadRequest};
pub use error::{CallError, LoadError, SandboxError};
pub use facts::Facts;
pub use inspect::{Import, Interfaces};
pub use observer::{CallEvent, CallObserver, HostRequest};
pub use sandbox::{
    CompileEvent, DriverSetup, LARGEST_COMPONENT, Sandbox, SandboxConfig, Source, read_component,
};
pub use worker::{Worker, serve_worker};

/// The version of the contract in `wit/`, which this host supports.
pub const CONTRACT_VERSION: &str = "0.3.0";
