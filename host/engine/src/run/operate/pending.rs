//! Waits for what a driver calls pending: it exists, or is going away, and is not done yet (SPEC §8).
//!
//! It is recorded as in progress, and its call is over: no instance, permit or open call waits with it,
//! and a killed process loses nothing. Whoever comes next looks again.

use std::time::Duration;

use purlin_model::driver::{Failure, Pending};
use purlin_model::{Finding, Value};
use purlin_sandbox::CallError;
use purlin_state::{Change, Record};
use tokio::time::Instant;

use super::Task;
use super::provision::finish;
use crate::driver::Driver;
use crate::error::Cause;
use crate::records::making::{going, unfinished};

/// The shortest time between two looks, whatever a driver asks for.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest one: who asks for more is looked at earlier, which costs one call.
const LONGEST: Duration = Duration::from_mins(10);

/// The longest time between two looks for what its system does not show yet.
const LONGEST_UNSEEN: Duration = Duration::from_secs(5);

/// How long a run waits for one resource.
pub(super) struct Patience {
    since: Instant,
    most: Duration,
}

impl Patience {
    pub(super) fn of(driver: &dyn Driver) -> Self {
        Self { since: Instant::now(), most: driver.pending() }
    }

    /// Whether this much more is too long.
    fn is_exceeded_by(&self, more: Duration) -> bool {
        self.since.elapsed().saturating_add(more) > self.most
    }
}

impl Task<'_> {
    /// Waits until it makes sense to look again.
    ///
    /// # Errors
    /// [`Cause::InProgress`] if the run does not wait, or not that long.
    pub(super) async fn pause(
        self,
        pending: &Pending,
        deletes: bool,
        patience: &Patience,
    ) -> Result<(), Cause> {
        let ended = || Cause::InProgress(unfinished(pending, deletes));
        let after = pending.after.clamp(SHORTEST, LONGEST);
        let cancel = &self.shared.cancel;
        if !self.shared.waits || cancel.is_requested() || patience.is_exceeded_by(after) {
            return Err(ended());
        }
        (self.call().progress)(&pending.message, None);
        tokio::select! {
            biased;
            () = cancel.requested() => Err(ended()),
            () = tokio::time::sleep(after) => Ok(()),
        }
    }

    /// Looks at a resource in progress until it is ready, and records that. `first` is what its driver
    /// just said; without it, the first look is at once. Returns the record, and why the result counts as
    /// a failure all the same.
    ///
    /// # Errors
    /// [`Cause::InProgress`] if the run does not wait any longer, or why nobody could look; the resource
    /// stays recorded as in progress. If it is gone, that is recorded.
    pub(super) async fn ready(
        self,
        driver: &dyn Driver,
        record: &Record,
        first: Option<&Pending>,
    ) -> Result<(Record, Option<Cause>), Cause> {
        let patience = Patience::of(driver);
        let mut record = record.clone();
        let mut waits_for = first.cloned();
        // Most systems show a new resource after a moment, and few of them take seconds.
        let mut unseen = SHORTEST;
        loop {
            if let Some(pending) = &waits_for {
                self.pause(pending, false, &patience).await?;
            }
            let looked = self.shared.moments.now();
            match self.look_at_record(driver, &record).await {
                Ok(Some(found)) if found.pending.is_some() => {
                    let still = self.refreshed(driver, &record, &found);
                    if still != record {
                        self.written(vec![Change::Put(Box::new(still.clone()))]).await?;
                    }
                    (record, waits_for) = (still, found.pending);
                }
                Ok(Some(found)) => {
                    return self.is_ready(driver, self.refreshed(driver, &record, &found)).await;
                }
                Ok(None) => match self.not_shown_for(driver, &record, looked) {
                    Some(left) => {
                        let message = "its system does not show it yet".to_owned();
                        waits_for = Some(Pending { after: left.min(unseen), message });
                        unseen = (unseen * 2).min(LONGEST_UNSEEN);
                    }
                    None => {
                        self.observed(Finding::Gone, Vec::new());
                        self.written(self.gone_with_guests(&record, false)).await?;
                        return Err(self.deleted_meanwhile());
                    }
                },
                Err(Cause::Call(failed)) => match &failed.error {
                    CallError::Failure(Failure::RetryAfter { after, message }) => {
                        waits_for = Some(Pending { after: *after, message: message.clone() });
                    }
                    _ => return Err(Cause::Call(failed)),
                },
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Records a resource that is no longer in progress, as it was found.
    async fn is_ready(self, driver: &dyn Driver, found: Record) -> Result<(Record, Option<Cause>), Cause> {
        let state = found.state.clone();
        let ready = Record { updated: self.shared.moments.next(), ..found };
        let rules = &self.shared.plan.rules;
        let certain = self.step.promised().cloned().unwrap_or_else(Value::unknown);
        let (ready, failure) = finish(ready, Ok(state), &certain, driver, rules, self.step.key.type_name())?;
        self.written(vec![Change::Put(Box::new(ready.clone()))]).await?;
        Ok((ready, failure))
    }

    /// Records that the deletion of a resource is in progress, so that the call is over.
    pub(super) async fn goes(self, record: &Record, settles: Change, pending: &Pending) -> Result<(), Cause> {
        let going = going(record.clone(), pending);
        Ok(self.written(vec![Change::Put(Box::new(going)), settles]).await?)
    }
}
