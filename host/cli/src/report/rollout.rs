//! The published form of roll-outs.

use std::collections::BTreeMap;

use purlin_host::{Rollout, RolloutEnvironment, RolloutReport, RolloutState, RolloutStatus};
use serde::Serialize;

use super::FORMAT;
use crate::text;

/// A roll-out in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) status: RolloutStatus,
    /// Why it is paused or stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) started: String,
    /// The user who started it.
    pub(crate) by: String,
    /// The machine on which that was.
    pub(crate) on: String,
    /// When its status changed last.
    pub(crate) changed: String,
    pub(crate) waves: u32,
    pub(crate) opened: u32,
}

impl Entry {
    pub(crate) fn new(rollout: &Rollout) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            number: rollout.number,
            status: rollout.status,
            why: text(&rollout.why),
            reason: text(&rollout.reason),
            started: text::moment(rollout.holder.since),
            by: rollout.holder.user.clone(),
            on: rollout.holder.host.clone(),
            changed: text::moment(rollout.changed.since),
            waves: rollout.waves,
            opened: rollout.opened,
        }
    }
}

/// How far a roll-out is: an event while its turns are taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Progress {
    format: u8,
    event: &'static str,
    #[serde(flatten)]
    rollout: WholeRollout,
}

/// A roll-out with its environments.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WholeRollout {
    #[serde(flatten)]
    entry: Entry,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_after: Option<u32>,
    max_failures: u32,
    supersedes: Vec<u64>,
    /// The number of environments in each state; they add up to all.
    counts: BTreeMap<RolloutState, usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    environments: Vec<RolloutEnvironment>,
}

/// Compares what progress is about, not each environment.
impl PartialEq for WholeRollout {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry && self.counts == other.counts
    }
}

/// The document of `rollout status`.
#[derive(Serialize)]
pub(crate) struct Document {
    pub(crate) format: u8,
    pub(crate) rollout: WholeRollout,
}

impl Progress {
    pub(crate) fn new(report: &RolloutReport) -> Self {
        Self { format: FORMAT, event: "rollout", rollout: WholeRollout::new(report, Vec::new()) }
    }
}

impl WholeRollout {
    /// With these environments, all of them by default.
    pub(crate) fn new(report: &RolloutReport, environments: Vec<RolloutEnvironment>) -> Self {
        let rollout = &report.rollout;
        Self {
            entry: Entry::new(rollout),
            pause_after: rollout.pause_after,
            max_failures: rollout.max_failures,
            supersedes: rollout.supersedes.clone(),
            counts: report.counts().into_iter().collect(),
            environments,
        }
    }

    /// With every environment.
    pub(crate) fn whole(report: &RolloutReport) -> Self {
        Self::new(report, report.environments.clone())
    }
}
