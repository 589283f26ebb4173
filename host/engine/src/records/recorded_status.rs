//! The status of each resource of an environment: the conditions of SPEC §7, from the state
//! alone.

use std::collections::BTreeMap;

pub use purlin_model::ResourceStatus;
use purlin_model::{
    Condition, ConditionReason, ConditionStatus, ConditionType, Obstacle, Reason, Unfinished, Urn,
};
use purlin_state::{Intent, ObstacleRecord, Operation, Record, Snapshot, Status};

/// The code of a failure to resolve inputs.
const UNRESOLVED: &str = "inputs";

/// Everything that is recorded about one resource.
#[derive(Clone, Copy, Debug)]
pub struct RecordedStatus<'a> {
    /// The stable logical name.
    pub urn: &'a Urn,
    /// Its current record; `None` if it was never created.
    pub record: Option<&'a Record>,
    /// The pending call on it.
    pub pending: Option<&'a Intent>,
    /// The obstacle that the last run found, of the runs that covered it.
    pub obstacle: Option<&'a ObstacleRecord>,
}

/// Every resource of a snapshot, sorted by URN: the recorded ones, those with pending calls, and
/// those that could not be created yet.
pub fn recorded_statuses(snapshot: &Snapshot) -> Vec<RecordedStatus<'_>> {
    let mut all: BTreeMap<&Urn, RecordedStatus<'_>> = BTreeMap::new();
    let nothing = |urn| RecordedStatus { urn, record: None, pending: None, obstacle: None };
    for record in snapshot.records.iter().filter(|record| record.superseded.is_none()) {
        all.entry(&record.urn).or_insert_with(|| nothing(&record.urn)).record = Some(record);
    }
    for intent in &snapshot.pending {
        let urn = match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => &record.urn,
            Operation::Delete(id) => &id.urn,
        };
        all.entry(urn).or_insert_with(|| nothing(urn)).pending = Some(intent);
    }
    for obstacle in &snapshot.obstacles {
        all.entry(&obstacle.urn).or_insert_with(|| nothing(&obstacle.urn)).obstacle = Some(obstacle);
    }
    all.into_values().collect()
}

impl RecordedStatus<'_> {
    /// The three conditions, in the order of [`ConditionType`].
    pub fn conditions(&self) -> [Condition; 3] {
        [self.references(), self.synced(), self.ready()]
    }

    /// The status in one word: the worst of its conditions.
    pub fn status(&self) -> ResourceStatus {
        let [references, synced, ready] = self.conditions();
        match (synced.reason, ready.reason) {
            (ConditionReason::ReconcilePaused, _) => ResourceStatus::Paused,
            (ConditionReason::ReconcileError, _) => ResourceStatus::Failed,
            (ConditionReason::Interrupted, _) => ResourceStatus::Interrupted,
            _ if !references.holds() => ResourceStatus::Waiting,
            (ConditionReason::NeedsConsent, _) => ResourceStatus::NeedsConsent,
            (_, ConditionReason::Incomplete) => ResourceStatus::Incomplete,
            (_, ConditionReason::InProgress) => ResourceStatus::InProgress,
            (_, ConditionReason::Missing) => ResourceStatus::Missing,
            (ConditionReason::Drifted, _) => ResourceStatus::Drifted,
            (_, ConditionReason::DependencyNotReady) => ResourceStatus::NotReady,
            _ => ResourceStatus::Ready,
        }
    }

    fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.map(|obstacle| &obstacle.obstacle)
    }

    fn since(&self) -> Option<u64> {
        self.obstacle.map(|obstacle| obstacle.since)
    }

    fn updated(&self) -> Option<u64> {
        self.record.map(|record| record.updated)
    }

    fn references(&self) -> Condition {
        let of = of(ConditionType::ReferencesResolved);
        match self.obstacle() {
            Some(obstacle @ Obstacle::Waits { .. }) => of(
                ConditionStatus::False,
                ConditionReason::ReferencesBlocked,
                obstacle.to_string(),
                self.since(),
            ),
            // `Synced` reports the fault and has priority.
            Some(Obstacle::Failed { code, message, .. }) if **code == *UNRESOLVED => of(
                ConditionStatus::Unknown,
                ConditionReason::ReconcileError,
                message.to_string(),
                self.since(),
            ),
            _ => of(ConditionStatus::True, ConditionReason::ReferencesFound, String::new(), self.updated()),
        }
    }

    fn synced(&self) -> Condition {
        let of = of(ConditionType::Synced);
        let not = |reason, message: String| of(ConditionStatus::False, reason, message, self.since());
        match self.obstacle() {
            Some(Obstacle::Paused) => return not(ConditionReason::ReconcilePaused, String::new()),
            Some(Obstacle::Failed { action, message, .. }) => {
                return not(ConditionReason::ReconcileError, format!("{action}: {message}"));
            }
            _ => {}
        }
        if let Some(intent) = self.pending {
            let what = match intent.operation {
                Operation::Create(_) => Reason::Unfinished(Unfinished::InterruptedCreate),
                Operation::Update(_) => Reason::Unfinished(Unfinished::InterruptedUpdate),
                Operation::Delete(_) => Reason::InterruptedDelete,
            };
            let since = Some(intent.since);
            return of(ConditionStatus::Unknown, ConditionReason::Interrupted, what.to_string(), since);
        }
        match self.obstacle() {
            Some(Obstacle::Waits { .. }) => {
                let status = ConditionStatus::Unknown;
                return of(status, ConditionReason::ReconcileWaiting, String::new(), self.since());
            }
            Some(obstacle @ Obstacle::NeedsConsent { .. }) => {
                return not(ConditionReason::NeedsConsent, obstacle.to_string());
            }
            Some(obstacle @ Obstacle::Drifted) => {
                return not(ConditionReason::Drifted, obstacle.to_string());
            }
            _ => {}
        }
        match self.record.map(|record| &record.status) {
            Some(Status::Partial(unfinished)) => {
                let reason = match unfinished {
                    Unfinished::Drifted => ConditionReason::Drifted,
                    Unfinished::InProgress { .. } => ConditionReason::InProgress,
                    _ => ConditionReason::ReconcileWaiting,
                };
                of(ConditionStatus::False, reason, unfinished.to_string(), self.updated())
            }
            Some(Status::Absent) | None => {
                of(ConditionStatus::False, ConditionReason::Missing, String::new(), self.updated())
            }
            Some(Status::Ready) => {
                of(ConditionStatus::True, ConditionReason::ReconcileSuccess, String::new(), self.updated())
            }
        }
    }

    fn ready(&self) -> Condition {
        let of = of(ConditionType::Ready);
        match self.record {
            Some(Record { status: Status::Absent, .. }) | None => {
                let since = self.updated().or(self.since());
                return of(ConditionStatus::False, ConditionReason::Missing, String::new(), since);
            }
            Some(Record { status: Status::Partial(unfinished), .. })
                if *unfinished != Unfinished::Drifted =>
            {
                let message = unfinished.to_string();
                let reason = match unfinished {
                    Unfinished::InProgress { .. } => ConditionReason::InProgress,
                    _ => ConditionReason::Incomplete,
                };
                return of(ConditionStatus::False, reason, message, self.updated());
            }
            Some(_) => {}
        }
        match self.obstacle() {
            Some(obstacle @ Obstacle::Beside { .. }) => {
                let reason = ConditionReason::DependencyNotReady;
                of(ConditionStatus::False, reason, obstacle.to_string(), self.since())
            }
            _ => of(ConditionStatus::True, ConditionReason::Available, String::new(), self.updated()),
        }
    }
}

/// Creates conditions of one type.
fn of(kind: ConditionType) -> impl Fn(ConditionStatus, ConditionReason, String, Option<u64>) -> Condition {
    move |status, reason, message, since| Condition { kind, status, reason, message, since }
}
