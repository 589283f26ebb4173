//! The lease by which one of several hosts may write in an environment, by the clock of the store.

use std::time::Duration;

/// How long a host keeps an environment without a message to the store.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// The lease of an environment, as the store keeps it. All times are times of the store.
#[derive(Default)]
pub(crate) struct Lease {
    fence: u64,
    /// The host that has it, and when that ends.
    held: Option<(u8, Duration)>,
    /// When a holder last left calls that may still be in transit.
    lapsed_at: Option<Duration>,
}

impl Lease {
    /// Takes it. Returns the fence, and the time since a holder left calls that may still be in transit. If
    /// another host has it, returns that host.
    pub(crate) fn take(&mut self, host: u8, now: Duration) -> Result<(u64, Option<Duration>), u8> {
        match self.held {
            Some((other, until)) if until > now => return Err(other),
            Some((_, until)) => self.lapsed_at = Some(until),
            None => {}
        }
        self.fence += 1;
        self.held = Some((host, now + LEASE));
        Ok((self.fence, self.lapsed_at.map(|at| now.saturating_sub(at))))
    }

    /// Whether the holder of a fence may write.
    pub(crate) fn holds(&self, fence: u64, now: Duration) -> bool {
        fence == self.fence && self.until().is_some_and(|until| until > now)
    }

    /// Extends it. Returns whether that was still possible.
    pub(crate) fn renew(&mut self, fence: u64, now: Duration) -> bool {
        let holds = self.holds(fence, now);
        if let (true, Some((_, until))) = (holds, &mut self.held) {
            *until = now + LEASE;
        }
        holds
    }

    /// Releases it, after calls were cut off or not.
    pub(crate) fn release(&mut self, fence: u64, is_cut_off: bool, now: Duration) {
        if fence == self.fence {
            self.held = None;
            if is_cut_off {
                self.lapsed_at = Some(now);
            }
        }
    }

    /// When it expires unless it is renewed.
    pub(crate) fn until(&self) -> Option<Duration> {
        self.held.map(|(_, until)| until)
    }
}
