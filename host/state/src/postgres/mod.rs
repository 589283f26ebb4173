//! The store for a team: PostgreSQL and compatible databases (SPEC §10).
//!
//! A process holds an environment by a lease with a fence. Every commit checks the fence in its own
//! transaction, so a process that lost its lease can write nothing. The clock of the database
//! decides. Entries are sealed with a key that the database never sees, and each commit seals the
//! number and the tally of all entries, so that entries that others remove or change are noticed.

mod address;
mod claim;
mod connect;
mod credentials;
mod dial;
mod doubt;
mod failure;
mod greeting;
mod inspect;
mod keys;
mod lease;
mod list;
mod memory;
mod options;
mod read;
mod releases;
mod repair;
mod rotate;
mod schema;
mod transfer;
mod trust;
mod turns;
mod vacancies;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::Urn;
use purlin_model::driver::{Cookie, StoredCookie};
use secrecy::SecretString;
use tokio::sync::{OnceCell, watch};
use tokio_postgres::types::Type;
use zeroize::Zeroizing;

pub use self::address::Address;
use self::claim::{PostgresClaim, spawn};
use self::connect::{Database, parameter};
pub use self::credentials::{ClientCertificate, CredentialSource, Credentials};
pub use self::inspect::DatabaseReport;
use self::memory::Memories;
pub use self::options::PostgresOptions;
use self::read::Loaded;
pub use self::releases::Releases;
use crate::keys::Keyring;
use crate::keyspace::{self, EntryKind};
use crate::table::Table;
use crate::{
    AuditTrail, Change, DatabaseUser, Deployment, Due, Environment, EnvironmentSummary, Error, Export,
    Holder, ImportOptions, Listing, Lock, Record, RecordId, RepairReport, Reserved, Round, Snapshot,
    Staleness, Store, Vacancy, Writer as _, codec, snapshot,
};

/// The store in a PostgreSQL database.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    database: Database,
    keys: Keyring,
    memories: Memories,
    /// What the database says of this process, once it was asked.
    user: OnceCell<DatabaseUser>,
    lease: Duration,
    /// The environments that this process holds.
    claims: Mutex<HashMap<Environment, Weak<PostgresClaim>>>,
    is_closed: AtomicBool,
    /// The number of leases that are being released in the background.
    leaving: watch::Sender<usize>,
}

impl PostgresStore {
    /// Creates the tables and, if necessary, their schema. Returns whether there was anything to do.
    /// Needs no superuser: the right to create a schema in the database suffices, or a schema that
    /// belongs to the user.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer version created them; [`Error::Unreachable`]; and
    /// [`Error::Database`] if a right is missing.
    pub async fn prepare(options: &PostgresOptions) -> Result<bool, Error> {
        let database = Database::new(&options.address, options.patience)?;
        schema::create(&database).await
    }

    /// Opens the store. Must be called within a tokio runtime, in which its connections live.
    ///
    /// # Errors
    /// [`Error::Unprepared`] if there are no tables; [`Error::Newer`]; [`Error::WrongKey`] and
    /// related errors if the key does not fit; [`Error::Unreachable`]; and [`Error::Database`].
    pub async fn open(options: PostgresOptions) -> Result<Self, Error> {
        let PostgresOptions { address, key, lease, patience, memory } = options;
        let database = Database::new(&address, patience)?;
        let memories = Memories::new(memory, schema::check(&database).await?);
        let keys = keys::open(&database, &key).await?;
        let lease = lease.max(PostgresOptions::SHORTEST_LEASE);
        let (claims, is_closed) = (Mutex::default(), AtomicBool::new(false));
        let leaving = watch::Sender::new(0);
        let user = OnceCell::new();
        Ok(Self(Arc::new(Inner { database, keys, memories, user, lease, claims, is_closed, leaving })))
    }

    /// The name of the store for messages.
    pub fn place(&self) -> &str {
        self.0.database.place()
    }

    /// The leases that this process dropped and that are being released. They block others if the
    /// process ends before that.
    pub fn releases(&self) -> Releases {
        self.0.releases()
    }

    /// The public half of the key that secrets are sealed for (`age1…`).
    pub fn public_recipient(&self) -> Option<String> {
        self.0.keys.recipient()
    }

    /// Encrypts everything with a new key. If this is interrupted at any point, one key opens the
    /// whole state, and the next call continues. Returns the public half of the new key. Bytes that
    /// [`crate::Store::seal`] sealed before can no longer be opened.
    ///
    /// If the key is in a file, the file gets the given key or a new one. If the key comes from
    /// elsewhere, the new one must be given. Waits for running deployments, up to ten minutes for
    /// each environment.
    ///
    /// # Errors
    /// [`Error::Locked`] if a deployment takes longer; [`Error::KeyInvalid`] if the given key is
    /// not a key; [`Error::Damaged`] if an entry cannot be read with the current one; and if the
    /// database fails.
    pub async fn rotate_key(&self, new: Option<SecretString>, holder: Holder) -> Result<String, Error> {
        self.on(|inner| inner.rotate(new, holder)).await
    }

    /// Checks whether all entries can be read. Writes nothing, and may run while others write.
    ///
    /// # Errors
    /// If the database fails. Damage is not an error but part of the report.
    pub async fn verify(&self) -> Result<RepairReport, Error> {
        self.on(|inner| async move { inner.verify().await }).await
    }

    /// The same, but repairs the damage: unreadable entries are moved to the table `stale` and
    /// reported. If something was lost, the next run reads all resources before it plans.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process holds a damaged environment, and if the database fails.
    pub async fn repair(&self, holder: Holder) -> Result<RepairReport, Error> {
        self.on(|inner| inner.repair(holder)).await
    }

    /// The data about the database that `purlin doctor` shows.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn inspect(&self) -> Result<DatabaseReport, Error> {
        self.on(|inner| async move { inner.inspect().await }).await
    }

    /// The clock of the database, which decides about leases, in milliseconds since 1970.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn clock(&self) -> Result<u64, Error> {
        self.on(|inner| async move { inner.clock().await }).await
    }

    /// Runs a future on the runtime of the store, whichever runtime awaits it.
    async fn on<T: Send + 'static, Work>(&self, work: impl FnOnce(Arc<Inner>) -> Work) -> Result<T, Error>
    where
        Work: Future<Output = Result<T, Error>> + Send + 'static,
    {
        if self.0.is_closed.load(Ordering::SeqCst) {
            return Err(Error::Closed);
        }
        spawn(&self.0, work(Arc::clone(&self.0))).await
    }
}

impl Inner {
    fn claims(&self) -> MutexGuard<'_, HashMap<Environment, Weak<PostgresClaim>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn releases(&self) -> Releases {
        Releases { leaving: self.leaving.subscribe(), lease: self.lease }
    }

    /// Waits until the leases that this process dropped are released, so that it can take them
    /// again at once.
    async fn left(&self) {
        self.releases().wait().await;
    }

    /// The environment, if this process holds it.
    fn claim_of(&self, environment: &Environment) -> Option<Arc<PostgresClaim>> {
        let claim = self.claims().get(environment).and_then(Weak::upgrade);
        claim.filter(|claim| !claim.is_lost())
    }

    /// Reads, and reads again with refreshed keys on failure: another process may have changed
    /// them.
    async fn with_keys<T, Reading>(&self, read: impl Fn() -> Reading) -> Result<T, Error>
    where
        Reading: Future<Output = Result<T, Error>>,
    {
        match read().await {
            Err(Error::Damaged { .. }) if keys::refresh(&self.database, &self.keys).await? => read().await,
            result => result,
        }
    }

    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        if let Some(claim) = self.claim_of(environment) {
            return snapshot::snapshot(&claim.table(), environment, &self.keys);
        }
        self.with_keys(|| async {
            let loaded = self.read(environment).await?;
            let Loaded { mut table, reached } = loaded.unwrap_or_default();
            let doubt = self.doubt(environment, &reached, self.server().await.as_ref());
            let stored = table.take(EntryKind::Record as u8);
            let mut snapshot = snapshot::snapshot_of(stored, &table, environment, &self.keys)?;
            snapshot.staleness = Staleness::stronger(snapshot.staleness, doubt);
            Ok(snapshot)
        })
        .await
    }

    async fn find(&self, environment: &Environment, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        if let Some(claim) = self.claim_of(environment) {
            return snapshot::find(&claim.table(), urn, &self.keys);
        }
        let Some(key) = keyspace::of(EntryKind::Record, &RecordId::current(urn.clone())) else {
            return Ok(None);
        };
        self.with_keys(|| async {
            let sql =
                format!("SELECT value FROM {}.entries WHERE place = $1 AND key = $2", self.database.schema());
            let parameters = vec![
                parameter(keyspace::place(environment).to_vec(), Type::BYTEA),
                parameter(key.clone(), Type::BYTEA),
            ];
            let mut table = Table::default();
            for row in self.database.query("read the state", &sql, parameters).await? {
                let value: Vec<u8> = row.try_get(0).map_err(|error| self.unreadable(&error))?;
                table.apply(key.clone(), Some(value));
            }
            snapshot::find(&table, urn, &self.keys)
        })
        .await
    }

    async fn lock(self: Arc<Self>, environment: Environment, holder: Holder) -> Result<Lock, Error> {
        self.keys.confirm()?;
        let claim = self.claim(&environment, &holder).await?;
        Ok(Lock::new(environment, claim as _))
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
        self.with_keys(|| async {
            let table = self.entries(environment, prefix.clone()).await?;
            snapshot::history(&table, environment, &self.keys)
        })
        .await
    }

    async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error> {
        let prefix = keyspace::prefix(EntryKind::Audit, &keyspace::place(environment));
        let table = self.entries(environment, prefix).await?;
        let trail = snapshot::audit(&table, environment, &self.keys)?;
        // Another process may have changed the key since this one read it.
        if trail.faults.is_empty() || !keys::refresh(&self.database, &self.keys).await? {
            return Ok(trail);
        }
        snapshot::audit(&table, environment, &self.keys)
    }

    async fn documents(&self, environment: &Environment, digest: [u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        let key = keyspace::documents(&digest, &keyspace::place(environment));
        self.with_keys(|| async {
            let table = self.entries(environment, key.clone()).await?;
            snapshot::documents(&table, &digest, &self.keys)
        })
        .await
    }

    async fn cookie(
        &self,
        environment: &Environment,
        stored: &StoredCookie,
    ) -> Result<Option<Cookie>, Error> {
        let key = keyspace::cookie(&stored.id, &keyspace::place(environment));
        self.with_keys(|| async {
            let table = self.entries(environment, key.clone()).await?;
            snapshot::cookie(&table, environment, stored, &self.keys)
        })
        .await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.load(&environment).await }).await
    }

    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(None) };
        let urn = urn.clone();
        self.on(|inner| async move { inner.find(&environment, &urn).await }).await
    }

    async fn environments(
        &self,
        after: Option<&Environment>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error> {
        let after = after.map(Environment::urn_prefix);
        self.on(|inner| async move { inner.environments(after, most).await }).await
    }

    async fn listings(&self) -> Result<Vec<Listing>, Error> {
        self.on(|inner| async move { inner.listings().await }).await
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.history(&environment).await }).await
    }

    async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.audit(&environment).await }).await
    }

    async fn documents(
        &self,
        environment: &Environment,
        digest: &[u8; 32],
    ) -> Result<Option<Vec<u8>>, Error> {
        let (environment, digest) = (environment.clone(), *digest);
        self.on(|inner| async move { inner.documents(&environment, digest).await }).await
    }

    async fn cookie(
        &self,
        environment: &Environment,
        stored: &StoredCookie,
    ) -> Result<Option<Cookie>, Error> {
        let (environment, stored) = (environment.clone(), *stored);
        self.on(|inner| async move { inner.cookie(&environment, &stored).await }).await
    }

    async fn begin_round(&self) -> Result<Option<Round>, Error> {
        self.on(|inner| async move { inner.begin_round().await.map(Some) }).await
    }

    async fn turns_of(&self, round: &Round) -> Result<Vec<Environment>, Error> {
        let round = round.clone();
        self.on(|inner| async move { inner.turns_of(round).await }).await
    }

    async fn take_turns(
        &self,
        round: Option<&Round>,
        only: Option<&[Environment]>,
        most: usize,
        within: Duration,
    ) -> Result<Option<Vec<Due>>, Error> {
        let (round, only) = (round.cloned(), only.map(turns::places));
        self.on(|inner| async move { inner.take_turns(round, only, most, within).await.map(Some) }).await
    }

    async fn request_turns(&self, environments: &[Environment], reads: bool) -> Result<bool, Error> {
        let places = turns::places(environments);
        self.on(|inner| async move { inner.request_turns(places, reads).await.map(|()| true) }).await
    }

    async fn next_turn(&self, environment: &Environment, after: Duration) -> Result<(), Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.next_turn(&environment, after).await }).await
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let plain = Zeroizing::new(plain.to_vec());
        self.on(|inner| async move {
            keys::refresh(&inner.database, &inner.keys).await?;
            codec::encode_blob(&plain, &inner.keys)
        })
        .await
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let sealed = sealed.to_vec();
        self.on(|inner| async move {
            inner.with_keys(|| async { codec::decode_blob(&sealed, &inner.keys) }).await
        })
        .await
    }

    async fn export(&self, environment: &Environment, recipient: Option<&str>) -> Result<Export, Error> {
        let (environment, recipient) = (environment.clone(), recipient.map(str::to_owned));
        self.on(|inner| async move { inner.export(&environment, recipient.as_deref()).await }).await
    }

    async fn import(
        &self,
        export: Export,
        holder: Holder,
        options: ImportOptions,
        also: Vec<Change>,
    ) -> Result<(), Error> {
        self.on(|inner| inner.import(export, holder, options, also)).await
    }

    async fn holder(&self, environment: &Environment) -> Result<Option<crate::HeldLock>, Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.holder(&environment).await }).await
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        let environment = environment.clone();
        self.on(|inner| inner.lock(environment, holder)).await
    }

    async fn reserve(&self, vacancy: &Vacancy, holder: Holder) -> Result<Reserved, Error> {
        let vacancy = vacancy.clone();
        self.on(|inner| inner.reserve(vacancy, holder)).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.0.is_closed.store(true, Ordering::SeqCst);
        // The process may end now, and leases that it does not release would block others.
        let inner = Arc::clone(&self.0);
        spawn(&self.0, async move {
            inner.left().await;
            Ok(())
        })
        .await
    }
}
