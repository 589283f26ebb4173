//! The record of what exists (SPEC §10): the store's trait, the embedded store on sled, the locks
//! and the encryption of secrets.
//!
//! Data comes in as [`Change`]s of whole [`Record`]s and leaves as records. Between the two lie
//! three rooms: `codec` turns a record into bytes, `keys` seals what is secret in it, `disk` keeps
//! bytes safe. This crate must not know plans, graphs or drivers; it prints nothing, reads neither
//! environment nor home folder, and starts no runtime: what blocks runs on threads of its own.

mod codec;
mod disk;
mod environment;
mod error;
mod keys;
mod locks;
mod memory;
mod record;
mod sled_store;
mod snapshot;
mod store;

pub use environment::Environment;
pub use error::Error;
pub use keys::KeyProvider;
pub use memory::MemoryStore;
pub use record::{Change, DriverVersion, Record, Status};
pub use sled_store::{OpenOptions, SledStore};
pub use store::{Holder, Lock, Store};

/// Turns changes into writes of finished bytes. Says which key something was sealed with.
fn encode(changes: Vec<Change>, keys: &keys::Keyring) -> Result<(Vec<disk::Write>, Option<String>), Error> {
    let mut sealed_for = None;
    let mut writes = Vec::with_capacity(changes.len());
    for change in changes {
        writes.push(match change {
            Change::Put(record) => {
                let encoded = codec::encode(&record, keys)?;
                sealed_for = sealed_for.or(encoded.key.map(|key| key.name.clone()));
                disk::Write::Put { urn: record.urn.clone(), bytes: encoded.bytes }
            }
            Change::Remove(urn) => disk::Write::Remove { urn },
        });
    }
    Ok((writes, sealed_for))
}
