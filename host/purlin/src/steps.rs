//! The steps of a whole deployment, in the one place that has them. A [`Follower`] says what its
//! caller does between them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::Stream;
use purlin_engine::{CancelToken, Event, Plan, Summary};
use purlin_state::{Environment, Staleness};

use crate::{Collected, Documents, Error, Purlin, Session, TeardownOptions, UpOptions};

/// Which run of a deployment it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It finds out the outcome of calls that an earlier run left open.
    Recovery,
    /// It reads all resources.
    Reading,
    /// It applies the plan.
    Deployment,
}

/// The caller of a deployment: decides about its plan, and follows its runs.
#[allow(async_fn_in_trait, reason = "each caller has its own type, and decides whether it is Send")]
pub trait Follower {
    /// The records may be out of date, so all resources are read.
    fn stale(&mut self, _staleness: Staleness) {}

    /// A part of the deployment that is not a run took this long.
    fn took(&mut self, _part: &'static str, _time: Duration) {}

    /// A run is about to begin.
    fn begins(&mut self, _stage: Stage, _plan: &Plan) {}

    /// Whether to apply the plan. It may also allow losses of data ([`Plan::allow_losses`]).
    async fn agrees(&mut self, plan: &mut Plan) -> bool;

    /// Receives the events of a run to its end. Returns its summary.
    async fn follow(&mut self, stage: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary;

    /// Awaits the deletion of shared resources at the end. It calls drivers and has no events; the
    /// caller can cancel it meanwhile, as a run.
    async fn finish<T: Send>(&mut self, work: impl Future<Output = T> + Send) -> T {
        work.await
    }
}

/// How a whole deployment ended.
#[derive(Debug)]
pub enum UpEnd {
    /// The plan was applied. Some of its resources may have failed.
    Applied {
        /// How the run ended.
        summary: Summary,
        /// The shared resources of other environments that were deleted because this deployment was
        /// their last user.
        collected: Vec<Collected>,
    },
    /// An earlier run ended the deployment: the reading failed, or was cancelled.
    Stopped(Stage, Summary),
    /// The caller did not agree. Nothing was done.
    Declined,
}

impl Purlin {
    /// The same as [`Purlin::up`], for a caller that does something between the steps.
    ///
    /// # Errors
    /// As for [`Purlin::up`].
    pub async fn up_with<F: Follower>(
        &self,
        documents: &Documents,
        options: UpOptions,
        follower: &mut F,
    ) -> Result<UpEnd, Error> {
        let UpOptions { plan: planned, refresh, may_lose, cancel, .. } = options;
        let (context, environment) = (&documents.context, documents.environment());
        let mut early = None;
        if self.has_state() {
            // Report faults of the documents before waiting for the state.
            if let Err(error) = timed("build graph", follower, self.graph(documents)).await {
                // If the context differs from the recorded one, that explains the other faults.
                self.check_context(documents).await?;
                // If documents are missing since the last deployment, that explains the other
                // faults.
                self.check_vanished(documents).await?;
                return Err(error);
            }
        } else {
            // Plan before the first deployment opens the state, so that invalid input leaves no
            // trace.
            let mut plan = timed("plan", follower, self.plan(documents, planned.clone())).await?;
            if plan.steps.is_empty() {
                return Ok(match follower.agrees(&mut plan).await {
                    true => UpEnd::Applied { summary: Summary::default(), collected: Vec::new() },
                    false => UpEnd::Declined,
                });
            }
            early = Some(plan);
        }
        let begun = self.begin_within(&environment, self.lock_timeout, &cancel);
        let session = timed("open state", follower, begun).await?;
        let staleness = session.staleness().await?;
        if refresh || staleness.is_some() || !session.open_calls().await?.is_empty() {
            session.use_inputs_of(documents, context).await;
        }
        if let Some(plan) = session.plan_recovery(context).await? {
            follower.begins(Stage::Recovery, &plan);
            let run = session.apply(plan, cancel.clone()).await?;
            let summary = follower.follow(Stage::Recovery, run).await;
            // An undecided call affects only its own resource.
            if summary.halted.is_some() || summary.cancelled {
                return Ok(UpEnd::Stopped(Stage::Recovery, summary));
            }
        }
        if let Some(staleness) = staleness {
            follower.stale(staleness);
        }
        if refresh || staleness.is_some() {
            let plan = session.plan_refresh_of(documents, &planned.scope).await?;
            follower.begins(Stage::Reading, &plan);
            let run = session.apply(plan, cancel.clone()).await?;
            let summary = follower.follow(Stage::Reading, run).await;
            if !summary.failed.is_empty() || summary.halted.is_some() || summary.cancelled {
                return Ok(UpEnd::Stopped(Stage::Reading, summary));
            }
        }
        let mut plan = match early {
            Some(plan) if session.records().await?.is_empty() => plan,
            _ => timed("plan", follower, session.plan(documents, planned)).await?,
        };
        plan.allow_losses(&may_lose);
        self.carry_out(session, plan, Some(documents), &cancel, follower).await
    }
}

impl Purlin {
    /// The deletion of [`Purlin::destroy`].
    pub(crate) async fn destroy_with<F: Follower>(
        &self,
        environment: &Environment,
        options: TeardownOptions,
        follower: &mut F,
    ) -> Result<UpEnd, Error> {
        let TeardownOptions { plan, documents, may_lose, cancel, .. } = options;
        let nothing = UpEnd::Applied { summary: Summary::default(), collected: Vec::new() };
        if !self.is_recorded(environment).await? {
            return Ok(nothing);
        }
        let session = self.begin_within(environment, self.lock_timeout, &cancel).await?;
        let context = self.context_of(environment, &self.deployment_id()?).await?;
        if let Some(documents) = &documents {
            session.use_inputs_of(documents, &context).await;
        }
        if let Some(plan) = session.plan_recovery(&context).await? {
            follower.begins(Stage::Recovery, &plan);
            let run = session.apply(plan, cancel.clone()).await?;
            let summary = follower.follow(Stage::Recovery, run).await;
            if summary.halted.is_some() || summary.cancelled {
                return Ok(UpEnd::Stopped(Stage::Recovery, summary));
            }
        }
        let mut plan = session.plan_destroy(&context, plan).await?;
        // Resources that others use are handed over without a step.
        if plan.steps.is_empty() && plan.warnings.is_empty() {
            return Ok(nothing);
        }
        plan.allow_losses(&may_lose);
        self.carry_out(session, plan, None, &cancel, follower).await
    }

    /// Asks for consent, applies the plan, and deletes shared resources that no longer have users.
    async fn carry_out<F: Follower>(
        &self,
        session: Session<'_>,
        mut plan: Plan,
        documents: Option<&Documents>,
        cancel: &CancelToken,
        follower: &mut F,
    ) -> Result<UpEnd, Error> {
        if !follower.agrees(&mut plan).await {
            return Ok(UpEnd::Declined);
        }
        follower.begins(Stage::Deployment, &plan);
        let run = session.deploy(plan, documents, cancel.clone()).await?;
        let summary = follower.follow(Stage::Deployment, run).await;
        let collected = follower.finish(session.finish(&summary, cancel)).await?;
        session.release().await?;
        Ok(UpEnd::Applied { summary, collected })
    }
}

impl Session<'_> {
    /// Ends a deployment: deletes shared resources that were handed over and no longer have users,
    /// and notes that the records are reliable again if the run showed that. Returns what it
    /// deleted; once the deployment is cancelled, it deletes nothing.
    ///
    /// # Errors
    /// If the state cannot be read or written, or a driver is missing.
    pub async fn finish(&self, summary: &Summary, cancel: &CancelToken) -> Result<Vec<Collected>, Error> {
        let (base, number) = (self.purlin.deployment_id()?, AtomicU64::new(0));
        let id = || format!("{base}-{}", number.fetch_add(1, Ordering::Relaxed));
        let collected = match cancel.is_requested() {
            true => Vec::new(),
            false => self.collect(&id, cancel).await?,
        };
        if summary.ends_staleness {
            self.end_staleness().await?;
        }
        Ok(collected)
    }
}

/// Measures a part for the follower.
async fn timed<T>(part: &'static str, follower: &mut impl Follower, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let result = work.await;
    follower.took(part, begun.elapsed());
    result
}
