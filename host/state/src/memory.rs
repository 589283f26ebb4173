//! A store that is gone with the process, for tests and for programs that keep no state. Records
//! go through the same bytes as in the embedded store, so what works here works there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use zeroize::Zeroizing;

use crate::encode::Writes;
use crate::keys::Keyring;
use crate::locks::Locks;
use crate::table::Table;
use crate::{
    Change, Deployment, Durable, Environment, Error, Holder, Lock, Snapshot, Store, codec, snapshot,
};

/// A store in memory.
pub struct MemoryStore {
    table: Mutex<Option<Table>>,
    keys: Keyring,
    locks: Locks,
}

impl MemoryStore {
    /// An empty store, with a key of its own.
    pub fn new() -> Self {
        Self {
            table: Mutex::new(Some(Table::default())),
            keys: Keyring::in_memory(),
            locks: Locks::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Option<Table>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, read: impl FnOnce(&Table) -> Result<T, Error>) -> Result<T, Error> {
        self.table().as_ref().ok_or(Error::Closed).and_then(read)
    }

    fn write(&self, changes: &[Change]) -> Result<(), Error> {
        let writes = Writes::of(changes, &self.keys)?.writes;
        let mut table = self.table();
        let table = table.as_mut().ok_or(Error::Closed)?;
        let mut entries = Vec::with_capacity(writes.len());
        table.resolve(writes, &mut entries);
        for (key, value) in entries {
            table.apply(key, value);
        }
        Ok(())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        self.read(|table| snapshot::snapshot(table, environment, &self.keys))
    }

    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        self.read(snapshot::environments)
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        self.read(|table| snapshot::history(table, environment, &self.keys))
    }

    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        self.read(|table| snapshot::last_from_documents(table, environment, &self.keys))
    }

    async fn documents(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        self.read(|table| snapshot::documents(table, digest, &self.keys))
    }

    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        self.write(&changes)?;
        Ok(Box::pin(std::future::ready(Ok(()))))
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.read(|_| Ok(codec::encode_blob(plain, &self.keys)?.bytes))
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.read(|_| codec::decode_blob(sealed, &self.keys))
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        self.locks.take(environment, holder)
    }

    async fn close(&self) -> Result<(), Error> {
        *self.table() = None;
        Ok(())
    }
}
