//! The state in PostgreSQL: opening it, its tables, and what `purlin doctor` shows of it.

use std::sync::{Arc, OnceLock};

use purlin_engine::SecretRef;
use purlin_model::{Context, EnvironmentId, SecretStoreKind, StateDatabase};
use purlin_state::{Address, DatabaseReport, PostgresOptions, PostgresStore};
use secrecy::SecretString;

use crate::stored::Opened;
use crate::{Error, Purlin};

/// The maximum size of the certificates of a database's authorities, in bytes.
const LARGEST_CA: u64 = 1 << 20;

/// The locks that a [`Purlin`] dropped and that are being released in its database. Keeps neither the
/// [`Purlin`] nor its state open.
#[derive(Clone, Debug, Default)]
pub struct LockReleases(Arc<OnceLock<purlin_state::Releases>>);

impl LockReleases {
    /// Whether locks are being released, or may be later because the [`Purlin`] still exists.
    pub fn may_be_pending(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || self.0.get().is_some_and(purlin_state::Releases::are_pending)
    }

    /// Waits until the dropped locks are released, or have expired.
    pub async fn wait(self) {
        if let Some(releases) = self.0.get() {
            releases.clone().wait().await;
        }
    }
}

impl Purlin {
    /// Opens the state in a database.
    ///
    /// # Errors
    /// [`Error::State`] if the database cannot be reached, or its settings are incomplete.
    pub(crate) async fn open_database(&self, database: &StateDatabase) -> Result<Opened, Error> {
        let store = PostgresStore::open(self.database_options(database).await?).await?;
        let _ = self.releases.0.set(store.releases());
        Ok(Opened::Postgres(Arc::new(store)))
    }

    /// Creates the tables of a state in a database. Returns whether there was anything to do; `None`
    /// for a state in a folder, which needs no preparation.
    ///
    /// # Errors
    /// [`Error::State`] if the database cannot be reached, or a right is missing there.
    pub async fn prepare_state(&self) -> Result<Option<bool>, Error> {
        match &self.workspace().database {
            Some(database) => {
                let options = self.database_options(database).await?;
                Ok(Some(PostgresStore::prepare(&options).await?))
            }
            None => Ok(None),
        }
    }

    /// The data about the state's database that `purlin doctor` shows; `None` if the state is
    /// elsewhere.
    ///
    /// # Errors
    /// [`Error::State`] if the database cannot be reached.
    pub async fn inspect_database(&self) -> Result<Option<DatabaseReport>, Error> {
        match self.database().await? {
            Some(store) => Ok(Some(store.inspect().await?)),
            None => Ok(None),
        }
    }

    /// The clock of that database, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`Error::State`] if the database cannot be reached.
    pub async fn database_clock(&self) -> Result<Option<u64>, Error> {
        match self.database().await? {
            Some(store) => Ok(Some(store.clock().await?)),
            None => Ok(None),
        }
    }

    /// The state in a database; `None` if it is elsewhere, in which case nothing is opened.
    pub(crate) async fn database(&self) -> Result<Option<&PostgresStore>, Error> {
        if self.given.is_some() || self.workspace().database.is_none() {
            return Ok(None);
        }
        match self.own().await? {
            Opened::Postgres(store) => Ok(Some(store)),
            Opened::Embedded(_) => Ok(None),
        }
    }

    async fn database_options(&self, database: &StateDatabase) -> Result<PostgresOptions, Error> {
        let wrong = |detail: String| Error::from(purlin_state::Error::Address { detail });
        // A key that exists only on this machine would lock all other users out.
        let Some(key) = self.key.clone() else {
            return Err(wrong(
                "a state in a database needs a key that all of its users share; set it as `key` in purlin.yaml"
                    .into(),
            ));
        };
        let ca = match &database.ca {
            Some(path) => {
                let path = self.workspace().folder.join(path);
                let read = purlin_files::read(&path, LARGEST_CA);
                Some(read.map_err(|error| {
                    let reason = purlin_files::reason(&error);
                    wrong(format!("`ca` cannot be read: `{}`: {reason}", path.display()))
                })?)
            }
            None => None,
        };
        let password = match &database.password {
            Some((store, name)) => Some(self.password(store, name).await.map_err(wrong)?),
            None => None,
        };
        let schema = database.schema.as_deref().unwrap_or(StateDatabase::SCHEMA).to_owned();
        Ok(PostgresOptions {
            address: Address { url: database.url.to_string(), schema, password, ca },
            key,
            lease: database.lease.unwrap_or(StateDatabase::LEASE),
            patience: PostgresOptions::PATIENCE,
        })
    }

    /// The password of the database, from a secret store.
    async fn password(&self, store: &Arc<str>, name: &Arc<str>) -> Result<SecretString, String> {
        let of = |why: &str| format!("the password, `{name}` from the secret store `{store}`: {why}");
        let configured = self.workspace().secret_stores.get(store);
        let is_driver = configured.is_some_and(|store| match store.kind {
            SecretStoreKind::Driver(_) => true,
            SecretStoreKind::File(_) | SecretStoreKind::Env(_) | SecretStoreKind::Command(_) => false,
        });
        if is_driver {
            return Err(of(
                "a driver serves this store, and drivers are called for environments only; use a file, a variable or a command",
            ));
        }
        // The secret belongs to no environment.
        let none: Arc<str> = "".into();
        let context = Context {
            org: none.clone(),
            app: none.clone(),
            env: EnvironmentId { id: none.clone(), kind: none.clone() },
            namespace: none.clone(),
            deployment: none,
        };
        let secret = SecretRef { store: store.clone(), name: name.clone(), version: None };
        let stores = self.secret_stores().map_err(|error| of(&error.to_string()))?;
        stores.get(&secret, &context).await.map_err(|fault| match fault.help {
            Some(help) => of(&format!("{}; {help}", fault.why)),
            None => of(&fault.why),
        })
    }
}
