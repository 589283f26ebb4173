//! Bytes that stay. Knows entries, as bytes under keys, and not what they mean.
//!
//! ```text
//! <folder>/format                the format of all this, as text
//! <folder>/data-key              what seals, sealed for the key
//! <folder>/key                   the key, unless it comes from elsewhere
//! <folder>/lock                  shared by all who write, and held alone to change everything
//! <folder>/environments/<name>/  an environment:
//!     environment.json             which
//!     lock, holder.json            locked by the process that writes; who that is
//!     journal/                     everything, in the order in which it was written: see `journal`
//!     head                         up to where the journal went: whoever reads less has lost its end
//!     stale/                       what was broken, moved out of the way
//! <folder>/vacancies/            each a file, locked by the process that fills it; who that is
//! <folder>/index/                sled: a summary of each environment, for questions about all of them
//! <folder>/stale/                what an earlier format left
//! ```
//!
//! A commit is durable, and its owner is told so, when its batch is synced to the journal of its
//! environment. Readers take no lock: they read a journal up to its last whole batch. The index can be
//! made again from the journals at any time.

pub(crate) mod files;
mod guard;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod journal;
pub(crate) mod legacy;
mod place;
mod queue;
mod root;
mod shared;
mod vacancies;
mod writer;

pub(crate) use place::{Claimed, LockFile, Place};
pub(crate) use root::{FORMAT, Found, Root};
pub(crate) use shared::Shared;
pub(crate) use vacancies::Filling;
pub(crate) use writer::{Writer, Writing};
