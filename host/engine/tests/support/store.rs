//! A store that is looked at after every change, and that can fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use purlin_engine::Base;
use purlin_state::{Change, Durable, Environment, Error, Holder, Lock, MemoryStore, Snapshot, Store, Writer};

/// A store in memory. Whatever it holds at any moment is what a crash would leave, so that has to be
/// whole.
pub(crate) struct Watched {
    inner: MemoryStore,
    lock: Lock,
    /// Whether anybody has read it: then every change is looked at.
    read: AtomicBool,
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
    /// An empty store that is locked for one environment.
    pub(crate) fn new(environment: &Environment) -> Self {
        let inner = MemoryStore::new();
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
        let told = changes.clone();
        let durable = self.lock.writer().submit(changes)?;
        self.is_whole(&told);
        // As a disk does, it takes its time.
        Ok(Box::pin(async move {
            tokio::task::yield_now().await;
            durable.await
        }))
    }
}
