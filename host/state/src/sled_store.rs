//! The embedded store: a folder, no server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::{Change, Environment, Error, Holder, Lock, Record, Store};

/// Where the key comes from that secrets are encrypted with.
#[derive(Clone, Debug)]
pub enum KeyProvider {
    /// A file with an age identity, which must be there.
    File(PathBuf),
    /// An age identity itself, from an environment variable or a command that the caller ran.
    Value(SecretString),
    /// A file that is made when the first secret is recorded.
    Generate(PathBuf),
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Where the key comes from.
    pub key: KeyProvider,
    /// What others are told while the store is open.
    pub holder: Holder,
    /// How long to wait for another process to be done; none at all with zero.
    pub wait: Duration,
}

/// The store in a folder.
pub struct SledStore {}

impl SledStore {
    /// Opens the store in a folder, which is made where it is not there. Blocks for some
    /// milliseconds, and for up to [`OpenOptions::wait`] while another process has it.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process has it open; others when it cannot be read.
    pub fn open(folder: &Path, options: OpenOptions) -> Result<Self, Error> {
        let _ = (folder, options);
        Err(Error::Closed)
    }

    /// Where a key was made since the store was opened, so that the caller can say so once, with
    /// a word on backing it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        None
    }
}

#[async_trait]
impl Store for SledStore {
    async fn load(&self, _: &Environment) -> Result<Vec<Record>, Error> {
        Err(Error::Closed)
    }
    async fn environments(&self) -> Result<Vec<Environment>, Error> {
        Err(Error::Closed)
    }
    async fn commit(&self, _: Vec<Change>) -> Result<(), Error> {
        Err(Error::Closed)
    }
    async fn lock(&self, _: &Environment, _: Holder) -> Result<Lock, Error> {
        Err(Error::Closed)
    }
    async fn close(&self) -> Result<(), Error> {
        Err(Error::Closed)
    }
}
