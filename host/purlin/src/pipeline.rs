//! A run: from the lock to its release, in the one place that has the order of the steps. The verbs
//! (`up`, `apply`, `destroy`, `refresh`, `import`, `rollback`) differ only in their [`Job`]. A
//! [`Follower`] decides about the plan, and says what its caller does between the steps.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _};
use purlin_engine::{Base, CancelToken, DestroyOptions, Event, Plan, PlanOptions, Scope, Summary};
use purlin_model::{Context, Key, Urn};
use purlin_state::{Deployment, Environment, Staleness, Status};

use crate::reconcile::follow;
use crate::{Collected, Documents, Error, Purlin, SavedPlan, Session, UpOptions};

/// A run as a value: what it is to reach, in which environment.
pub struct Job<'d> {
    desired: Desired<'d>,
    context: Cow<'d, Context>,
    /// Their inputs are used for calls that fail with the recorded inputs.
    documents: Option<&'d Documents>,
    may_lose: Vec<Key>,
    cancel: CancelToken,
}

/// What a run is to reach.
#[derive(Clone)]
enum Desired<'d> {
    /// What the documents say. With `refresh`, all resources are read first.
    Documents { documents: &'d Documents, options: PlanOptions, refresh: bool },
    /// Exactly what a saved plan says.
    Plan { saved: &'d SavedPlan, documents: &'d Documents },
    /// Recorded resources are deleted.
    Nothing(DestroyOptions),
    /// Recorded resources are read, and the result is recorded.
    Record(Scope),
    /// What the documents say, pass after pass. The resources that are due are read first.
    Kept { documents: &'d Documents, due: HashSet<Urn> },
}

impl<'d> Job<'d> {
    /// Brings the environment in line with documents. The follower asks for consent instead of
    /// [`UpOptions::consent`].
    pub fn up(documents: &'d Documents, options: UpOptions) -> Self {
        let UpOptions { plan, refresh, may_lose, consent: _, cancel } = options;
        Self {
            desired: Desired::Documents { documents, options: plan, refresh },
            context: Cow::Borrowed(&documents.context),
            documents: Some(documents),
            may_lose,
            cancel,
        }
    }

    /// Carries out a saved plan, or the rest of one that was begun. `documents` are those of the plan
    /// ([`SavedPlan::documents`]), or newer ones, which must lead to the same plan. They get the id of
    /// its deployment.
    pub fn apply(saved: &'d SavedPlan, documents: &'d mut Documents) -> Self {
        Arc::make_mut(&mut documents.context).deployment = saved.deployment();
        let documents: &'d Documents = documents;
        Self {
            desired: Desired::Plan { saved, documents },
            context: Cow::Borrowed(&documents.context),
            documents: Some(documents),
            may_lose: Vec::new(),
            cancel: CancelToken::default(),
        }
    }

    /// Deletes recorded resources.
    pub fn destroy(context: &'d Context, documents: Option<&'d Documents>, options: DestroyOptions) -> Self {
        let desired = Desired::Nothing(options);
        let (may_lose, cancel) = (Vec::new(), CancelToken::default());
        Self { desired, context: Cow::Borrowed(context), documents, may_lose, cancel }
    }

    /// Reads recorded resources, and records what is found.
    pub fn refresh(context: &'d Context, documents: Option<&'d Documents>, scope: Scope) -> Self {
        let desired = Desired::Record(scope);
        let (may_lose, cancel) = (Vec::new(), CancelToken::default());
        Self { desired, context: Cow::Borrowed(context), documents, may_lose, cancel }
    }

    /// Keeps the environment in line with documents: reads the resources that are `due`, and does what
    /// the follower leaves ([`Follower::options`], [`Follower::restricts`]).
    pub(crate) fn keep(documents: &'d Documents, due: HashSet<Urn>, cancel: CancelToken) -> Self {
        Self {
            desired: Desired::Kept { documents, due },
            context: Cow::Borrowed(&documents.context),
            documents: Some(documents),
            may_lose: Vec::new(),
            cancel,
        }
    }

    /// With the resources whose data may be lost, in addition to those that the follower allows.
    #[must_use]
    pub fn losing(self, may_lose: Vec<Key>) -> Self {
        Self { may_lose, ..self }
    }

    /// With a token that stops the run.
    #[must_use]
    pub fn until(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    /// The environment.
    pub fn environment(&self) -> Environment {
        Environment::of(&self.context)
    }

    /// The token that stops the run.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// The documents of the plan; none for one that is made from records.
    pub fn documents(&self) -> Option<&'d Documents> {
        match self.desired {
            Desired::Documents { documents, .. }
            | Desired::Plan { documents, .. }
            | Desired::Kept { documents, .. } => Some(documents),
            Desired::Nothing(_) | Desired::Record(_) => None,
        }
    }
}

/// The part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It finds out the outcome of calls that an earlier run left open.
    Recovery,
    /// It reads all resources.
    Reading,
    /// It applies the plan.
    Deployment,
}

/// The caller of a run: decides about its plan, and follows its parts.
#[allow(async_fn_in_trait, reason = "each caller has its own type, and decides whether it is Send")]
pub trait Follower {
    /// The records may be out of date, so all resources are read.
    fn stale(&mut self, _staleness: Staleness) {}

    /// The saved plan was begun by a deployment that did not succeed; this run continues it.
    fn continues(&mut self, _begun: &Deployment) {}

    /// A part of the run that has no events took this long.
    fn took(&mut self, _part: &'static str, _time: Duration) {}

    /// The documents are not those of these roll-outs, by number, which cover the environment: they leave it
    /// alone from then on.
    fn leaves(&mut self, _rollouts: &[u64]) {}

    /// A part of the run is about to begin.
    fn begins(&mut self, _stage: Stage, _plan: &Plan) {}

    /// The options of a plan that is made pass after pass, after what was read; `None` if no plan is
    /// needed.
    ///
    /// # Errors
    /// If no plan may be made now.
    async fn options(&mut self, _session: &Session<'_>, _base: &Base) -> Result<Option<PlanOptions>, Error> {
        Ok(Some(PlanOptions::default()))
    }

    /// Restricts a plan that is made pass after pass: it is made again with these options.
    ///
    /// # Errors
    /// [`Error::State`] if what is held back cannot be recorded.
    async fn restricts(
        &mut self,
        _session: &Session<'_>,
        _base: &Base,
        _plan: &mut Plan,
    ) -> Result<Option<PlanOptions>, Error> {
        Ok(None)
    }

    /// The entry of the history that all passes over the same documents share.
    fn entry(&mut self) -> Option<Deployment> {
        None
    }

    /// Receives that entry as it was written.
    fn entered(&mut self, _entry: Option<Deployment>) {}

    /// Whether to apply the plan. It may also allow losses of data ([`Plan::allow_losses`]).
    async fn agrees(&mut self, plan: &mut Plan) -> bool;

    /// Receives the events of a part to its end. Returns its summary.
    async fn follow(&mut self, stage: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary;

    /// Awaits the deletion of shared resources at the end. It calls drivers and has no events; the
    /// caller can cancel it meanwhile, as a run.
    async fn finish<T: Send>(&mut self, work: impl Future<Output = T> + Send) -> T {
        work.await
    }

    /// Whether to try a deletion again after one that failed in part, while the environment stays
    /// locked. It may wait before it answers.
    async fn again(&mut self, _summary: &Summary, _collected: &[Collected]) -> bool {
        false
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// The plan was applied. Some of its resources may have failed.
    Applied {
        /// How the run ended.
        summary: Summary,
        /// The shared resources of other environments that were deleted because this run was their
        /// last user.
        collected: Vec<Collected>,
    },
    /// Nothing is recorded that a deletion or a refresh could be about. Resources without users were
    /// deleted all the same.
    Nothing(Vec<Collected>),
    /// An earlier part ended the run: the reading failed, or was cancelled.
    Stopped(Stage, Summary),
    /// The caller did not agree. Nothing was done.
    Declined,
}

impl Purlin {
    /// Carries out a job: takes the lock of the environment, finds out the outcome of calls that an
    /// earlier run left open, reads all resources if the records may be out of date, plans, asks the
    /// follower for consent, applies the plan, and deletes shared resources that no longer have users.
    ///
    /// # Errors
    /// If the documents or the plan are not accepted ([`Error::is_input`]), if another run has the
    /// environment, if the plan loses data without permission, or if the state cannot be read or
    /// written. A resource that fails is not an error: the summary names it.
    pub async fn run<F: Follower>(&self, job: &Job<'_>, follower: &mut F) -> Result<RunEnd, Error> {
        let environment = job.environment();
        let mut early = match &job.desired {
            Desired::Documents { documents, options, .. } => {
                self.plan_early(documents, options, follower).await?
            }
            Desired::Plan { .. } | Desired::Kept { .. } => None,
            Desired::Nothing(_) | Desired::Record(_) => {
                // A first deployment that has not recorded anything may have the lock.
                if !self.is_recorded(&environment).await? && self.holder_of(&environment).await?.is_none() {
                    let collected = follower.finish(self.collect_left(None, &job.cancel)).await?;
                    return Ok(RunEnd::Nothing(collected));
                }
                None
            }
        };
        if let Some(plan) = &mut early
            && plan.steps.is_empty()
        {
            return Ok(match follower.agrees(plan).await {
                true => RunEnd::Applied { summary: Summary::default(), collected: Vec::new() },
                false => RunEnd::Declined,
            });
        }
        let begun = self.begin_within(&environment, self.lock_timeout, &job.cancel);
        let session = timed("open state", follower, begun).await?;
        let mut end = session.run(job, early, follower).await?;
        while let (Desired::Nothing(_), RunEnd::Applied { summary, collected }) = (&job.desired, &end)
            && !summary.is_success()
            && follower.again(summary, collected).await
        {
            // Each attempt gets its own entry in the history.
            let deployment = self.deployment_id()?.into();
            let context = Cow::Owned(Context { deployment, ..Context::clone(&job.context) });
            let again = Job {
                desired: job.desired.clone(),
                context,
                documents: job.documents,
                may_lose: job.may_lose.clone(),
                cancel: job.cancel.clone(),
            };
            end = session.run(&again, None, follower).await?;
        }
        session.release().await?;
        Ok(end)
    }

    /// Reports faults of documents before the state is opened or waited for. Before the first
    /// deployment, this makes the whole plan, so that invalid input leaves no trace.
    async fn plan_early<F: Follower>(
        &self,
        documents: &Documents,
        options: &PlanOptions,
        follower: &mut F,
    ) -> Result<Option<Plan>, Error> {
        if !self.has_state() {
            return timed("plan", follower, self.plan(documents, options.clone())).await.map(Some);
        }
        if let Err(error) = timed("build graph", follower, self.graph(documents)).await {
            // If the context differs from the recorded one, or documents are missing since the last
            // deployment, that explains the other faults.
            self.check_context(documents).await?;
            self.check_vanished(documents).await?;
            return Err(error);
        }
        Ok(None)
    }

    /// Deletes resources that were handed over and no longer have users ([`Self::collect`]), in any
    /// environment and in that of the session; none once the run is cancelled.
    async fn collect_left(
        &self,
        session: Option<&Session<'_>>,
        cancel: &CancelToken,
    ) -> Result<Vec<Collected>, Error> {
        if cancel.is_requested() {
            return Ok(Vec::new());
        }
        let (base, number) = (self.deployment_id()?, AtomicU64::new(0));
        let id = || format!("{base}-{}", number.fetch_add(1, Ordering::Relaxed));
        match session {
            Some(session) => session.collect(&id, cancel).await,
            None => self.collect(&id, cancel).await,
        }
    }
}

impl Session<'_> {
    /// A run in this session, to its end: also deletes shared resources that were handed over and no
    /// longer have users, and notes that the records are reliable again if the run showed that.
    async fn run<F: Follower>(
        &self,
        job: &Job<'_>,
        early: Option<Plan>,
        follower: &mut F,
    ) -> Result<RunEnd, Error> {
        let mut end = self.attempt(job, early, follower).await?;
        if let RunEnd::Applied { collected, .. } | RunEnd::Nothing(collected) = &mut end {
            *collected = follower.finish(self.purlin.collect_left(Some(self), &job.cancel)).await?;
        }
        // Before a saved plan, nothing is read.
        if let RunEnd::Applied { summary, .. } = &end {
            if summary.proves_staleness {
                self.confirm_staleness().await?;
            } else if summary.ends_staleness && matches!(job.desired, Desired::Documents { .. }) {
                self.end_staleness().await?;
            }
        }
        Ok(end)
    }

    /// The parts of a run that are about this environment alone.
    pub(crate) async fn attempt<F: Follower>(
        &self,
        job: &Job<'_>,
        early: Option<Plan>,
        follower: &mut F,
    ) -> Result<RunEnd, Error> {
        let staleness = self.staleness().await?;
        let to_read = staleness.filter(|staleness| !staleness.is_mere_doubt());
        if let Some(staleness) = to_read {
            follower.stale(staleness);
        }
        if let Some(end) = self.recover_first(job, to_read.is_some(), follower).await? {
            return Ok(end);
        }
        let is_all_shown = match self.read_first(job, to_read.is_some(), follower).await? {
            ControlFlow::Break(end) => return Ok(end),
            ControlFlow::Continue(is_all_shown) => is_all_shown,
        };
        let mut plan = match (early, &job.desired) {
            (Some(plan), _) if self.records().await?.is_empty() => plan,
            (_, Desired::Documents { documents, options, .. }) => {
                timed("plan", follower, self.plan(documents, options.clone())).await?
            }
            (_, Desired::Plan { saved, documents }) => {
                timed("plan", follower, self.replan(saved, documents)).await?
            }
            (_, Desired::Nothing(options)) => {
                let plan = self.plan_destroy(&job.context, options.clone());
                let plan = timed("plan", follower, plan).await?;
                // Resources that others use are handed over without a step.
                if options.scope.is_everything() && plan.steps.is_empty() && plan.warnings.is_empty() {
                    return Ok(RunEnd::Nothing(Vec::new()));
                }
                plan
            }
            (_, Desired::Record(scope)) => {
                // What may exist without a record is something, too.
                if self.records().await?.is_empty() && self.open_calls().await?.is_empty() {
                    return Ok(RunEnd::Nothing(Vec::new()));
                }
                timed("plan", follower, self.plan_refresh(&job.context, scope)).await?
            }
            (_, Desired::Kept { documents, .. }) => match self.plan_kept(documents, follower).await? {
                Some(plan) => plan,
                None => return Ok(RunEnd::Nothing(Vec::new())),
            },
        };
        plan.allow_losses(&job.may_lose);
        if let Desired::Documents { documents, .. }
        | Desired::Plan { documents, .. }
        | Desired::Kept { documents, .. } = &job.desired
        {
            follower.leaves(&self.left_rollouts(documents).await?);
        }
        if !follower.agrees(&mut plan).await {
            return Ok(RunEnd::Declined);
        }
        follower.begins(Stage::Deployment, &plan);
        // A refresh that leaves calls open does not know everything that it is about.
        let open = match &job.desired {
            Desired::Record(_) => self.open_calls().await?,
            _ => Vec::new(),
        };
        let mut deploying = match &job.desired {
            Desired::Kept { documents, .. } => {
                let entry = follower.entry();
                self.keep(plan, documents, job.cancel.clone(), entry).await?
            }
            _ => self.deploy(plan, job.documents(), job.cancel.clone()).await?,
        };
        let run = (&mut deploying).map(move |event| match event {
            Event::Summary(summary) => {
                let unknown = summary.unknown.iter().chain(&open).cloned().collect::<BTreeSet<Key>>();
                let ends_staleness = summary.ends_staleness && is_all_shown;
                Event::Summary(Summary { unknown: unknown.into_iter().collect(), ends_staleness, ..summary })
            }
            event => event,
        });
        let summary = follower.follow(Stage::Deployment, run).await;
        if matches!(job.desired, Desired::Kept { .. }) {
            follower.entered(deploying.into_entry());
        }
        Ok(RunEnd::Applied { summary, collected: Vec::new() })
    }

    /// Finds out the outcome of calls that an earlier run left open. A call that stays undecided
    /// affects only its resource: the plan reports it, and does everything else. Before a saved plan,
    /// only its own calls may be open.
    async fn recover_first<F: Follower>(
        &self,
        job: &Job<'_>,
        is_stale: bool,
        follower: &mut F,
    ) -> Result<Option<RunEnd>, Error> {
        if let Desired::Plan { saved, .. } = &job.desired {
            let Some(begun) = self.begun(saved).await? else { return Ok(None) };
            follower.continues(&begun);
        }
        let works_from_records = match &job.desired {
            Desired::Documents { refresh, .. } => *refresh || is_stale,
            Desired::Plan { .. } => false,
            Desired::Kept { due, .. } => !due.is_empty(),
            Desired::Nothing(_) | Desired::Record(_) => true,
        };
        if let Some(documents) = job.documents
            && (works_from_records || !self.open_calls().await?.is_empty())
        {
            self.use_inputs_of(documents, &job.context).await;
        }
        let Some(plan) = self.plan_recovery(&job.context).await? else { return Ok(None) };
        let summary = self.run_stage(Stage::Recovery, plan, job, follower).await?;
        let ends = summary.halted.is_some() || summary.cancelled;
        Ok(ends.then_some(RunEnd::Stopped(Stage::Recovery, summary)))
    }

    /// Reads the resources of documents, if that is asked for or the records may be out of date. If the
    /// run goes on, says whether all of them were read and their systems showed them.
    async fn read_first<F: Follower>(
        &self,
        job: &Job<'_>,
        is_stale: bool,
        follower: &mut F,
    ) -> Result<ControlFlow<RunEnd, bool>, Error> {
        let (plan, needs_all, is_all) = match &job.desired {
            Desired::Documents { documents, options, refresh } if *refresh || is_stale => {
                (self.plan_reading(documents, options.scope.clone()).await?, true, true)
            }
            Desired::Kept { documents, due, .. } if !due.is_empty() => {
                let base = self.base().await?.paused(documents.paused()?);
                let wanted = |urn: &Urn| due.contains(urn);
                let is_all =
                    base.all_current().all(|record| record.status == Status::Absent || wanted(&record.urn));
                (Some(self.plan_reads(&job.context, base, &wanted).await?), false, is_all)
            }
            _ => (None, true, false),
        };
        let Some(plan) = plan else { return Ok(ControlFlow::Continue(false)) };
        let summary = self.run_stage(Stage::Reading, plan, job, follower).await?;
        let is_read = summary.failed.is_empty();
        let ends = needs_all && !is_read || summary.halted.is_some() || summary.cancelled;
        Ok(match ends {
            true => ControlFlow::Break(RunEnd::Stopped(Stage::Reading, summary)),
            false => ControlFlow::Continue(is_all && is_read && summary.not_shown.is_empty()),
        })
    }

    /// A plan of documents that are kept; `None` if none is needed.
    async fn plan_kept<F: Follower>(
        &self,
        documents: &Documents,
        follower: &mut F,
    ) -> Result<Option<Plan>, Error> {
        let base = self.base().await?;
        let Some(mut options) = follower.options(self, &base).await? else { return Ok(None) };
        loop {
            let plan = self.purlin.plan_from(documents, base.clone(), options);
            let mut plan = timed("plan", follower, plan).await?;
            match follower.restricts(self, &base, &mut plan).await? {
                Some(restricted) => options = restricted,
                None => return Ok(Some(plan)),
            }
        }
    }

    /// A part of a run before its plan.
    async fn run_stage<F: Follower>(
        &self,
        stage: Stage,
        plan: Plan,
        job: &Job<'_>,
        follower: &mut F,
    ) -> Result<Summary, Error> {
        follower.begins(stage, &plan);
        let run = self.apply(plan, job.cancel.clone()).await?;
        Ok(follower.follow(stage, run).await)
    }

    /// Makes a plan that reads what is recorded of a scope; `None` if nothing of it is. A name that is
    /// only in the documents is a new resource.
    async fn plan_reading(&self, documents: &Documents, mut scope: Scope) -> Result<Option<Plan>, Error> {
        let has_targets = !scope.targets.is_empty();
        loop {
            match self.plan_refresh_of(documents, &scope).await {
                Err(Error::Engine(purlin_engine::Error::Names(wrong)))
                    if wrong.iter().all(|(_, wrong)| wrong.fits.is_empty()) =>
                {
                    let is_new = |name: &String| wrong.iter().any(|(_, wrong)| wrong.name == *name);
                    let names = scope.targets.len() + scope.exclude.len();
                    scope.targets.retain(|name| !is_new(name));
                    scope.exclude.retain(|name| !is_new(name));
                    if names == scope.targets.len() + scope.exclude.len() {
                        return Err(purlin_engine::Error::Names(wrong).into());
                    }
                    if has_targets && scope.targets.is_empty() {
                        return Ok(None);
                    }
                }
                plan => return plan.map(Some),
            }
        }
    }
}

/// A follower that agrees to everything, and listens to nothing.
#[derive(Default)]
pub(crate) struct SilentFollower {
    /// The resources that the deployment is about.
    pub(crate) steps: Vec<Key>,
}

impl Follower for SilentFollower {
    fn begins(&mut self, stage: Stage, plan: &Plan) {
        if stage == Stage::Deployment {
            self.steps = plan.steps.iter().map(|step| step.key.clone()).collect();
        }
    }

    async fn agrees(&mut self, plan: &mut Plan) -> bool {
        let losses = plan.losses_not_allowed();
        plan.allow_losses(&losses);
        true
    }

    async fn follow(&mut self, _: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary {
        follow(run, &mut |_: &Event| {}).await
    }
}

/// Measures a part for the follower.
async fn timed<T>(part: &'static str, follower: &mut impl Follower, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let result = work.await;
    follower.took(part, begun.elapsed());
    result
}
