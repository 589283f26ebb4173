//! The deployments in the history of an environment.

use std::sync::Arc;

use crate::Holder;

/// How a deployment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}
