//! Bytes that stay: the folder and its lock, sled, the writer. Knows records as bytes under a URN.
//!
//! ```text
//! <folder>/format        the format of all this, as text
//! <folder>/lock          locked by the process that has the store open
//! <folder>/holder.json   who that is
//! <folder>/key           the key of secrets, unless it comes from elsewhere
//! <folder>/sled/         the records
//! <folder>/stale/        what a crash left behind, moved out of the way
//! ```

mod cut;
pub(crate) mod files;
mod folder;
mod guard;
mod index;
mod writer;

pub(crate) use folder::Folder;
pub(crate) use index::Index;
pub(crate) use writer::{Job, Writer};
