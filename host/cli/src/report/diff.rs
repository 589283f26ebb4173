//! The differences between two sets of documents, as plain data.

use std::collections::BTreeMap;

use purlin_host::engine::Difference;
use purlin_host::model::Key;
use serde::Serialize;

use super::FORMAT;
use super::plan::Change;

/// The differences between the resources that two sets of documents request.
#[derive(Debug, Serialize)]
pub(crate) struct Diff {
    pub(crate) format: u8,
    pub(crate) before: Side,
    pub(crate) after: Side,
    pub(crate) differences: Vec<Differing>,
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
pub(crate) struct Differing {
    pub(crate) key: String,
    /// `added`, `changed` or `removed`.
    pub(crate) difference: &'static str,
    pub(crate) changes: Vec<Change>,
}

/// The number of resources per kind of difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) changed: usize,
    pub(crate) removed: usize,
}

impl Diff {
    pub(crate) fn new(before: Side, after: Side, differences: &BTreeMap<Key, Difference>) -> Self {
        let mut summary = Tally::default();
        let differences = differences.iter().map(|(key, difference)| {
            let (word, number, changes) = match difference {
                Difference::Added(changes) => ("added", &mut summary.added, changes.as_slice()),
                Difference::Changed(changes) => ("changed", &mut summary.changed, changes.as_slice()),
                Difference::Removed => ("removed", &mut summary.removed, &[][..]),
            };
            *number += 1;
            Differing {
                key: key.to_string(),
                difference: word,
                changes: changes.iter().map(Change::new).collect(),
            }
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
