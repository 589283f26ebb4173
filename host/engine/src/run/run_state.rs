//! The state that all operations of a run share: the plan, the values and records known so far, and
//! what the run notes for its summary.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use purlin_model::{Key, Path, Reason, Urn};
use purlin_sandbox::CancelToken;
use purlin_state::{Change, Durable, Intent, Operation, Record, RecordId, Vanished, Writer};
use tokio::sync::Semaphore;

use crate::error::{Cause, Error};
use crate::event::Event;
use crate::plan::{Action, OperationKind, Plan, Step};
use crate::records::recorded::{Recorded, exists};
use crate::records::recorded_status::RecordedStatus;
use crate::run::events::Events;
use crate::run::exclusion::Sides;
use crate::run::moments::Moments;
use crate::values::awaited;
use crate::values::evaluate::NodeValueTable;

/// The state that all operations of a run share.
pub(crate) struct RunState {
    pub plan: Plan,
    pub node_values: NodeValueTable,
    pub permits: Arc<Semaphore>,
    /// Whether driver calls run one at a time. The order of events is then deterministic.
    pub one_at_a_time: bool,
    /// Whether the run waits for resources that are in progress.
    pub waits: bool,
    pub cancel: CancelToken,
    pub moments: Moments,
    pub events: Events,
    pub sides: Sides,
    pub writer: Arc<dyn Writer>,
    /// The records, including the changes of this run.
    recorded: RwLock<Recorded>,
    seed: [u8; 32],
    /// The number of idempotency keys drawn so far.
    keys: AtomicU64,
    calls: AtomicUsize,
    /// Resources that this run found but that were not recorded, or whose records may be wrong.
    found: Mutex<HashSet<Urn>>,
    unknown: Mutex<Vec<Key>>,
    /// Resources that this run read and that differ from their records.
    drifted: Mutex<Vec<Key>>,
    /// Resources that this run read and that their systems may not show yet.
    not_shown: Mutex<Vec<Key>>,
}

impl RunState {
    /// The state at the beginning of a run with at most `parallelism` driver calls at once.
    pub(crate) fn new(
        plan: Plan,
        writer: Arc<dyn Writer>,
        (parallelism, seed, waits): (usize, [u8; 32], bool),
        cancel: CancelToken,
        moments: Moments,
        events: Events,
    ) -> Self {
        Self {
            node_values: NodeValueTable::new(plan.graph.as_ref().map_or(0, |graph| graph.len())),
            permits: Arc::new(Semaphore::new(parallelism.clamp(1, Semaphore::MAX_PERMITS))),
            one_at_a_time: parallelism <= 1,
            waits,
            cancel,
            moments,
            events,
            sides: Sides::default(),
            recorded: RwLock::new(Recorded::clone(&plan.recorded)),
            seed,
            keys: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            found: Mutex::default(),
            unknown: Mutex::default(),
            drifted: Mutex::default(),
            not_shown: Mutex::default(),
            plan,
            writer,
        }
    }

    /// Counts a call with effects.
    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of calls with effects so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Notes that this run found a resource that was not recorded, or whose record may be wrong.
    pub(crate) fn note_found(&self, urn: Urn) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(urn);
    }

    /// Whether this run found such a resource.
    pub(crate) fn has_found(&self) -> bool {
        !self.found.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether this run created the object that is recorded now, as opposed to finding it.
    pub(crate) fn has_made(&self, urn: &Urn) -> bool {
        let before =
            self.plan.recorded.current(urn).filter(|record| exists(record)).map(|record| record.created);
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        let now = recorded.current(urn).filter(|record| exists(record)).map(|record| record.created);
        let is_found = self.found.lock().unwrap_or_else(PoisonError::into_inner).contains(urn);
        now.is_some() && now != before && !is_found
    }

    /// Draws a new idempotency key. Called once for each call with effects.
    pub(crate) fn idempotency_key(&self) -> String {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        let mut hasher = blake3::Hasher::new_keyed(&self.seed);
        hasher.update(b"idempotency key");
        hasher.update(&number.to_le_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Whether the host of this guest is known and is not an old copy.
    pub(crate) fn has_current_host(&self, guest: &Record) -> bool {
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        recorded.host_of(guest).is_some_and(|home| home.superseded.is_none())
    }

    /// The current guests of a host, each with whether the relation is certain.
    pub(crate) fn guests_of(&self, host: &RecordId) -> Vec<(Arc<Record>, bool)> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).guests_of(host)
    }

    /// The changes to the records of guests whose host stays in place but is no longer recorded.
    pub(crate) fn left_behind(&self, host: &RecordId) -> Vec<Change> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).left_behind(host)
    }

    /// Whether anything may live in this host.
    pub(crate) fn has_guests(&self, host: &RecordId) -> bool {
        !self.recorded.read().unwrap_or_else(PoisonError::into_inner).guests_of(host).is_empty()
    }

    /// Whether a record may name another resource as a dependency: that one is recorded, and the
    /// dependency would not close a cycle.
    pub(crate) fn may_depend(&self, urn: &Urn, on: &Urn) -> bool {
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        recorded.knows(on) && !recorded.depends_on(on, urn)
    }

    /// The objects of a resource, recorded or not, that its system may still show although they are gone.
    pub(crate) fn vanished(&self, urn: &Urn) -> Vec<Vanished> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).vanished(urn).to_vec()
    }

    /// The current record.
    pub(crate) fn recorded(&self, id: &RecordId) -> Option<Arc<Record>> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The values that are missing, if the operation failed only for that reason.
    pub(crate) fn waits(&self, index: u32, cause: &Cause) -> Vec<Reason> {
        let node = self.plan.operations.get(index as usize).and_then(|operation| operation.node);
        match (cause, &self.plan.graph, node) {
            (Cause::Inputs(_), Some(graph), Some(node)) => {
                awaited::for_values(graph, node, &self.node_values)
            }
            _ => Vec::new(),
        }
    }

    /// Reports the new status of a resource whose obstacle changed. Resources whose last call has an
    /// `unknown` outcome are left out, since only the next run can determine their state.
    pub(crate) fn tell_status(&self, change: &Change, unknown: &[Key]) {
        let Change::Obstruct { urn, obstacle } = change else { return };
        let Some(key) = urn.key().filter(|key| !unknown.contains(key)) else { return };
        let record = self.recorded(&RecordId::current(urn.clone()));
        let obstacle = obstacle.as_deref();
        let recorded = RecordedStatus { urn, record: record.as_deref(), pending: None, obstacle };
        let (status, conditions) = (recorded.status(), recorded.conditions());
        let obstacle = obstacle.map(|obstacle| obstacle.obstacle.clone());
        self.events.send(Event::Status { key, status, conditions, obstacle });
    }

    /// Whether the records are still consistent with each other.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).verify()
    }

    /// Records a resource that was created or found. If another record that `counts` already has
    /// the same id, nothing is written and that record is returned.
    ///
    /// # Errors
    /// As [`RunState::submit`].
    pub(crate) fn claim(
        &self,
        record: &Record,
        counts: impl Fn(&Record) -> bool,
        changes: Vec<Change>,
    ) -> Result<Result<Durable, Arc<Record>>, purlin_state::Error> {
        // The lock is held until the resource is recorded, so that only one of two claims on the
        // same id succeeds.
        let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
        let holder =
            recorded.of_same_object(record).filter(|holder| counts(holder)).min_by_key(|holder| holder.id());
        match holder.cloned() {
            Some(holder) => Ok(Err(holder)),
            None => self.submit_to(&mut recorded, changes).map(Ok),
        }
    }

    /// The pending call on a record, including the changes of this run.
    pub(crate) fn pending(&self, id: &RecordId) -> Option<Arc<Intent>> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).pending(id).cloned()
    }

    /// Whether the object of a record is already recorded, under this or another name.
    pub(crate) fn is_object_recorded(&self, record: &Record) -> bool {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).of_same_object(record).next().is_some()
    }

    /// A record and all other records of managed resources that claim the same object.
    pub(crate) fn with_twins(&self, record: &Record) -> Vec<Arc<Record>> {
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        let others =
            recorded.of_same_object(record).filter(|other| other.id() != record.id() && !other.external);
        std::iter::once(Arc::new(record.clone())).chain(others.cloned()).collect()
    }

    /// The resources that a run of documents leaves with the id of another resource: each with its
    /// failure, which names the other one.
    pub(crate) fn twins(&self) -> Vec<(Key, Cause)> {
        if self.plan.graph.is_none() {
            return Vec::new();
        }
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        let failure = |(later, earlier): (&Arc<Record>, &Arc<Record>)| {
            let (driver, id) = (later.driver.name.to_string(), later.state.id.clone());
            Some((later.urn.key()?, Cause::IdTaken { driver, id, other: earlier.urn.clone() }))
        };
        recorded.twins().into_iter().filter_map(failure).collect()
    }

    /// Whether another record claims the same object.
    pub(crate) fn is_shared(&self, record: &Record) -> bool {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).is_shared(record)
    }

    /// Submits changes to the store. Operations on one record run one after the other, so this
    /// run's view of the records agrees with the store. If the store rejects the changes
    /// immediately, they do not enter that view either.
    ///
    /// # Errors
    /// If the store rejects the changes immediately. Nothing may build on them then.
    pub(crate) fn submit(&self, changes: Vec<Change>) -> Result<Durable, purlin_state::Error> {
        let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
        self.submit_to(&mut recorded, changes)
    }

    fn submit_to(
        &self,
        recorded: &mut Recorded,
        mut changes: Vec<Change>,
    ) -> Result<Durable, purlin_state::Error> {
        changes.iter_mut().for_each(seal);
        changes.retain_mut(|change| is_still_so(recorded, change));
        let known = known(&changes);
        let durable = self.writer.submit(changes)?;
        known.into_iter().for_each(|change| recorded.apply(change));
        Ok(durable)
    }

    /// Whether others may have the environment, so that no call may begin.
    pub(crate) fn is_lost(&self) -> bool {
        self.writer.is_lost()
    }

    /// As [`Writer::cut_off`].
    pub(crate) fn cut_off(&self) {
        self.writer.cut_off();
    }

    /// Notes that the outcome of a call on this resource is unknown.
    pub(crate) fn leave_unknown(&self, key: &Key) {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
    }

    /// Takes the resources on which the outcome of a call is unknown.
    pub(crate) fn take_unknown(&self) -> Vec<Key> {
        std::mem::take(&mut *self.unknown.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a resource was read and differs from its record.
    pub(crate) fn note_drift(&self, key: &Key) {
        self.drifted.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
    }

    /// Takes the resources that were read and differ from their records.
    pub(crate) fn take_drifted(&self) -> Vec<Key> {
        std::mem::take(&mut *self.drifted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a resource was read and that its system may not show it yet.
    pub(crate) fn note_not_shown(&self, key: &Key) {
        self.not_shown.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
    }

    /// Takes the resources that were read and that their systems may not show yet.
    pub(crate) fn take_not_shown(&self) -> Vec<Key> {
        std::mem::take(&mut *self.not_shown.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an operation deletes a resource whose record remains.
    pub(crate) fn keeps_place(&self, operation: u32) -> bool {
        let operation = self.plan.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.kind), Some(OperationKind::Delete { stays: true, .. }))
    }

    /// The step of an operation, and its action.
    pub(crate) fn step(&self, operation: u32) -> Option<(&Step, Action)> {
        let operation = self.plan.operations.get(operation as usize)?;
        Some((self.plan.steps.get(operation.step as usize)?, operation.kind.action()))
    }
}

/// Marks the values of an installation's record as secret that its bundle declares secret, whoever
/// returned them, so that they are encrypted at rest.
fn seal(change: &mut Change) {
    let record = match change {
        Change::Put(record) => record,
        Change::Intend(intent) => match &mut intent.operation {
            Operation::Create(record) | Operation::Update(record) => record,
            Operation::Delete(_) => return,
        },
        _ => return,
    };
    let Some(share) = record.share.clone() else { return };
    for values in [&mut record.state.outputs, &mut record.inputs.values] {
        *values = share.seal(&Path::default(), std::mem::take(values));
    }
}

/// Brings the old copy of a replaced resource up to what is recorded of the resource by now, and tells
/// whether it is to be recorded at all: while the successor was being created, another operation may
/// have deleted the host with what lives in it.
fn is_still_so(recorded: &Recorded, change: &mut Change) -> bool {
    let Change::Put(copy) = change else { return true };
    if copy.superseded.is_none() || recorded.get(&copy.id()).is_some() {
        return true;
    }
    match recorded.current(&copy.urn).filter(|original| original.state.id == copy.state.id) {
        Some(original) => {
            copy.tainted |= original.tainted;
            exists(original)
        }
        None => true,
    }
}

/// The changes that other operations of the same run need to see.
fn known(changes: &[Change]) -> Vec<Change> {
    let is_of_the_environment = |change: &&Change| {
        matches!(
            change,
            Change::Deployed { .. }
                | Change::RemoveCookies(_)
                | Change::Roll { .. }
                | Change::ForgetRollout(_)
                | Change::SetClosed(_)
                | Change::SetStaleness(_)
                | Change::Obstruct { .. }
        )
    };
    changes.iter().filter(|change| !is_of_the_environment(change)).cloned().collect()
}
