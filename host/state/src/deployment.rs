//! The deployments in the history of an environment.

use std::sync::Arc;

use serde::Serialize;

use crate::{Holder, RolloutMark};

/// How a deployment ended.
///
/// It serialises in the published, versioned form: `outcome` of `history` in
/// `docs/src/reference/json.md`. The state records it as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is running, or was killed.
    Unfinished,
    /// Every step succeeded.
    Succeeded,
    /// A step failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Outcome {
    /// The word, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One deployment in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its id, unique within the environment.
    pub id: Arc<str>,
    /// Its number within the environment, from 1. A store assigns the next number to an entry with
    /// the number zero.
    pub number: u64,
    /// The user and the command that ran it, and when it began.
    pub holder: Holder,
    /// When it ended, in milliseconds since 1970.
    pub ended: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// The steps, as (URN, action, whether it succeeded), in the order of the plan.
    pub steps: Vec<(purlin_model::Urn, Arc<str>, bool)>,
    /// The SHA-256 digest of its documents; `None` if it had none.
    pub documents: Option<[u8; 32]>,
    /// For a rollback, the number of the deployment that provided the documents.
    pub rollback_of: Option<u64>,
    /// The newer documents that are wrong, while a watch keeps to those of this deployment (SPEC §7).
    pub rejected: Option<Box<RejectedDocuments>>,
    /// What became of the roll-outs that cover the environment, by number.
    pub rollouts: Arc<[RolloutMark]>,
}

/// Documents that a watch does not follow, because they are wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedDocuments {
    /// Since when, in milliseconds since 1970. Other faults do not change it.
    pub since: u64,
    /// The first fault, with its place.
    pub why: Arc<str>,
    /// The number of faults.
    pub faults: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_serialises_as_its_word() {
        for outcome in [Outcome::Unfinished, Outcome::Succeeded, Outcome::Failed, Outcome::Cancelled] {
            assert_eq!(serde_json::to_value(outcome).expect("JSON"), outcome.as_str());
        }
    }
}
