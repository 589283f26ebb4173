//! What a store of records can do, whatever lies underneath.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::future::BoxFuture;
use purlin_model::Urn;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    Change, Deployment, Environment, Error, Export, ImportOptions, Known, Listing, Record, RecordId,
    Reserved, Snapshot, Vacancy,
};

/// Resolves once what was submitted survives a crash of the program and of the machine.
pub type Durable = BoxFuture<'static, Result<(), Error>>;

/// A store of records (SPEC §10). Reading needs no lock: it shows what was recorded at one moment,
/// also while another process writes. Only the holder of an environment's [`Lock`] writes to it.
#[async_trait]
pub trait Store: Send + Sync {
    /// Everything that is recorded in an environment.
    ///
    /// # Errors
    /// When a record cannot be read whole: the error names it. Nobody should work from the rest.
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error>;

    /// The current record of one resource, where there is one. No other record is
    /// read.
    ///
    /// # Errors
    /// When it cannot be read whole.
    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(None) };
        let id = RecordId::current(urn.clone());
        Ok(self.load(&environment).await?.records.into_iter().find(|record| record.id() == id))
    }

    /// Up to `most` environments that have records or a history, sorted by URN prefix: those behind
    /// `after`, or the first ones. Fewer than `most` are the last.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn environments(&self, after: Option<&Environment>, most: usize) -> Result<Vec<Known>, Error>;

    /// The installations of all environments and who uses them, without the environments that have to do with none.
    /// Sorted by URN prefix.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn listings(&self) -> Result<Vec<Listing>, Error>;

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

    /// The documents with this digest that an environment was deployed from; none where they are not
    /// kept any more.
    ///
    /// # Errors
    /// When the store cannot be read, or they do not have the digest.
    async fn documents(&self, environment: &Environment, digest: &[u8; 32])
    -> Result<Option<Vec<u8>>, Error>;

    /// Begins a round over all environments, for [`Store::take_turns`]. None where one process keeps the turns of
    /// all environments itself, as nobody else works on the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn begin_round(&self) -> Result<Option<Round>, Error> {
        Ok(None)
    }

    /// Takes the turns of up to `most` environments, first those that somebody requested, then those that wait for
    /// longest: in a round, of those whose
    /// turn nobody took since the round began; else of those whose next turn has come. Nobody else gets these turns
    /// before [`Store::next_turn`] says when the next one is, or until they are `within` old. None as for
    /// [`Store::begin_round`].
    ///
    /// # Errors
    /// When the store cannot be written.
    async fn take_turns(
        &self,
        _round: Option<&Round>,
        _most: usize,
        _within: Duration,
    ) -> Result<Option<Vec<Due>>, Error> {
        Ok(None)
    }

    /// Requests the next turn of an environment: it comes before all others. Says whether the store keeps turns.
    ///
    /// # Errors
    /// When the store cannot be written.
    async fn request_turn(&self, _environment: &Environment) -> Result<bool, Error> {
        Ok(false)
    }

    /// Says in how long the next turn of an environment is, by the clock of the store.
    ///
    /// # Errors
    /// When the store cannot be written.
    async fn next_turn(&self, _environment: &Environment, _after: Duration) -> Result<(), Error> {
        Ok(())
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

    /// A copy of all that is recorded in an environment, its history included, encrypted for `recipient` (`age1…`),
    /// else for the key of the store.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`] when the recipient is not a public key, [`Error::Unsupported`] when the store has no
    /// exports, and as [`Store::load`].
    async fn export(&self, _environment: &Environment, _recipient: Option<&str>) -> Result<Export, Error> {
        Err(Error::Unsupported)
    }

    /// Records the content of an export, all of it or nothing. Takes the lock of its environment.
    ///
    /// # Errors
    /// [`Error::Exists`] when something is recorded there and is not to be replaced, [`Error::WrongKey`] when the
    /// export is encrypted for another key, [`Error::Locked`], [`Error::Unsupported`], and when the store cannot be
    /// written.
    async fn import(&self, _export: Export, _holder: Holder, _options: ImportOptions) -> Result<(), Error> {
        Err(Error::Unsupported)
    }

    /// Who has the lock of an environment now.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn holder(&self, _environment: &Environment) -> Result<Option<Held>, Error> {
        Ok(None)
    }

    /// Takes the lock of an environment: one deployment at a time.
    ///
    /// # Errors
    /// [`Error::Locked`] when somebody has it, with who, since when and from where.
    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error>;

    /// Reserves what nobody has installed yet for one who installs it, at once or not at all. That is apart from the
    /// locks of environments: a holder may have both.
    ///
    /// # Errors
    /// [`Error::Reserved`] when somebody has it, with who, since when and from where.
    async fn reserve(&self, vacancy: &Vacancy, holder: Holder) -> Result<Reserved, Error>;

    /// Lets go of the store. Later calls give [`Error::Closed`]. Locks and vacancies that are held
    /// stay valid until they are released.
    ///
    /// # Errors
    /// When the disk fails.
    async fn close(&self) -> Result<(), Error>;
}

/// A lock that somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Who.
    pub holder: Holder,
    /// How long the lock stays theirs without being renewed; `None` where it ends with their process.
    pub lease: Option<Duration>,
}

/// An environment whose turn was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which.
    pub environment: Environment,
    /// Whether somebody requested the turn.
    pub is_requested: bool,
}

/// When a round over all environments began, by the clock of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round(pub(crate) String);

/// Where changes of one environment go, as long as its lock is held.
#[async_trait]
pub trait Writer: Send + Sync {
    /// Takes changes, all of them or none; later changes of one record win over earlier ones. They
    /// are in the order in which this is called: whoever waits for a later submission to be durable
    /// knows that the earlier ones are. What is submitted is written whether or not anybody waits.
    ///
    /// Submissions are made durable together once one of their futures is polled, or after a
    /// millisecond. So to let the result of one call and the intent of the next share the cost, submit
    /// both before waiting for either.
    ///
    /// # Errors
    /// When a record cannot be encoded or sealed, lies in another environment, or the lock is lost
    /// ([`Error::Lost`]): nothing was taken. The future fails when the disk does. With [`Error::Refused`]
    /// nothing of it was recorded, and a later submission may succeed; with [`Error::Write`] it is unknown
    /// what was recorded, and nothing more is taken.
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error>;

    /// Resolves when the lock is lost, so that calls under way can be cut off. Never, where a lock ends only with
    /// its process.
    async fn lost(&self) {
        std::future::pending().await
    }

    /// Submits changes and waits until they are durable.
    ///
    /// # Errors
    /// As [`Writer::submit`].
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.submit(changes)?.await
    }
}

/// What a store gives to the holder of a lock. Those who write a store implement it; everybody else
/// uses [`Lock`].
#[async_trait]
pub trait Claim: Writer {
    /// Grows with each lock of the same environment. What is written carries it, so that nothing is taken
    /// from a holder that others have replaced.
    fn fence(&self) -> u64;

    /// Whether the holder before did not give the lock up, and may still be at work: cut off from the store, or
    /// suspended. Never, where a lock ends with its process.
    fn has_lapsed(&self) -> bool {
        false
    }

    /// Whether somebody else may have the lock now, or the state is gone. What is submitted then is
    /// refused.
    fn is_lost(&self) -> bool;

    /// Writes what waits and gives the lock up. Later calls do nothing.
    ///
    /// # Errors
    /// When the disk fails.
    async fn release(&self) -> Result<(), Error>;

    /// The same for who cannot wait: gives the lock up as soon as what waits is written.
    fn abandon(&self);
}

/// The lock of an environment, held until it is released or dropped, or the process is gone.
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    environment: Environment,
    claim: Arc<dyn Claim>,
}

impl Lock {
    /// The lock that a store gives. For those who write a store.
    pub fn new(environment: Environment, claim: Arc<dyn Claim>) -> Self {
        Self { environment, claim }
    }

    /// What is locked.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Where changes go. It takes nothing any more once the lock is released or lost.
    pub fn writer(&self) -> Arc<dyn Writer> {
        Arc::clone(&self.claim) as Arc<dyn Writer>
    }

    /// As [`Claim::fence`].
    pub fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// As [`Claim::has_lapsed`].
    pub fn has_lapsed(&self) -> bool {
        self.claim.has_lapsed()
    }

    /// As [`Claim::is_lost`].
    pub fn is_lost(&self) -> bool {
        self.claim.is_lost()
    }

    /// Writes what waits and gives the lock up.
    ///
    /// # Errors
    /// When the disk fails: then it is unknown whether the last changes are recorded.
    pub async fn release(self) -> Result<(), Error> {
        self.claim.release().await
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.claim.abandon();
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("environment", &self.environment)
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
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
