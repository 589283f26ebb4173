//! The state in PostgreSQL: opening it, its tables, and what `purlin doctor` shows of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use purlin_engine::{SecretFault, SecretRef, SecretStores};
use purlin_model::{Context, EnvironmentId, SecretStoreKind, StateDatabase};
use purlin_state::{
    Address, ClientCertificate, CredentialSource, Credentials, DatabaseReport, Error as StateError,
    PostgresOptions, PostgresStore,
};
use secrecy::SecretString;

use crate::stored::Opened;
use crate::{Error, Purlin};

/// The maximum size of a file with certificates, in bytes.
const LARGEST_CERTIFICATES: u64 = 1 << 20;

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
        let wrong = |detail: String| Error::from(StateError::Address { detail });
        // A key that exists only on this machine would lock all other users out.
        let Some(key) = self.key.clone() else {
            return Err(wrong(
                "a state in a database needs a key that all of its users share; set it as `key` in purlin.yaml"
                    .into(),
            ));
        };
        let ca = match &database.ca {
            Some(path) => Some(self.certificates("ca", path).map_err(wrong)?),
            None => None,
        };
        let credentials = StoredCredentials {
            password: database.password.as_ref().map(|(store, name)| self.stored(store, name)).transpose()?,
            client: match &database.client {
                Some(client) => {
                    let file = self.workspace().folder.join(&client.certificate);
                    Some((file, self.stored(&client.key.0, &client.key.1)?))
                }
                None => None,
            },
            stores: self.secret_stores()?,
        };
        let schema = database.schema.as_deref().unwrap_or(StateDatabase::SCHEMA).to_owned();
        Ok(PostgresOptions {
            address: Address {
                url: database.url.to_string(),
                schema,
                credentials: Arc::new(credentials),
                ca,
            },
            key,
            lease: database.lease.unwrap_or(StateDatabase::LEASE),
            patience: PostgresOptions::PATIENCE,
            memory: Some(self.cache_folder().join("databases")),
        })
    }

    /// The content of a file with certificates.
    fn certificates(&self, field: &str, path: &Path) -> Result<Vec<u8>, String> {
        read_certificates(field, &self.workspace().folder.join(path))
    }

    /// A secret for the login to the database, which no driver can look up.
    fn stored(&self, store: &Arc<str>, name: &Arc<str>) -> Result<StoredSecret, Error> {
        let secret = SecretRef { store: store.clone(), name: name.clone(), version: None };
        let kind = self.workspace().secret_stores.get(store).map(|store| &store.kind);
        let can_change = match kind {
            Some(SecretStoreKind::Driver(_)) => {
                let why = "a driver serves this store, and drivers are called for environments only";
                let help = "use a store with `file`, `env` or `command`";
                return Err(unavailable(&secret, SecretFault::new(why).help(help)).into());
            }
            // The variables are those of the start.
            Some(SecretStoreKind::Env(_)) => self.stores.is_some(),
            Some(SecretStoreKind::File(_) | SecretStoreKind::Command(_)) | None => true,
        };
        Ok(StoredSecret { secret, can_change })
    }
}

/// A secret of a store.
#[derive(Debug)]
struct StoredSecret {
    secret: SecretRef,
    /// Whether the store may give another one later.
    can_change: bool,
}

/// The credentials of the database, read from their stores at each login.
#[derive(Debug)]
struct StoredCredentials {
    password: Option<StoredSecret>,
    /// The file with the certificate of the client, and its key.
    client: Option<(PathBuf, StoredSecret)>,
    stores: Arc<dyn SecretStores>,
}

impl StoredCredentials {
    async fn get(&self, StoredSecret { secret, .. }: &StoredSecret) -> Result<SecretString, StateError> {
        // The secret belongs to no environment.
        let none: Arc<str> = "".into();
        let context = Context {
            org: none.clone(),
            app: none.clone(),
            env: EnvironmentId { id: none.clone(), kind: none.clone() },
            namespace: none.clone(),
            deployment: none,
        };
        self.stores.get(secret, &context).await.map_err(|fault| unavailable(secret, fault))
    }
}

#[async_trait]
impl CredentialSource for StoredCredentials {
    async fn read(&self) -> Result<Credentials, StateError> {
        let password = match &self.password {
            Some(password) => Some(self.get(password).await?),
            None => None,
        };
        let client = match &self.client {
            Some((file, key)) => {
                let chain = read_certificates("client.certificate", file)
                    .map_err(|reason| StateError::Credentials { reason, help: None })?;
                Some(ClientCertificate { chain, key: self.get(key).await? })
            }
            None => None,
        };
        Ok(Credentials { password, client })
    }

    fn can_change(&self) -> bool {
        self.client.is_some() || self.password.as_ref().is_some_and(|password| password.can_change)
    }
}

/// Why a login is not possible without a secret.
fn unavailable(secret: &SecretRef, fault: SecretFault) -> StateError {
    let SecretRef { store, name, .. } = secret;
    let SecretFault { why, help } = fault;
    StateError::Credentials {
        reason: format!("the login to the state needs `{name}` from the secret store `{store}`: {why}"),
        help,
    }
}

fn read_certificates(field: &str, path: &Path) -> Result<Vec<u8>, String> {
    purlin_files::read(path, LARGEST_CERTIFICATES).map_err(|error| {
        let reason = purlin_files::reason(&error);
        format!("`{field}` cannot be read: `{}`: {reason}", path.display())
    })
}
