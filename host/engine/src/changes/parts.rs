//! What may happen to the parts of a resource: never more than people agreed to.

use purlin_model::driver::{Part, PartAction};
use serde::{Deserialize, Serialize};

/// A part whose object goes away.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GoingPart {
    /// Its address.
    pub address: String,
    /// Whether no other object takes its place.
    pub for_good: bool,
    /// Whether its data is lost.
    pub loses_data: bool,
}

impl GoingPart {
    /// A part of a forecast, if its object goes away.
    pub(crate) fn of(part: &Part) -> Option<Self> {
        part.action.deletes().then(|| Self {
            address: part.address.clone(),
            for_good: part.action == PartAction::Delete,
            loses_data: part.loss().is_some(),
        })
    }

    /// Whether one of these parts is the same one, and at least as much happens to it.
    pub(crate) fn is_in<'a>(&self, planned: impl IntoIterator<Item = &'a Self>) -> bool {
        planned.into_iter().any(|planned| {
            planned.address == self.address
                && (planned.for_good || !self.for_good)
                && (planned.loses_data || !self.loses_data)
        })
    }
}
