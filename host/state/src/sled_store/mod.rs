//! The embedded store: a folder, no server (SPEC §10).

mod repair;
mod rotate;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

pub use self::repair::Report;
use crate::codec::SealedKey;
use crate::disk::{Note, Opened, Shared, Submitted, Writer};
use crate::encode::Writes;
use crate::keys::Keyring;
use crate::locks::Locks;
use crate::probe::Probed;
use crate::table::Table;
use crate::{
    Change, Deployment, Durable, Environment, Error, Holder, KeyProvider, Lock, Probe, Snapshot, Store,
    codec, keyspace, snapshot,
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
    /// Is told of places where a crash is worth a test.
    pub probe: Option<Probe>,
}

/// The store in a folder. Dropping it finishes what was handed over; [`Store::close`] does the
/// same and waits without blocking a thread of the runtime.
pub struct SledStore {
    open: Mutex<Option<Open>>,
    keys: Arc<Keyring>,
    locks: Locks,
    note: Note,
    probe: Probed,
}

struct Open {
    writer: Writer,
    shared: Arc<Shared>,
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
        let probe = Probed(options.probe);
        let opened = Opened::open(folder, &options.holder, options.wait, probe.clone())?;
        let stored = stored_key(&opened.shared.read().table)?;
        let keys = Keyring::open(&options.key, stored)?;
        let (shared, note) = (opened.shared.clone(), opened.note.clone());
        let writer = opened.start()?;
        Ok(Self {
            open: Mutex::new(Some(Open { writer, shared })),
            keys: Arc::new(keys),
            locks: Locks::default(),
            note,
            probe,
        })
    }

    /// What had to be repaired since the store was opened, in a sentence, so that the caller can say
    /// so. All of it is known once the store was closed.
    pub fn repaired(&self) -> Option<String> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The public half of the key that secrets are sealed for (`age1…`); none where there is no key
    /// yet.
    pub fn public_recipient(&self) -> Option<String> {
        self.keys.recipient()
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
        let shared = self.with(|open| Ok(open.shared.clone()))?;
        let keys = self.keys.clone();
        let call = move || call(&shared.read().table, &keys);
        blocking("purlin-state-read", call).await?
    }

    fn send(&self, writes: Writes) -> Result<Submitted, Error> {
        self.with(|open| open.writer.submit(writes))
    }

    fn encode_and_send(&self, changes: &[Change]) -> Result<Submitted, Error> {
        let _sealing = self.keys.sealing();
        // Encoded here, so that commits at the same time are encoded and sealed on as many threads.
        self.send(Writes::of(changes, &self.keys)?)
    }

    fn seal_and_send(&self, plain: &[u8]) -> Result<(Vec<u8>, Submitted), Error> {
        let _sealing = self.keys.sealing();
        let sealed = codec::encode_blob(plain, &self.keys)?;
        // What sealed it has to last as long as what it sealed.
        let sent = self.send(Writes { writes: Vec::new(), key: sealed.key })?;
        Ok((sealed.bytes, sent))
    }
}

/// What a store says about its key.
fn stored_key(table: &Table) -> Result<Option<SealedKey>, Error> {
    if let Some(key) = table.get(keyspace::DATA_KEY) {
        return codec::decode_key(key).map(Some);
    }
    let recipient = table.get(keyspace::RECIPIENT);
    Ok(recipient
        .map(|name| SealedKey { recipient: String::from_utf8_lossy(name).into_owned(), sealed: None }))
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
        self.read(move |table, keys| snapshot::history(table, &environment, keys)).await
    }

    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        let environment = environment.clone();
        self.read(move |table, keys| snapshot::last_from_documents(table, &environment, keys)).await
    }

    async fn documents(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        let digest = *digest;
        self.read(move |table, keys| snapshot::documents(table, &digest, keys)).await
    }

    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        Ok(Box::pin(self.encode_and_send(&changes)?))
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let (sealed, sent) = self.seal_and_send(plain)?;
        sent.await?;
        Ok(sealed)
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
