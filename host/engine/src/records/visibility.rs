//! When it counts that a system shows something, or does not. Many systems show changes late: they do
//! not show a new resource yet, or still show a deleted one. So the result of a read is evidence about
//! a creation or a deletion only once the driver's grace has passed since
//! ([`purlin_model::Limits::grace`]). Everything that concludes from such a result asks this module.

use std::time::Duration;

use purlin_state::{Intent, Vanished};

/// How much longer a system may not show what was created or deleted at a time. `None` once the grace
/// has passed. `now` is when the look began whose answer counts, since that may be as old. Times are in
/// milliseconds since 1970.
///
/// A clock that was set back makes changes seem to be from the future. Such a change is as new as it is
/// old by the same difference, so that a wrong time never extends the grace.
pub fn not_shown_for(changed: u64, now: u64, grace: Duration) -> Option<Duration> {
    let left = grace.checked_sub(Duration::from_millis(now.abs_diff(changed)))?;
    Some(left).filter(|left| !left.is_zero())
}

/// The latest time at which an attempt at a pending call ended, as far as is known at `now`, by a
/// process that holds the environment: no attempt is under way any more.
pub(crate) fn ended(intent: &Intent, now: u64) -> u64 {
    intent.deadline.map_or(now, |deadline| deadline.min(now))
}

/// Whole seconds, rounded up, for people.
pub(crate) fn seconds(left: Duration) -> u64 {
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

/// How long a system may show an object after its host was deleted. The grace of a driver is seconds or
/// minutes.
const LONGEST_SHOWN: Duration = Duration::from_hours(24);

/// Whether a system may still show an object that was deleted with its host.
pub(crate) fn may_be_shown(object: &Vanished, now: u64) -> bool {
    not_shown_for(object.since, now, LONGEST_SHOWN).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_never_exceeds_the_grace() {
        let grace = Duration::from_secs(30);
        let left = |created| not_shown_for(created, 100_000, grace).map(|left| left.as_secs());
        assert_eq!([100_000, 90_000, 70_001].map(left), [Some(30), Some(20), Some(0)]);
        assert_eq!([70_000, 0, 110_000, 130_000, u64::MAX].map(left), [None, None, Some(20), None, None]);
        assert_eq!(not_shown_for(100_000, 100_000, Duration::ZERO), None);
    }
}
