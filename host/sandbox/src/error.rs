//! Every error with a driver, in words that help an operator to act.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use purlin_model::driver::Failure;

use crate::contract;
use crate::convert::printable;
use crate::secrets::SecretMatcher;

/// The sandbox cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// wasmtime rejects the configuration, or the machine lacks the address space.
    #[error("cannot set up WebAssembly: {0}")]
    Engine(String),
    /// The thread that interrupts busy drivers cannot be started.
    #[error("cannot start the thread that interrupts drivers")]
    Ticker(#[source] std::io::Error),
}

/// A component cannot be used as a driver.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Neither a component nor any other WebAssembly.
    #[error("not a WebAssembly file; a driver is a WebAssembly component")]
    NotWasm,
    /// A core module.
    #[error(
        "a core WebAssembly module, not a component; build for `wasm32-wasip2`, or make a component of it with `purlin driver build FILE --output NAME.wasm`"
    )]
    CoreModule,
    /// A driver for another version of the contract.
    #[error(
        "made for contract `purlin:driver@{found}`, and this version runs `purlin:driver@{supported}`; {}",
        advice(found, supported)
    )]
    ContractVersion {
        /// What it exports.
        found: String,
        /// The version that this host supports.
        supported: &'static str,
    },
    /// A driver for a later version of a contract that this version runs, with something that is not in the
    /// earlier one.
    #[error(
        "made for contract `{found}`, and this version runs `{supported}`; it needs a newer Purlin: {message}"
    )]
    NewerContract {
        /// The package that it was made for, with its version.
        found: String,
        /// The version of it that this host supports.
        supported: String,
        /// What it was found by.
        message: String,
    },
    /// Not a driver at all.
    #[error("a component that does not export `{export}`, so it is not a driver")]
    MissingExport {
        /// The missing export.
        export: String,
    },
    /// It needs something that drivers do not get.
    #[error("imports `{import}`, which this version does not offer to drivers{}", needs_newer(import))]
    UnknownImport {
        /// What it imports.
        import: String,
    },
    /// WebAssembly, but faulty, or using features that are off.
    #[error("not a valid component: {message}")]
    Invalid {
        /// wasmtime's message.
        message: String,
    },
    /// `describe` did not answer.
    #[error("cannot call `describe`")]
    Describe(#[source] Box<CallError>),
    /// The answer of `describe` violates the contract.
    #[error("returns an invalid description of itself: {message}")]
    DriverInfo {
        /// What.
        message: String,
    },
    /// An invalid grant.
    #[error("{message}")]
    Grant {
        /// The grant and the reason.
        message: String,
    },
}

/// What helps with a driver for another version of the contract.
fn advice(found: &str, supported: &str) -> &'static str {
    match contract::is_later(found, supported) {
        true => "it needs a newer Purlin, or must be built against that",
        false => "build it against that",
    }
}

fn needs_newer(import: &str) -> &'static str {
    if import.starts_with("purlin:") { "; it needs a newer Purlin" } else { "" }
}

impl LoadError {
    /// A parser's message about a component. It repeats names that the component chose.
    pub(crate) fn invalid(error: &dyn std::fmt::Display) -> Self {
        Self::Invalid { message: printable(&SecretMatcher::default(), &format!("{error:#}")) }
    }

    /// The fault in a description, in words that may come from it.
    pub(crate) fn info(message: &str) -> Self {
        Self::DriverInfo { message: printable(&SecretMatcher::default(), message) }
    }

    /// The fault as a clause about `what`, the component.
    pub fn about(&self, what: &str) -> String {
        match self {
            Self::Read { source, .. } => format!("{what} cannot be read: {}", purlin_files::reason(source)),
            Self::UnknownImport { .. } | Self::DriverInfo { .. } => format!("{what} {self}"),
            Self::Describe(source) => match &**source {
                CallError::Trap { message, .. } => format!("{what} does not describe itself: {message}"),
                other => format!("{what} does not describe itself: {other}"),
            },
            Self::Grant { message } => message.clone(),
            other => format!("{what} is {other}"),
        }
    }
}

/// A call without a result. Only [`Self::did_nothing`] decides whether its outcome is known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The driver returned a failure.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The driver crashed.
    #[error("the driver `{driver}` crashed: {message}")]
    Trap {
        /// Name of the driver.
        driver: String,
        /// The message, as far as it is known.
        message: String,
    },
    /// The driver took too long.
    #[error(
        "the driver `{driver}` was stopped after {limit:?}, its time limit; `drivers.{driver}.limits.time` in purlin.yaml raises it"
    )]
    TimeLimit {
        /// Name of the driver.
        driver: String,
        /// Its limit of wall-clock time.
        limit: Duration,
    },
    /// All calls of the driver together took too long.
    #[error(
        "the calls of the driver `{driver}` took {limit:?} together, its limit; `drivers.{driver}.limits.total` in purlin.yaml raises it"
    )]
    TotalTimeLimit {
        /// Name of the driver.
        driver: String,
        /// Wall-clock time that all calls may take.
        limit: Duration,
    },
    /// The driver exceeded its memory limit.
    #[error(
        "the driver `{driver}` needs more than {}, its memory limit; `drivers.{driver}.limits.memory` in purlin.yaml raises it", size(*limit)
    )]
    MemoryLimit {
        /// Name of the driver.
        driver: String,
        /// Bytes of linear memory.
        limit: u64,
    },
    /// The driver returned more than its limit.
    #[error(
        "the driver `{driver}` returned more than {}, its output limit; `drivers.{driver}.limits.output` in purlin.yaml raises it", size(*limit)
    )]
    OutputLimit {
        /// Name of the driver.
        driver: String,
        /// Bytes.
        limit: u64,
    },
    /// The driver's answer exceeds the space that the answers to a plan may take together.
    #[error(
        "drivers returned more than {} for this plan, most recently the driver `{driver}`; use `--target` to plan fewer resources", size(*limit)
    )]
    PlanLimit {
        /// Name of the driver.
        driver: String,
        /// Bytes of all answers together.
        limit: u64,
    },
    /// The driver's result violates the contract.
    #[error("the driver `{driver}` broke its contract: {what}")]
    Junk {
        /// Name of the driver.
        driver: String,
        /// The fault.
        what: String,
    },
    /// The id of a checkpoint could not be stored.
    #[error("cannot record the id that the driver `{driver}` reported: {message}")]
    Checkpoint {
        /// Name of the driver.
        driver: String,
        /// Why.
        message: String,
    },
    /// The operator cut the call off.
    #[error("interrupted")]
    Cancelled,
    /// No instance could be created.
    #[error("cannot start the driver `{driver}`: {message}")]
    Instantiate {
        /// Name of the driver.
        driver: String,
        /// Why.
        message: String,
    },
    /// The account of the resource is not available, so that the driver was not called.
    #[error("the account `{account}` is not available to the driver `{driver}`: {message}")]
    Account {
        /// Name of the driver.
        driver: String,
        /// Name of the account.
        account: String,
        /// Why, and how to correct it.
        message: String,
    },
    /// What the driver keeps privately for the resource (its cookie) cannot be read from the state, so that
    /// the driver was not called.
    #[error("the private state of the driver `{driver}` for this resource cannot be read: {message}")]
    Cookie {
        /// Name of the driver.
        driver: String,
        /// Why.
        message: String,
    },
    /// The caller passed an unknown value to a call with effects.
    #[error("the input at `{pointer}` is not known yet")]
    Unknown {
        /// JSON Pointer into `{values, secrets, params}`.
        pointer: String,
    },
}

impl CallError {
    /// A stable short name of the kind of error, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Failure(failure) => failure.code(),
            Self::TimeLimit { .. } | Self::TotalTimeLimit { .. } => "time-limit",
            Self::MemoryLimit { .. } => "memory-limit",
            Self::OutputLimit { .. } | Self::PlanLimit { .. } => "output-limit",
            Self::Cancelled => "cancelled",
            Self::Trap { .. }
            | Self::Junk { .. }
            | Self::Checkpoint { .. }
            | Self::Instantiate { .. }
            | Self::Unknown { .. } => "driver",
            Self::Account { .. } => "missing-account",
            Self::Cookie { .. } => "state",
        }
    }

    /// The message where [`Self::code`] is shown too.
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Failure(failure) => failure.message(),
            other => Cow::Owned(other.to_string()),
        }
    }

    /// Whether the call certainly created and changed nothing. Otherwise, after a call with
    /// effects, the outcome is open.
    pub fn did_nothing(&self) -> bool {
        match self {
            Self::Failure(failure) => failure.did_nothing(),
            // These errors occur before the call, or while a plan is made, which has no effects.
            Self::Instantiate { .. }
            | Self::Account { .. }
            | Self::Cookie { .. }
            | Self::Unknown { .. }
            | Self::PlanLimit { .. } => true,
            Self::Trap { .. }
            | Self::TimeLimit { .. }
            | Self::TotalTimeLimit { .. }
            | Self::MemoryLimit { .. }
            | Self::OutputLimit { .. }
            | Self::Junk { .. }
            | Self::Checkpoint { .. }
            | Self::Cancelled => false,
        }
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}
