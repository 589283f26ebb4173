//! What a driver can reach: one file a capability.
//!
//! Each has three phases: it is linked once for all drivers, its grants are validated once for
//! each driver, and it is built anew for each call.

mod dirs;
mod env;
mod log;
mod metrics;
mod network;
mod operation;
mod stdio;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::bindings::{self, purlin::driver::types};
use crate::error::{CallError, LoadError};
use crate::limits::{HANDLES, Limits, Meter, RANDOM_BYTES};
use crate::sandbox::DriverSetup;

pub(crate) use log::Log;
pub(crate) use operation::Operation;

/// Links everything a driver may import. What it may do with it is decided per driver.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    bindings::Driver::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

/// The grants of one driver, validated.
pub(crate) struct Granted {
    dirs: dirs::Dirs,
    env: env::Env,
}

impl Granted {
    pub(crate) fn validate(setup: &DriverSetup) -> Result<Self, LoadError> {
        Ok(Self { dirs: dirs::Dirs::validate(setup)?, env: env::Env::validate(setup) })
    }

    fn build(&self, log: &Log) -> Result<WasiCtx, String> {
        let mut builder = WasiCtxBuilder::new();
        builder.max_random_size(RANDOM_BYTES);
        stdio::build(&mut builder, log);
        network::build(&mut builder);
        self.env.build(&mut builder);
        self.dirs.build(&mut builder)?;
        Ok(builder.build())
    }
}

/// What belongs to one instance.
pub(crate) struct Guest {
    granted: Arc<Granted>,
    /// Made when it is first used, or at once where it can fail. Most drivers never ask.
    wasi: Option<WasiCtx>,
    table: ResourceTable,
    pub(crate) meter: Meter,
    pub(crate) log: Log,
    pub(crate) operation: Operation,
}

impl Guest {
    pub(crate) fn new(
        granted: &Arc<Granted>,
        limits: &Limits,
        log: Log,
        operation: Operation,
    ) -> Result<Self, String> {
        let wasi = if granted.dirs.is_empty() { None } else { Some(granted.build(&log)?) };
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        let meter = Meter::new(limits.memory);
        Ok(Self { granted: Arc::clone(granted), wasi, table, meter, log, operation })
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self { granted, wasi, log, table, .. } = self;
        // Building fails over folders only, and those are built at once.
        let ctx =
            wasi.get_or_insert_with(|| granted.build(log).unwrap_or_else(|_| WasiCtx::builder().build()));
        WasiCtxView { ctx, table }
    }
}

impl types::Host for Guest {}

/// A reason of ours to end a call, on its way through the guest.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) CallError);

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stop {}
