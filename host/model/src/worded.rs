//! The JSON of reasons, findings and obstacles.

use std::fmt::Display;

use serde::Serialize;

/// A reason, a finding or an obstacle in JSON: its code and its data for programs, and its sentence
/// for people, such as `{"reason": "definition-changed", "before": …, "now": …, "message": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worded<T> {
    /// The value for programs.
    #[serde(flatten)]
    pub value: T,
    /// The sentence for people.
    pub message: String,
}

impl<T: Display> From<T> for Worded<T> {
    fn from(value: T) -> Self {
        let message = value.to_string();
        Self { value, message }
    }
}
