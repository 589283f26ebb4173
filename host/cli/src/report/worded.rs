//! A value of the host as code and data, with a sentence for people.

use std::fmt::Display;

use serde::Serialize;

/// A reason, a finding or an obstacle: `{"reason": "definition-changed", "before": …, "now": …,
/// "message": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Worded<T> {
    /// The value for programs.
    #[serde(flatten)]
    pub(crate) value: T,
    /// The sentence for people.
    pub(crate) message: String,
}

impl<T: Display> From<T> for Worded<T> {
    fn from(value: T) -> Self {
        let message = value.to_string();
        Self { value, message }
    }
}
