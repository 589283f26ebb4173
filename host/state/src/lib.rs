//! The records of what exists (SPEC §10): the trait of stores, the embedded store, the store in
//! PostgreSQL, locks, and the encryption of secrets.
//!
//! Data enters as [`Change`]s and leaves as a [`Snapshot`]. In between, `encode` and `codec` turn a
//! change into entries, which are bytes in an `envelope` under a key of `keyspace`; `keys` seals the
//! secrets in them; `table` holds all entries of an environment in order, and serves reads; `disk`
//! makes them durable, in a journal for each environment. The store in memory is all of that without
//! `disk`, and `postgres` keeps the same entries in a database. This crate must not know plans,
//! graphs or drivers. It prints nothing, reads neither the environment nor the home folder, and
//! starts no runtime: blocking work runs on separate threads, and connections to a database live in
//! the caller's runtime.

mod audit;
mod change;
mod check;
mod clock_skew;
#[cfg_attr(
    not(feature = "postgres"),
    allow(dead_code, reason = "only the store in PostgreSQL uses all of it")
)]
mod codec;
mod deployment;
mod disk;
mod embedded;
mod encode;
mod envelope;
mod environment;
mod error;
mod export;
mod intent;
#[cfg_attr(
    not(feature = "postgres"),
    allow(dead_code, reason = "only the store in PostgreSQL uses all of it")
)]
mod keys;
mod keyspace;
mod listing;
mod memory;
mod packed;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod probe;
mod record;
mod rollout;
mod snapshot;
mod store;
mod table;
mod vacancy;
mod wire;

pub use audit::{AuditAction, AuditEntry, AuditFault, AuditTrail, DatabaseUser};
pub use change::{Change, EnvironmentSummary, ObstacleRecord, Revision, Snapshot, Staleness, Vanished};
pub use check::RepairReport;
pub use clock_skew::{time_to_outlast, usable_lease};
pub use codec::{decode_changes, encode_changes};
pub use deployment::{Deployment, Outcome, RejectedDocuments};
pub use embedded::{EmbeddedStore, OpenOptions};
pub use environment::Environment;
pub use error::{Error, LoginFault, Outage};
pub use export::{Export, ImportOptions};
pub use intent::{Intent, Operation};
pub use keys::{AskedKey, KeyProvider};
pub use listing::{Listed, Listing};
pub use memory::MemoryStore;
pub use pool::Pool;
#[cfg(feature = "postgres")]
pub use postgres::{
    Address, ClientCertificate, CredentialSource, Credentials, DatabaseReport, PostgresOptions,
    PostgresStore, Releases,
};
pub use probe::Probe;
pub use record::{DriverVersion, Record, RecordId, Status};
pub use rollout::{MarkState, MayLose, Rollout, RolloutMark, RolloutStatus};
pub use store::{Claim, Due, Durable, HeldLock, Holder, Lock, Round, Store, Writer};
pub use vacancy::{Reserved, Vacancy};
