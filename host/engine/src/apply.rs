//! Carries out a plan: concurrently, in order, each result written down before it counts.
//!
//! Nothing is decided here but when a step may begin; what happens to a resource stands in the
//! plan.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use purlin_model::Key;
use purlin_state::Store;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::error::{Cause, Error};
use crate::evaluate::Board;
use crate::event::{Event, Phase, Summary};
use crate::plan::{Action, Plan, Tally};
use crate::schedule::Schedule;
use crate::step;
use purlin_sandbox::CancelToken;

/// Steps that may be on their way at the same time. It bounds memory; what bounds calls is
/// [`ApplyOptions::parallelism`]. It is far larger, because steps that wait for the disk together
/// share one wait.
const IN_FLIGHT: usize = 512;

/// How a plan is carried out.
#[derive(Clone)]
pub struct ApplyOptions {
    /// Driver calls at the same time.
    pub parallelism: usize,
    /// Asks the run to end.
    pub cancel: CancelToken,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// A run: a stream of events, [`Event::Summary`] the last of them. It does its work while it is
/// polled; dropping it ends the calls in flight.
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
                // Events of the last steps come before the summary.
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

/// What all steps of a run share.
pub(crate) struct Shared {
    pub plan: Plan,
    pub store: Arc<dyn Store>,
    pub board: Board,
    pub permits: Semaphore,
    pub cancel: CancelToken,
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub events: Events,
    calls: AtomicUsize,
}

impl Shared {
    /// Counts a call with effects.
    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Where events go. A receiver that is gone does not stop a run.
#[derive(Clone)]
pub(crate) struct Events(mpsc::UnboundedSender<Event>);

impl Events {
    fn send(&self, key: &Key, action: Action, phase: Phase) {
        let _ = self.0.send(Event::Resource { key: key.clone(), action, phase });
    }

    /// What a driver says goes on.
    pub(crate) fn progress(&self, key: &Key, action: Action, message: &str, percent: Option<u8>) {
        self.send(key, action, Phase::Progress { message: message.to_owned(), percent });
    }
}

/// Carries out a plan. The caller holds the environment's lock and made the plan under it.
///
/// # Errors
/// [`Error::OfflinePlan`] for a plan that was made without drivers.
pub fn apply(plan: Plan, store: Arc<dyn Store>, options: ApplyOptions) -> Result<Run, Error> {
    if plan.offline {
        return Err(Error::OfflinePlan);
    }
    let (sender, events) = mpsc::unbounded_channel();
    let nodes = plan.step_of.len();
    let shared = Arc::new(Shared {
        board: Board::new(nodes),
        permits: Semaphore::new(options.parallelism.max(1)),
        cancel: options.cancel,
        clock: options.clock,
        events: Events(sender),
        calls: AtomicUsize::new(0),
        plan,
        store,
    });
    Ok(Run { events, work: Some(Box::pin(run(shared))) })
}

/// What became of a step that was given its turn.
struct Done {
    index: u32,
    /// When its turn came.
    started: u64,
    /// None when the run was cancelled while it waited for its turn.
    outcome: Option<step::Outcome>,
}

async fn run(shared: Arc<Shared>) -> Summary {
    let begun_at = (shared.clock)();
    let mut schedule = Schedule::new(shared.plan.steps.iter().map(|step| &*step.after));
    let mut begun = vec![false; shared.plan.steps.len()];
    let mut summary = Summary::default();
    let mut tasks: JoinSet<Done> = JoinSet::new();
    loop {
        while tasks.len() < IN_FLIGHT && !shared.cancel.is_requested() {
            let Some(index) = schedule.next() else { break };
            begun[index as usize] = true;
            begin(&shared, &mut tasks, index);
        }
        let Some(done) = tasks.join_next().await else { break };
        let done = match done {
            Ok(done) => done,
            // A panic in the host is a fault of ours and must not pass for a result.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => continue,
        };
        let Done { index, started, outcome } = done;
        match outcome {
            Some(outcome) => settle(&shared, &mut schedule, &mut summary, index, started, outcome),
            None => begun[index as usize] = false,
        }
    }
    if shared.cancel.is_requested() {
        let rest = schedule.rest(&begun);
        summary.cancelled = rest.iter().any(|step| shared.plan.steps[*step as usize].action != Action::None);
        skip(&shared, &mut summary, rest, None);
    }
    summary.calls = shared.calls.load(Ordering::Relaxed);
    summary.took = Duration::from_millis((shared.clock)().saturating_sub(begun_at));
    summary
}

fn begin(shared: &Arc<Shared>, tasks: &mut JoinSet<Done>, index: u32) {
    let shared = Arc::clone(shared);
    tasks.spawn(async move {
        let step = &shared.plan.steps[index as usize];
        // A step that waits for its turn has not started.
        let turn = match step.action {
            Action::None => None,
            _ => shared.permits.acquire().await.ok(),
        };
        let started = (shared.clock)();
        if shared.cancel.is_requested() {
            return Done { index, started, outcome: None };
        }
        if turn.is_some() {
            shared.events.send(&step.key, step.action, Phase::Started);
        }
        Done { index, started, outcome: Some(step::carry_out(&shared, index, turn).await) }
    });
}

fn settle(
    shared: &Shared,
    schedule: &mut Schedule,
    summary: &mut Summary,
    index: u32,
    started: u64,
    outcome: step::Outcome,
) {
    let step = &shared.plan.steps[index as usize];
    let took = Duration::from_millis((shared.clock)().saturating_sub(started));
    match outcome {
        Ok(action) => {
            count(&mut summary.done, action);
            if step.action != Action::None {
                shared.events.send(&step.key, action, Phase::Succeeded { took });
            }
            schedule.done(index);
        }
        Err(cause) => {
            failed(shared, summary, step, cause, took);
            let blocked = schedule.failed(index);
            skip(shared, summary, blocked, Some(&step.key));
        }
    }
}

fn failed(shared: &Shared, summary: &mut Summary, step: &crate::plan::Step, cause: Cause, took: Duration) {
    shared.events.send(&step.key, step.action, Phase::Failed { cause: Box::new(cause.clone()), took });
    summary.failed.push((step.key.clone(), cause));
}

/// What stays as it is needs no word when it is not reached.
fn skip(shared: &Shared, summary: &mut Summary, steps: Vec<u32>, because: Option<&Key>) {
    for index in steps {
        let step = &shared.plan.steps[index as usize];
        if step.action == Action::None {
            continue;
        }
        shared.events.send(&step.key, step.action, Phase::Skipped { because: because.cloned() });
        summary.skipped.push((step.key.clone(), because.cloned()));
    }
}

fn count(tally: &mut Tally, action: Action) {
    match action {
        Action::Create => tally.create += 1,
        Action::Update => tally.update += 1,
        Action::Delete => tally.delete += 1,
        Action::None => tally.none += 1,
    }
}
