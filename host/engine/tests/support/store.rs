//! A store that is looked at after every change, and that can fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use purlin_engine::Base;
use purlin_state::{
    Change, Deployment, Durable, Environment, Error, Holder, Lock, MemoryStore, Snapshot, Store,
};
use zeroize::Zeroizing;

/// A store in memory. Whatever it holds at any moment is what a crash would leave, so that has to be
/// whole.
#[derive(Default)]
pub(crate) struct Watched {
    inner: MemoryStore,
    environment: Mutex<Option<Environment>>,
    /// How many submissions it takes before the disk fails; then it takes no more.
    pub(crate) takes: Mutex<Option<usize>>,
    /// Whether that shows only when somebody waits for it, as with a disk.
    pub(crate) late: AtomicBool,
    /// Whose record it cannot encode.
    pub(crate) refuses: Mutex<Option<String>>,
    pub(crate) submissions: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn fails(&self, changes: &[Change]) -> Option<Error> {
        match &mut *locked(&self.takes) {
            Some(0) => return Some(Error::Closed),
            Some(left) => *left -= 1,
            None => {}
        }
        let refused = locked(&self.refuses).clone()?;
        let concerns = |change: &Change| matches!(change, Change::Put(record) if record.urn.as_str().ends_with(&refused));
        changes.iter().any(concerns).then_some(Error::Closed)
    }

    fn is_whole(&self, changes: &[Change]) {
        let Some(environment) = locked(&self.environment).clone() else { return };
        let snapshot = self.inner.load(&environment).now_or_never().expect("ready").expect("records");
        if let Err(error) = Base::new(snapshot) {
            panic!("a crash now would leave a state that is not whole: {error}\nafter {changes:#?}");
        }
    }
}

#[async_trait]
impl Store for Watched {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        *locked(&self.environment) = Some(environment.clone());
        self.inner.load(environment).await
    }

    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        self.inner.environments().await
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        self.inner.history(environment).await
    }

    async fn documents(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        self.inner.documents(digest).await
    }

    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        self.submissions.fetch_add(1, Ordering::SeqCst);
        if let Some(error) = self.fails(&changes) {
            if self.late.load(Ordering::SeqCst) {
                return Ok(Box::pin(std::future::ready(Err(error))));
            }
            return Err(error);
        }
        let told = changes.clone();
        let durable = self.inner.submit(changes)?;
        self.is_whole(&told);
        // As a disk does, it takes its time.
        Ok(Box::pin(async move {
            tokio::task::yield_now().await;
            durable.await
        }))
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.inner.seal(plain).await
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.inner.unseal(sealed).await
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        self.inner.lock(environment, holder).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}
