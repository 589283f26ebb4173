//! The state of a [`Purlin`]: what is recorded where, and what looks after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_state::{
    Change, EmbeddedStore, Environment, Holder, KeyProvider, Known, OpenOptions, Record, Report, Snapshot,
    Store,
};
use secrecy::SecretString;

use crate::{Error, Purlin};

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

    /// Writes all that is recorded in an environment, its history included, to a file that is not there
    /// yet, encrypted for `recipient` (`age1…`), else for the key of the state. Gives how many resources
    /// are in it.
    ///
    /// # Errors
    /// [`Error::State`] when the file is there already or cannot be written, when the recipient is none, or
    /// the state cannot be read; also where another store than the embedded one was given.
    pub async fn export_state(
        &self,
        environment: &Environment,
        file: &Path,
        recipient: Option<&str>,
    ) -> Result<usize, Error> {
        match self.embedded().await? {
            Some(store) => Ok(store.export(environment, file, recipient).await?),
            None => Err(purlin_state::Error::Closed.into()),
        }
    }

    /// Records what such a file holds. Gives the environment that it is of, and how many resources are in
    /// it. The next run reads them before it plans.
    ///
    /// # Errors
    /// [`Error::State`] when something is recorded in that environment and `replace` is not set, when the
    /// file is encrypted for another key, or when either cannot be read or written; also where another store
    /// than the embedded one was given.
    pub async fn import_state(&self, file: &Path, replace: bool) -> Result<(Environment, usize), Error> {
        match self.embedded().await? {
            Some(store) => Ok(store.import(file, self.holder(), replace).await?),
            None => Err(purlin_state::Error::Closed.into()),
        }
    }

    /// The folder of the embedded state.
    pub fn state_folder(&self) -> &Path {
        &self.state_folder
    }

    /// A key that was made in this run because there was none: something to tell people once, with
    /// a word on backing it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        self.opened.get()?.generated_key()
    }

    /// Looking must not make a state where there is none.
    pub(crate) fn is_untouched(&self) -> bool {
        self.given.is_none() && self.opened.get().is_none() && !self.state_folder.exists()
    }

    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = &self.given {
            return Ok(Arc::clone(store));
        }
        let open = || async {
            let options = self.open_options();
            let folder = self.state_folder.clone();
            // Opening blocks, for long where it waits for another process.
            match tokio::task::spawn_blocking(move || EmbeddedStore::open(&folder, options)).await {
                Ok(Ok(store)) => {
                    if let (Some(tell), Some(note)) = (&self.tell, store.note()) {
                        tell(note);
                    }
                    Ok(Arc::new(store))
                }
                Ok(Err(error)) => Err(error),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => Err(purlin_state::Error::Closed),
            }
        };
        let store = self.opened.get_or_try_init(open).await?;
        Ok(Arc::clone(store) as Arc<dyn Store>)
    }

    fn open_options(&self) -> OpenOptions {
        let key = self.key.clone().unwrap_or_else(|| KeyProvider::Generate(self.state_folder.join("key")));
        OpenOptions { key, holder: self.holder(), wait: self.wait, probe: self.probe.clone() }
    }

    /// The embedded state, opened; none where another store was given.
    async fn embedded(&self) -> Result<Option<&Arc<EmbeddedStore>>, Error> {
        self.store().await?;
        Ok(self.opened.get())
    }

    /// The public half of the key that recorded secrets are encrypted for; none where there is no
    /// key yet, or another store was given.
    ///
    /// # Errors
    /// [`Error::State`] when the state cannot be opened.
    pub async fn recipient(&self) -> Result<Option<String>, Error> {
        Ok(self.embedded().await?.and_then(|store| store.public_recipient()))
    }

    /// Encrypts everything anew with a new key, in one step that a crash cannot tear. Gives the
    /// public half of the new one. Where the key lies in a file, the file follows; where it comes
    /// from elsewhere, the new one has to be given.
    ///
    /// # Errors
    /// [`Error::State`] when the new one is no key, or the state cannot be written.
    pub async fn rotate_key(&self, new: Option<SecretString>) -> Result<String, Error> {
        match self.embedded().await? {
            Some(store) => Ok(store.rotate_key(new).await?),
            None => Err(purlin_state::Error::Closed.into()),
        }
    }

    /// Looks whether the embedded state is whole, which writes nothing; with `repair` puts right what is
    /// wrong. Blocks.
    ///
    /// # Errors
    /// [`Error::State`] when somebody has it open, or it cannot be read at all.
    pub fn verify_state(&self, repair: bool) -> Result<Report, Error> {
        let options = self.open_options();
        Ok(match repair {
            true => EmbeddedStore::repair(&self.state_folder, &options)?,
            false => EmbeddedStore::verify(&self.state_folder, &options)?,
        })
    }
}
