//! The possible difference in speed between the clocks of two machines.
//!
//! The database's clock decides when a lease ends. Its holder and the next one can only measure with
//! the clocks of their machines, whose rates differ: NTP corrects a clock by up to 500 ppm. Both
//! keep a margin of forty times that, so that neither relies on a time that the other has not reached.

use std::time::Duration;

/// The fraction of a duration that is kept as a margin: one in this number.
const MARGIN: u32 = 50;

/// How long a holder may rely on a lease, counted from before it asked for it.
pub fn usable_lease(lease: Duration) -> Duration {
    lease - lease / MARGIN
}

/// How long one machine has to wait until a time has certainly passed on another one.
pub fn time_to_outlast(time: Duration) -> Duration {
    time.saturating_add(time / MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_run_apart_by_one_in_a_hundred_do_not_matter() {
        let time = Duration::from_secs(30);
        let (slow, fast) = (time.mul_f64(1.0 / 0.9902), |own: Duration| own.mul_f64(1.0 / 1.0098));
        assert!(usable_lease(time).mul_f64(1.0 / 0.9902) <= time);
        assert!(fast(time_to_outlast(time)) >= slow);
    }
}
