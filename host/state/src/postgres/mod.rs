//! The store for a team: PostgreSQL, and what speaks its protocol (SPEC §10).
//!
//! A process holds an environment by a lease with a fence. Every commit checks the fence in its own
//! transaction, so that a process that lost its lease can write nothing. The clock of the database
//! counts. What is recorded is sealed with a key that the database never sees, and each commit seals how
//! many entries there are and which, so that what vanishes or is changed by others is noticed.

mod claim;
mod connect;
mod inspect;
mod keys;
mod lease;
mod list;
mod read;
mod repair;
mod rotate;
mod schema;
mod transfer;
mod turns;
mod vacancies;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::Urn;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio_postgres::types::Type;
use zeroize::Zeroizing;

use self::claim::{Held, spawn};
pub use self::connect::Address;
use self::connect::{Database, parameter};
pub use self::inspect::DatabaseReport;
use self::read::{Loaded, Reached};
use crate::keys::Keyring;
use crate::keyspace::{self, Kind};
use crate::table::Table;
use crate::{
    Claim as _, Deployment, Doubt, Due, Environment, Error, Export, Holder, ImportOptions, KeyProvider,
    Known, Listing, Lock, Record, RecordId, Report, Reserved, Round, Snapshot, Store, Vacancy, codec,
    snapshot,
};

/// How to open a store in PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Where the database is.
    pub address: Address,
    /// Where the key comes from. It has to be there: none is made.
    pub key: KeyProvider,
    /// How long an environment stays with a process that is not heard of. A process renews its lease long before.
    pub lease: Duration,
    /// How long to go on trying while the database does not answer.
    pub patience: Duration,
}

impl PostgresOptions {
    /// The lease where none is written.
    pub const LEASE: Duration = Duration::from_secs(30);
    /// The shortest lease: less than that, a busy machine loses it.
    pub const SHORTEST_LEASE: Duration = Duration::from_secs(3);
    /// The patience where nothing is written.
    pub const PATIENCE: Duration = Duration::from_secs(20);
}

/// The store in a database of PostgreSQL.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    database: Database,
    keys: Keyring,
    lease: Duration,
    /// The environments that this process holds.
    held: Mutex<HashMap<Environment, Weak<Held>>>,
    is_closed: AtomicBool,
    /// How many leases are being given up in the background.
    leaving: watch::Sender<usize>,
}

/// A lease that is being given up: whoever takes one here waits until this is dropped.
struct Leaving(Arc<Inner>);

impl Leaving {
    fn begin(inner: &Arc<Inner>) -> Self {
        inner.leaving.send_modify(|count| *count += 1);
        Self(Arc::clone(inner))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leaving.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl PostgresStore {
    /// Creates the tables in the schema, which it creates, too, where it is missing; or brings the tables of an
    /// earlier version to this one. Says whether there was anything to do. Needs no superuser: the right to create
    /// a schema in the database, or a schema that is the user's own.
    ///
    /// # Errors
    /// [`Error::Newer`] when a newer version created them, [`Error::Unreachable`], and [`Error::Database`] when a
    /// right is missing.
    pub async fn prepare(options: &PostgresOptions) -> Result<bool, Error> {
        let database = Database::new(&options.address, options.patience)?;
        schema::migrate(&database).await
    }

    /// Opens the store. Has to be called within a runtime of tokio, which its connections live in.
    ///
    /// # Errors
    /// [`Error::Unprepared`] when there are no tables, [`Error::Newer`], [`Error::WrongKey`] and its kin when the key
    /// does not fit, [`Error::Unreachable`], and [`Error::Database`].
    pub async fn open(options: PostgresOptions) -> Result<Self, Error> {
        let PostgresOptions { address, key, lease, patience } = options;
        let database = Database::new(&address, patience)?;
        schema::check(&database).await?;
        let keys = keys::open(&database, &key).await?;
        let lease = lease.max(PostgresOptions::SHORTEST_LEASE);
        let (held, is_closed) = (Mutex::default(), AtomicBool::new(false));
        let leaving = watch::Sender::new(0);
        Ok(Self(Arc::new(Inner { database, keys, lease, held, is_closed, leaving })))
    }

    /// What messages call the store.
    pub fn place(&self) -> &str {
        self.0.database.place()
    }

    /// The public half of the key that secrets are sealed for (`age1…`).
    pub fn public_recipient(&self) -> Option<String> {
        self.0.keys.recipient()
    }

    /// Encrypts everything with a new key. Whenever it is interrupted, one key opens all of the state, and the next
    /// call continues. Gives the public half of the new key. What [`crate::Store::seal`] sealed before cannot be
    /// opened any more.
    ///
    /// If the key is in a file, the file follows, with the key given or a new one. If it comes from elsewhere, the
    /// new one has to be given. Waits for deployments that run, up to ten minutes for each environment.
    ///
    /// # Errors
    /// [`Error::Locked`] when a deployment takes longer, [`Error::KeyInvalid`] when what is given is not a key,
    /// [`Error::Damaged`] when something cannot be read with the current one, and when the database fails.
    pub async fn rotate_key(&self, new: Option<SecretString>, holder: Holder) -> Result<String, Error> {
        self.on(|inner| inner.rotate(new, holder)).await
    }

    /// Checks whether everything that is recorded can be read. Writes nothing, and may run while others write.
    ///
    /// # Errors
    /// When the database fails. Damage is not an error: it is in the report.
    pub async fn verify(&self) -> Result<Report, Error> {
        self.on(|inner| async move { inner.verify().await }).await
    }

    /// The same, and repairs what is damaged: entries that cannot be read are moved to the table `stale`, and named
    /// in the report. If something was lost, the next run reads all resources before it plans.
    ///
    /// # Errors
    /// [`Error::Locked`] when somebody holds a damaged environment, and when the database fails.
    pub async fn repair(&self, holder: Holder) -> Result<Report, Error> {
        self.on(|inner| inner.repair(holder)).await
    }

    /// What `purlin doctor` shows of the database.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn inspect(&self) -> Result<DatabaseReport, Error> {
        self.on(|inner| async move { inner.inspect().await }).await
    }

    /// The clock of the database, which decides about leases: milliseconds since 1970.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn clock(&self) -> Result<u64, Error> {
        self.on(|inner| async move { inner.clock().await }).await
    }

    /// Does something on the runtime of the store, whatever waits for it.
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
    fn held(&self) -> MutexGuard<'_, HashMap<Environment, Weak<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the leases that this process dropped are given up, so that it can take them again at once.
    async fn left(&self) {
        let mut leaving = self.leaving.subscribe();
        let _ = tokio::time::timeout(self.lease, leaving.wait_for(|count| *count == 0)).await;
    }

    /// The environment where this process holds it.
    fn holding(&self, environment: &Environment) -> Option<Arc<Held>> {
        let held = self.held().get(environment).and_then(Weak::upgrade);
        held.filter(|held| !held.is_lost())
    }

    /// Reads with the keys that there are now: another process may have changed them.
    async fn with_keys<T, Reading>(&self, read: impl Fn() -> Reading) -> Result<T, Error>
    where
        Reading: Future<Output = Result<T, Error>>,
    {
        match read().await {
            Err(Error::Damaged { .. }) if keys::refresh(&self.database, &self.keys).await? => read().await,
            result => result,
        }
    }

    /// Why an environment may be older than what is real: another server took its last commit, or this one went back
    /// to an earlier moment.
    async fn doubt(&self, reached: &Reached) -> Option<Doubt> {
        let last = reached.server.as_ref()?;
        (self.server().await? != *last).then_some(Doubt::Copied)
    }

    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        if let Some(held) = self.holding(environment) {
            return snapshot::snapshot(&held.table(), environment, &self.keys);
        }
        self.with_keys(|| async {
            let Some(Loaded { mut table, reached }) = self.read(environment).await? else {
                return Ok(Snapshot::default());
            };
            let doubt = self.doubt(&reached).await;
            let stored = table.take(Kind::Record as u8);
            let mut snapshot = snapshot::snapshot_of(stored, &table, environment, &self.keys)?;
            snapshot.doubt = snapshot.doubt.or(doubt);
            Ok(snapshot)
        })
        .await
    }

    async fn find(&self, environment: &Environment, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        if let Some(held) = self.holding(environment) {
            return snapshot::find(&held.table(), urn, &self.keys);
        }
        let Some(key) = keyspace::of(Kind::Record, &RecordId::current(urn.clone())) else { return Ok(None) };
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
        let held = self.hold(&environment, &holder).await?;
        Ok(Lock::new(environment, held as _))
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        let prefix = keyspace::prefix(Kind::Deployment, &keyspace::place(environment));
        self.with_keys(|| async {
            let table = self.entries(environment, prefix.clone()).await?;
            snapshot::history(&table, environment, &self.keys)
        })
        .await
    }

    async fn documents(&self, environment: &Environment, digest: [u8; 32]) -> Result<Option<Vec<u8>>, Error> {
        let key = keyspace::documents(&digest, &keyspace::place(environment));
        self.with_keys(|| async {
            let table = self.entries(environment, key.clone()).await?;
            snapshot::documents(&table, &digest, &self.keys)
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

    async fn environments(&self, after: Option<&Environment>, most: usize) -> Result<Vec<Known>, Error> {
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

    async fn documents(
        &self,
        environment: &Environment,
        digest: &[u8; 32],
    ) -> Result<Option<Vec<u8>>, Error> {
        let (environment, digest) = (environment.clone(), *digest);
        self.on(|inner| async move { inner.documents(&environment, digest).await }).await
    }

    async fn begin_round(&self) -> Result<Option<Round>, Error> {
        self.on(|inner| async move { inner.begin_round().await.map(Some) }).await
    }

    async fn take_turns(
        &self,
        round: Option<&Round>,
        most: usize,
        within: Duration,
    ) -> Result<Option<Vec<Due>>, Error> {
        let round = round.cloned();
        self.on(|inner| async move { inner.take_turns(round, most, within).await.map(Some) }).await
    }

    async fn request_turn(&self, environment: &Environment) -> Result<bool, Error> {
        let environment = environment.clone();
        self.on(|inner| async move { inner.request_turn(&environment).await.map(|()| true) }).await
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

    async fn import(&self, export: Export, holder: Holder, options: ImportOptions) -> Result<(), Error> {
        self.on(|inner| inner.import(export, holder, options)).await
    }

    async fn holder(&self, environment: &Environment) -> Result<Option<crate::Held>, Error> {
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
        // The process may end now, and a lease that it does not give up keeps others waiting.
        let inner = Arc::clone(&self.0);
        spawn(&self.0, async move {
            inner.left().await;
            Ok(())
        })
        .await
    }
}
