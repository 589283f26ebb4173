//! Leases that are released in the background, after their holders dropped them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Inner;

/// The leases of a store that are being released, after their holders dropped them. Does not keep the
/// store open.
#[derive(Clone, Debug)]
pub struct Releases {
    pub(super) leaving: watch::Receiver<usize>,
    pub(super) lease: Duration,
}

impl Releases {
    /// Whether leases are being released.
    pub fn are_pending(&self) -> bool {
        *self.leaving.borrow() > 0
    }

    /// Waits until they are released, or have expired.
    pub async fn wait(mut self) {
        let _ = tokio::time::timeout(self.lease, self.leaving.wait_for(|count| *count == 0)).await;
    }
}

/// A lease that is being released. New leases of this process wait until it is dropped.
pub(super) struct Leaving(Arc<Inner>);

impl Leaving {
    pub(super) fn begin(inner: &Arc<Inner>) -> Self {
        inner.leaving.send_modify(|count| *count += 1);
        Self(Arc::clone(inner))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leaving.send_modify(|count| *count = count.saturating_sub(1));
    }
}
