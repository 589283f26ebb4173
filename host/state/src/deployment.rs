//! The history of an environment.

use std::sync::Arc;

use crate::Holder;

/// How a deployment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is under way, or was ended by force.
    Unfinished,
    /// Everything was done.
    Succeeded,
    /// Something failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// One deployment, as the history tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its id, unique within the environment.
    pub id: Arc<str>,
    /// Its number within the environment, from 1. A store gives the next number to an entry that
    /// comes with 0.
    pub number: u64,
    /// Who ran it, with which command, since when.
    pub holder: Holder,
    /// When it ended, milliseconds since 1970.
    pub ended: Option<u64>,
    /// How.
    pub outcome: Outcome,
    /// What was done, as (URN, word for the action, whether it succeeded), in the order of the plan.
    pub steps: Vec<(purlin_model::Urn, Arc<str>, bool)>,
    /// Digest (SHA-256) of the documents that it was made from; none where there were none.
    pub documents: Option<[u8; 32]>,
    /// For a rollback: the number of the deployment whose documents it took.
    pub rollback_of: Option<u64>,
}
