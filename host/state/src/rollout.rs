//! Roll-outs: changed documents on their way to the environments of a state (SPEC §9).
//!
//! The state keeps them beside its environments, in [`Environment::fleet`]. Each environment that a roll-out
//! reached says so itself, in the entry of its history that has the documents ([`RolloutMark`]), so that both are
//! written at once.

use std::sync::Arc;

use serde::Serialize;

use crate::{Environment, Holder};

/// A roll-out, without its documents and the environments that it covers: those are in its plan, which is stored
/// apart like the documents of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Its number, from 1.
    pub number: u64,
    /// Who began it, and when.
    pub holder: Holder,
    /// The reason that was given for it.
    pub reason: Option<Arc<str>>,
    /// The SHA-256 digest of its plan.
    pub plan: [u8; 32],
    /// How far it is.
    pub status: RolloutStatus,
    /// Who changed the status last, and when.
    pub changed: Holder,
    /// Why it is paused or stopped, for people.
    pub why: Option<Arc<str>>,
    /// The number of waves.
    pub waves: u32,
    /// The number of waves that may be reached by now. It never decreases.
    pub opened: u32,
    /// The number of waves after which it pauses once.
    pub pause_after: Option<u32>,
    /// It stops once more environments than this have failed.
    pub max_failures: u32,
    /// Environments that failed before somebody let it go on: they no longer stop it.
    pub excused: Vec<Environment>,
    /// The environments in which data may be lost.
    pub may_lose: MayLose,
    /// Earlier roll-outs about the same documents: it takes their place in each environment that it covers.
    pub supersedes: Vec<u64>,
}

/// How far a roll-out is.
///
/// It serialises in the published, versioned form: `status` of `rollout` in `docs/src/reference/json.md`. The state
/// records it as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum RolloutStatus {
    /// Each turn applies it in the environments of the waves that are open.
    Running,
    /// Somebody paused it, or it was to pause after a wave: no environment is begun.
    Paused,
    /// Too many environments failed: no environment is begun.
    Stopped,
    /// Every environment that it covers has it, or is no longer its own.
    Done,
    /// Each turn restores the earlier documents.
    Undoing,
    /// The earlier documents are restored.
    Undone,
}

impl RolloutStatus {
    /// The word, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether turns still have to do with it, or may again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Undone)
    }

    /// Whether it is being taken back, or was.
    pub fn is_undone(self) -> bool {
        matches!(self, Self::Undoing | Self::Undone)
    }
}

/// The environments in which a roll-out may lose data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MayLose {
    /// In none of them.
    #[default]
    Nowhere,
    /// In these.
    In(Vec<Environment>),
    /// In every one.
    Everywhere,
}

impl MayLose {
    /// Whether it names an environment.
    pub fn includes(&self, environment: &Environment) -> bool {
        match self {
            Self::Nowhere => false,
            Self::In(environments) => environments.contains(environment),
            Self::Everywhere => true,
        }
    }
}

/// What an environment says of a roll-out that covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutMark {
    /// The number of the roll-out.
    pub number: u64,
    /// What became of it here.
    pub state: MarkState,
}

/// What became of a roll-out in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkState {
    /// The documents of this deployment have it.
    Applied,
    /// The documents with it were rejected, for this reason. Those before are kept.
    Refused(Arc<str>),
    /// Somebody deployed other documents: it leaves the environment alone.
    Left,
    /// It was taken back.
    Undone,
}
