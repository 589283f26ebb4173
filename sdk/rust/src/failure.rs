//! Why a call failed, and conversions with `?`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::{Finding, Problem, State};

/// Why a call did not answer with a result. Any `std` error becomes [`Failure::Failed`] with `?`, which
/// is why this type is not an error itself.
///
/// All but [`Failure::Pending`], [`Failure::Partial`] and [`Failure::Undecided`] promise that nothing was
/// created or changed.
#[derive(Clone)]
pub enum Failure {
    /// The inputs are wrong; another attempt does not help.
    InvalidInputs(Vec<Finding>),
    /// A capability is missing; the operator has to grant it.
    Denied {
        /// `http`, `tcp`, `udp`, `dns`, `env`, `dirs`, `secrets` or another one that operators grant.
        capability: String,
        /// The target, such as `db.internal:5432`.
        target: String,
        /// The purpose.
        message: String,
    },
    /// Something that the resource needs does not exist.
    NotFound(Problem),
    /// An object that is not this resource's, or the contents of it, stands in the way.
    Conflict(Problem),
    /// Busy or rate-limited; nothing was changed. The host tries again.
    RetryAfter {
        /// The time after which another attempt makes sense.
        after: Duration,
        /// The message of the other side.
        message: String,
    },
    /// It exists, or is going away, and is not done yet; nothing failed. The host records it, ends the
    /// call, and looks again later: with `read` after `create`, `update` and `read`, with `delete` after
    /// `delete`. From these four only.
    Pending {
        /// What exists so far, with its write-once outputs; none from `delete`.
        state: Option<Box<State>>,
        /// The time after which it makes sense to look again.
        after: Duration,
        /// What it waits for.
        message: String,
    },
    /// Something exists that must not be forgotten, and the rest failed.
    Partial {
        /// What exists now.
        state: Box<State>,
        /// What failed.
        problem: Problem,
    },
    /// Any other failure.
    Failed(Problem),
    /// It is unknown whether anything was created or changed: a request with effects was sent, and
    /// its answer did not arrive. The host finds out later. From `create`, `update` and `delete` only.
    Undecided(Problem),
    /// The resource cannot be created while the one that it replaces
    /// ([`crate::CreateRequest::replaces`]) exists. The host deletes that one first, if the plan
    /// allows it.
    NeedsDeleteBefore(Problem),
}

impl Failure {
    /// One wrong input, at a pointer into `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`.
    pub fn input(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidInputs(vec![Finding { pointer: pointer.into(), message: message.into() }])
    }

    /// A capability that the operator has not granted.
    pub fn denied(
        capability: impl Into<String>,
        target: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::Denied { capability: capability.into(), target: target.into(), message: message.into() }
    }

    /// Something that the resource needs does not exist.
    pub fn not_found(problem: impl Into<Problem>) -> Self {
        Self::NotFound(problem.into())
    }

    /// Something that is not this resource's stands in the way.
    pub fn conflict(problem: impl Into<Problem>) -> Self {
        Self::Conflict(problem.into())
    }

    /// The other side is busy, and nothing was changed.
    pub fn retry_after(after: Duration, message: impl Into<String>) -> Self {
        Self::RetryAfter { after, message: message.into() }
    }

    /// Something is not done yet, and there is no state to record: from `read` and `delete`. See
    /// [`State::pending`] for one with a state.
    pub fn pending(after: Duration, message: impl Into<String>) -> Self {
        Self::Pending { state: None, after, message: message.into() }
    }

    /// Something exists, and the rest failed. A `problem` can be another failure.
    pub fn partial(state: State, problem: impl Into<Problem>) -> Self {
        Self::Partial { state: Box::new(state), problem: problem.into() }
    }

    /// A failure of no other kind.
    pub fn failed(problem: impl Into<Problem>) -> Self {
        Self::Failed(problem.into())
    }

    /// The outcome of a request with effects is unknown.
    pub fn undecided(problem: impl Into<Problem>) -> Self {
        Self::Undecided(problem.into())
    }

    /// The resource that this one replaces has to be deleted first.
    pub fn needs_delete_before(problem: impl Into<Problem>) -> Self {
        Self::NeedsDeleteBefore(problem.into())
    }

    /// The same with a fact about it, such as `code`, `status`, `request-id` or `operation` of the service
    /// that answered. It stays as it is if it is of a kind without a [`Problem`].
    #[must_use]
    pub fn with_detail(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Some(problem) = self.problem_mut() {
            problem.details.push((name.into(), value.into()));
        }
        self
    }

    /// What happened, with details, if it is of a kind that has them.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::NotFound(problem)
            | Self::Conflict(problem)
            | Self::Partial { problem, .. }
            | Self::Failed(problem)
            | Self::Undecided(problem)
            | Self::NeedsDeleteBefore(problem) => Some(problem),
            _ => None,
        }
    }

    fn problem_mut(&mut self) -> Option<&mut Problem> {
        match self {
            Self::NotFound(problem)
            | Self::Conflict(problem)
            | Self::Partial { problem, .. }
            | Self::Failed(problem)
            | Self::Undecided(problem)
            | Self::NeedsDeleteBefore(problem) => Some(problem),
            _ => None,
        }
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
        Self::failed(text)
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
            Self::NotFound(problem) => write!(f, "not found: {problem}"),
            Self::Conflict(problem) => write!(f, "conflict: {problem}"),
            Self::RetryAfter { after, message } => write!(f, "busy for {} ms: {message}", after.as_millis()),
            Self::Pending { after, message, .. } => {
                write!(f, "not done for another {} ms: {message}", after.as_millis())
            }
            Self::Partial { state, problem } => write!(f, "partly done, {} exists: {problem}", state.id),
            Self::Failed(problem) => problem.fmt(f),
            Self::Undecided(problem) => write!(f, "undecided: {problem}"),
            Self::NeedsDeleteBefore(problem) => {
                write!(f, "the current one has to be deleted first: {problem}")
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
pub struct Faults(Vec<Finding>);

impl Faults {
    /// Adds a fault at a pointer into `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`.
    pub fn add(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.0.push(Finding { pointer: pointer.into(), message: message.into() });
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

    #[test]
    fn details_stay_with_a_failure_that_becomes_another() {
        let failure = Failure::not_found("no such zone").with_detail("status", "404");
        let partial = Failure::partial(State::new("a"), failure);
        assert_eq!(partial.to_string(), "partly done, a exists: not found: no such zone");
        let expected = Problem::new("not found: no such zone").with_detail("status", "404");
        assert_eq!(partial.problem(), Some(&expected));
        let busy = Failure::retry_after(Duration::ZERO, "busy").with_detail("status", "429");
        assert!(busy.problem().is_none());
    }
}
