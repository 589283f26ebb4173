//! Deadlines.

use std::time::{Duration, Instant};

use purlin_sdk::Call;

/// How long before the host ends a call the driver ends it itself, and reports what it waited for.
const MARGIN: Duration = Duration::from_millis(1500);
/// The longest wait, whatever the host allows.
const LONGEST: Duration = Duration::from_secs(3600);

/// A point in time by which something must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// After this time.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time.min(LONGEST))
    }

    /// A little before the host ends the call.
    pub fn of_call(call: &Call) -> Self {
        let left = call.time_left();
        // With little time left, half of it must suffice.
        Self::after(left.saturating_sub(MARGIN).max(left / 2))
    }

    /// The earlier one.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        self.min(other)
    }

    /// The remaining time; `None` when it has passed.
    pub fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}
