//! A store that checks its consistency after every change, and that can fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use purlin_engine::Base;
use purlin_state::{Change, Durable, Environment, Error, Holder, Lock, MemoryStore, Snapshot, Store, Writer};

/// A store in memory. A crash could leave its content of any moment, so that must always be
/// consistent.
pub(crate) struct Watched {
    pub(crate) inner: Arc<MemoryStore>,
    lock: Lock,
    /// Whether the state was loaded. From then on every change is checked.
    read: AtomicBool,
    /// The number of submissions before the disk fails. After that, all fail.
    pub(crate) takes: Mutex<Option<usize>>,
    /// Whether a failure shows only when the result is awaited, as with a disk.
    pub(crate) late: AtomicBool,
    /// The record that it cannot encode.
    pub(crate) refuses: Mutex<Option<String>>,
    pub(crate) submissions: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// An empty store that is locked for one environment.
    pub(crate) fn new(environment: &Environment) -> Self {
        let inner = Arc::new(MemoryStore::new());
        let holder = Holder { user: "t".into(), host: "t".into(), pid: 1, command: "test".into(), since: 0 };
        let lock = inner.lock(environment, holder).now_or_never().expect("ready").expect("free");
        Self {
            inner,
            lock,
            read: AtomicBool::default(),
            takes: Mutex::default(),
            late: AtomicBool::default(),
            refuses: Mutex::default(),
            submissions: AtomicUsize::default(),
        }
    }

    pub(crate) async fn load(&self) -> Result<Snapshot, Error> {
        self.read.store(true, Ordering::SeqCst);
        self.inner.load(self.lock.environment()).await
    }

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
        if !self.read.load(Ordering::SeqCst) {
            return;
        }
        let load = self.inner.load(self.lock.environment());
        let snapshot = load.now_or_never().expect("ready").expect("records");
        if let Err(error) = Base::new(snapshot) {
            panic!("a crash now would leave a state that is not whole: {error}\nafter {changes:#?}");
        }
    }
}

#[async_trait]
impl Writer for Watched {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        self.submissions.fetch_add(1, Ordering::SeqCst);
        if let Some(error) = self.fails(&changes) {
            if self.late.load(Ordering::SeqCst) {
                return Ok(Box::pin(std::future::ready(Err(error))));
            }
            return Err(error);
        }
        let submitted = changes.clone();
        let durable = self.lock.writer().submit(changes)?;
        self.is_whole(&submitted);
        // Like a disk, this takes time.
        Ok(Box::pin(async move {
            tokio::task::yield_now().await;
            durable.await
        }))
    }
}
