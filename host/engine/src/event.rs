//! The events of a run (SPEC §11).

use std::time::Duration;

use purlin_model::{Condition, Finding, Key, Obstacle, Reason};

use crate::error::Cause;
use crate::plan::{Action, Tally};
use crate::records::recorded_status::ResourceStatus;

/// The progress of a resource.
#[derive(Clone, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// Its driver is being called.
    Started,
    /// Its driver reports progress.
    Progress {
        /// The driver's message.
        message: String,
        /// The percentage, if known.
        percent: Option<u8>,
    },
    /// The result of reading the resource.
    Observed {
        /// The finding.
        finding: Finding,
        /// The differences from the record.
        changes: Vec<crate::plan::ValueChange>,
    },
    /// The step is done and recorded.
    Succeeded {
        /// How long the step took.
        took: Duration,
        /// The action that was taken, which may be less than planned: [`Action::None`] if the
        /// resolved inputs turned out unchanged.
        done: Action,
    },
    /// The step failed.
    Failed {
        /// The cause.
        cause: Box<Cause>,
        /// How long the step took.
        took: Duration,
    },
    /// The resource waits for another one that cannot be provisioned now, or for a value of one.
    /// This run does nothing about it.
    Waiting {
        /// The resources that it waits for, each with the path to it.
        reasons: Vec<Reason>,
    },
    /// The step was not attempted.
    Skipped {
        /// The resource whose failure blocked this one; `None` if the run was cancelled.
        because: Option<Key>,
    },
}

impl Phase {
    /// The word for it, as in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Failed { cause, .. } if matches!(**cause, Cause::InProgress(_)) => IN_PROGRESS,
            other => other.into(),
        }
    }
}

/// An event of a run. It serialises as one document of the published JSON, without secrets.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "the summary comes once in a run")]
pub enum Event {
    /// An event of one resource.
    Resource {
        /// The resource.
        key: Key,
        /// The planned action, the same in all events of an operation.
        action: Action,
        /// The progress.
        phase: Phase,
    },
    /// The status of a resource changed since the previous run (SPEC §7): an obstacle arose or
    /// ended. Sent at the end of a run, at most once for each resource.
    Status {
        /// The resource.
        key: Key,
        /// The status in one word.
        status: ResourceStatus,
        /// The status as conditions.
        conditions: [Condition; 3],
        /// The obstacle, if there is one.
        obstacle: Option<Obstacle>,
    },
    /// The run is over; always the last event.
    Summary(Summary),
}

/// The phase of what is in progress when a run ends, and the status of a run in which nothing else is left.
const IN_PROGRESS: &str = "in-progress";

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The actions that were taken.
    pub done: Tally,
    /// The resources that failed, each with its cause, in order of failure.
    pub failed: Vec<(Key, Cause)>,
    /// The resources that were not attempted, each with the resource that blocked it.
    pub skipped: Vec<(Key, Option<Key>)>,
    /// The resources that wait for others, each with its reasons.
    pub waiting: Vec<(Key, Vec<Reason>)>,
    /// The resources with an unknown outcome, because a call was aborted or its driver crashed. The
    /// next run finds out, or reports them as undecided.
    pub unknown: Vec<Key>,
    /// The resources that were read, but are so new that their systems may not show them yet.
    pub not_shown: Vec<Key>,
    /// Why the run ended early: the starting point of the plan or what the run found could not be
    /// recorded, or the lock was lost.
    pub halted: Option<Cause>,
    /// The inconsistency of the records after the run. They are checked after every run; an
    /// inconsistency is a bug in Purlin.
    pub integrity: Option<String>,
    /// Whether the run was cancelled.
    pub cancelled: bool,
    /// The number of driver calls with effects.
    pub calls: usize,
    /// Whether the records might have been stale, every step succeeded, and no unrecorded resource was
    /// found. The records are then reliable again, provided that every recorded resource was read and
    /// shown ([`Self::not_shown`]).
    pub ends_staleness: bool,
    /// Whether a resource was found that is not recorded, so that the records are older than the real state.
    pub proves_staleness: bool,
    /// The duration of the run.
    pub took: Duration,
}

impl Summary {
    /// The outcome of the run in one word, as in JSON.
    pub fn status(&self) -> &'static str {
        match (self.cancelled, self.is_success()) {
            (true, _) => "cancelled",
            (_, true) => "succeeded",
            _ if self.only_waits() => "waiting",
            _ if self.only_progresses() => IN_PROGRESS,
            _ => "failed",
        }
    }

    /// How many of the resources that did not succeed are only in progress: the next run goes on.
    pub fn in_progress(&self) -> usize {
        self.failed.iter().filter(|(_, cause)| matches!(cause, Cause::InProgress(_))).count()
    }

    /// Whether everything was done.
    pub fn is_success(&self) -> bool {
        self.failed.is_empty()
            && self.skipped.is_empty()
            && self.waiting.is_empty()
            && self.unknown.is_empty()
            && self.halted.is_none()
            && self.integrity.is_none()
            && !self.cancelled
    }

    /// Whether everything was done except for resources that wait for others.
    pub fn only_waits(&self) -> bool {
        !self.is_success() && Self { waiting: Vec::new(), ..self.clone() }.is_success()
    }

    /// Whether nothing failed, and something is in progress for which this run does not wait any longer.
    pub fn only_progresses(&self) -> bool {
        let (failed, skipped, waiting) = Default::default();
        let number = self.in_progress();
        number > 0
            && number == self.failed.len()
            && Self { failed, skipped, waiting, ..self.clone() }.is_success()
    }
}
