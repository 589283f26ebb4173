//! Moments by a clock that continues while the machine is suspended, as the clocks of other machines do.
//! `Instant` stops then on some systems, and a laptop that wakes up would rely on yesterday's lease.

use std::time::Duration;

/// A moment by the clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        Self(clock())
    }

    /// The time since then.
    pub fn elapsed(self) -> Duration {
        clock().saturating_sub(self.0)
    }

    /// The time until then; zero if it has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_sub(clock())
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}

#[cfg(unix)]
fn clock() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(any(target_os = "linux", target_os = "android"))]
    let time = clock_gettime(ClockId::Boottime);
    // On other systems, this clock includes suspension.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time since the first call: on these systems, `Instant` includes suspension.
#[cfg(not(unix))]
fn clock() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_moments_follow_the_clock() {
        let begun = Moment::now();
        let until = begun + Duration::from_millis(20);
        assert!(until > begun && until.left() <= Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(25));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!(until.left(), Duration::ZERO);
        assert!(Moment::now() > until);
    }
}
