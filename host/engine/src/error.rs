//! The errors of planning and applying.

use std::fmt::Display;

use purlin_model::{Diagnostic, Location, Reason, Unfinished};
use purlin_sandbox::CallError;

use crate::failed::{CallFailed, Defined, Lacking};
use crate::names::{Misnamed, Role};
use crate::values::workload::WorkloadError;

/// Why no plan could be made, or a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The documents contain errors; nothing was done.
    #[error("{}", Diagnostic::first_error(.0).unwrap_or("the documents are invalid"))]
    Documents(Vec<Diagnostic>),
    /// Names that match no resource or several ones, each with its role; nothing was done.
    #[error("{}", join(.0.iter().map(|(_, name)| name)))]
    Names(Vec<(Role, Misnamed)>),
    /// The inputs require access that the drivers are not granted; nothing was done.
    #[error("{}", Diagnostic::first_error(.faults).unwrap_or("grants are missing"))]
    NotGranted {
        /// Every fault that was found, including the missing grants.
        faults: Vec<Diagnostic>,
        /// The missing grants of each driver, by its name.
        lacking: Vec<(std::sync::Arc<str>, Lacking)>,
    },
    /// The state cannot be read or written.
    #[error(transparent)]
    State(#[from] purlin_state::Error),
    /// The state contradicts itself, so no run can start from it.
    #[error("the recorded state is inconsistent: {0}")]
    Integrity(String),
    /// The plan was made without drivers.
    #[error("a plan made offline cannot be applied")]
    OfflinePlan,
    /// The plan loses the data of these resources without permission. Nothing was done.
    #[error("the plan loses data, which was not allowed: {}", names(.0))]
    DataLoss(Vec<purlin_model::Key>),
    /// Nothing is recorded under this name.
    #[error("{}", unknown(.0))]
    Unknown(purlin_model::Urn),
    /// Something is already recorded under this name.
    #[error("{}", taken(.0))]
    Taken(purlin_model::Urn),
    /// No call on the resource is pending.
    #[error("{}", nothing_to_settle(.0))]
    NotPending(purlin_model::Urn),
    /// The id that the user gives for the resource belongs to another record.
    #[error("{}", id_taken(urn, id, by))]
    IdTaken {
        /// The resource.
        urn: purlin_model::Urn,
        /// The id.
        id: purlin_model::Label,
        /// The record that has the id.
        by: purlin_state::RecordId,
    },
    /// Other resources depend on it.
    #[error("{}", in_use(urn, dependents))]
    InUse {
        /// The resource.
        urn: purlin_model::Urn,
        /// The dependents, sorted.
        dependents: Vec<purlin_model::Urn>,
    },
    /// The call of a driver about inputs failed.
    #[error("{key}: {cause}")]
    Driver {
        /// The resource that the call was about.
        key: purlin_model::Key,
        /// The cause.
        cause: Cause,
    },
}

impl Error {
    /// The faults in documents and grants; empty for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Documents(faults) | Self::NotGranted { faults, .. } => faults,
            _ => &[],
        }
    }

    /// Whether the input is at fault, so that trying again without a change is useless.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Documents(_)
            | Self::NotGranted { .. }
            | Self::Names(_)
            | Self::Unknown(_)
            | Self::Taken(_)
            | Self::NotPending(_)
            | Self::IdTaken { .. }
            | Self::InUse { .. }
            | Self::DataLoss(_) => true,
            Self::State(error) => error.is_input(),
            _ => false,
        }
    }

    /// The message, with another name for each recorded resource. [`Display`] has their URNs, since a
    /// caller may have several environments.
    pub fn message_with(&self, name: impl Fn(&purlin_model::Urn) -> String) -> String {
        match self {
            Self::Unknown(urn) => unknown(name(urn)),
            Self::Taken(urn) => taken(name(urn)),
            Self::NotPending(urn) => nothing_to_settle(name(urn)),
            Self::IdTaken { urn, id, by } => {
                let copy = if by.superseded.is_some() { "an old copy of " } else { "" };
                id_taken_by(name(urn), id, format!("{copy}`{}`", name(&by.urn)))
            }
            Self::InUse { urn, dependents } => {
                let dependents: Vec<String> = dependents.iter().map(&name).collect();
                in_use(name(urn), &dependents)
            }
            other => other.to_string(),
        }
    }
}

fn unknown(name: impl Display) -> String {
    format!("`{name}` is not recorded")
}

fn taken(name: impl Display) -> String {
    format!("`{name}` is already recorded")
}

fn nothing_to_settle(name: impl Display) -> String {
    format!("no call on `{name}` has an unknown outcome, so there is nothing to settle")
}

fn id_taken(name: impl Display, id: &purlin_model::Label, by: &purlin_state::RecordId) -> String {
    id_taken_by(name, id, format!("`{by}`"))
}

fn id_taken_by(name: impl Display, id: &purlin_model::Label, by: impl Display) -> String {
    format!("`{name}` cannot be recorded as `{id}`: {by} has that id already")
}

fn in_use(name: impl Display, dependents: &[impl Display]) -> String {
    let names: Vec<String> = dependents.iter().map(|dependent| format!("`{dependent}`")).collect();
    let depend = if names.len() == 1 { "depends" } else { "depend" };
    format!("`{name}` cannot be forgotten: {} {depend} on it", names.join(", "))
}

/// The message of [`Cause::IdTaken`], with any name for the other resource.
pub(crate) fn returned_taken_id(driver: &str, id: &purlin_model::Label, other: impl Display) -> String {
    format!("the driver `{driver}` returned the id `{id}`, which `{other}` has already")
}

fn join<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

fn names(keys: &[purlin_model::Key]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// Why a single resource failed.
#[derive(Clone, Debug, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// Its inputs could not be resolved.
    #[error("{}", .0.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "))]
    Inputs(Vec<Diagnostic>),
    /// Its driver failed or was terminated.
    #[error(transparent)]
    Call(std::sync::Arc<CallFailed>),
    /// The result could not be recorded.
    #[error("could not record the result: {0}")]
    State(std::sync::Arc<purlin_state::Error>),
    /// Values that became known require more than the plan says.
    #[error("it has to be replaced, which is not in the plan: {}; plan again", join(.reasons))]
    MoreThanPlanned {
        /// Why the resource would be replaced.
        reasons: Vec<Reason>,
    },
    /// The driver returned a different value than it had promised.
    #[error("the driver `{driver}` returned another value for the output `{path}` than it had promised")]
    Inconsistent {
        /// The driver's name.
        driver: String,
        /// A JSON Pointer into the outputs.
        path: String,
    },
    /// The driver returned outputs that do not match the schema of the resource type or its own one.
    #[error("the driver `{driver}` returned outputs that do not match their schema: {}", .faults.join("; "))]
    Outputs {
        /// The driver's name.
        driver: String,
        /// The faults, one fragment each.
        faults: Vec<String>,
    },
    /// The driver returned the id of another resource, so the result was not recorded.
    #[error("{}", returned_taken_id(driver, id, other))]
    IdTaken {
        /// The driver's name.
        driver: String,
        /// The id.
        id: purlin_model::Label,
        /// The resource that is recorded with the id.
        other: purlin_model::Urn,
    },
    /// The patch of the workload's document cannot be applied.
    #[error("{error}")]
    #[strum(serialize = "workload-patch")]
    Workload {
        /// The faults in the patch.
        error: Box<WorkloadError>,
        /// The definition that contains the patch.
        definition: Option<Defined>,
    },
    /// The resource that is only observed does not exist.
    #[error("there is no `{id}`")]
    NotFound {
        /// Its provider id.
        id: String,
        /// Where the documents name it.
        at: Option<Location>,
    },
    /// The resource is so new that its system may not show it yet, so that nobody can know whether it is
    /// gone.
    #[error(
        "its system does not show it yet, so whether it is gone could not be known; a run in {seconds} s deletes it"
    )]
    NotVisible {
        /// How long that takes.
        seconds: u64,
    },
    /// Its driver called it pending, and the run does not wait any longer. Nothing failed.
    #[error("{0}; the next run goes on")]
    InProgress(Unfinished),
    /// An interrupted call may have created or deleted the resource.
    #[error("the outcome of an interrupted call is unknown")]
    Undecided,
    /// There is no driver for the recorded resource.
    #[error("there is no driver `{0}`")]
    NoDriver(std::sync::Arc<str>),
}

impl Cause {
    /// Whether the failure proves that a call had no effect.
    pub(crate) fn did_nothing(&self) -> bool {
        matches!(self, Self::Call(failed) if failed.error.did_nothing())
    }

    /// A stable short name of the kind of failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Call(failed) => failed.error.code(),
            other => other.into(),
        }
    }
}

impl From<purlin_state::Error> for Cause {
    fn from(error: purlin_state::Error) -> Self {
        Self::State(std::sync::Arc::new(error))
    }
}

impl From<CallError> for Cause {
    fn from(error: CallError) -> Self {
        Self::Call(std::sync::Arc::new(error.into()))
    }
}
