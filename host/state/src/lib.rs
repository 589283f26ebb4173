//! The record of what exists (SPEC §10): the store's trait, the embedded store on sled, the locks
//! and the encryption of secrets.
//!
//! Data comes in as [`Change`]s of whole [`Record`]s and leaves as records. Between the two lie
//! three rooms: `codec` turns a record into bytes, `keys` seals what is secret in it, `disk` keeps
//! bytes safe. This crate must not know plans, graphs or drivers; it prints nothing, reads neither
//! environment nor home folder, and starts no runtime: what blocks runs on threads of its own.

mod environment;
mod error;
mod record;
mod sled_store;
mod store;

pub use environment::Environment;
pub use error::Error;
pub use record::{Change, DriverVersion, Record, Status};
pub use sled_store::{KeyProvider, OpenOptions, SledStore};
pub use store::{Holder, Lock, Store};
