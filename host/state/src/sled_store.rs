//! The embedded store: a folder, no server (SPEC §10).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::disk::{Folder, Index, Job, Writer};
use crate::keys::Keyring;
use crate::locks::Locks;
use crate::snapshot::{self, Snapshot};
use crate::{Change, Environment, Error, Holder, KeyProvider, Lock, Record, Store, encode};

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Where the key comes from.
    pub key: KeyProvider,
    /// What others are told while the store is open.
    pub holder: Holder,
    /// How long to wait for another process to be done; not at all with zero.
    pub wait: Duration,
}

/// The store in a folder. Dropping it finishes what was handed over; [`Store::close`] does the
/// same and waits without blocking a thread of the runtime.
pub struct SledStore {
    open: Mutex<Option<Open>>,
    keys: Arc<Keyring>,
    locks: Locks,
}

struct Open {
    // Dropped in this order: the writer empties its queue, then the index lets go of the folder.
    writer: Writer,
    index: Arc<Index>,
}

impl SledStore {
    /// Opens the store in a folder, which is made where it is not there. Blocks for some
    /// milliseconds, and for up to [`OpenOptions::wait`] while another process has it.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process has it open, [`Error::Newer`] when a newer version
    /// wrote it, [`Error::WrongKey`] and its kin when the key does not fit, [`Error::Corrupt`] or
    /// [`Error::Io`] when it cannot be read.
    pub fn open(folder: &Path, options: OpenOptions) -> Result<Self, Error> {
        let index = Index::open(Folder::open(folder, &options.holder, options.wait)?)?;
        let recipient = index.recipient()?;
        let keys = Keyring::open(&options.key, recipient.as_deref())?;
        let index = Arc::new(index);
        let writer = Writer::start(index.clone(), recipient)?;
        Ok(Self {
            open: Mutex::new(Some(Open { writer, index })),
            keys: Arc::new(keys),
            locks: Locks::default(),
        })
    }

    /// Where a key was made since the store was opened, so that the caller can say so once, with
    /// a word on backing it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        self.keys.made()
    }

    fn with<T>(&self, call: impl FnOnce(&Open) -> Result<T, Error>) -> Result<T, Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().ok_or(Error::Closed).and_then(call)
    }

    /// Runs what reads, on a thread of its own.
    async fn read<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Index, &Keyring) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let index = self.with(|open| Ok(open.index.clone()))?;
        let keys = self.keys.clone();
        blocking("purlin-state-read", move || call(&index, &keys)).await?
    }
}

#[async_trait]
impl Store for SledStore {
    async fn load(&self, environment: &Environment) -> Result<Vec<Record>, Error> {
        let environment = environment.clone();
        self.read(move |index, keys| {
            let mut snapshot = Snapshot::new(&environment, keys);
            index.records(&environment, snapshot.at_once(), &mut |some| snapshot.add(some))?;
            Ok(snapshot.finish())
        })
        .await
    }

    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        self.read(|index, _| snapshot::environments(index.first_records()?)).await
    }

    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        if changes.is_empty() {
            return self.with(|_| Ok(()));
        }
        // Here, so that commits at the same time are encoded and sealed on as many threads.
        let (writes, recipient) = encode(changes, &self.keys)?;
        let (done, answer) = oneshot::channel();
        self.with(|open| open.writer.send(Job { writes, recipient, done }))?;
        answer.await.unwrap_or(Err(Error::Closed))
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        self.with(|_| self.locks.take(environment, holder))
    }

    async fn close(&self) -> Result<(), Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        match open {
            Some(open) => blocking("purlin-state-close", move || drop(open)).await,
            None => Ok(()),
        }
    }
}

/// Runs what blocks on a thread of its own: whose runtime it is, if any, is not ours to know.
async fn blocking<T: Send + 'static>(
    name: &str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let (done, answer) = oneshot::channel();
    thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let _ = done.send(call());
        })
        .map_err(Error::io("start a thread for", Path::new(name)))?;
    answer.await.map_err(|_| Error::Closed)
}
