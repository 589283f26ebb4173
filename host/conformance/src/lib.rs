//! Whether a driver keeps the contract of `wit/` (SPEC §8): it is called as the host would call it,
//! and as bad luck would, and what it does is held against [`RULES`].
//!
//! What is examined really runs: `create` makes things, which are deleted again whatever happens,
//! and [`Report::left`] names what could not be. This crate prints nothing and knows no workspace
//! and no file: whoever examines hands it the component, what it may do, and cases.

mod bench;
mod book;
mod examine;
mod held;
mod merge;
mod report;
mod rule;
mod rules;
mod schema;
mod shown;
mod trial;
mod watch;

pub use examine::{Examination, examine};
pub use report::{CasesFrom, Finding, Left, Outcome, Report, Status};
pub use rule::{RULES, Rule, rule, rules_page};

/// A driver cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no driver, or what is granted cannot be.
    #[error(transparent)]
    Load(#[from] purlin_sandbox::LoadError),
    /// There is nothing to try it with.
    #[error("no valid inputs can be made from its schema: {message}")]
    NoCases {
        /// Why.
        message: String,
        /// The beginning of a file of cases.
        example: String,
    },
    /// A case says something that the driver does not know.
    #[error("{message}")]
    Case {
        /// What.
        message: String,
        /// What would be right.
        help: String,
        /// Where.
        location: purlin_model::Location,
    },
}
