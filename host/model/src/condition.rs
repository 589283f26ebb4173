//! The status of a resource, as conditions with a reason and a message (SPEC §7), and the obstacles
//! that they are made from.
//!
//! An [`Obstacle`] is data that a run writes to the state. Conditions are never stored: they follow
//! from the record, the undecided calls, and the obstacle.

use std::sync::Arc;

use serde::Serialize;

use crate::Wait;
use crate::times::serialize_moment;

/// The cause that keeps a resource from matching the documents, found by the last run that
/// concerned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "obstacle", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Obstacle {
    /// An operation on it failed.
    Failed {
        /// The operation: a word for the action, such as `create`.
        action: Arc<str>,
        /// A stable short name of the cause, such as `conflict`.
        code: Arc<str>,
        /// The cause in the words of the host or the driver, without secrets.
        #[serde(rename = "error")]
        message: Arc<str>,
    },
    /// It waits for other resources, and so nothing was done with it.
    Waits {
        /// The targets, with the whole path to each.
        waits: Vec<Wait>,
    },
    /// It needs consent, and there was no one to ask.
    NeedsConsent {
        /// The operation: `replace` or `delete`.
        action: Arc<str>,
    },
    /// Others changed it: it was read, and differed from its record.
    Drifted,
    /// It is paused.
    Paused,
    /// It exists, but other resources that must be ready with it are not (`blocking: false`).
    Beside {
        /// Those resources, with the path to the cause of each.
        waits: Vec<Wait>,
    },
}

impl Obstacle {
    /// Whether two obstacles are of one kind: then the later one continues the earlier one.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The status of a resource with this obstacle, as far as the obstacle determines it.
    pub fn status(&self) -> ResourceStatus {
        match self {
            Self::Failed { .. } => ResourceStatus::Failed,
            Self::Waits { .. } => ResourceStatus::Waiting,
            Self::NeedsConsent { .. } => ResourceStatus::NeedsConsent,
            Self::Drifted => ResourceStatus::Drifted,
            Self::Paused => ResourceStatus::Paused,
            Self::Beside { .. } => ResourceStatus::NotReady,
        }
    }
}

/// The status of a resource in one word: the worst of its conditions.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum ResourceStatus {
    /// The last operation on it failed.
    Failed,
    /// A call was interrupted, and its outcome is not known.
    Interrupted,
    /// It exists only in part.
    Incomplete,
    /// It is on its way, and nothing failed.
    InProgress,
    /// It waits for other resources.
    Waiting,
    /// Consent is required.
    NeedsConsent,
    /// Others changed it.
    Drifted,
    /// It does not exist.
    Missing,
    /// It exists, but resources that must be ready together with it are not.
    NotReady,
    /// It is paused.
    Paused,
    /// It matches the documents.
    Ready,
}

impl ResourceStatus {
    /// The word, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// All of them, the worst first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == word)
    }
}

/// The types of conditions, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum ConditionType {
    /// Every value that it reads from other resources exists.
    ReferencesResolved,
    /// The real object matches the documents, as far as the last run could tell.
    Synced,
    /// It exists and can be used.
    Ready,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is unknown.
    Unknown,
}

/// Why a condition has its status: a stable name for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum ConditionReason {
    /// `ReferencesResolved`: all targets exist.
    ReferencesFound,
    /// `ReferencesResolved`: a target is missing or not ready.
    ReferencesBlocked,
    /// `Synced`: the last run succeeded.
    ReconcileSuccess,
    /// `Synced`: the last run failed.
    ReconcileError,
    /// `Synced`: it is paused.
    ReconcilePaused,
    /// `Synced`: nothing happens before its references are resolved.
    ReconcileWaiting,
    /// `Synced`: a deletion or replacement needs consent.
    NeedsConsent,
    /// `Synced`: others changed it.
    Drifted,
    /// `Synced`, `Ready`: a call was interrupted.
    Interrupted,
    /// `Ready`: it exists.
    Available,
    /// `Ready`: it exists only in part.
    Incomplete,
    /// `Synced`, `Ready`: it is on its way, and nothing failed.
    InProgress,
    /// `Ready`: a resource that must be ready with it is not.
    DependencyNotReady,
    /// `Ready`: it does not exist.
    Missing,
}

/// A condition of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, for programs.
    pub reason: ConditionReason,
    /// Why, for people; empty if the reason is sufficient.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when, in milliseconds since 1970; none if that is not recorded. In JSON, a time of RFC
    /// 3339.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_moment")]
    pub since: Option<u64>,
}

impl Condition {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.status == ConditionStatus::True
    }
}
