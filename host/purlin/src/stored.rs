//! The state of a [`Purlin`]: what is recorded where, and what looks after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_engine::SecretRef;
use purlin_model::{Context, EnvironmentId, SecretStoreKind, StateDatabase};
use purlin_state::{
    Address, Change, DatabaseReport, EmbeddedStore, Environment, Export, Held, Holder, ImportOptions,
    KeyProvider, Known, OpenOptions, PostgresOptions, PostgresStore, Record, Report, Snapshot, Store,
};
use secrecy::SecretString;

use crate::{Error, Purlin};

/// Bytes of the certificates of a database's authorities.
const LARGEST_CA: u64 = 1 << 20;

/// The schema of the tables where the workspace names none.
const SCHEMA: &str = "purlin";

/// The state, opened.
#[derive(Clone)]
pub(crate) enum Opened {
    Embedded(Arc<EmbeddedStore>),
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => Arc::clone(store) as _,
            Self::Postgres(store) => Arc::clone(store) as _,
        }
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        Ok(self.store().close().await?)
    }
}

/// So many environments are listed at once.
const PAGE: usize = 1000;

impl Purlin {
    /// Closes an environment to deployments, with a word on what for; or opens it again with none.
    ///
    /// # Errors
    /// [`Error::State`] when a deployment is running, or the store cannot be written.
    pub async fn hold(&self, environment: &Environment, why: Option<&str>) -> Result<(), Error> {
        let session = self.begin_held(environment).await?;
        let holder = why.map(|why| Holder { command: why.to_owned(), ..self.holder() });
        session.lock.writer().commit(vec![Change::Hold(holder)]).await?;
        session.release().await
    }

    /// Everything that is recorded in an environment, sorted by URN.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn records(&self, environment: &Environment) -> Result<Vec<Arc<Record>>, Error> {
        Ok(self.snapshot(environment).await?.records)
    }

    /// Everything that is recorded in an environment.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn snapshot(&self, environment: &Environment) -> Result<Snapshot, Error> {
        if self.is_untouched() {
            return Ok(Snapshot::default());
        }
        Ok(self.store().await?.load(environment).await?)
    }

    /// Who deploys in an environment now, and how long its lease is.
    ///
    /// # Errors
    /// [`Error::State`] when that cannot be read.
    pub async fn holder_of(&self, environment: &Environment) -> Result<Option<Held>, Error> {
        if self.is_untouched() {
            return Ok(None);
        }
        Ok(self.store().await?.holder(environment).await?)
    }

    /// Requests the next turn of an environment from the hosts that keep all environments ([`crate::Fleet`]): it comes
    /// before all others, and every resource is read. Says whether the store keeps turns; one in a folder does not.
    ///
    /// # Errors
    /// [`Error::State`] when that cannot be recorded.
    pub async fn request_turn(&self, environment: &Environment) -> Result<bool, Error> {
        Ok(self.store().await?.request_turn(environment).await?)
    }

    /// The environments that have records or a history, sorted by what their URNs begin with.
    ///
    /// # Errors
    /// [`Error::State`] when they cannot be read.
    pub async fn environments(&self) -> Result<Vec<Environment>, Error> {
        Ok(self.known_environments().await?.into_iter().map(|known| known.environment).collect())
    }

    /// Whether an environment has records or a history. Costs nothing for any other environment.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn is_recorded(&self, environment: &Environment) -> Result<bool, Error> {
        Ok(!self.snapshot(environment).await?.records.is_empty()
            || !self.history(environment).await?.is_empty())
    }

    /// All environments, with what a list shows of each.
    ///
    /// # Errors
    /// As [`Self::environments`].
    pub async fn known_environments(&self) -> Result<Vec<Known>, Error> {
        if self.is_untouched() {
            return Ok(Vec::new());
        }
        let store = self.store().await?;
        let mut all: Vec<Known> = Vec::new();
        loop {
            let after = all.last().map(|known| &known.environment);
            let page = store.environments(after, PAGE).await?;
            let last = page.len() < PAGE;
            all.extend(page);
            if last {
                return Ok(all);
            }
        }
    }

    /// Writes all that is recorded in an environment, its history included, to a file that does not exist yet,
    /// encrypted for `recipient` (`age1…`), else for the key of the state. Gives how many resources are in it.
    ///
    /// # Errors
    /// [`Error::State`] when the file exists already or cannot be written, when the recipient is not a public key, or
    /// the state cannot be read.
    pub async fn export_state(
        &self,
        environment: &Environment,
        file: &Path,
        recipient: Option<&str>,
    ) -> Result<usize, Error> {
        let export = self.store().await?.export(environment, recipient).await?;
        let (records, file) = (export.records(), file.to_owned());
        blocking(move || export.write(&file)).await?;
        Ok(records)
    }

    /// Records the content of such a file, which [`Export::read`] reads. The next run reads all resources before it
    /// plans. An environment that is closed stays closed.
    ///
    /// # Errors
    /// [`Error::State`] when something is recorded in that environment and `replace` is not set, when the file is
    /// encrypted for another key, or when the state cannot be written.
    pub async fn import_state(&self, export: Export, replace: bool) -> Result<(), Error> {
        let options = ImportOptions { replace, is_old: true };
        Ok(self.store().await?.import(export, self.holder(), options).await?)
    }

    /// The folder of the embedded state.
    pub fn state_folder(&self) -> &Path {
        &self.state_folder
    }

    /// A key that was made in this run because there was none: something to tell people once, with
    /// a word on backing it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        match self.opened.get()? {
            Opened::Embedded(store) => store.generated_key(),
            Opened::Postgres(_) => None,
        }
    }

    /// Looking must not make a state where there is none.
    pub(crate) fn is_untouched(&self) -> bool {
        self.given.is_none() && self.opened.get().is_none() && !self.has_state()
    }

    /// Whether there may be something on record: the state is in a database or another store, or its folder exists.
    pub fn has_state(&self) -> bool {
        self.given.is_some() || self.workspace().database.is_some() || self.state_folder.exists()
    }

    /// What messages call the place of the state: its folder, or the address of its database.
    pub fn state_place(&self) -> String {
        match &self.workspace().database {
            Some(database) => database.url.to_string(),
            None => self.state_folder.display().to_string(),
        }
    }

    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = &self.given {
            return Ok(Arc::clone(store));
        }
        let open = || async {
            if let Some(database) = &self.workspace().database {
                let options = self.database_options(database).await?;
                return Ok::<_, Error>(Opened::Postgres(Arc::new(PostgresStore::open(options).await?)));
            }
            let options = self.open_options();
            let folder = self.state_folder.clone();
            // Opening blocks, for long where it waits for another process.
            let store = blocking(move || EmbeddedStore::open(&folder, options)).await?;
            if let (Some(tell), Some(note)) = (&self.tell, store.note()) {
                tell(note);
            }
            Ok(Opened::Embedded(Arc::new(store)))
        };
        Ok(self.opened.get_or_try_init(open).await?.store())
    }

    /// Creates the tables of a state in a database, or brings those of an earlier version to this one. Says whether
    /// there was anything to do; none where the state is in a folder, which needs no preparation.
    ///
    /// # Errors
    /// [`Error::State`] when the database cannot be reached, or a right is missing there.
    pub async fn prepare_state(&self) -> Result<Option<bool>, Error> {
        match &self.workspace().database {
            Some(database) => {
                let options = self.database_options(database).await?;
                Ok(Some(PostgresStore::prepare(&options).await?))
            }
            None => Ok(None),
        }
    }

    /// What `purlin doctor` shows of the database that the state is in; none where it is elsewhere.
    ///
    /// # Errors
    /// [`Error::State`] when the database cannot be reached.
    pub async fn inspect_database(&self) -> Result<Option<DatabaseReport>, Error> {
        match self.database().await? {
            Some(store) => Ok(Some(store.inspect().await?)),
            None => Ok(None),
        }
    }

    /// The clock of that database, milliseconds since 1970.
    ///
    /// # Errors
    /// [`Error::State`] when the database cannot be reached.
    pub async fn database_clock(&self) -> Result<Option<u64>, Error> {
        match self.database().await? {
            Some(store) => Ok(Some(store.clock().await?)),
            None => Ok(None),
        }
    }

    async fn database_options(&self, database: &StateDatabase) -> Result<PostgresOptions, Error> {
        let wrong = |detail: String| Error::from(purlin_state::Error::Address { detail });
        // A key that this machine alone has would lock everybody else out.
        let Some(key) = self.key.clone() else {
            return Err(wrong(
                "a state in a database needs a key that everybody has who works with it; name one as `key` in purlin.yaml"
                    .into(),
            ));
        };
        let ca =
            match &database.ca {
                Some(path) => {
                    let path = self.workspace().folder.join(path);
                    let read = purlin_files::read(&path, LARGEST_CA);
                    Some(read.map_err(|error| {
                        wrong(format!("`ca` cannot be read: `{}`: {error}", path.display()))
                    })?)
                }
                None => None,
            };
        let password = match &database.password {
            Some((store, name)) => Some(self.password(store, name).await.map_err(wrong)?),
            None => None,
        };
        let schema = database.schema.as_deref().unwrap_or(SCHEMA).to_owned();
        Ok(PostgresOptions {
            address: Address { url: database.url.to_string(), schema, password, ca },
            key,
            lease: database.lease.unwrap_or(PostgresOptions::LEASE),
            patience: PostgresOptions::PATIENCE,
        })
    }

    /// The password of the database, from a secret store.
    async fn password(&self, store: &Arc<str>, name: &Arc<str>) -> Result<SecretString, String> {
        let of = |why: &str| format!("the password, `{name}` from the secret store `{store}`: {why}");
        let configured = self.workspace().secret_stores.get(store);
        if configured.is_some_and(|store| matches!(store.kind, SecretStoreKind::Driver(_))) {
            return Err(of(
                "a driver serves this store, and drivers are called for environments only; use a file, a variable or a command",
            ));
        }
        // It belongs to no environment.
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

    fn open_options(&self) -> OpenOptions {
        let key = self.key.clone().unwrap_or_else(|| KeyProvider::Generate(self.state_folder.join("key")));
        OpenOptions { key, holder: self.holder(), wait: self.wait, probe: self.probe.clone() }
    }

    /// The state that the workspace names, opened.
    ///
    /// # Errors
    /// [`purlin_state::Error::Unsupported`] if the program gave a store of its own.
    async fn own(&self) -> Result<&Opened, Error> {
        self.store().await?;
        self.opened.get().ok_or_else(|| purlin_state::Error::Unsupported.into())
    }

    /// The state in a database; none where it is elsewhere, and then nothing is opened.
    async fn database(&self) -> Result<Option<&PostgresStore>, Error> {
        if self.given.is_some() || self.workspace().database.is_none() {
            return Ok(None);
        }
        match self.own().await? {
            Opened::Postgres(store) => Ok(Some(store)),
            Opened::Embedded(_) => Ok(None),
        }
    }

    /// The public half of the key that recorded secrets are encrypted for; none where there is no
    /// key yet, or another store was given.
    ///
    /// # Errors
    /// [`Error::State`] when the state cannot be opened.
    pub async fn recipient(&self) -> Result<Option<String>, Error> {
        self.store().await?;
        Ok(match self.opened.get() {
            Some(Opened::Embedded(store)) => store.public_recipient(),
            Some(Opened::Postgres(store)) => store.public_recipient(),
            None => None,
        })
    }

    /// Encrypts everything with a new key. Whenever it is interrupted, one key opens all of the state. Gives the
    /// public half of the new one. If the key is in a file, the file follows; if it comes from elsewhere, the new one
    /// has to be given.
    ///
    /// # Errors
    /// [`Error::State`] when the new one is not a key, or the state cannot be written.
    pub async fn rotate_key(&self, new: Option<SecretString>) -> Result<String, Error> {
        Ok(match self.own().await? {
            Opened::Embedded(store) => store.rotate_key(new).await?,
            Opened::Postgres(store) => store.rotate_key(new, self.holder()).await?,
        })
    }

    /// Checks whether everything that is recorded can be read, which writes nothing; with `repair`, repairs what is
    /// damaged.
    ///
    /// # Errors
    /// [`Error::State`] when somebody uses what is to be repaired, or the state cannot be read at all.
    pub async fn verify_state(&self, repair: bool) -> Result<Report, Error> {
        if self.given.is_some() {
            return Err(purlin_state::Error::Unsupported.into());
        }
        if let Some(store) = self.database().await? {
            return Ok(match repair {
                true => store.repair(self.holder()).await?,
                false => store.verify().await?,
            });
        }
        // A damaged folder may not open.
        let (folder, options) = (self.state_folder.clone(), self.open_options());
        blocking(move || match repair {
            true => EmbeddedStore::repair(&folder, &options),
            false => EmbeddedStore::verify(&folder, &options),
        })
        .await
    }
}

/// Runs what blocks on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, purlin_state::Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(purlin_state::Error::Closed.into()),
    }
}
