//! The errors, sorted by who must act.

use std::time::Duration;

use purlin_model::Diagnostic;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// The errors between documents and a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The documents contain errors. Nothing was done.
    #[error("{}", Diagnostic::first_error(.0).unwrap_or("the documents are invalid"))]
    Documents(Vec<Diagnostic>),
    /// A deployment of this environment already has the id.
    #[error("the deployment id `{id}` is taken: deployment {number} of {environment} has it")]
    DeploymentExists {
        /// The id.
        id: std::sync::Arc<str>,
        /// The number of that deployment.
        number: u64,
        /// The environment.
        environment: purlin_state::Environment,
    },
    /// The state cannot be read or written, or another process holds it.
    #[error(transparent)]
    State(#[from] purlin_state::Error),
    /// The sandbox cannot be set up on this machine.
    #[error(transparent)]
    Sandbox(#[from] purlin_sandbox::SandboxError),
    /// The system's clock is implausible, so no time can be recorded.
    #[error(transparent)]
    Clock(#[from] purlin_sandbox::clock::ClockError),
    /// Archived documents or a saved plan cannot be used.
    #[error("{0}")]
    Archive(String),
    /// The state changed since the plan was made.
    #[error("the plan is stale: the state changed since it was made; plan again")]
    Stale,
    /// The run would do something that the plan does not say.
    #[error("what would be done now deviates from the plan: {}; plan again", list(.0))]
    Deviates(Vec<purlin_engine::Deviation>),
    /// A component cannot be inspected, or is not a driver.
    #[error("{0}")]
    Component(String),
    /// There are no inputs to test a driver with.
    #[error(transparent)]
    NoCases(#[from] purlin_conformance::NoCases),
    /// The command was cancelled while it waited for the last calls of a previous deployment.
    #[error(
        "calls of the previous deployment of {environment} may still run for {} s; run the command again after that",
        .left.as_secs_f64().ceil()
    )]
    Unfinished {
        /// The environment.
        environment: purlin_state::Environment,
        /// The time until they have ended.
        left: Duration,
    },
    /// The environment is closed to deployments.
    #[error("the environment {environment} is closed by {holder}; `purlin state unlock` opens it")]
    Closed {
        /// The environment.
        environment: purlin_state::Environment,
        /// The user who closed it, and the reason.
        holder: Box<purlin_state::Holder>,
    },
    /// A move of resources out of the environment or into it was interrupted.
    #[error(
        "the environment {environment} is closed, because a move was interrupted; `{command}` finishes it"
    )]
    Moving {
        /// The environment.
        environment: purlin_state::Environment,
        /// The command that finishes the move.
        command: String,
    },
    /// A state that had records is empty, although no deployment emptied it.
    #[error("the state of {environment} is gone: it had {records} resources before, and has none now")]
    StateGone {
        /// The environment.
        environment: purlin_state::Environment,
        /// The previous number of records.
        records: usize,
    },
    /// Others deployed other documents after those of a pass were read.
    #[error("someone else has deployed to {environment} since the documents were read")]
    DeployedMeanwhile {
        /// The environment.
        environment: purlin_state::Environment,
    },
    /// The system provides no random numbers.
    #[error("no random numbers: {0}")]
    Random(String),
    /// Planning or running failed. Faults in documents and errors of the state have their own variants.
    #[error(transparent)]
    Engine(purlin_engine::Error),
}

impl Error {
    /// The faults in documents; empty for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Documents(faults) => faults,
            Self::Engine(error) => error.diagnostics(),
            _ => &[],
        }
    }

    /// Whether the input is at fault, so that trying again without a change is useless.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Documents(_)
            | Self::DeploymentExists { .. }
            | Self::Archive(_)
            | Self::Component(_)
            | Self::NoCases(_)
            | Self::Stale
            | Self::Deviates(_) => true,
            Self::State(error) => error.is_input(),
            Self::Engine(error) => error.is_input(),
            _ => false,
        }
    }

    /// The stable code of an error without a diagnostic that a program can react to, for example by
    /// trying again later; `None` for others. `docs/src/reference/errors.md` explains each.
    pub fn code(&self) -> Option<&'static str> {
        use purlin_state::Error::{Busy, Locked, Reserved};
        Some(match self {
            Self::State(Locked { .. } | Reserved { .. } | Busy { .. }) | Self::Unfinished { .. } => "locked",
            Self::Closed { .. } | Self::Moving { .. } => "closed",
            Self::Stale | Self::Deviates(_) => "stale-plan",
            Self::DeploymentExists { .. } => "deployment-exists",
            Self::Engine(purlin_engine::Error::DataLoss(_)) => "data-loss",
            _ => return None,
        })
    }

    /// The error for an environment that is closed.
    pub(crate) fn closed(environment: &purlin_state::Environment, holder: &purlin_state::Holder) -> Self {
        let environment = environment.clone();
        match crate::interrupted_move(holder) {
            Some(command) => Self::Moving { environment, command: command.to_owned() },
            None => Self::Closed { environment, holder: Box::new(holder.clone()) },
        }
    }

    /// The message with its causes, in one line. [`Display`](std::fmt::Display) has only the message.
    pub fn message(&self) -> String {
        purlin_files::with_causes(self)
    }
}

/// The `error` of the published JSON (`code`, `message`, `diagnostics`), without the hints of the command line.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let diagnostics = self.diagnostics();
        let code = self.code();
        let length = 1 + usize::from(code.is_some()) + usize::from(!diagnostics.is_empty());
        let mut fields = serializer.serialize_struct("Error", length)?;
        match code {
            Some(code) => fields.serialize_field("code", code)?,
            None => fields.skip_field("code")?,
        }
        fields.serialize_field("message", &self.message())?;
        match diagnostics.is_empty() {
            true => fields.skip_field("diagnostics")?,
            false => fields.serialize_field("diagnostics", diagnostics)?,
        }
        fields.end()
    }
}

/// Most faults in documents, and most errors of the state, are found without the engine. A caller finds
/// those of the engine in the same variants.
impl From<purlin_engine::Error> for Error {
    fn from(error: purlin_engine::Error) -> Self {
        match error {
            purlin_engine::Error::Documents(faults) => Self::Documents(faults),
            purlin_engine::Error::State(error) => Self::State(error),
            other => Self::Engine(other),
        }
    }
}

fn list(deviations: &[purlin_engine::Deviation]) -> String {
    deviations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
