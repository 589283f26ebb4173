//! What happened, for people and programs.

use std::fmt;

use crate::{Failure, Problem};

impl Problem {
    /// A problem without details.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: Vec::new() }
    }

    /// The same with a fact about it, such as `code`, `status`, `request-id` or `operation` of the service
    /// that answered. People see it; secrets of the call are masked.
    #[must_use]
    pub fn with_detail(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.details.push((name.into(), value.into()));
        self
    }

    /// The fact of a name.
    pub fn detail(&self, name: &str) -> Option<&str> {
        self.details.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl PartialEq for Problem {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message && self.details == other.details
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// A failure that is part of another one, with its details.
impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let details = failure.problem().map(|problem| problem.details.clone()).unwrap_or_default();
        Self { message: failure.to_string(), details }
    }
}
