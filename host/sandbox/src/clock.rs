//! Time in milliseconds, and the system's clock: the one place that reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The system's clock shows a time before 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the clock of this machine shows a time before 1970; set it to the current time")]
pub struct ClockError;

/// Milliseconds since 1970.
///
/// # Errors
/// If the system's clock shows a time before that.
pub fn now() -> Result<u64, ClockError> {
    since_1970(SystemTime::now())
}

/// The same for callers that can no longer fail: if the clock is meanwhile set back to a time
/// before 1970, it returns the last time that the clock showed.
pub fn steady() -> impl Fn() -> u64 + Send + Sync + 'static {
    let last = AtomicU64::new(now().unwrap_or_default());
    move || match now() {
        Ok(now) => {
            last.store(now, Ordering::Relaxed);
            now
        }
        Err(ClockError) => last.load(Ordering::Relaxed),
    }
}

/// A time in milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn since_1970(time: SystemTime) -> Result<u64, ClockError> {
    time.duration_since(UNIX_EPOCH).map(millis).map_err(|_| ClockError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_1970_is_an_error_and_no_zero() {
        assert_eq!(since_1970(UNIX_EPOCH - Duration::from_millis(1)), Err(ClockError));
        assert_eq!(since_1970(UNIX_EPOCH), Ok(0));
        assert_eq!(since_1970(UNIX_EPOCH + Duration::from_millis(1_790_000_000_123)), Ok(1_790_000_000_123));
        assert!(now().is_ok_and(|now| now > 1_700_000_000_000));
    }
}
