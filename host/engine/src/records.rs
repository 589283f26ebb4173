//! What the state says: the records, the calls that are open, and the changes that people make to
//! records. Plans and runs are built on it; it must not know either.

pub(crate) mod cycles;
pub(crate) mod edits;
pub(crate) mod making;
pub(crate) mod moves;
pub(crate) mod recorded;
pub(crate) mod recorded_status;
pub(crate) mod renames;
pub(crate) mod visibility;
