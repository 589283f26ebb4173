//! Whether a resource changes, and what that means for it. A plan decides this for everything that
//! is known, and a run for the rest, by the same rules.

pub(crate) mod answers;
pub(crate) mod ask;
pub(crate) mod data_loss;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod fate;
pub(crate) mod ignore;
pub(crate) mod parts;
