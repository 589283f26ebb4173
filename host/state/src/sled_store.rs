//! The embedded store: a folder, no server (SPEC §10).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::codec::SealedKey;
use crate::disk::{Folder, Index, Job, Writer};
use crate::encode::Writes;
use crate::keys::Keyring;
use crate::locks::Locks;
use crate::table::Table;
use crate::{
    Change, Deployment, Durable, Environment, Error, Holder, KeyProvider, Lock, Snapshot, Store, codec,
    keyspace, snapshot,
};

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
    writer: Writer,
    table: Arc<RwLock<Table>>,
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
        let mut table = Table::default();
        index.entries(&mut |key, value| table.apply(key, Some(value)))?;
        let stored = match (table.get(keyspace::DATA_KEY), table.get(keyspace::RECIPIENT)) {
            (Some(key), _) => Some(codec::decode_key(key)?),
            (None, Some(recipient)) => {
                Some(SealedKey { recipient: String::from_utf8_lossy(recipient).into_owned(), sealed: None })
            }
            (None, None) => None,
        };
        let key_stored = stored.as_ref().is_some_and(|stored| stored.sealed.is_some());
        let keys = Keyring::open(&options.key, stored)?;
        let table = Arc::new(RwLock::new(table));
        let writer = Writer::start(index, table.clone(), key_stored)?;
        Ok(Self {
            open: Mutex::new(Some(Open { writer, table })),
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
        call: impl FnOnce(&Table, &Keyring) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let table = self.with(|open| Ok(open.table.clone()))?;
        let keys = self.keys.clone();
        let call = move || call(&table.read().unwrap_or_else(PoisonError::into_inner), &keys);
        blocking("purlin-state-read", call).await?
    }

    fn send(&self, writes: Writes) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        let (done, answer) = oneshot::channel();
        self.with(|open| open.writer.send(Job { writes, done }))?;
        Ok(answer)
    }
}

#[async_trait]
impl Store for SledStore {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        let environment = environment.clone();
        self.read(move |table, keys| snapshot::snapshot(table, &environment, keys)).await
    }

    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        self.read(|table, _| snapshot::environments(table)).await
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        let environment = environment.clone();
        self.read(move |table, _| snapshot::history(table, &environment)).await
    }

    async fn documents(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        let digest = *digest;
        self.read(move |table, keys| snapshot::documents(table, &digest, keys)).await
    }

    fn submit(&self, changes: Vec<Change>) -> Durable {
        // Encoded here, so that commits at the same time are encoded and sealed on as many threads.
        let sent = Writes::of(&changes, &self.keys).and_then(|writes| self.send(writes));
        Box::pin(async move { sent?.await.unwrap_or(Err(Error::Closed)) })
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let sealed = codec::encode_blob(plain, &self.keys)?;
        // What sealed it has to last as long as what it sealed.
        let answer = self.send(Writes { writes: Vec::new(), key: sealed.key })?;
        answer.await.unwrap_or(Err(Error::Closed))?;
        Ok(sealed.bytes)
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.with(|_| codec::decode_blob(sealed, &self.keys))
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
