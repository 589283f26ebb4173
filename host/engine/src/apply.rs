//! Executes a plan: concurrently, in order, and with each result recorded before it counts.
//!
//! This module decides only when a step may begin. The plan says what happens to each resource.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, Stream, StreamExt as _};
use purlin_model::{Key, Reason, Urn};
use purlin_state::{Change, Durable, Record, RecordId, Writer};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::error::{Cause, Error};
use crate::evaluate::NodeValueTable;
use crate::event::{Event, Phase, Summary};
use crate::events::Events;
use crate::exclusion::Sides;
use crate::moments::Moments;
use crate::obstacles;
use crate::operate::{self, Outcome, Turn};
use crate::plan::{Action, OperationKind, Plan, Step};
use crate::planner::waits;
use crate::recorded::{Recorded, exists};
use crate::recorded_status::RecordedStatus;
use crate::schedule::Schedule;
use purlin_sandbox::CancelToken;

/// The number of operations that may be in flight at the same time. It bounds memory;
/// [`ApplyOptions::parallelism`] bounds driver calls. This number is far larger, since operations
/// that wait for the disk together share one sync.
const IN_FLIGHT: usize = 512;

/// How long a result waits for the operations after it to request a sync before it requests one
/// itself.
const PATIENCE: Duration = Duration::from_millis(1);

/// How a plan is executed.
#[derive(Clone)]
pub struct ApplyOptions {
    /// The maximum number of concurrent driver calls.
    pub parallelism: usize,
    /// Cancels the run.
    pub cancel: CancelToken,
    /// The current time, in milliseconds since 1970. Used only if the store has no clock of its own
    /// ([`Writer::now`]).
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The seed of the idempotency keys: random, and different for each run.
    pub seed: [u8; 32],
}

/// A run: a stream of events that ends with [`Event::Summary`]. It works while it is polled;
/// dropping it aborts the calls in flight.
pub struct Run {
    events: mpsc::UnboundedReceiver<Event>,
    work: Option<Pin<Box<dyn Future<Output = Summary> + Send>>>,
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
            return Poll::Ready(Some(event));
        }
        if let Some(work) = &mut this.work {
            if let Poll::Ready(summary) = work.as_mut().poll(cx) {
                this.work = None;
                // The events of the last steps come before the summary.
                this.events.close();
                let last = this.events.try_recv();
                let Ok(event) = last else { return Poll::Ready(Some(Event::Summary(summary))) };
                this.work = Some(Box::pin(std::future::ready(summary)));
                return Poll::Ready(Some(event));
            }
            return this.events.poll_recv(cx);
        }
        Poll::Ready(None)
    }
}

/// The state that all operations of a run share.
pub(crate) struct Shared {
    pub plan: Plan,
    pub node_values: NodeValueTable,
    pub permits: Arc<Semaphore>,
    /// Whether driver calls run one at a time. The order of events is then deterministic.
    one_at_a_time: bool,
    pub cancel: CancelToken,
    pub moments: Moments,
    pub events: Events,
    pub sides: Sides,
    writer: Arc<dyn Writer>,
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
}

impl Shared {
    /// Counts a call with effects.
    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that this run found a resource that was not recorded, or whose record may be wrong.
    pub(crate) fn note_found(&self, urn: Urn) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(urn);
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
    pub(crate) fn has_home(&self, guest: &Record) -> bool {
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

    /// The current record.
    pub(crate) fn recorded(&self, id: &RecordId) -> Option<Arc<Record>> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The values that are missing, if the operation failed only for that reason.
    fn waits(&self, index: u32, cause: &Cause) -> Vec<Reason> {
        let node = self.plan.operations.get(index as usize).and_then(|operation| operation.node);
        match (cause, &self.plan.graph, node) {
            (Cause::Inputs(_), Some(graph), Some(node)) => waits::for_values(graph, node, &self.node_values),
            _ => Vec::new(),
        }
    }

    /// Reports the new status of a resource whose obstacle changed. Resources with unsettled
    /// calls are left out, since only the next run can determine their state.
    fn tell_status(&self, change: &Change, unsettled: &[Key]) {
        let Change::Obstruct { urn, unmet } = change else { return };
        let Some(key) = urn.key().filter(|key| !unsettled.contains(key)) else { return };
        let record = self.recorded(&RecordId::current(urn.clone()));
        let unmet = unmet.as_deref();
        let recorded = RecordedStatus { urn, record: record.as_deref(), pending: None, unmet };
        let (status, conditions) = (recorded.status(), recorded.conditions());
        let obstacle = unmet.map(|unmet| unmet.obstacle.clone());
        self.events.send(Event::Status { key, status, conditions, obstacle });
    }

    /// Whether the records are still consistent with each other.
    fn verify(&self) -> Result<(), Error> {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).verify()
    }

    /// Records a resource that was created or found. If another record that `counts` already has
    /// the same id, nothing is written and that record is returned.
    ///
    /// # Errors
    /// As [`Shared::submit`].
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
            recorded.holders(record).filter(|holder| counts(holder)).min_by_key(|holder| holder.id());
        match holder.cloned() {
            Some(holder) => Ok(Err(holder)),
            None => {
                let known = known(&changes);
                let durable = self.writer.submit(changes)?;
                known.into_iter().for_each(|change| recorded.apply(change));
                Ok(Ok(durable))
            }
        }
    }

    /// Whether the object of a record is already recorded, under this or another name.
    pub(crate) fn is_held(&self, record: &Record) -> bool {
        self.recorded.read().unwrap_or_else(PoisonError::into_inner).holders(record).next().is_some()
    }

    /// A record and all other records of managed resources that claim the same object.
    pub(crate) fn with_twins(&self, record: &Record) -> Vec<Arc<Record>> {
        let recorded = self.recorded.read().unwrap_or_else(PoisonError::into_inner);
        let others = recorded.holders(record).filter(|other| other.id() != record.id() && !other.external);
        std::iter::once(Arc::new(record.clone())).chain(others.cloned()).collect()
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
        let known = known(&changes);
        let durable = self.writer.submit(changes)?;
        if !known.is_empty() {
            let mut recorded = self.recorded.write().unwrap_or_else(PoisonError::into_inner);
            known.into_iter().for_each(|change| recorded.apply(change));
        }
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
        self.unknown().push(key.clone());
    }

    fn unknown(&self) -> MutexGuard<'_, Vec<Key>> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a resource was read and differs from its record.
    pub(crate) fn note_drift(&self, key: &Key) {
        self.drifted.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
    }

    /// Whether an operation deletes a resource whose record remains.
    fn keeps_place(&self, operation: u32) -> bool {
        let operation = self.plan.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.kind), Some(OperationKind::Delete { stays: true, .. }))
    }

    fn step(&self, operation: u32) -> Option<(&Step, Action)> {
        let operation = self.plan.operations.get(operation as usize)?;
        Some((self.plan.steps.get(operation.step as usize)?, operation.kind.action()))
    }
}

/// The changes that other operations of the same run need to see.
fn known(changes: &[Change]) -> Vec<Change> {
    let is_known =
        |change: &&Change| matches!(change, Change::Put(_) | Change::Remove(_) | Change::Settle(_));
    changes.iter().filter(is_known).cloned().collect()
}

/// Executes a plan. The caller holds the environment's lock, made the plan under it, and passes its
/// [`purlin_state::Lock::writer`].
///
/// # Errors
/// [`Error::OfflinePlan`] for a plan made without drivers; [`Error::DataLoss`] for a plan that
/// loses data without permission ([`Plan::allow_losses`]).
pub fn apply(plan: Plan, writer: Arc<dyn Writer>, options: ApplyOptions) -> Result<Run, Error> {
    if plan.offline {
        return Err(Error::OfflinePlan);
    }
    let losses = plan.losses_not_allowed();
    if !losses.is_empty() {
        return Err(Error::DataLoss(losses));
    }
    // The changes are only for display, take much memory, and are no longer needed.
    let mut plan = plan;
    for step in &mut plan.steps {
        step.changes = Vec::new();
    }
    let (sender, events) = mpsc::unbounded_channel();
    let nodes = plan.graph.as_ref().map_or(0, |graph| graph.len());
    let shared = Arc::new(Shared {
        node_values: NodeValueTable::new(nodes),
        permits: Arc::new(Semaphore::new(options.parallelism.max(1))),
        one_at_a_time: options.parallelism <= 1,
        cancel: options.cancel,
        moments: Moments::new(&writer, options.clock, plan.recorded.latest()),
        events: Events::new(sender, plan.operations.iter().map(|operation| &*operation.after)),
        sides: Sides::default(),
        keys: AtomicU64::new(0),
        calls: AtomicUsize::new(0),
        found: Mutex::default(),
        unknown: Mutex::default(),
        drifted: Mutex::default(),
        recorded: RwLock::new(Recorded::clone(&plan.recorded)),
        seed: options.seed,
        plan,
        writer,
    });
    Ok(Run { events, work: Some(Box::pin(run(shared))) })
}

/// The outcome of an operation that had its turn.
struct Came {
    index: u32,
    /// When the turn began.
    started: u64,
    /// `None` if the run was cancelled while the operation waited for its turn.
    outcome: Option<Outcome>,
    /// Kept if driver calls run one at a time: the operations that follow must be queued before the
    /// turn is released.
    turn: Turn,
}

/// An operation whose result is on its way to the disk.
struct Written {
    index: u32,
    took: Duration,
    action: Action,
    result: Result<(), purlin_state::Error>,
}

/// A run in progress.
struct Running {
    shared: Arc<Shared>,
    schedule: Schedule,
    begun: Vec<bool>,
    /// Steps whose skipping was reported.
    reported: HashSet<u32>,
    summary: Summary,
    tasks: JoinSet<Came>,
    writing: FuturesUnordered<Pin<Box<dyn Future<Output = Written> + Send>>>,
}

async fn run(shared: Arc<Shared>) -> Summary {
    let begun_at = shared.moments.now();
    let operations = &shared.plan.operations;
    let mut running = Running {
        schedule: Schedule::new(operations.iter().map(|operation| &*operation.after)),
        begun: vec![false; operations.len()],
        reported: HashSet::new(),
        summary: Summary::default(),
        tasks: JoinSet::new(),
        writing: FuturesUnordered::new(),
        shared: Arc::clone(&shared),
    };
    for step in shared.plan.steps.iter().filter(|step| step.waits) {
        shared.events.tell(&step.key, step.action, Phase::Waiting { reasons: step.reasons.clone() });
        running.summary.waiting.push((step.key.clone(), step.reasons.clone()));
    }
    match running.prelude().await {
        Ok(()) => running.work().await,
        Err(error) => running.summary.halted = Some(Cause::from(error)),
    }
    let mut summary = running.summary;
    summary.calls = shared.calls.load(Ordering::Relaxed);
    summary.took = Duration::from_millis(shared.moments.now().saturating_sub(begun_at));
    summary.unknown = std::mem::take(&mut *shared.unknown());
    summary.unknown.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    summary.unknown.dedup();
    summary.integrity = shared.verify().err().map(|error| error.to_string());
    let obstacles = match summary.halted {
        None => {
            let drifted = std::mem::take(&mut *shared.drifted.lock().unwrap_or_else(PoisonError::into_inner));
            obstacles::changes(&shared.plan, &summary, drifted, shared.moments.now())
        }
        Some(_) => Vec::new(),
    };
    if !obstacles.is_empty() {
        match shared.writer.commit(obstacles.clone()).await {
            Ok(()) => obstacles.iter().for_each(|change| shared.tell_status(change, &summary.unknown)),
            Err(error) => summary.halted = Some(Cause::from(error)),
        }
    }
    let found = !shared.found.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
    summary.ends_staleness = shared.plan.ends_staleness && !found && summary.is_success();
    summary
}

impl Running {
    /// Writes the resources that were found during planning, and the moves.
    async fn prelude(&mut self) -> Result<(), purlin_state::Error> {
        let prelude = self.shared.plan.prelude.clone();
        if prelude.is_empty() { Ok(()) } else { self.shared.writer.commit(prelude).await }
    }

    async fn work(&mut self) {
        let (writer, mut is_lost) = (Arc::clone(&self.shared.writer), false);
        let mut lost = std::pin::pin!(async move { writer.lost().await });
        loop {
            while self.tasks.len() < IN_FLIGHT && !self.shared.cancel.is_requested() {
                let Some(index) = self.schedule.next() else { break };
                if let Some(begun) = self.begun.get_mut(index as usize) {
                    *begun = true;
                }
                self.begin(index).await;
            }
            if self.writing.is_empty() && self.tasks.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                // The result of a call can no longer be recorded, and another host may work here
                // already.
                error = &mut lost, if !is_lost => {
                    is_lost = true;
                    self.summary.halted = Some(Cause::from(error));
                    self.shared.cancel.cut();
                }
                Some(written) = self.writing.next() => self.written(written),
                Some(came) = self.tasks.join_next() => match came {
                    Ok(came) => self.came(came),
                    // A panic in the host is a bug in Purlin and must not pass for a result.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => {}
                },
                else => break,
            }
        }
        if !is_lost && self.shared.is_lost() {
            self.summary.halted = Some(Cause::from(lost.await));
        }
        self.shared.events.flush();
        if self.shared.cancel.is_requested() {
            let rest = self.schedule.rest(&self.begun);
            let counts = |index: &u32| self.shared.step(*index).is_some_and(|(_, a)| a != Action::None);
            self.summary.cancelled = rest.iter().any(counts);
            self.skip(rest, None);
        }
    }

    async fn begin(&mut self, index: u32) {
        let shared = Arc::clone(&self.shared);
        if shared.step(index).is_none_or(|(_, action)| action == Action::None) {
            // The operation calls no driver. Executing it right here keeps the queue of the
            // following operations deterministic.
            let started = shared.moments.now();
            let outcome = Some(operate::carry_out(&shared, index, None).await);
            self.came(Came { index, started, outcome, turn: None });
            return;
        }
        // The place in the queue is taken now, no matter when the task begins.
        let turn = Arc::clone(&shared.permits).acquire_owned();
        let mut turn = Box::pin(tokio::task::unconstrained(turn));
        let mut at_once = (&mut turn).now_or_never();
        self.tasks.spawn(async move {
            // An operation that waits for its turn has not started.
            let turn = match at_once.take() {
                Some(turn) => turn.ok(),
                None => turn.await.ok(),
            };
            let started = shared.moments.now();
            if shared.cancel.is_requested() {
                return Came { index, started, outcome: None, turn };
            }
            if shared.one_at_a_time {
                shared.events.has_only_turn(index);
            }
            if let Some((step, action)) = shared.step(index) {
                shared.events.tell_of(index, &step.key, action, Phase::Started);
            }
            let (turn, kept) = if shared.one_at_a_time { (None, turn) } else { (turn, None) };
            let outcome = Some(operate::carry_out(&shared, index, turn).await);
            Came { index, started, outcome, turn: kept }
        });
    }

    fn came(&mut self, came: Came) {
        let Came { index, started, outcome, turn } = came;
        let took = Duration::from_millis(self.shared.moments.now().saturating_sub(started));
        match outcome {
            Some(Ok(done)) => {
                let action = done.action;
                // The operations that follow may begin: their writes come after the writes of this
                // one.
                self.schedule.done(index);
                match done.durable {
                    None => self.written(Written { index, took, action, result: Ok(()) }),
                    Some(durable) => self.writing.push(Box::pin(async move {
                        // A store syncs as soon as one waiter requests it. The operation that
                        // follows requests it at once, for its own intent, and then both reach the
                        // disk together.
                        tokio::time::sleep(PATIENCE).await;
                        Written { index, took, action, result: durable.await }
                    })),
                }
            }
            Some(Err(cause)) => self.failed(index, cause, took),
            None => {
                if let Some(begun) = self.begun.get_mut(index as usize) {
                    *begun = false;
                }
            }
        }
        drop(turn);
    }

    /// A result counts only once the store has written it.
    fn written(&mut self, written: Written) {
        let Written { index, took, action, result } = written;
        if let Err(error) = result {
            self.failed(index, Cause::from(error), took);
            return;
        }
        let shared = Arc::clone(&self.shared);
        let Some((step, planned)) = shared.step(index) else { return shared.events.end(index) };
        let counts = match (planned, step.action) {
            _ if step.left_out || step.waits => false,
            // The old copy of a replacement does not count as a resource of its own.
            (Action::Delete, Action::Replace) => false,
            // The record is still to be removed.
            (Action::Delete, _) if shared.keeps_place(index) => false,
            // A resource that is adopted and then updated counts once.
            (Action::Adopt, _) => shared.plan.operations.get(index as usize).is_none_or(|own| {
                !shared
                    .plan
                    .operations
                    .iter()
                    .any(|other| other.step == own.step && other.kind.action() == Action::Update)
            }),
            (_, Action::Adopt) => planned == Action::Update,
            _ => true,
        };
        if counts {
            self.summary.done.count(if step.action == Action::Adopt { Action::Adopt } else { action });
        }
        if planned != Action::None {
            shared.events.tell_of(index, &step.key, planned, Phase::Succeeded { took, done: action });
        }
        shared.events.end(index);
    }

    fn failed(&mut self, index: u32, cause: Cause, took: Duration) {
        let shared = Arc::clone(&self.shared);
        if let Some((step, action)) = shared.step(index) {
            let waits = shared.waits(index, &cause);
            if waits.is_empty() {
                let failed = Phase::Failed { cause: Box::new(cause.clone()), took };
                shared.events.tell_of(index, &step.key, action, failed);
                self.summary.failed.push((step.key.clone(), cause));
            } else {
                shared.events.tell_of(index, &step.key, action, Phase::Waiting { reasons: waits.clone() });
                self.summary.waiting.push((step.key.clone(), waits));
            }
            let blocked = self.schedule.failed(index);
            self.skip(blocked, Some((index, &step.key)));
        }
        shared.events.end(index);
    }

    /// Reports operations as skipped, except those without an action.
    fn skip(&mut self, operations: Vec<u32>, because: Option<(u32, &Key)>) {
        for index in operations {
            let shared = Arc::clone(&self.shared);
            let Some((step, action)) = shared.step(index) else { continue };
            if action == Action::None {
                continue;
            }
            let skipped = Phase::Skipped { because: because.map(|(_, key)| key.clone()) };
            match because {
                Some((operation, _)) => shared.events.tell_of(operation, &step.key, action, skipped),
                None => shared.events.tell(&step.key, action, skipped),
            }
            let because = because.map(|(_, key)| key);
            // Each resource is reported once, and a failed one only as failed.
            let own = shared.plan.operations.get(index as usize).map(|operation| operation.step);
            if because != Some(&step.key) && own.is_some_and(|own| self.reported.insert(own)) {
                self.summary.skipped.push((step.key.clone(), because.cloned()));
            }
        }
    }
}
