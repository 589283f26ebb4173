//! JSON Schemas (2020-12), and values held against them (SPEC §2, §8).
//!
//! Values are those of [`purlin_model::Value`]: what is not known yet is neither right nor wrong,
//! and what is secret is not repeated. A schema may come from a stranger, so every question has a
//! bound: nothing is fetched, patterns have no backtracking, and a check that takes too many steps
//! ends with an error. Knows neither documents nor drivers, and where nothing was written.

mod bounds;
mod branches;
mod compile;
mod defaults;
mod fault;
mod format;
mod hold;
pub mod keywords;
mod seal;
mod words;

pub use compile::{Schema, Unusable};
pub use fault::{Fault, Misfit};
pub use hold::TooComplex;
pub use words::{Said, Subject, say};
