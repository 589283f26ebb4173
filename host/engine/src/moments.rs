//! The time of a run. It must not know what is recorded with it.
//!
//! Hosts that share a store have clocks that may be hours apart, and the clock of a single host may be set back. So
//! times are those of the store's clock if it has one, and what is made gets moments that only grow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purlin_state::Writer;

/// The clock of a run, in milliseconds since 1970.
pub(crate) struct Moments {
    writer: Arc<dyn Writer>,
    own: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The last moment at which something was recorded to be made or changed.
    last: AtomicU64,
}

impl Moments {
    /// The clock of the store behind a writer, else the host's own one. `last` is the latest time that is recorded.
    pub(crate) fn new(writer: &Arc<dyn Writer>, own: Arc<dyn Fn() -> u64 + Send + Sync>, last: u64) -> Self {
        Self { writer: Arc::clone(writer), own, last: AtomicU64::new(last) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.writer.now().unwrap_or_else(|| (self.own)())
    }

    /// When something is made or changed now: later than all that is recorded. Which of two resources is older
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
