//! Executes a plan: concurrently, in order, and with each result recorded before it counts.
//!
//! This module decides only when a step may begin. The plan says what happens to each resource.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, Stream, StreamExt as _};
use purlin_model::Key;
use purlin_sandbox::CancelToken;
use purlin_state::Writer;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::{Cause, Error};
use crate::event::{Event, Phase, Summary};
use crate::plan::{Action, Plan};
use crate::run::events::Events;
use crate::run::moments::Moments;
use crate::run::obstacles;
use crate::run::operate::{self, CallPermit, Outcome};
use crate::run::run_state::RunState;
use crate::run::schedule::Schedule;

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
    /// Whether the run waits for resources that are in progress. Otherwise it ends with them.
    pub waits: bool,
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
    let ApplyOptions { parallelism, cancel, clock, seed, waits } = options;
    let moments = Moments::new(&writer, clock, plan.recorded.latest());
    let sender = Events::new(sender, plan.operations.iter().map(|operation| &*operation.after));
    let shared = Arc::new(RunState::new(plan, writer, (parallelism, seed, waits), cancel, moments, sender));
    Ok(Run { events, work: Some(Box::pin(run(shared))) })
}

/// The outcome of an operation that got its permit.
struct FinishedOperation {
    index: u32,
    /// When it got the permit.
    started: u64,
    /// `None` if the run was cancelled while the operation waited for its permit.
    outcome: Option<Outcome>,
    /// Kept if driver calls run one at a time: the operations that follow must be queued before the
    /// permit is released.
    permit: CallPermit,
}

/// An operation whose result is on its way to the disk.
struct CommittedOperation {
    index: u32,
    took: Duration,
    action: Action,
    result: Result<(), purlin_state::Error>,
}

/// A run in progress.
struct Running {
    shared: Arc<RunState>,
    schedule: Schedule,
    begun: Vec<bool>,
    /// Steps whose skipping was reported.
    reported: HashSet<u32>,
    summary: Summary,
    tasks: JoinSet<FinishedOperation>,
    writing: FuturesUnordered<Pin<Box<dyn Future<Output = CommittedOperation> + Send>>>,
}

async fn run(shared: Arc<RunState>) -> Summary {
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
    running.fail_twins();
    let mut summary = running.summary;
    summary.calls = shared.calls();
    summary.took = Duration::from_millis(shared.moments.now().saturating_sub(begun_at));
    summary.unknown = shared.take_unknown();
    summary.unknown.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    summary.unknown.dedup();
    summary.not_shown = shared.take_not_shown();
    summary.integrity = shared.verify().err().map(|error| error.to_string());
    let obstacles = match summary.halted {
        None => {
            let now = shared.moments.now();
            let mut changes = obstacles::changes(&shared.plan, &summary, shared.take_drifted(), now);
            changes.extend(shared.plan.recorded.no_longer_shown(now));
            changes
        }
        Some(_) => Vec::new(),
    };
    if !obstacles.is_empty() {
        match shared.writer.commit(obstacles.clone()).await {
            Ok(()) => obstacles.iter().for_each(|change| shared.tell_status(change, &summary.unknown)),
            Err(error) => summary.halted = Some(Cause::from(error)),
        }
    }
    summary.proves_staleness = shared.has_found();
    summary.ends_staleness = shared.plan.ends_staleness && !summary.proves_staleness && summary.is_success();
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
                Some(committed) = self.writing.next() => self.committed(committed),
                Some(finished) = self.tasks.join_next() => match finished {
                    Ok(finished) => self.finished(finished),
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
            self.finished(FinishedOperation { index, started, outcome, permit: None });
            return;
        }
        // The place in the queue is taken now, no matter when the task begins.
        let permit = Arc::clone(&shared.permits).acquire_owned();
        let mut permit = Box::pin(tokio::task::unconstrained(permit));
        let mut at_once = (&mut permit).now_or_never();
        self.tasks.spawn(async move {
            // An operation that waits for its permit has not started.
            let permit = match at_once.take() {
                Some(permit) => permit.ok(),
                None => permit.await.ok(),
            };
            let started = shared.moments.now();
            if shared.cancel.is_requested() {
                return FinishedOperation { index, started, outcome: None, permit };
            }
            if shared.one_at_a_time {
                shared.events.has_only_permit(index);
            }
            if let Some((step, action)) = shared.step(index) {
                shared.events.tell_of(index, &step.key, action, Phase::Started);
            }
            let (permit, kept) = if shared.one_at_a_time { (None, permit) } else { (permit, None) };
            let outcome = Some(operate::carry_out(&shared, index, permit).await);
            FinishedOperation { index, started, outcome, permit: kept }
        });
    }

    fn finished(&mut self, finished: FinishedOperation) {
        let FinishedOperation { index, started, outcome, permit } = finished;
        let took = Duration::from_millis(self.shared.moments.now().saturating_sub(started));
        match outcome {
            Some(Ok(done)) => {
                let action = done.action;
                // The operations that follow may begin: their writes come after the writes of this
                // one.
                self.schedule.done(index);
                match done.durable {
                    None => self.committed(CommittedOperation { index, took, action, result: Ok(()) }),
                    Some(durable) => self.writing.push(Box::pin(async move {
                        // A store syncs as soon as one waiter requests it. The operation that
                        // follows requests it at once, for its own intent, and then both reach the
                        // disk together.
                        tokio::time::sleep(PATIENCE).await;
                        CommittedOperation { index, took, action, result: durable.await }
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
        drop(permit);
    }

    /// A result counts only once the store has written it.
    fn committed(&mut self, committed: CommittedOperation) {
        let CommittedOperation { index, took, action, result } = committed;
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

    /// An id belongs to one resource. Within a run, resources may swap their names; at its end, two
    /// records with one id are a failure.
    fn fail_twins(&mut self) {
        if self.summary.halted.is_some() || self.shared.cancel.is_requested() {
            return;
        }
        for (key, cause) in self.shared.twins() {
            if self.summary.failed.iter().any(|(failed, _)| *failed == key) {
                continue;
            }
            let failed = Phase::Failed { cause: Box::new(cause.clone()), took: Duration::ZERO };
            self.shared.events.tell(&key, Action::None, failed);
            self.summary.failed.push((key, cause));
        }
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
