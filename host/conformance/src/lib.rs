//! Checks whether a driver keeps the contract of `wit/` (SPEC §8): calls it as the host would, also
//! under adverse conditions, and compares its behaviour with [`RULES`].
//!
//! The driver really runs: `create` creates objects, which are deleted again in any case, and
//! [`ConformanceReport::left`] names those that could not be. This crate prints nothing and knows
//! no workspace and no file: the caller passes in the component, its grants, and cases.

mod bench;
mod checks;
mod examine;
mod findings;
mod host_schemas;
mod lag;
mod merge;
mod report;
mod report_json;
mod rules;
mod schema;
mod test_case;
mod watch;

pub use examine::{Examination, Patience, examine};
pub use report::{Cases, CasesFrom, ConformanceReport, Finding, Left, Outcome, Status};
pub use rules::{LIST_OF_RULES, RULES, Rule, rule, rules_page};

/// A driver cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a driver, or its grants are invalid.
    #[error(transparent)]
    Load(#[from] purlin_sandbox::LoadError),
    /// There are no cases for it.
    #[error(transparent)]
    NoCases(#[from] NoCases),
    /// A case contains something that the driver does not support.
    #[error("{message}")]
    Case {
        /// The fault.
        message: String,
        /// How to correct it.
        help: String,
        /// Where.
        location: purlin_model::Location,
    },
}

/// There are no inputs to test a driver with.
#[derive(Debug, thiserror::Error)]
#[error("no valid inputs can be made from its schema: {message}")]
pub struct NoCases {
    /// Why.
    pub message: String,
    /// The beginning of a file of cases.
    pub example: String,
}
