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
    /// Whether a holder since the last release let it expire.
    has_lapsed: bool,
}

impl Lease {
    /// Takes it, unless another host has it: then that one is named. Returns the fence, and whether the holder before
    /// may still be at work.
    pub(crate) fn take(&mut self, host: u8, now: Duration) -> Result<(u64, bool), u8> {
        match self.held {
            Some((other, until)) if until > now => return Err(other),
            before => self.has_lapsed |= before.is_some(),
        }
        self.fence += 1;
        self.held = Some((host, now + LEASE));
        Ok((self.fence, self.has_lapsed))
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

    /// Gives it up.
    pub(crate) fn release(&mut self, fence: u64) {
        if fence == self.fence {
            (self.held, self.has_lapsed) = (None, false);
        }
    }

    /// When it expires unless it is renewed.
    pub(crate) fn until(&self) -> Option<Duration> {
        self.held.map(|(_, until)| until)
    }
}
