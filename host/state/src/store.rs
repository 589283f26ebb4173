//! The operations of every store of records.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::future::BoxFuture;
use purlin_model::Urn;
use purlin_model::driver::{Cookie, StoredCookie};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    AuditTrail, Change, Deployment, Environment, EnvironmentSummary, Error, Export, ImportOptions, Listing,
    Record, RecordId, Reserved, Snapshot, Vacancy,
};

/// Resolves once the submitted changes survive a crash of the program and of the machine.
pub type Durable = BoxFuture<'static, Result<(), Error>>;

/// A store of records (SPEC §10). Reading needs no lock: it returns a consistent state even while
/// another process writes. Only the holder of an environment's [`Lock`] can write to it.
#[async_trait]
pub trait Store: Send + Sync {
    /// Everything that is recorded in an environment.
    ///
    /// # Errors
    /// If any record cannot be read: the error names it. The other records must not be used alone.
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error>;

    /// The current record of one resource, if there is one. Reads no other record.
    ///
    /// # Errors
    /// If the record cannot be read.
    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(None) };
        let id = RecordId::current(urn.clone());
        Ok(self.load(&environment).await?.records.into_iter().find(|record| record.id() == id))
    }

    /// Up to `most` environments that have records or a history, sorted by URN prefix, starting
    /// after `after`. A result with fewer than `most` contains the last one.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn environments(
        &self,
        after: Option<&Environment>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error>;

    /// The installations and uses of all environments that have any, sorted by URN prefix.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn listings(&self) -> Result<Vec<Listing>, Error>;

    /// The deployments of an environment, the oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error>;

    /// The latest deployment of an environment that was made from documents.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        let history = self.history(environment).await?;
        Ok(history.into_iter().rev().find(|deployment| deployment.documents.is_some()))
    }

    /// The audit of an environment.
    ///
    /// # Errors
    /// If the store cannot be read. A broken chain is no error but part of the result.
    async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error>;

    /// The documents with this digest from which an environment was deployed; `None` if they are no
    /// longer kept.
    ///
    /// # Errors
    /// If the store cannot be read, or the documents do not match the digest.
    async fn documents(&self, environment: &Environment, digest: &[u8; 32])
    -> Result<Option<Vec<u8>>, Error>;

    /// A cookie that a record of an environment says is stored apart; `None` if it is missing.
    ///
    /// # Errors
    /// If the store cannot be read, or the cookie is not the one that was stored.
    async fn cookie(&self, environment: &Environment, stored: &StoredCookie)
    -> Result<Option<Cookie>, Error>;

    /// Begins a round over all environments, for [`Store::take_turns`]. `None` if the store does
    /// not keep turns, because a single process works on it and keeps them itself.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn begin_round(&self) -> Result<Option<Round>, Error> {
        Ok(None)
    }

    /// Takes the turns of up to `most` environments, of all or `only` of these: first the requested ones, then those that have
    /// waited longest. In a round, these are environments whose turn no host took since the round
    /// began; otherwise, environments whose next turn has come. No other host gets these turns
    /// until [`Store::next_turn`] schedules the next one, or until they are `within` old. `None` as
    /// for [`Store::begin_round`].
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn take_turns(
        &self,
        _round: Option<&Round>,
        _only: Option<&[Environment]>,
        _most: usize,
        _within: Duration,
    ) -> Result<Option<Vec<Due>>, Error> {
        Ok(None)
    }

    /// All turns that were taken in a round, including those that the host does not know of because the
    /// response of the store was lost.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn turns_of(&self, _round: &Round) -> Result<Vec<Environment>, Error> {
        Ok(Vec::new())
    }

    /// Requests the next turns of environments, which come before all others, and whether they read every
    /// resource ([`Due::is_requested`]). Returns whether the store keeps turns.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn request_turns(&self, _environments: &[Environment], _reads: bool) -> Result<bool, Error> {
        Ok(false)
    }

    /// Schedules the next turn of an environment after this time, by the clock of the store.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn next_turn(&self, _environment: &Environment, _after: Duration) -> Result<(), Error> {
        Ok(())
    }

    /// Seals bytes that are kept elsewhere, such as a saved plan, with the store's key.
    ///
    /// # Errors
    /// If there is no key, or it cannot be recorded.
    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error>;

    /// Opens bytes that [`Store::seal`] of this store sealed with its current key.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they were sealed with another key, or changed.
    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error>;

    /// A copy of everything that is recorded in an environment, including its history, encrypted
    /// for `recipient` (`age1…`), or else for the key of the store.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`] if the recipient is not a public key; [`Error::Unsupported`] if the
    /// store has no exports; otherwise as for [`Store::load`].
    async fn export(&self, _environment: &Environment, _recipient: Option<&str>) -> Result<Export, Error> {
        Err(Error::Unsupported)
    }

    /// Records the content of an export and these further changes, all of it or nothing. Takes the lock of its
    /// environment. Its audit goes on: that of the export is only taken if there is none yet.
    ///
    /// # Errors
    /// [`Error::Exists`] if the environment has records that must not be replaced;
    /// [`Error::WrongKey`] if the export is encrypted for another key; [`Error::Locked`];
    /// [`Error::Unsupported`]; and if the store cannot be written.
    async fn import(
        &self,
        _export: Export,
        _holder: Holder,
        _options: ImportOptions,
        _also: Vec<Change>,
    ) -> Result<(), Error> {
        Err(Error::Unsupported)
    }

    /// The current holder of an environment's lock.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn holder(&self, _environment: &Environment) -> Result<Option<HeldLock>, Error> {
        Ok(None)
    }

    /// Takes the lock of an environment, which allows one deployment at a time.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has it, with its holder.
    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error>;

    /// Reserves a vacancy for the process that fills it, or fails at once. Independent of the locks
    /// of environments: a process may hold both.
    ///
    /// # Errors
    /// [`Error::Reserved`] if another process has it, with its holder.
    async fn reserve(&self, vacancy: &Vacancy, holder: Holder) -> Result<Reserved, Error>;

    /// Closes the store. Later calls return [`Error::Closed`]. Existing locks and vacancies stay
    /// valid until they are released.
    ///
    /// # Errors
    /// If the disk fails.
    async fn close(&self) -> Result<(), Error>;
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The holder.
    pub holder: Holder,
    /// How long the lock remains valid without renewal; `None` if it ends with the holder's
    /// process.
    pub lease: Option<Duration>,
}

/// An environment whose turn was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The environment.
    pub environment: Environment,
    /// Whether the turn was requested, to read every resource.
    pub is_requested: bool,
}

/// A round of one host over all environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// When it began, by the clock of the store.
    pub(crate) began: String,
    /// Identifies the turns that were taken for it.
    pub(crate) token: Vec<u8>,
}

/// Receives the changes of one environment, as long as its lock is held.
#[async_trait]
pub trait Writer: Send + Sync {
    /// Takes changes, all of them or none; later changes of one record override earlier ones.
    /// Changes are recorded in the order of the calls, so once a submission is durable, all earlier
    /// ones are too. Submissions are written whether or not they are awaited.
    ///
    /// Submissions are made durable together once one of their futures is polled, or after a
    /// millisecond. To let the result of one call and the intent of the next share the cost, submit
    /// both before awaiting either.
    ///
    /// # Errors
    /// If a record cannot be encoded or sealed, lies in another environment, or the lock is lost
    /// ([`Error::Lost`]); nothing was taken then. The future fails if the disk fails: with
    /// [`Error::Refused`], nothing of the submission was recorded, and a later one may succeed;
    /// with [`Error::Write`], it is unknown what was recorded, and no more submissions are taken.
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error>;

    /// Resolves when the lock is lost, so that running calls can be aborted, with the error that
    /// submissions get from then on. Never resolves if a lock ends only with its process.
    async fn lost(&self) -> Error {
        std::future::pending().await
    }

    /// Whether another holder may have the lock now, or the state is gone: submissions then fail, and
    /// no call may begin. A process that was suspended knows this before [`Writer::lost`] resolves.
    fn is_lost(&self) -> bool {
        false
    }

    /// The store's own clock, in milliseconds since 1970. All hosts that share a store record its
    /// times, since their own clocks disagree. `None` if the store has no clock: then one host writes.
    fn now(&self) -> Option<u64> {
        None
    }

    /// Notes that the host ended a call whose request may still be under way. The next holder then
    /// waits for it ([`Claim::lapsed`]), although the lock is released.
    fn cut_off(&self) {}

    /// Submits changes and waits until they are durable.
    ///
    /// # Errors
    /// As for [`Writer::submit`].
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.submit(changes)?.await
    }
}

/// The claim that a store gives to the holder of a lock. Implementations of stores implement it;
/// all other code uses [`Lock`].
#[async_trait]
pub trait Claim: Writer {
    /// Increases with each lock of the same environment. Every write carries it, so that a store
    /// rejects the writes of a holder that was replaced.
    fn fence(&self) -> u64;

    /// The time since a previous holder left calls that may still be under way: since its lease
    /// expired, as it was cut off from the store or suspended, or since it released the lock after it had
    /// ended calls itself ([`Writer::cut_off`]). `None` if there was none, and if a lock ends with its
    /// process.
    fn lapsed(&self) -> Option<Duration> {
        None
    }

    /// Writes the waiting submissions and releases the lock. Later calls do nothing.
    ///
    /// # Errors
    /// If the disk fails.
    async fn release(&self) -> Result<(), Error>;

    /// Like `release` for callers that cannot wait: releases the lock as soon as the waiting
    /// submissions are written.
    fn abandon(&self);
}

/// The lock of an environment, held until it is released or dropped, or the process ends.
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    environment: Environment,
    claim: Arc<dyn Claim>,
}

impl Lock {
    /// Creates a lock. For implementations of stores.
    pub fn new(environment: Environment, claim: Arc<dyn Claim>) -> Self {
        Self { environment, claim }
    }

    /// The locked environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The receiver of changes. It rejects changes once the lock is released or lost.
    pub fn writer(&self) -> Arc<dyn Writer> {
        Arc::clone(&self.claim) as Arc<dyn Writer>
    }

    /// As [`Claim::fence`].
    pub fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// As [`Claim::lapsed`].
    pub fn lapsed(&self) -> Option<Duration> {
        self.claim.lapsed()
    }

    /// As [`Writer::is_lost`].
    pub fn is_lost(&self) -> bool {
        self.claim.is_lost()
    }

    /// Writes the waiting submissions and releases the lock.
    ///
    /// # Errors
    /// If the disk fails. It is then unknown whether the last changes are recorded.
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
/// The holder of a lock, as others see it. The caller fills it in, since this crate reads neither
/// the environment nor the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The user.
    pub user: String,
    /// The machine.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The activity, such as `purlin up`.
    pub command: String,
    /// When it began, in milliseconds since 1970.
    pub since: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, pid, command, since } = self;
        let since = purlin_model::moment(*since);
        write!(f, "{user} on {host} (`{command}`, process {pid}) since {since}")
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
