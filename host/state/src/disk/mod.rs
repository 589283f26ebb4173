//! Durable storage. Knows entries as bytes under keys, but not their meaning.
//!
//! ```text
//! <folder>/format                the format of all this, as text
//! <folder>/data-key              the data key, sealed for the key
//! <folder>/key                   the key, unless it comes from elsewhere
//! <folder>/lock                  shared by all writers, exclusive for changes to the whole store
//! <folder>/environments/<name>/  an environment:
//!     environment.json             the name of the environment
//!     lock, holder.json            locked by the writing process, with its name
//!     journal/                     all changes, in order: see `journal`
//!     head                         the last position of the journal: a shorter journal has lost its end
//!     stale/                       damaged files, moved out of the way
//! <folder>/vacancies/            a file for each, locked by the process that fills it, with its name
//! <folder>/index/                sled: a summary of each environment, for queries over all of them
//! <folder>/stale/                damaged files, moved out of the way
//! ```
//!
//! A commit is durable, and reported as such, once its batch is synced to the journal of its
//! environment. Readers take no lock: they read a journal up to its last complete batch. The index
//! can be rebuilt from the journals at any time.

mod environment_folder;
pub(crate) mod files;
mod guard;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod journal;
mod queue;
mod root;
mod shared;
mod vacancies;
mod writer;

pub(crate) use environment_folder::{Claimed, EnvironmentFolder, LockFile};
pub(crate) use root::{FolderFormat, Root};
pub(crate) use shared::Shared;
pub(crate) use vacancies::Filling;
pub(crate) use writer::{Writer, Writing};
