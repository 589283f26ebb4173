//! Calls a driver with effects: records the intent before the call, retries during it, and decides
//! from the result whether anything was done.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::Limits;
use purlin_model::driver::{Checkpoint, Failure, Subject};
use purlin_sandbox::{CallError, CheckpointSink, clock};
use purlin_state::{Change, Intent, Operation, RecordId, time_to_outlast};

use super::Task;
use super::effort::Effort;
use crate::driver::{Call, Driver};
use crate::error::Cause;
use crate::event::Phase;
use crate::records::recorded::exists;
use crate::records::visibility;
use crate::run::run_state::RunState;

/// The maximum number of attempts for a driver that asks to be retried.
const ATTEMPTS: u32 = 5;
/// The delays before the further attempts at a repeatable call.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

impl Task<'_> {
    /// The data of a call that creates nothing.
    pub(super) fn call(self) -> Call {
        let (events, index) = (self.shared.events.clone(), self.index);
        let (key, action) = (self.step.key.clone(), self.operation.kind.action());
        let shared = Arc::clone(self.shared);
        Call {
            cancel: self.shared.cancel.clone(),
            may_begin: Some(Arc::new(move || !shared.is_lost())),
            facts: self.effort.facts.clone(),
            progress: Arc::new(move |message: &str, percent| {
                let message = message.to_owned();
                events.tell_of(index, &key, action, Phase::Progress { message, percent });
            }),
            ..Call::quiet(Subject {
                urn: self.step.urn.clone(),
                key: self.step.key.clone(),
                context: self.shared.plan.context.clone(),
            })
        }
    }

    /// Records what is about to be done. When this returns, the intent and everything submitted
    /// before it are durable.
    pub(super) async fn intend(
        self,
        operation: Operation,
        driver: &dyn Driver,
        call: &mut Call,
    ) -> Result<RecordId, Cause> {
        call.idempotency_key = self.shared.idempotency_key();
        let since = self.shared.moments.now();
        let intent = Intent {
            operation,
            idempotency_key: call.idempotency_key.clone(),
            checkpoint: None,
            since,
            deadline: deadline(since, driver),
            open_deletion: None,
        };
        let id = intent.id();
        let open_deletion = match intent.operation {
            // If this run deleted it, that is known.
            Operation::Create(_) if self.recorded(&id).is_some_and(|record| exists(&record)) => {
                self.shared.pending(&id).filter(|earlier| is_deletion(earlier))
            }
            _ => None,
        };
        let open_deletion = open_deletion.map(|earlier| Box::new(Intent::clone(&earlier)));
        let intent = Intent { open_deletion, ..intent };
        call.checkpoint = Some(self.checkpoints(&id));
        self.shared.submit(vec![Change::Intend(Box::new(intent))])?.await?;
        self.shared.count_call();
        Ok(id)
    }

    /// Records that further attempts at a pending call begin now.
    pub(super) async fn attempt_again(self, intent: &Intent, driver: &dyn Driver) -> Result<(), Cause> {
        let since = self.shared.moments.now();
        // An attempt that was cut off may still be under way, for as long as it had.
        let earlier =
            intent.deadline.map(|deadline| since.saturating_add(deadline.saturating_sub(intent.since)));
        let deadline = deadline(since, driver).map(|deadline| deadline.max(earlier.unwrap_or_default()));
        let again = Intent { since, deadline, ..intent.clone() };
        Ok(self.written(vec![Change::Intend(Box::new(again))]).await?)
    }

    /// Records the end of the attempts at a creation with an unknown outcome, unless the host cut the
    /// last one off.
    pub(super) async fn attempts_ended(self, id: &RecordId, error: &CallError) {
        if let Some(intent) =
            self.shared.pending(id).filter(|intent| is_creation(intent) && !is_cut_off(error))
        {
            // Without this, the next run assumes that they just ended.
            self.note_end(&intent).await.ok();
        }
    }

    /// Records that no attempt at a pending call is under way any more.
    pub(super) async fn note_end(self, intent: &Intent) -> Result<(), purlin_state::Error> {
        let ended = Some(visibility::ended(intent, self.shared.moments.now()));
        match intent.deadline == ended {
            true => Ok(()),
            false => {
                let ended = Intent { deadline: ended, ..intent.clone() };
                self.written(vec![Change::Intend(Box::new(ended))]).await
            }
        }
    }

    /// Saves ids that `create` reports before it finishes.
    pub(super) fn checkpoints(self, id: &RecordId) -> Arc<dyn CheckpointSink> {
        Arc::new(Checkpoints { shared: Arc::clone(self.shared), id: id.clone() })
    }

    pub(super) async fn written(self, changes: Vec<Change>) -> Result<(), purlin_state::Error> {
        self.shared.submit(changes)?.await
    }

    /// The change that withdraws the intent of a call that certainly did nothing.
    pub(super) fn withdrawn(self, id: RecordId) -> Change {
        self.shared.pending(&id).map_or(Change::Settle(id), |intent| intent.withdrawn())
    }

    /// Handles a failed call. If the call certainly did nothing, its intent is withdrawn. Otherwise
    /// the intent stays, and the next run finds out. This call says nothing about an earlier call
    /// whose outcome is unknown.
    pub(super) async fn failed(self, id: RecordId, error: CallError) -> Cause {
        let did_nothing = error.did_nothing();
        self.failed_call(id, error, did_nothing).await
    }

    /// The same for a deletion. If the driver asked for time until the resource is gone, in any attempt, the
    /// system may have accepted it.
    pub(super) async fn failed_deletion(self, id: RecordId, error: CallError) -> Cause {
        let did_nothing = error.did_nothing() && !self.effort.was_asked_to_wait();
        self.failed_call(id, error, did_nothing).await
    }

    async fn failed_call(self, id: RecordId, error: CallError, did_nothing: bool) -> Cause {
        let earlier = self.shared.plan.recorded.pending(&id);
        let is_open = |earlier: &Intent| {
            !is_deletion(earlier) || !self.shared.pending(&id).is_some_and(|now| is_creation(&now))
        };
        if did_nothing && !earlier.is_some_and(|earlier| is_open(earlier)) {
            if let Err(cause) = self.written(vec![self.withdrawn(id)]).await {
                return Cause::from(cause);
            }
        } else {
            self.shared.leave_unknown(&self.step.key);
            self.attempts_ended(&id, &error).await;
        }
        error.into()
    }
}

fn is_creation(intent: &Intent) -> bool {
    matches!(intent.operation, Operation::Create(_))
}

fn is_deletion(intent: &Intent) -> bool {
    matches!(intent.operation, Operation::Delete(_))
}

/// When all attempts at a call have ended; `None` if the driver has no limit.
fn deadline(since: u64, driver: &dyn Driver) -> Option<u64> {
    driver.longest().map(|longest| since.saturating_add(clock::millis(most(longest, driver.patience()))))
}

/// The maximum duration of all attempts at a call, given that of a single attempt and that of all
/// waits between them.
fn most(longest: Duration, patience: Duration) -> Duration {
    longest.saturating_mul(ATTEMPTS).saturating_add(patience.max(Limits::WAIT))
}

/// How long after its lease expired, or after it cut calls off and released the environment, the
/// requests of a previous holder may still be under way: the maximum duration of one attempt at a
/// pending call, since it began no attempt later. Calls without a limit are ignored.
pub fn last_attempts<'a>(pending: impl IntoIterator<Item = &'a Intent>) -> Duration {
    pending.into_iter().filter_map(longest_attempt).max().map_or(Duration::ZERO, time_to_outlast)
}

/// The maximum duration of one attempt at a call, according to its intent; `None` if the driver has
/// no limit. Both times of the intent are of the same clock, whichever that is.
fn longest_attempt(intent: &Intent) -> Option<Duration> {
    let all = Duration::from_millis(intent.deadline?.saturating_sub(intent.since));
    // With more patience than usual, the result is too long, which is safe.
    Some(all.saturating_sub(Limits::WAIT) / ATTEMPTS)
}

/// Whether the host ended the call, so that its last request may still be under way.
fn is_cut_off(error: &CallError) -> bool {
    matches!(error, CallError::Cancelled | CallError::TimeLimit { .. } | CallError::TotalTimeLimit { .. })
}

/// Calls until the driver no longer asks to be retried. After an uncertain outcome, calls again, so
/// the call must be safe to repeat.
pub(super) async fn repeatedly<T, F>(
    shared: &RunState,
    effort: &Effort,
    patience: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    let undecided =
        |result: &Result<T, CallError>| matches!(result, Err(CallError::Failure(Failure::Undecided(_))));
    let cancel = &shared.cancel;
    let mut result = patiently(shared, effort, patience, &mut attempt).await;
    let mut undecided_error = None;
    for wait in AGAIN {
        if !undecided(&result) || cancel.is_requested() {
            break;
        }
        tokio::select! {
            biased;
            () = cancel.requested() => break,
            () = tokio::time::sleep(wait) => {}
        }
        let again = patiently(shared, effort, patience, &mut attempt).await;
        undecided_error = std::mem::replace(&mut result, again).err();
    }
    match result {
        // A later attempt shows nothing about the effects of an earlier one.
        Err(error) if error.did_nothing() => Err(undecided_error.unwrap_or(error)),
        result => result,
    }
}

/// Calls until the driver no longer asks to be retried, or asks for longer waits than `patience` in
/// total.
pub(super) async fn patiently<T, F>(
    shared: &RunState,
    effort: &Effort,
    patience: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    let cancel = &shared.cancel;
    let mut attempts = 1;
    let mut patience_left = patience;
    let begun = tokio::time::Instant::now();
    loop {
        // After a suspension, timers and answers are ready before the host notices that others have the
        // environment, and those others wait only for attempts that began under the lease.
        if shared.is_lost() {
            return Err(CallError::Cancelled);
        }
        // A server problem of an earlier attempt need not affect this one.
        effort.facts.served();
        let result = attempt().await;
        effort.tried(attempts, begun.elapsed());
        if result.as_ref().is_err_and(is_cut_off) {
            shared.cut_off();
        }
        let after = match &result {
            Err(CallError::Failure(Failure::RetryAfter { after, .. })) => *after,
            _ => return result,
        };
        effort.asked_to_wait();
        if attempts >= ATTEMPTS || cancel.is_requested() {
            return result;
        }
        let Some(left) = patience_left.checked_sub(after) else {
            effort.out_of_patience();
            return result;
        };
        patience_left = left;
        attempts += 1;
        tokio::select! {
            // If both are ready, no further attempt begins.
            biased;
            // Nothing was done so far, and nothing more is attempted.
            () = cancel.requested() => return result,
            () = tokio::time::sleep(after) => {}
        }
    }
}

/// Saves what `create` and `update` report before they finish.
struct Checkpoints {
    shared: Arc<RunState>,
    id: RecordId,
}

#[async_trait]
impl CheckpointSink for Checkpoints {
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        let change = Change::Checkpoint { id: self.id.clone(), checkpoint: checkpoint.clone() };
        let kept = self.shared.submit(vec![change]).map_err(|error| error.to_string())?;
        kept.await.map_err(|error| error.to_string())
    }
}
