//! Bytes that stay. Knows entries, as bytes under keys, and not what they mean.
//!
//! ```text
//! <folder>/format        the format of all this, as text
//! <folder>/lock          locked by the process that has the store open
//! <folder>/holder.json   who that is
//! <folder>/key           the key of secrets, unless it comes from elsewhere
//! <folder>/journal/      everything, in the order in which it was written: see `journal`
//! <folder>/sled/         the index: the same by key, some steps behind
//! <folder>/stale/        what was broken, moved out of the way
//! ```
//!
//! A commit is durable, and its owner is told so, when its batch is synced to the journal. From
//! there it goes into the table in memory, which is what is read, and at leisure into the index.
//! The journal can be made again from the index, and the index from the journal; so one of them
//! may be lost. A store is opened by reading its journal; sled is opened once something is written,
//! on a thread that nobody waits for before the store is closed.

mod cut;
pub(crate) mod files;
mod folder;
mod follower;
mod guard;
mod index;
mod journal;
mod open;
mod queue;
mod repair;
mod shared;
mod writer;

pub(crate) use folder::Folder;
pub(crate) use follower::Note;
pub(crate) use open::Opened;
pub(crate) use queue::{Alone, Submitted};
pub(crate) use repair::{Repaired, repair, verify};
pub(crate) use shared::Shared;
pub(crate) use writer::{Writer, Writing};
