//! Checks of the rules that `rules.rs` lists, one file per topic.

pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod connection;
pub(crate) mod cut;
pub(crate) mod denied;
pub(crate) mod describe;
pub(crate) mod life;
pub(crate) mod lost;
pub(crate) mod name;
pub(crate) mod preview;
pub(crate) mod read;
