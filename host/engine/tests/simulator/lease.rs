//! Who may write in an environment that several hosts share, by the clock of the store.

use std::time::Duration;

/// How long an environment stays with a host that the store does not hear of.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// The lease of an environment, as the store keeps it. All times are times of the store.
#[derive(Default)]
pub(crate) struct Lease {
    fence: u64,
    /// Which host has it, and until when.
    held: Option<(u8, Duration)>,
    /// When a holder last left calls that may still be under way.
    lapsed_at: Option<Duration>,
}

impl Lease {
    /// Takes it, unless another host has it: then that one is named. Returns the fence, and the time since
    /// a holder left calls that may still be under way.
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

    /// Whether whoever has a fence may write.
    pub(crate) fn holds(&self, fence: u64, now: Duration) -> bool {
        fence == self.fence && self.until().is_some_and(|until| until > now)
    }

    /// Keeps it for another while. Says whether that was still possible.
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
