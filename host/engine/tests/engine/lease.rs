//! A host whose lease expired while it was suspended: the store's confirmation arrives before the host learns
//! that the lease is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Platform, documents};
use async_trait::async_trait;
use purlin_engine::Cause;
use purlin_state::{Change, Durable, Environment, Error, Writer};

/// A store that confirms the first intent just before others get the environment.
struct Expiring {
    inner: Arc<dyn Writer>,
    is_lost: AtomicBool,
}

impl Expiring {
    fn error() -> Error {
        Error::Lost { environment: Environment { org: "o".into(), app: "a".into(), env: "e".into() } }
    }
}

#[async_trait]
impl Writer for Expiring {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(Self::error());
        }
        let intends = changes.iter().any(|change| matches!(change, Change::Intend(_)));
        let durable = self.inner.submit(changes)?;
        self.is_lost.store(intends, Ordering::SeqCst);
        Ok(durable)
    }

    async fn lost(&self) -> Error {
        while !self.is_lost.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        Self::error()
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_begins_without_the_lease_and_the_run_says_why_it_ended() {
    let platform = Platform::new();
    let plan = platform.plan(&documents(&[("a", "v: one")], &[])).await.expect("a plan");
    let store =
        Arc::new(Expiring { inner: Arc::clone(&platform.store) as _, is_lost: AtomicBool::default() });
    let (_, summary) = platform.run_on(plan, store).await;
    assert_eq!((platform.driver.take_calls(), summary.calls), (Vec::new(), 1), "{summary:#?}");
    let is_lost =
        |cause: &Cause| matches!(cause, Cause::State(error) if matches!(**error, Error::Lost { .. }));
    assert!(summary.halted.as_ref().is_some_and(is_lost), "{summary:#?}");
}
