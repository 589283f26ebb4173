//! The document of `purlin plan`: the plan, and what was found out before it was made.

use purlin_engine as engine;
use purlin_engine::ValueChange;
use purlin_model::{Finding, Key, Worded};
use purlin_requirements as requirements;
use serde::Serialize;

/// A plan, with the fields that the engine does not know.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    pub(crate) plan: &'a engine::Plan,
    /// Differences from the record that were found before the plan was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) observed: Vec<Observed>,
    /// Newer versions of installed bundles.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) offers: &'a [requirements::Offer],
}

/// The result of reading a resource.
#[derive(Debug, Serialize)]
pub(crate) struct Observed {
    pub(crate) key: Key,
    #[serde(flatten)]
    pub(crate) finding: Worded<Finding>,
    pub(crate) changes: Vec<ValueChange>,
}
