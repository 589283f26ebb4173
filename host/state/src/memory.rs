//! A store that exists only in memory, for tests and for programs that keep no state. Records are
//! encoded as in the embedded store, so that both behave alike.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use purlin_model::Urn;
use purlin_model::driver::{Cookie, StoredCookie};
use zeroize::Zeroizing;

use crate::encode::Writes;
use crate::keys::Keyring;
use crate::table::Table;
use crate::{
    AuditTrail, Change, Claim, Deployment, Durable, Environment, EnvironmentSummary, Error, Holder, Listing,
    Lock, Record, Reserved, Snapshot, Store, Vacancy, Writer, codec, snapshot,
};

/// A store in memory.
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    keys: Keyring,
    /// `None` once it was closed.
    tables: Mutex<Option<Tables>>,
}

#[derive(Default)]
struct Tables {
    /// By the URN prefix of the environment, which defines their order.
    environments: BTreeMap<String, (Environment, Table)>,
    /// The holders and fences of locked environments, by the same prefix.
    held: HashMap<String, (Holder, u64)>,
    fence: u64,
    /// The holders of reserved vacancies.
    reserved: HashMap<Vacancy, Holder>,
}

impl MemoryStore {
    /// An empty store with its own key.
    pub fn new() -> Self {
        let tables = Mutex::new(Some(Tables::default()));
        Self(Arc::new(Inner { keys: Keyring::in_memory(), tables }))
    }

    fn read<T: Default>(
        &self,
        environment: &Environment,
        read: impl FnOnce(&Table, &Keyring) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let tables = self.0.tables();
        let tables = tables.as_ref().ok_or(Error::Closed)?;
        match tables.environments.get(&environment.urn_prefix()) {
            Some((_, table)) => read(table, &self.0.keys),
            None => Ok(T::default()),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Inner {
    fn tables(&self) -> MutexGuard<'_, Option<Tables>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        self.read(environment, |table, keys| snapshot::snapshot(table, environment, keys))
    }

    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(None) };
        self.read(&environment, |table, keys| snapshot::find(table, urn, keys))
    }

    async fn environments(
        &self,
        after: Option<&Environment>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error> {
        let tables = self.0.tables();
        let tables = tables.as_ref().ok_or(Error::Closed)?;
        let after = after.map(Environment::urn_prefix);
        let behind = tables
            .environments
            .iter()
            .filter(|(prefix, _)| after.as_ref().is_none_or(|after| *prefix > after));
        let there = behind.filter(|(_, (environment, table))| snapshot::is_known(table, environment));
        there
            .take(most)
            .map(|(prefix, (environment, table))| {
                let holder = tables.held.get(prefix).map(|(holder, _)| holder.clone());
                Ok(EnvironmentSummary { holder, ..snapshot::known(table, environment, &self.0.keys)? })
            })
            .collect()
    }

    async fn listings(&self) -> Result<Vec<Listing>, Error> {
        let tables = self.0.tables();
        let tables = tables.as_ref().ok_or(Error::Closed)?;
        let all = tables.environments.values();
        let all = all.map(|(environment, table)| snapshot::listing(table, environment, &self.0.keys));
        all.filter(|listing| !listing.as_ref().is_ok_and(Listing::is_empty)).collect()
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        self.read(environment, |table, keys| snapshot::history(table, environment, keys))
    }

    async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error> {
        self.read(environment, |table, keys| snapshot::audit(table, environment, keys))
    }

    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        self.read(environment, |table, keys| snapshot::last_from_documents(table, environment, keys))
    }

    async fn documents(
        &self,
        environment: &Environment,
        digest: &[u8; 32],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.read(environment, |table, keys| snapshot::documents(table, digest, keys))
    }

    async fn cookie(
        &self,
        environment: &Environment,
        stored: &StoredCookie,
    ) -> Result<Option<Cookie>, Error> {
        self.read(environment, |table, keys| snapshot::cookie(table, environment, stored, keys))
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        codec::encode_blob(plain, &self.0.keys)
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        codec::decode_blob(sealed, &self.0.keys)
    }

    async fn holder(&self, environment: &Environment) -> Result<Option<crate::HeldLock>, Error> {
        let tables = self.0.tables();
        let held = tables.as_ref().ok_or(Error::Closed)?.held.get(&environment.urn_prefix());
        Ok(held.map(|(holder, _)| crate::HeldLock { holder: holder.clone(), lease: None }))
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        let mut tables = self.0.tables();
        let tables = tables.as_mut().ok_or(Error::Closed)?;
        let prefix = environment.urn_prefix();
        if let Some((holder, _)) = tables.held.get(&prefix) {
            let holder = Some(Box::new(holder.clone()));
            return Err(Error::Locked { environment: environment.clone(), holder });
        }
        tables.fence += 1;
        let fence = tables.fence;
        tables.held.insert(prefix, (holder, fence));
        let claim = LockedEnvironment { store: Arc::clone(&self.0), environment: environment.clone(), fence };
        Ok(Lock::new(environment.clone(), Arc::new(claim)))
    }

    async fn reserve(&self, vacancy: &Vacancy, holder: Holder) -> Result<Reserved, Error> {
        let mut tables = self.0.tables();
        let tables = tables.as_mut().ok_or(Error::Closed)?;
        if let Some(holder) = tables.reserved.get(vacancy) {
            let holder = Some(Box::new(holder.clone()));
            return Err(Error::Reserved { vacancy: vacancy.clone(), holder });
        }
        tables.reserved.insert(vacancy.clone(), holder);
        let filling = Filling { store: Arc::clone(&self.0), vacancy: vacancy.clone() };
        Ok(Reserved::new(vacancy.clone(), filling))
    }

    async fn close(&self) -> Result<(), Error> {
        *self.0.tables() = None;
        Ok(())
    }
}

/// A reserved vacancy.
struct Filling {
    store: Arc<Inner>,
    vacancy: Vacancy,
}

impl Drop for Filling {
    fn drop(&mut self) {
        if let Some(tables) = self.store.tables().as_mut() {
            tables.reserved.remove(&self.vacancy);
        }
    }
}

/// A locked environment.
struct LockedEnvironment {
    store: Arc<Inner>,
    environment: Environment,
    fence: u64,
}

impl LockedEnvironment {
    fn holds(&self, tables: &Tables) -> bool {
        let held = tables.held.get(&self.environment.urn_prefix());
        held.is_some_and(|(_, fence)| *fence == self.fence)
    }
}

#[async_trait]
impl Writer for LockedEnvironment {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        let writes = Writes::of(&changes, &self.environment, &self.store.keys)?;
        let mut tables = self.store.tables();
        let tables = tables.as_mut().ok_or(Error::Closed)?;
        if !self.holds(tables) {
            return Err(Error::Lost { environment: self.environment.clone() });
        }
        let new = || (self.environment.clone(), Table::default());
        let (_, table) = tables.environments.entry(self.environment.urn_prefix()).or_insert_with(new);
        let mut entries = Vec::with_capacity(writes.0.len());
        table.resolve(writes.0, &mut entries);
        for (key, value) in entries {
            table.apply(key, value);
        }
        Ok(Box::pin(std::future::ready(Ok(()))))
    }

    fn is_lost(&self) -> bool {
        !self.store.tables().as_ref().is_some_and(|tables| self.holds(tables))
    }
}

#[async_trait]
impl Claim for LockedEnvironment {
    fn fence(&self) -> u64 {
        self.fence
    }

    async fn release(&self) -> Result<(), Error> {
        self.abandon();
        Ok(())
    }

    fn abandon(&self) {
        if let Some(tables) = self.store.tables().as_mut()
            && self.holds(tables)
        {
            tables.held.remove(&self.environment.urn_prefix());
        }
    }
}
