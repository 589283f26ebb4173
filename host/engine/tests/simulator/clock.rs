//! The clocks of hosts, which disagree with each other and with that of the store.

use std::time::Duration;

use tokio::time::Instant;

const MILLION: i128 = 1_000_000;

/// How the clock of a host relates to that of the store. A stopped host does
/// nothing, but its clock goes on.
#[derive(Default)]
pub(crate) struct Clock {
    /// By how many millionths it is fast.
    rate: i32,
    /// A time of the store, and what the host's own clock showed then.
    at: Duration,
    own: Option<Instant>,
}

fn scaled(time: Duration, by: i128, over: i128) -> Duration {
    let nanos = i128::try_from(time.as_nanos()).unwrap_or(i128::MAX / MILLION) * by / over;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
}

impl Clock {
    /// A clock that begins now, which is a time of the store.
    pub(crate) fn new(rate: i32, at: Duration) -> Self {
        Self { rate, at, own: Some(Instant::now()) }
    }

    /// What the clock of the store shows.
    pub(crate) fn store(&self) -> Duration {
        self.at + self.own.map_or(Duration::ZERO, |own| self.in_store(own.elapsed()))
    }

    /// How much time of the store passes during a time of this host.
    fn in_store(&self, own: Duration) -> Duration {
        scaled(own, MILLION, MILLION + i128::from(self.rate))
    }

    /// How much time of this host passes during a time of the store.
    pub(crate) fn in_own(&self, time: Duration) -> Duration {
        scaled(time, MILLION + i128::from(self.rate), MILLION)
    }

    /// How far its own clock has to go to be where that of the store is.
    pub(crate) fn behind(&self, store: Duration) -> Duration {
        self.in_own(store.saturating_sub(self.store()))
    }

    /// How long what began at an own time and may take a time here still takes, by the clock of the store. That is
    /// asked where the host stands still.
    pub(crate) fn left(&self, begun: Instant, limit: Duration) -> Duration {
        self.in_store(limit.saturating_sub(begun.elapsed()))
    }
}
