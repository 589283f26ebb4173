//! What a store of records can do, whatever lies underneath.

use std::fmt;

use async_trait::async_trait;
use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{Change, Deployment, Environment, Error, Snapshot};

/// Resolves once what was submitted survives a crash of the program and of the machine.
pub type Durable = BoxFuture<'static, Result<(), Error>>;

/// A store of records (SPEC §10).
#[async_trait]
pub trait Store: Send + Sync {
    /// Everything that is recorded in an environment.
    ///
    /// # Errors
    /// When a record cannot be read whole: the error names it. Nobody should work from the rest.
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error>;

    /// The environments that have records or a history, sorted by URN prefix.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn environments(&self) -> Result<Vec<Environment>, Error>;

    /// The deployments of an environment, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error>;

    /// The latest deployment of an environment that was made from documents.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        let history = self.history(environment).await?;
        Ok(history.into_iter().rev().find(|deployment| deployment.documents.is_some()))
    }

    /// The documents with this digest; none where they are not kept any more.
    ///
    /// # Errors
    /// When the store cannot be read, or they do not have the digest.
    async fn documents(&self, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, Error>;

    /// Takes changes, all of them or none; later changes of one record win over earlier ones. They
    /// are in the order in which this is called: whoever waits for a later submission to be durable
    /// knows that the earlier ones are. What is submitted is written whether or not anybody waits.
    ///
    /// Submissions are made durable together once one of their futures is polled, or after a
    /// millisecond. So to let the result of one call and the intent of the next share the cost, submit
    /// both before waiting for either.
    ///
    /// # Errors
    /// When a record cannot be encoded or sealed, or the store is closed: nothing was taken. The
    /// future fails when the disk does: then it is unknown what was recorded, and the store takes no
    /// more.
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error>;

    /// Submits changes and waits until they are durable.
    ///
    /// # Errors
    /// As [`Store::submit`].
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.submit(changes)?.await
    }

    /// Seals bytes that are kept elsewhere, such as a saved plan, with the store's own key.
    ///
    /// # Errors
    /// When there is no key to be had, or it cannot be recorded.
    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error>;

    /// Opens what [`Store::seal`] of this store sealed, with the key that it has now.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it was sealed with another key, or was changed.
    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error>;

    /// Takes the lock of an environment: one deployment at a time. It is held until the [`Lock`]
    /// is dropped or the process is gone.
    ///
    /// # Errors
    /// [`Error::Locked`] when somebody has it, with who, since when and from where.
    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error>;

    /// Finishes what waits and lets go of the store. Later calls give [`Error::Closed`].
    ///
    /// # Errors
    /// When the disk fails.
    async fn close(&self) -> Result<(), Error>;
}

/// Who holds something, as others are told. The caller fills it in: this crate asks neither the
/// environment nor the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// User.
    pub user: String,
    /// Machine.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// What it does, such as `purlin up`.
    pub command: String,
    /// Since when, milliseconds since 1970.
    pub since: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, pid, command, since } = self;
        write!(f, "{user} on {host} (`{command}`, process {pid}) since ")?;
        let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(*since) * 1_000_000)
            .ok()
            .and_then(|time| {
                let time = time.replace_nanosecond(0).ok()?;
                time.format(&time::format_description::well_known::Rfc3339).ok()
            });
        match time {
            Some(time) => f.write_str(&time),
            None => write!(f, "{since} ms after 1970"),
        }
    }
}

/// The lock of an environment, held until this is dropped.
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    environment: Environment,
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Lock {
    /// A lock that is given up by `release`. For those who write a store.
    pub fn new(environment: Environment, release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { environment, release: Some(Box::new(release)) }
    }

    /// What is locked.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("environment", &self.environment).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_reads_like_a_sentence() {
        let holder = Holder {
            user: "ada".into(),
            host: "build-7".into(),
            pid: 4711,
            command: "purlin up".into(),
            since: 1_790_000_000_123,
        };
        assert_eq!(
            holder.to_string(),
            "ada on build-7 (`purlin up`, process 4711) since 2026-09-21T14:13:20Z"
        );
    }
}
