//! What can go wrong, sorted by who has to act.

use purlin_model::Diagnostic;

/// What can go wrong between documents and a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The documents are wrong. Nothing was done.
    #[error("{}", .0.iter().find(|d| d.is_error()).map_or("the documents are wrong", |d| &d.message))]
    Documents(Vec<Diagnostic>),
    /// The state cannot be read or written, or somebody else holds it.
    #[error(transparent)]
    State(#[from] purlin_state::Error),
    /// The sandbox cannot be set up on this machine.
    #[error(transparent)]
    Sandbox(#[from] purlin_sandbox::SandboxError),
    /// Planning failed while running.
    #[error(transparent)]
    Engine(purlin_engine::Error),
}

impl Error {
    /// The faults in documents that it is about; empty for other errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Documents(diagnostics) => diagnostics,
            _ => &[],
        }
    }

    /// Whether the input is at fault, so that trying again without a change is of no use.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Documents(_))
    }
}

impl From<purlin_engine::Error> for Error {
    fn from(error: purlin_engine::Error) -> Self {
        match error {
            purlin_engine::Error::Documents(diagnostics) => Self::Documents(diagnostics),
            purlin_engine::Error::State(error) => Self::State(error),
            other => Self::Engine(other),
        }
    }
}
