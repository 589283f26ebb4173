//! Calling a driver with effects: the intent before, patience during, and what its end says about
//! what was done.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::Label;
use purlin_model::driver::{Failure, Subject};
use purlin_sandbox::{CallError, CancelToken, CheckpointSink, clock};
use purlin_state::{Change, Intent, Operation, RecordId};

use super::Task;
use super::effort::Effort;
use crate::apply::Shared;
use crate::driver::{Call, Driver};
use crate::error::Cause;
use crate::event::Phase;

/// How often a driver that asks for patience is called again.
const ATTEMPTS: u32 = 5;
/// How long to wait before each further attempt at what may be done twice.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// The longest patience that it gets each time.
const PATIENCE: Duration = Duration::from_secs(60);

impl Task<'_> {
    /// Facts for a call that makes nothing.
    pub(super) fn call(self) -> Call {
        let (events, index) = (self.shared.events.clone(), self.index);
        let (key, action) = (self.step.key.clone(), self.operation.work.action());
        Call {
            cancel: self.shared.cancel.clone(),
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

    /// Writes down what is about to be done. When this returns it is durable, and with it all that
    /// was submitted before.
    pub(super) async fn intend(
        self,
        operation: Operation,
        driver: &dyn Driver,
        call: &mut Call,
    ) -> Result<RecordId, Cause> {
        call.idempotency_key = self.shared.idempotency_key();
        let since = (self.shared.clock)();
        let intent = Intent {
            operation,
            idempotency_key: call.idempotency_key.clone(),
            checkpoint: None,
            since,
            deadline: driver.longest().map(|longest| since.saturating_add(clock::millis(most(longest)))),
        };
        let id = intent.id();
        call.checkpoint = Some(self.checkpoints(&id));
        self.shared.submit(vec![Change::Intend(Box::new(intent))])?.await?;
        self.shared.count_call();
        Ok(id)
    }

    /// Keeps ids that `create` reports before it is done.
    pub(super) fn checkpoints(self, id: &RecordId) -> Arc<dyn CheckpointSink> {
        Arc::new(Checkpoints { shared: Arc::clone(self.shared), id: id.clone() })
    }

    pub(super) async fn written(self, changes: Vec<Change>) -> Result<(), purlin_state::Error> {
        self.shared.submit(changes)?.await
    }

    /// What a failed call means for the intent: where nothing was done for certain, it is taken
    /// back; else it stays, and the next run finds out. Of an earlier call whose outcome is not
    /// known this one says nothing.
    pub(super) async fn failed(self, id: RecordId, error: CallError) -> Cause {
        if is_certain(&error) && self.shared.plan.recorded.pending(&id).is_none() {
            if let Err(cause) = self.written(vec![Change::Settle(id)]).await {
                return Cause::from(cause);
            }
        } else {
            self.shared.leave_unknown(&self.step.key);
        }
        error.into()
    }
}

/// How long all attempts at a call take at most, where one takes so long.
fn most(longest: Duration) -> Duration {
    longest.saturating_mul(ATTEMPTS).saturating_add(PATIENCE.saturating_mul(ATTEMPTS - 1))
}

/// The longest time that one attempt at a call may take, according to its intent; `None` if the driver has no limit.
///
/// A process that takes an environment over after a lease expired waits this long: the old holder begins no attempt
/// after its lease, so its last one has ended by then.
pub fn longest_attempt(intent: &Intent) -> Option<Duration> {
    let all = Duration::from_millis(intent.deadline?.saturating_sub(intent.since));
    Some(all.saturating_sub(PATIENCE.saturating_mul(ATTEMPTS - 1)) / ATTEMPTS)
}

/// Whether an error says that nothing was done.
pub(super) fn is_certain(error: &CallError) -> bool {
    match error {
        CallError::Failure(failure) => !matches!(failure, Failure::Partial { .. } | Failure::Undecided(_)),
        // Plans have no effects.
        CallError::Instantiate { .. } | CallError::Unknown { .. } | CallError::PlanLimit { .. } => true,
        CallError::Trap { .. }
        | CallError::TimeLimit { .. }
        | CallError::TotalTimeLimit { .. }
        | CallError::MemoryLimit { .. }
        | CallError::OutputLimit { .. }
        | CallError::Junk { .. }
        | CallError::Checkpoint { .. }
        | CallError::Cancelled => false,
    }
}

/// Calls until the driver asks for no more patience. What may be done twice is called again also where it
/// is not known whether it was done.
pub(super) async fn repeatedly<T, F>(
    cancel: &CancelToken,
    effort: &Effort,
    mut attempt: impl FnMut() -> F,
) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    let undecided =
        |result: &Result<T, CallError>| matches!(result, Err(CallError::Failure(Failure::Undecided(_))));
    let mut result = patiently(cancel, effort, &mut attempt).await;
    let mut doubt = None;
    for wait in AGAIN {
        if !undecided(&result) || cancel.is_requested() {
            break;
        }
        tokio::select! {
            biased;
            () = cancel.requested() => break,
            () = tokio::time::sleep(wait) => {}
        }
        let again = patiently(cancel, effort, &mut attempt).await;
        doubt = std::mem::replace(&mut result, again).err();
    }
    match result {
        // Of what an earlier attempt did a later one says nothing.
        Err(error) if is_certain(&error) => Err(doubt.unwrap_or(error)),
        result => result,
    }
}

/// Calls until the driver asks for no more patience.
pub(super) async fn patiently<T, F>(
    cancel: &CancelToken,
    effort: &Effort,
    mut attempt: impl FnMut() -> F,
) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    let mut attempts = 1;
    let begun = tokio::time::Instant::now();
    loop {
        // What was in the way of an earlier attempt need not be in the way of this one.
        effort.facts.served();
        let result = attempt().await;
        effort.tried(attempts, begun.elapsed());
        match result {
            Err(CallError::Failure(Failure::RetryAfter { after, message }))
                if attempts < ATTEMPTS && !cancel.is_requested() =>
            {
                attempts += 1;
                tokio::select! {
                    // Where both are due, nothing more is begun.
                    biased;
                    // It did nothing so far, and is not asked to begin any more.
                    () = cancel.requested() => {
                        return Err(CallError::Failure(Failure::RetryAfter { after, message }));
                    }
                    () = tokio::time::sleep(after.min(PATIENCE)) => {}
                }
            }
            result => return result,
        }
    }
}

/// Keeps ids that `create` reports before it is done.
struct Checkpoints {
    shared: Arc<Shared>,
    id: RecordId,
}

#[async_trait]
impl CheckpointSink for Checkpoints {
    async fn checkpoint(&self, id: &Label) -> Result<(), String> {
        let change = Change::Checkpoint { id: self.id.clone(), provider_id: id.clone() };
        let kept = self.shared.submit(vec![change]).map_err(|error| error.to_string())?;
        kept.await.map_err(|error| error.to_string())
    }
}
