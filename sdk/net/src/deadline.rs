//! Until when something has to be done.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long before the host ends a call the driver ends it by itself, with a word on what it waited
/// for.
const MARGIN: Duration = Duration::from_millis(1500);
/// Nobody waits longer than that, whatever the host allows.
const LONGEST: Duration = Duration::from_secs(3600);

/// A point in time until which something has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// In so much time.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time.min(LONGEST))
    }

    /// A little before the host ends the call; `deadline` is [`purlin_sdk::Call::deadline`].
    pub fn of_call(deadline: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let left = Duration::from_millis(deadline).saturating_sub(now);
        // With little time left, half of it has to do.
        Self::after(left.saturating_sub(MARGIN).max(left / 2))
    }

    /// The one that comes first.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        self.min(other)
    }

    /// How much time is left; `None` when it has passed.
    pub fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}
