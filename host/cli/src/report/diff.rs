//! The differences between two sets of documents, as plain data.

use std::collections::BTreeMap;

use purlin_engine::Difference;
use purlin_model::{FORMAT, Key};
use serde::Serialize;

/// The differences between the resources that two sets of documents request.
#[derive(Debug, Serialize)]
pub(crate) struct Diff<'a> {
    pub(crate) format: u8,
    pub(crate) before: Side,
    pub(crate) after: Side,
    pub(crate) differences: Vec<Differing<'a>>,
    pub(crate) summary: Tally,
}

/// One of the two sets of documents.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Side {
    /// The deployment of the documents; null for the current documents.
    pub(crate) deployment: Option<u64>,
    pub(crate) id: Option<String>,
}

/// A resource that differs.
#[derive(Debug, Serialize)]
pub(crate) struct Differing<'a> {
    pub(crate) key: &'a str,
    #[serde(flatten)]
    pub(crate) difference: &'a Difference,
}

/// The number of resources per kind of difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) changed: usize,
    pub(crate) moved: usize,
    pub(crate) removed: usize,
}

impl<'a> Diff<'a> {
    pub(crate) fn new(before: Side, after: Side, differences: &'a BTreeMap<Key, Difference>) -> Self {
        let mut summary = Tally::default();
        let differences = differences.iter().map(|(key, difference)| {
            *match difference {
                Difference::Added(_) => &mut summary.added,
                Difference::Changed(_) => &mut summary.changed,
                Difference::Moved { .. } => &mut summary.moved,
                Difference::Removed => &mut summary.removed,
            } += 1;
            Differing { key: key.as_str(), difference }
        });
        let differences = differences.collect();
        Self { format: FORMAT, before, after, differences, summary }
    }
}

impl Side {
    /// The counts in words.
    pub(crate) fn describe(&self) -> String {
        match self.deployment {
            Some(number) => format!("deployment {number}"),
            None => "the documents now".to_owned(),
        }
    }
}
