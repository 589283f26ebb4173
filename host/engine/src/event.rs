//! What there is to tell while a plan is applied (SPEC §11).

use std::time::Duration;

use purlin_model::{Condition, Finding, Key, Obstacle, Reason};

use crate::error::Cause;
use crate::plan::{Action, Tally};
use crate::standing::Stand;

/// How far a resource is.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Its driver is being called.
    Started,
    /// Its driver says what goes on.
    Progress {
        /// In its own words.
        message: String,
        /// Of 100, where it is known.
        percent: Option<u8>,
    },
    /// What was found when it was looked at.
    Observed {
        /// What.
        finding: Finding,
        /// What differs from what was recorded.
        changes: Vec<crate::plan::Change>,
    },
    /// It is done and written down.
    Succeeded {
        /// How long the step took.
        took: Duration,
        /// What was done, which may be less than what was to happen: [`Action::None`] when the resolved
        /// inputs turned out unchanged.
        done: Action,
    },
    /// It failed.
    Failed {
        /// Why.
        cause: Box<Cause>,
        /// How long the step took.
        took: Duration,
    },
    /// It waits for a resource that cannot be provisioned now, or for a value of one. Nothing is done
    /// about it in this run.
    Waiting {
        /// For which, and along which way.
        reasons: Vec<Reason>,
    },
    /// It was not tried.
    Skipped {
        /// The resource whose failure stood in the way; none when the run was cancelled.
        because: Option<Key>,
    },
}

/// Something that happened.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "the summary comes once in a run")]
pub enum Event {
    /// To a resource.
    Resource {
        /// Which.
        key: Key,
        /// What was to happen, the same in all events of an operation.
        action: Action,
        /// How far it is.
        phase: Phase,
    },
    /// A resource stands in another way than after the run before (SPEC §7): something came into its way,
    /// or ended. Comes at the end of a run, once a resource.
    Stands {
        /// Which.
        key: Key,
        /// How, in a word.
        stand: Stand,
        /// How, as conditions.
        conditions: [Condition; 3],
        /// What is in its way, if anything.
        obstacle: Option<Obstacle>,
    },
    /// The run is over; always the last event.
    Summary(Summary),
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What was done.
    pub done: Tally,
    /// Resources that failed, each with its cause, in the order in which they failed.
    pub failed: Vec<(Key, Cause)>,
    /// Resources that were not tried, each with what stood in the way.
    pub skipped: Vec<(Key, Option<Key>)>,
    /// Resources that wait for others, each with its reasons.
    pub waiting: Vec<(Key, Vec<Reason>)>,
    /// Resources of which it is not known what became of them, because a call was ended by force or
    /// its driver broke down. The next run finds out, or asks.
    pub unknown: Vec<Key>,
    /// Why nothing was tried at all: what the plan starts from could not be written down.
    pub halted: Option<Cause>,
    /// What is wrong with the records after the run. They are checked every time; this is a fault
    /// of ours.
    pub integrity: Option<String>,
    /// Whether the run was cancelled.
    pub cancelled: bool,
    /// Calls of drivers that had effects.
    pub calls: usize,
    /// Whether the records were in doubt, everything succeeded, and nothing was found that was not recorded:
    /// then the records can be relied on again, where all that they name was read before.
    pub ends_doubt: bool,
    /// How long it took.
    pub took: Duration,
}

impl Summary {
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

    /// Whether everything was done but for resources that wait for others.
    pub fn only_waits(&self) -> bool {
        !self.is_success() && Self { waiting: Vec::new(), ..self.clone() }.is_success()
    }
}
