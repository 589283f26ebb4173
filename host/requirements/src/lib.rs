//! Resolves all requirements of a bundle, recursively (SPEC §6 [P]): the bundle for each
//! requirement and why, which requirements are the same, how values pass between them, and which
//! values are missing.
//!
//! [`resolve`] is pure except for its [`Catalog`]: it creates nothing, and finds every fault that
//! shows before anything runs.

mod answers;
mod bindings;
mod candidates;
mod catalog;
mod compile;
mod existing;
mod identity;
mod interface;
mod known;
mod names;
mod resolution;
mod resolve;
mod reuse;
mod selection;

pub use candidates::{Rejection, Why, choose};
pub use catalog::{Catalog, CatalogError, Folders};
pub use compile::{compile, requirers, unmapped_faults};
pub use existing::suits;
pub use known::Surroundings;
pub use resolution::{Installation, LookedFor, Offer, PassedValue, Requirer, Resolution, Root, Unmapped};
pub use resolve::{resolve, resolve_requirements};
pub use reuse::LIST_OF_INSTALLATIONS;
