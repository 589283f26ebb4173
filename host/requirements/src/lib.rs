//! What a bundle requires, down to the last (SPEC §6 [P]): which bundle each requirement ends in and why, which
//! of them are one and the same, how values pass between them, and what nobody has said yet.
//!
//! [`resolve`] is pure but for its [`Catalog`]: it makes nothing, and finds every fault that can be known before
//! anything runs.

mod answers;
mod catalog;
mod choose;
mod compile;
mod existing;
mod fit;
mod names;
mod pick;
mod resolve;
mod same;
mod there;
mod wires;

pub use catalog::{Catalog, CatalogError, Folders};
pub use choose::{Lost, Why, choose};
pub use compile::{compile, requirers, unsaid};
pub use resolve::{
    Given, Installation, LookedFor, Offer, Requirer, Resolution, Root, Unmapped, resolve,
    resolve_requirements,
};
