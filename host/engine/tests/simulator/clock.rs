//! The clocks of hosts, which disagree with each other and with that of the store.

use std::time::Duration;

use tokio::time::Instant;

const MILLION: i128 = 1_000_000;

/// The relation of a host's clock to that of the store. A stopped host does nothing, but its clock
/// continues.
#[derive(Default)]
pub(crate) struct Clock {
    /// How fast it is, in millionths.
    rate: i32,
    /// A time of the store, and the host's own time at that moment.
    at: Duration,
    own: Option<Instant>,
}

fn scaled(time: Duration, by: i128, over: i128) -> Duration {
    let nanos = i128::try_from(time.as_nanos()).unwrap_or(i128::MAX / MILLION) * by / over;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
}

impl Clock {
    /// A clock that starts now, at a time of the store.
    pub(crate) fn new(rate: i32, at: Duration) -> Self {
        Self { rate, at, own: Some(Instant::now()) }
    }

    /// The time of the store.
    pub(crate) fn store(&self) -> Duration {
        self.at + self.own.map_or(Duration::ZERO, |own| self.in_store(own.elapsed()))
    }

    /// The duration by the store's clock for a duration by the host's.
    fn in_store(&self, own: Duration) -> Duration {
        scaled(own, MILLION, MILLION + i128::from(self.rate))
    }

    /// The duration by the host's clock for a duration by the store's.
    pub(crate) fn in_own(&self, time: Duration) -> Duration {
        scaled(time, MILLION + i128::from(self.rate), MILLION)
    }

    /// How far the host's clock has to advance to match a time of the store.
    pub(crate) fn behind(&self, store: Duration) -> Duration {
        self.in_own(store.saturating_sub(self.store()))
    }

    /// The remaining time, by the clock of the store, of an operation with a start time and a limit
    /// by the host's clock. Used when the host is stopped.
    pub(crate) fn left(&self, begun: Instant, limit: Duration) -> Duration {
        self.in_store(limit.saturating_sub(begun.elapsed()))
    }
}
