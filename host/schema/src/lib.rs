//! JSON Schemas (2020-12), and checks of values against them (SPEC §2, §8).
//!
//! Values are those of [`purlin_model::Value`]: an unknown value is neither right nor wrong, and a
//! secret is not repeated. A schema may be untrusted, so everything is bounded: nothing is fetched,
//! patterns have no backtracking, and a check that takes too many steps ends with an error. This
//! crate knows no documents, nor where anything was written, and of drivers only the keywords of their
//! schemas.

mod bounds;
mod branches;
mod compile;
mod defaults;
mod fault;
mod format;
mod meta;
mod place;
mod seal;
mod subset;
mod validate;
mod words;

pub use compile::{Schema, Unusable};
pub use fault::{Fault, Violation};
pub use meta::{Describes, is_unknown_keyword, unusable_schemas};
pub use subset::is_subset;
pub use validate::TooComplex;
pub use words::{FaultText, Subject, say};
