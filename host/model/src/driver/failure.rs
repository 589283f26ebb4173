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
use std::fmt;
use std::time::Duration;

use super::{InputFinding, Pending, ResourceState};

/// A fault, for people and programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// What happened.
    pub message: String,
    /// Facts about it, by name, such as `code`, `status` and `request-id` of a service.
    pub details: Vec<(String, String)>,
}

impl Problem {
    /// The details that its message does not contain already.
    fn more(&self) -> Vec<String> {
        let is_said = |value: &str| self.message.contains(value);
        let more = self.details.iter().filter(|(_, value)| !value.is_empty() && !is_said(value));
        more.map(|(name, value)| format!("{name} {value}")).collect()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.more() {
            more if more.is_empty() => f.write_str(&self.message),
            more => write!(f, "{} ({})", self.message, more.join(", ")),
        }
    }
}

impl<T: Into<String>> From<T> for Problem {
    fn from(message: T) -> Self {
        Self { message: message.into(), details: Vec::new() }
    }
}

/// Why a call of a driver did not answer with a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Failure {
    /// The inputs are wrong.
    #[error("invalid inputs: {}", join(.0))]
    InvalidInputs(Vec<InputFinding>),
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
    /// Something that the resource needs does not exist.
    #[error("not found: {0}")]
    NotFound(Problem),
    /// An object that is not this resource's, or its contents, stands in the way.
    #[error("conflict: {0}")]
    Conflict(Problem),
    /// Busy; nothing was changed.
    #[error("{message} (the driver asks to be called again after {} ms)", after.as_millis())]
    RetryAfter {
        /// How long to wait.
        after: Duration,
        /// The message of the other side.
        message: String,
    },
    /// It exists, or is going away, and is not done yet; nothing failed.
    #[error("not done yet: {}", pending.message)]
    Pending {
        /// What exists so far; none from `delete`.
        state: Option<Box<ResourceState>>,
        /// What it waits for.
        pending: Pending,
    },
    /// Something exists that must not be forgotten.
    #[error("partly done: {problem}")]
    Partial {
        /// What exists.
        state: Box<ResourceState>,
        /// What failed.
        problem: Problem,
    },
    /// Any other failure; nothing was changed.
    #[error("{0}")]
    Failed(Problem),
    /// It is unknown whether anything was changed.
    #[error("{0}; it is unknown whether it was carried out")]
    Undecided(Problem),
    /// The resource that this one replaces must be deleted first; nothing was created.
    #[error("the current one has to be deleted first: {0}")]
    NeedsDeleteBefore(Problem),
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
            Self::RetryAfter { message, .. } => Cow::Borrowed(message.as_str()),
            Self::Pending { pending, .. } => Cow::Borrowed(pending.message.as_str()),
            Self::NotFound(problem) | Self::Conflict(problem) | Self::Undecided(problem) => {
                Cow::Owned(problem.to_string())
            }
            Self::Partial { problem, .. } => Cow::Owned(format!("the resource exists in part: {problem}")),
            Self::InvalidInputs(_) | Self::Denied { .. } | Self::Failed(_) | Self::NeedsDeleteBefore(_) => {
                Cow::Owned(self.to_string())
            }
        }
    }

    /// Facts about the fault, by name.
    pub fn details(&self) -> &[(String, String)] {
        match self {
            Self::NotFound(problem)
            | Self::Conflict(problem)
            | Self::Partial { problem, .. }
            | Self::Failed(problem)
            | Self::Undecided(problem)
            | Self::NeedsDeleteBefore(problem) => &problem.details,
            Self::InvalidInputs(_) | Self::Denied { .. } | Self::RetryAfter { .. } | Self::Pending { .. } => {
                &[]
            }
        }
    }

    /// Whether the driver promises that the call created and changed nothing.
    pub fn did_nothing(&self) -> bool {
        !matches!(self, Self::Pending { .. } | Self::Partial { .. } | Self::Undecided(_))
    }
}

fn join(inputs: &[InputFinding]) -> String {
    inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_follow_the_message_unless_it_says_them() {
        let details = [("code", "Throttled"), ("status", "503"), ("request-id", "r1")];
        let details = details.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let failed = Failure::Failed(Problem { message: "the service answered 503".to_owned(), details });
        assert_eq!(failed.to_string(), "the service answered 503 (code Throttled, request-id r1)");
        assert_eq!(failed.details().len(), 3);
    }

    #[test]
    fn a_message_beside_a_code_does_not_repeat_it() {
        let missing = Failure::NotFound("no such zone".into());
        assert_eq!((missing.code(), &*missing.message()), ("not-found", "no such zone"));
        assert_eq!(missing.to_string(), "not found: no such zone");
        let inputs = ["/values/size", ""]
            .map(|pointer| InputFinding { pointer: pointer.to_owned(), message: "too large".to_owned() });
        let invalid = Failure::InvalidInputs(inputs.into());
        assert_eq!(invalid.message(), "invalid inputs: `/values/size`: too large; too large");
    }
}
