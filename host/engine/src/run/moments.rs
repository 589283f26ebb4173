//! The clock of a run. This module must not know what the times are for.
//!
//! Hosts that share a store may have clocks hours apart, and a host's clock may be set back. So
//! the store's clock is used if it has one, and the times of changes only increase.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purlin_state::Writer;

/// The clock of a run, in milliseconds since 1970.
pub(crate) struct Moments {
    writer: Arc<dyn Writer>,
    own: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The latest recorded time at which a resource was created or changed.
    last: AtomicU64,
}

impl Moments {
    /// Uses the clock of the writer's store, else the host's own. `last` is the latest recorded time.
    pub(crate) fn new(writer: &Arc<dyn Writer>, own: Arc<dyn Fn() -> u64 + Send + Sync>, last: u64) -> Self {
        Self { writer: Arc::clone(writer), own, last: AtomicU64::new(last) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.writer.now().unwrap_or_else(|| (self.own)())
    }

    /// The time of a creation or change now, later than any recorded time: the age of two resources
    /// decides whether one may live in the other.
    pub(crate) fn next(&self) -> u64 {
        let now = self.now();
        let later = |last: u64| now.max(last.saturating_add(1));
        let before = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
        later(before.unwrap_or_else(|last| last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn new_resources_are_younger_than_recorded_ones_whatever_the_clock_shows() {
        let writer: Arc<dyn Writer> = Arc::new(Scratch::default());
        let moments = Moments::new(&writer, Arc::new(|| 5), 1_000);
        assert_eq!((moments.now(), moments.next(), moments.next()), (5, 1_001, 1_002));
    }
}
