//! What a driver can reach: one file per capability.
//!
//! Each has three phases: it is linked once for all drivers, its grants are validated once for each
//! driver, and it is built again for each call.

mod answers;
mod changes;
mod connect;
mod consent;
mod dirs;
mod env;
mod files;
mod http;
mod listing;
mod log;
mod metrics;
mod names;
mod operation;
mod programs;
mod reach;
mod sockets;
mod stdio;

use std::sync::Arc;

use purlin_model::Grants;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::bindings::purlin::driver::types;
use crate::contract;
use crate::deadline::Deadline;
use crate::error::{CallError, LoadError};
use crate::limits::{HANDLES, Limits, Meter, RANDOM_BYTES};
use crate::observer::HostRequest;
use crate::sandbox::DriverSetup;

use http::{Http, Trust};
pub(crate) use log::Log;
pub(crate) use operation::{CallEffect, Operation};
use reach::{NetworkRules, Reach};

/// Links everything that a driver may import. Its grants decide what it may do with it.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    http::link(linker)?;
    names::link(linker)?;
    sockets::link(linker)?;
    connect::link(linker)?;
    files::link(linker)?;
    linker.allow_shadowing(false);
    contract::link(linker)
}

/// The grants of one driver, validated.
pub(crate) struct Granted {
    dirs: dirs::Dirs,
    env: env::Env,
    rules: Arc<NetworkRules>,
    trust: Arc<Trust>,
}

impl Granted {
    pub(crate) fn validate(setup: &DriverSetup, limits: &Limits) -> Result<Self, LoadError> {
        Ok(Self {
            dirs: dirs::Dirs::validate(setup)?,
            env: env::Env::validate(setup),
            rules: Arc::new(NetworkRules::new(&setup.grants, limits)),
            trust: Arc::new(Trust::validate(setup)?),
        })
    }

    pub(crate) fn grants(&self) -> &Grants {
        self.rules.grants()
    }

    fn build(&self, log: &Log, reach: &Reach) -> Result<WasiCtx, String> {
        let mut builder = WasiCtxBuilder::new();
        builder.max_random_size(RANDOM_BYTES);
        stdio::build(&mut builder, log);
        sockets::build(&mut builder, reach);
        self.env.build(&mut builder);
        self.dirs.build(&mut builder)?;
        Ok(builder.build())
    }
}

/// What belongs to one instance.
pub(crate) struct Guest {
    granted: Arc<Granted>,
    /// Created at its first use, or at once if that can fail. Most drivers never use it.
    wasi: Option<WasiCtx>,
    /// Likewise.
    http: Option<Http>,
    reach: Option<Reach>,
    table: ResourceTable,
    pub(crate) meter: Meter,
    pub(crate) log: Log,
    pub(crate) operation: Operation,
    deadline: Deadline,
}

impl Guest {
    pub(crate) fn new(
        granted: &Arc<Granted>,
        limits: &Limits,
        log: Log,
        operation: Operation,
        deadline: Deadline,
    ) -> Result<Self, String> {
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        let meter = Meter::new(limits.memory);
        let granted = Arc::clone(granted);
        let mut guest =
            Self { granted, wasi: None, http: None, reach: None, table, meter, log, operation, deadline };
        if !guest.granted.dirs.is_empty() {
            let reach = guest.reach();
            guest.wasi = Some(guest.granted.build(&guest.log, &reach)?);
        }
        Ok(guest)
    }

    /// What this call can reach.
    fn reach(&mut self) -> Reach {
        self.reach.get_or_insert_with(|| Reach::new(&self.granted.rules, &self.log)).clone()
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.log.requests(HostRequest::Other);
        let reach = if self.wasi.is_none() { Some(self.reach()) } else { None };
        let Self { granted, wasi, log, table, .. } = self;
        // Building fails only for folders, and those are built at once.
        let build = || reach.and_then(|reach| granted.build(log, &reach).ok());
        let ctx = wasi.get_or_insert_with(|| build().unwrap_or_else(|| WasiCtx::builder().build()));
        WasiCtxView { ctx, table }
    }
}

impl types::Host for Guest {}

/// Our own reason to end a call, on its way through the guest.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) CallError);

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stop {}
