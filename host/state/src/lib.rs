//! The record of what exists (SPEC §10): the store's trait, the embedded store, the locks and the
//! encryption of secrets.
//!
//! Data comes in as [`Change`]s and leaves as a [`Snapshot`]. Between the two, `encode` and `codec`
//! turn a change into entries, bytes under a key of `keyspace`; `keys` seals what is secret in them;
//! `table` holds all entries of an environment in order, and is what is read; `disk` makes them last, in a
//! journal for each environment. The store in memory is all of that but `disk`, and `postgres` keeps the same
//! entries in a database. This crate must not know plans, graphs or drivers; it prints nothing, reads neither
//! environment nor home folder, and starts no runtime: blocking work runs on threads of its own, and connections
//! to a database live in the runtime of the caller.

mod change;
mod check;
mod codec;
mod deployment;
mod disk;
mod embedded;
mod encode;
mod environment;
mod error;
mod export;
mod intent;
mod keys;
mod keyspace;
mod listing;
mod memory;
mod packed;
mod pool;
mod postgres;
mod probe;
mod record;
mod snapshot;
mod store;
mod table;
mod vacancy;

pub use change::{Change, Doubt, Known, Revision, Snapshot, Unmet};
pub use check::Report;
pub use codec::{decode_changes, encode_changes};
pub use deployment::{Deployment, Outcome};
pub use embedded::{EmbeddedStore, OpenOptions};
pub use environment::Environment;
pub use error::Error;
pub use export::{Export, ImportOptions};
pub use intent::{Intent, Operation};
pub use keys::KeyProvider;
pub use listing::{Listed, Listing};
pub use memory::MemoryStore;
pub use pool::Pool;
pub use postgres::{Address, DatabaseReport, PostgresOptions, PostgresStore};
pub use probe::Probe;
pub use record::{DriverVersion, Record, RecordId, Status};
pub use store::{Claim, Due, Durable, Held, Holder, Lock, Round, Store, Writer};
pub use vacancy::{Reserved, Vacancy};
