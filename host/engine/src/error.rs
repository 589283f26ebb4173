//! What can go wrong while planning and applying.

use purlin_model::Diagnostic;
use purlin_sandbox::CallError;

/// Why no plan could be made, or a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The documents are wrong; nothing was done.
    #[error("{} in the documents", count(.0.len()))]
    Documents(Vec<Diagnostic>),
    /// The state cannot be read or written.
    #[error(transparent)]
    State(#[from] purlin_state::Error),
    /// The state contradicts itself; no run starts from it.
    #[error("the recorded state is not whole: {0}")]
    Integrity(String),
    /// The plan was made without drivers.
    #[error("a plan made offline is for looking at, it cannot be applied")]
    OfflinePlan,
    /// A driver could not be asked about inputs.
    #[error("{key}: {cause}")]
    Driver {
        /// The resource it was about.
        key: purlin_model::Key,
        /// What happened.
        cause: Cause,
    },
}

fn count(errors: usize) -> String {
    if errors == 1 { "1 error".into() } else { format!("{errors} errors") }
}

/// Why a single resource failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Cause {
    /// Its inputs could not be resolved.
    #[error("{}", .0.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "))]
    Inputs(Vec<Diagnostic>),
    /// Its driver failed, or was ended.
    #[error("{0}")]
    Call(std::sync::Arc<CallError>),
    /// What happened could not be written down.
    #[error("could not record the result: {0}")]
    State(std::sync::Arc<purlin_state::Error>),
    /// It turned out that it cannot be changed in place.
    #[error("the change of `{pointer}` cannot be made in place; this version does not replace")]
    Replacement {
        /// The input, as a JSON Pointer.
        pointer: String,
    },
    /// No driver is there for what is recorded.
    #[error("{0}")]
    NoDriver(String),
}

impl From<CallError> for Cause {
    fn from(error: CallError) -> Self {
        Self::Call(std::sync::Arc::new(error))
    }
}
