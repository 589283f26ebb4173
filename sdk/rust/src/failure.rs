//! Why a call failed, and conversions with `?`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::{InvalidInput, State};

/// Why a call failed. Any `std` error becomes [`Failure::Failed`] with `?`, which is why this type
/// is not an error itself.
///
/// All but [`Failure::Partial`] and [`Failure::Undecided`] promise that nothing was created or
/// changed.
#[derive(Clone)]
pub enum Failure {
    /// The inputs are wrong; another attempt does not help.
    InvalidInputs(Vec<InvalidInput>),
    /// A capability is missing; the operator has to grant it.
    Denied {
        /// `http`, `tcp`, `udp`, `dns`, `env`, `dirs` or `secrets`.
        capability: String,
        /// The target, such as `db.internal:5432`.
        target: String,
        /// The purpose.
        message: String,
    },
    /// The resource, or one it needs, does not exist.
    NotFound(String),
    /// Somebody else's change blocks it.
    Conflict(String),
    /// Busy or rate-limited; nothing was changed.
    RetryAfter {
        /// The time after which another attempt makes sense.
        after: Duration,
        /// The message of the other side.
        message: String,
    },
    /// Something exists that must not be forgotten.
    Partial {
        /// What exists now.
        state: Box<State>,
        /// What failed.
        message: String,
    },
    /// Any other failure.
    Failed(String),
    /// It is unknown whether anything was created or changed: a request with effects was sent, and
    /// its answer did not arrive. The host finds out later.
    Undecided(String),
    /// The resource cannot be created while the one that it replaces
    /// ([`crate::CreateRequest::replaces`]) exists. The host deletes that one first, if the plan
    /// allows it.
    NeedsDeleteBefore(String),
}

impl Failure {
    /// One wrong input, at a pointer into `{"values":…,"secrets":…,"params":…,"connection":…}`.
    pub fn input(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidInputs(vec![InvalidInput { pointer: pointer.into(), message: message.into() }])
    }

    /// The outcome of a request with effects is unknown.
    pub fn undecided(message: impl Into<String>) -> Self {
        Self::Undecided(message.into())
    }

    /// A failure of no other kind.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// A capability that the operator has not granted.
    pub fn denied(
        capability: impl Into<String>,
        target: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::Denied { capability: capability.into(), target: target.into(), message: message.into() }
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::Failed(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidInputs(faults) => {
                f.write_str("invalid inputs")?;
                for (index, fault) in faults.iter().enumerate() {
                    let mark = if index == 0 { ": " } else { "; " };
                    write!(f, "{mark}{}: {}", fault.pointer, fault.message)?;
                }
                Ok(())
            }
            Self::Denied { capability, target, message } => {
                write!(f, "denied: {capability} {target}: {message}")
            }
            Self::NotFound(message) => write!(f, "not found: {message}"),
            Self::Conflict(message) => write!(f, "conflict: {message}"),
            Self::RetryAfter { after, message } => write!(f, "busy for {} ms: {message}", after.as_millis()),
            Self::Partial { state, message } => write!(f, "partly done, {} exists: {message}", state.id),
            Self::Failed(message) => f.write_str(message),
            Self::Undecided(message) => write!(f, "undecided: {message}"),
            Self::NeedsDeleteBefore(message) => {
                write!(f, "the current one has to be deleted first: {message}")
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Collects every fault of the inputs, so that all are reported at once.
#[derive(Clone, Debug, Default)]
pub struct Faults(Vec<InvalidInput>);

impl Faults {
    /// Adds a fault at a pointer into `{"values":…,"secrets":…,"params":…,"connection":…}`.
    pub fn add(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.0.push(InvalidInput { pointer: pointer.into(), message: message.into() });
    }

    /// Adds the faults of another check. Failures other than wrong inputs are returned.
    ///
    /// # Errors
    /// Any failure but [`Failure::InvalidInputs`].
    pub fn take<T>(&mut self, result: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Failure::InvalidInputs(mut faults)) => {
                self.0.append(&mut faults);
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Whether there are none so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Success if there are none.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with all of them.
    pub fn into_result(self) -> Result<(), Failure> {
        if self.0.is_empty() { Ok(()) } else { Err(Failure::InvalidInputs(self.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_a_number(text: &str) -> Result<u8, Failure> {
        Ok(text.parse::<u8>()?)
    }

    #[test]
    fn any_error_becomes_a_failure() {
        assert_eq!(
            reads_a_number("x").map_err(|failure| failure.to_string()),
            Err("invalid digit found in string".to_owned())
        );
    }

    #[test]
    fn all_faults_are_returned_at_once() {
        let mut faults = Faults::default();
        faults.add("/values/a", "is wrong");
        assert!(matches!(faults.take::<()>(Err(Failure::input("/values/b", "too"))), Ok(None)));
        assert!(faults.take::<()>(Err(Failure::failed("else"))).is_err());
        let text = faults.into_result().map_err(|failure| failure.to_string());
        assert_eq!(text, Err("invalid inputs: /values/a: is wrong; /values/b: too".to_owned()));
    }
}
