//! A store that is gone with the process, for tests and for programs that keep no state. Records
//! go through the same bytes as in the embedded store, so what works here works there.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use purlin_model::Urn;

use crate::disk::{Named, Write};
use crate::keys::Keyring;
use crate::locks::Locks;
use crate::snapshot::Snapshot;
use crate::{Change, Environment, Error, Holder, Lock, Record, Store, encode};

/// A store in memory.
pub struct MemoryStore {
    records: Mutex<Option<BTreeMap<Urn, Vec<u8>>>>,
    keys: Keyring,
    locks: Locks,
}

impl MemoryStore {
    /// An empty store, with a key of its own.
    pub fn new() -> Self {
        Self {
            records: Mutex::new(Some(BTreeMap::new())),
            keys: Keyring::in_memory(),
            locks: Locks::default(),
        }
    }

    fn records(&self) -> MutexGuard<'_, Option<BTreeMap<Urn, Vec<u8>>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, environment: &Environment) -> Result<Vec<Record>, Error> {
        let prefix = environment.urn_prefix();
        let stored = {
            let records = self.records();
            let all = records.as_ref().ok_or(Error::Closed)?;
            all.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded))
                .take_while(|(urn, _)| urn.as_str().starts_with(&prefix))
                .map(|(urn, bytes)| Named { name: urn.to_string(), bytes: bytes.clone() })
                .collect()
        };
        let mut snapshot = Snapshot::new(environment, &self.keys);
        snapshot.add(stored)?;
        Ok(snapshot.finish())
    }

    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        let records = self.records();
        let all = records.as_ref().ok_or(Error::Closed)?;
        let mut environments: Vec<_> = all.keys().filter_map(Environment::of_urn).collect();
        environments.dedup();
        Ok(environments)
    }

    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        let (writes, _) = encode(changes, &self.keys)?;
        let mut records = self.records();
        let all = records.as_mut().ok_or(Error::Closed)?;
        for write in writes {
            match write {
                Write::Put { urn, bytes } => all.insert(urn, bytes),
                Write::Remove { urn } => all.remove(&urn),
            };
        }
        Ok(())
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        self.locks.take(environment, holder)
    }

    async fn close(&self) -> Result<(), Error> {
        *self.records() = None;
        Ok(())
    }
}
