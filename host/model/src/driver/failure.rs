//! A driver's failure. The sandbox makes it from what the component returns; every later error
//! contains it unchanged. Its codes and words are here, so that no layer writes them again.
//!
//! Each layer wraps it and adds only what its crate knows: `CallError` of the sandbox, why there is no
//! answer; `CallFailed` of the engine, what the host observed, and the place in the documents; `Cause`
//! of the engine, why a resource failed, also without a call; the `Error` of the engine and of
//! `purlin-host`, why there is no plan or no run. The SDKs have types of their own for the variant in
//! `wit/`, since they know no crate of the host. The sandbox masks the secrets in it, and makes it
//! harmless for a terminal.

use std::borrow::Cow;
use std::time::Duration;

use super::{InvalidInput, ResourceState};

/// Why a call of a driver failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Failure {
    /// The inputs are wrong.
    #[error("invalid inputs: {}", join(.0))]
    InvalidInputs(Vec<InvalidInput>),
    /// A capability is missing.
    #[error("denied: {capability} {target}: {message}")]
    Denied {
        /// The capability.
        capability: String,
        /// The target.
        target: String,
        /// The purpose.
        message: String,
    },
    /// The resource, or one it needs, does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// Somebody else's change blocks it.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Busy; nothing was changed.
    #[error("{message} (the driver asks to be called again after {} ms)", after.as_millis())]
    RetryAfter {
        /// How long to wait.
        after: Duration,
        /// The message of the other side.
        message: String,
    },
    /// Something exists that must not be forgotten.
    #[error("partly done: {message}")]
    Partial {
        /// What exists.
        state: Box<ResourceState>,
        /// What failed.
        message: String,
    },
    /// Any other failure; nothing was changed.
    #[error("{0}")]
    Failed(String),
    /// It is unknown whether anything was changed.
    #[error("{0}; it is unknown whether it was carried out")]
    Undecided(String),
    /// The resource that this one replaces must be deleted first; nothing was created.
    #[error("the current one has to be deleted first: {0}")]
    NeedsDeleteBefore(String),
}

impl Failure {
    /// Its name in the contract, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// The message where [`Self::code`] is shown too. It does not repeat the code in words, as
    /// `Display` does.
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::NotFound(message)
            | Self::Conflict(message)
            | Self::RetryAfter { message, .. }
            | Self::Undecided(message) => Cow::Borrowed(message.as_str()),
            Self::Partial { message, .. } => Cow::Owned(format!("the resource exists in part: {message}")),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// Whether the driver promises that the call created and changed nothing.
    pub fn did_nothing(&self) -> bool {
        !matches!(self, Self::Partial { .. } | Self::Undecided(_))
    }
}

fn join(inputs: &[InvalidInput]) -> String {
    inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_beside_a_code_does_not_repeat_it() {
        let missing = Failure::NotFound("no such zone".to_owned());
        assert_eq!((missing.code(), &*missing.message()), ("not-found", "no such zone"));
        assert_eq!(missing.to_string(), "not found: no such zone");
        let inputs = ["/values/size", ""]
            .map(|pointer| InvalidInput { pointer: pointer.to_owned(), message: "too large".to_owned() });
        let invalid = Failure::InvalidInputs(inputs.into());
        assert_eq!(invalid.message(), "invalid inputs: `/values/size`: too large; too large");
    }
}
