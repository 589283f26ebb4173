//! The state of a [`Purlin`]: opening it, reading it and maintaining it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_model::StateDatabase;
#[cfg(feature = "postgres")]
use purlin_state::PostgresStore;
use purlin_state::{
    AuditAction, Change, EmbeddedStore, Environment, EnvironmentSummary, Export, HeldLock, Holder,
    ImportOptions, KeyProvider, OpenOptions, Record, RepairReport, Snapshot, Store,
};
use secrecy::SecretString;

use crate::audited::Act;
use crate::{Error, Purlin};

/// The opened state.
#[derive(Clone)]
pub(crate) enum Opened {
    Embedded(Arc<EmbeddedStore>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresStore>),
}

impl Opened {
    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => Arc::clone(store) as _,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Arc::clone(store) as _,
        }
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        Ok(self.store().close().await?)
    }
}

/// The number of environments that are listed at once.
const PAGE: usize = 1000;

impl Purlin {
    /// Closes an environment to deployments, with a reason, or opens it again without one.
    ///
    /// # Errors
    /// [`Error::State`] if a deployment is running, or the store cannot be written.
    pub async fn set_closed(&self, environment: &Environment, why: Option<&str>) -> Result<(), Error> {
        let session = self.begin_held(environment).await?;
        let holder = why.map(|why| Holder { command: why.to_owned(), ..self.holder() });
        let action = if why.is_some() { AuditAction::Lock } else { AuditAction::Unlock };
        session.lock.record(Act::new(action, [""; 0]), vec![Change::SetClosed(holder)]).await?;
        session.release().await
    }

    /// Every record of an environment, sorted by URN.
    ///
    /// # Errors
    /// [`Error::State`] if the records cannot be read completely.
    pub async fn records(&self, environment: &Environment) -> Result<Vec<Arc<Record>>, Error> {
        Ok(self.snapshot(environment).await?.records)
    }

    /// Everything that is recorded in an environment.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read completely.
    pub async fn snapshot(&self, environment: &Environment) -> Result<Snapshot, Error> {
        if self.is_untouched() {
            return Ok(Snapshot::default());
        }
        Ok(self.store().await?.load(environment).await?)
    }

    /// The holder of an environment's lock, and the remaining time of its lease.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read.
    pub async fn holder_of(&self, environment: &Environment) -> Result<Option<HeldLock>, Error> {
        if self.is_untouched() {
            return Ok(None);
        }
        Ok(self.store().await?.holder(environment).await?)
    }

    /// Requests the next turn of an environment from the hosts that reconcile all environments
    /// ([`crate::Fleet`]). The turn comes before all others, and every resource is read. Returns
    /// whether the store keeps turns, which a state in a folder does not.
    ///
    /// # Errors
    /// [`Error::State`] if the request cannot be recorded.
    pub async fn request_turn(&self, environment: &Environment) -> Result<bool, Error> {
        Ok(self.store().await?.request_turns(std::slice::from_ref(environment), true).await?)
    }

    /// The environments that have records or a history, sorted by URN prefix.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read.
    pub async fn environments(&self) -> Result<Vec<Environment>, Error> {
        Ok(self.known_environments().await?.into_iter().map(|known| known.environment).collect())
    }

    /// Whether an environment has records or a history. Costs nothing for any other environment.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read completely.
    pub async fn is_recorded(&self, environment: &Environment) -> Result<bool, Error> {
        Ok(!self.snapshot(environment).await?.records.is_empty()
            || !self.history(environment).await?.is_empty())
    }

    /// All environments, each with its summary for lists.
    ///
    /// # Errors
    /// As for [`Self::environments`].
    pub async fn known_environments(&self) -> Result<Vec<EnvironmentSummary>, Error> {
        if self.is_untouched() {
            return Ok(Vec::new());
        }
        let store = self.store().await?;
        let mut all: Vec<EnvironmentSummary> = Vec::new();
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

    /// Writes everything that is recorded in an environment, including its history, to a new file,
    /// encrypted for `recipient` (`age1…`), or else for the key of the state. Returns the number of
    /// resources.
    ///
    /// # Errors
    /// [`Error::State`] if the file exists or cannot be written, if the recipient is not a public
    /// key, or if the state cannot be read.
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

    /// Imports such a file, which [`Export::read`] reads. The next run reads all resources before
    /// it plans. A closed environment stays closed.
    ///
    /// # Errors
    /// [`Error::State`] if the environment has records and `replace` is not set, if the file is
    /// encrypted for another key, or if the state cannot be written.
    pub async fn import_state(&self, export: Export, replace: bool) -> Result<(), Error> {
        let options = ImportOptions { replace, is_old: true };
        let entry = self.audit_entry(Act::new(AuditAction::Import, [""; 0]));
        Ok(self.store().await?.import(export, self.holder(), options, vec![entry]).await?)
    }

    /// The folder of the embedded state.
    pub fn state_folder(&self) -> &Path {
        &self.state_folder
    }

    /// A key that was created in this run because there was none. Show it to the user once, with
    /// advice to back it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        match self.opened.get()? {
            Opened::Embedded(store) => store.generated_key(),
            #[cfg(feature = "postgres")]
            Opened::Postgres(_) => None,
        }
    }

    /// Whether there is no state yet. Reading must not create one.
    pub(crate) fn is_untouched(&self) -> bool {
        self.given.is_none() && self.opened.get().is_none() && !self.has_state()
    }

    /// Whether there may be records: the state is in a database or another store, or its folder
    /// exists.
    pub fn has_state(&self) -> bool {
        self.given.is_some() || self.workspace().database.is_some() || self.state_folder.exists()
    }

    /// The place of the state for messages: its folder, or the address of its database.
    pub fn state_place(&self) -> String {
        match &self.workspace().database {
            Some(database) => {
                let schema = database.schema.as_deref().unwrap_or(StateDatabase::SCHEMA);
                StateDatabase::place(&database.url, schema)
            }
            None => self.state_folder.display().to_string(),
        }
    }

    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = &self.given {
            return Ok(Arc::clone(store));
        }
        let open = || async {
            if let Some(database) = &self.workspace().database {
                return self.open_database(database).await;
            }
            let options = self.open_options();
            let folder = self.state_folder.clone();
            // Opening blocks, and takes long if it waits for another process.
            let store = blocking(move || EmbeddedStore::open(&folder, options)).await?;
            Ok(Opened::Embedded(Arc::new(store)))
        };
        Ok(self.opened.get_or_try_init(open).await?.store())
    }

    #[cfg(not(feature = "postgres"))]
    #[allow(clippy::unused_async, reason = "like the one that opens it")]
    async fn open_database(&self, _: &purlin_model::StateDatabase) -> Result<Opened, Error> {
        let detail = "this program keeps no state in PostgreSQL; its crate `purlin-host` does with the feature `postgres`";
        Err(purlin_state::Error::Address { detail: detail.into() }.into())
    }

    fn open_options(&self) -> OpenOptions {
        let key = self.key.clone().unwrap_or_else(|| KeyProvider::Generate(self.state_folder.join("key")));
        OpenOptions { key, holder: self.holder(), wait: self.wait, probe: self.probe.clone() }
    }

    /// The opened state of the workspace.
    ///
    /// # Errors
    /// [`purlin_state::Error::Unsupported`] if the program provided its own store.
    pub(crate) async fn own(&self) -> Result<&Opened, Error> {
        self.store().await?;
        self.opened.get().ok_or_else(|| purlin_state::Error::Unsupported.into())
    }

    /// The public half of the key that recorded secrets are encrypted for; `None` if there is no
    /// key yet, or the program provided its own store.
    ///
    /// # Errors
    /// [`Error::State`] if the state cannot be opened.
    pub async fn recipient(&self) -> Result<Option<String>, Error> {
        self.store().await?;
        Ok(match self.opened.get() {
            Some(Opened::Embedded(store)) => store.public_recipient(),
            #[cfg(feature = "postgres")]
            Some(Opened::Postgres(store)) => store.public_recipient(),
            None => None,
        })
    }

    /// Encrypts everything with a new key. If this is interrupted at any point, one key opens the
    /// whole state. Returns the public half of the new key. If the key is in a file, the file is
    /// updated; if it comes from elsewhere, the new key must be given.
    ///
    /// # Errors
    /// [`Error::State`] if the given key is not a key, or the state cannot be written.
    pub async fn rotate_key(&self, new: Option<SecretString>) -> Result<String, Error> {
        self.own().await?;
        // No single commit covers it, so it is recorded before it begins.
        self.audit_whole(Act::new(AuditAction::RotateKey, [""; 0])).await?;
        Ok(match self.own().await? {
            Opened::Embedded(store) => store.rotate_key(new).await?,
            #[cfg(feature = "postgres")]
            Opened::Postgres(store) => store.rotate_key(new, self.holder()).await?,
        })
    }

    /// Checks whether all records can be read, without writing anything; with `repair`, repairs the
    /// damage.
    ///
    /// # Errors
    /// [`Error::State`] if the state to repair is in use, or cannot be read at all.
    pub async fn verify_state(&self, repair: bool) -> Result<RepairReport, Error> {
        if self.given.is_some() {
            return Err(purlin_state::Error::Unsupported.into());
        }
        let mut report = self.checked_state(repair).await?;
        if repair && !report.is_whole() {
            // A repair cannot wait for a state that can be written.
            let act = Act::new(AuditAction::Repair, report.lost.iter().map(String::as_str));
            if let Err(error) = self.audit_whole(act).await {
                report.audit.push(format!("the repair could not be recorded in the audit: {error}"));
            }
        }
        Ok(report)
    }

    async fn checked_state(&self, repair: bool) -> Result<RepairReport, Error> {
        #[cfg(feature = "postgres")]
        if let Some(store) = self.database().await? {
            return Ok(match repair {
                true => store.repair(self.holder()).await?,
                false => store.verify().await?,
            });
        }
        // A damaged folder may fail to open.
        let (folder, options) = (self.state_folder.clone(), self.open_options());
        blocking(move || match repair {
            true => EmbeddedStore::repair(&folder, &options),
            false => EmbeddedStore::verify(&folder, &options),
        })
        .await
    }
}

/// Runs blocking code on a thread for such code.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, purlin_state::Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(purlin_state::Error::Closed.into()),
    }
}
