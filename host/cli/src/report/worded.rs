//! A value of the host as its code and data, with the sentence that people read.

use std::fmt::Display;

use serde::Serialize;

/// A reason, a finding or an obstacle: `{"reason": "definition-changed", "before": …, "now": …, "message": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Worded<T> {
    /// What code decides with.
    #[serde(flatten)]
    pub(crate) value: T,
    /// What people read.
    pub(crate) message: String,
}

impl<T: Display> From<T> for Worded<T> {
    fn from(value: T) -> Self {
        let message = value.to_string();
        Self { value, message }
    }
}
