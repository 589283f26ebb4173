//! A session: the lock of an environment, and access to its records.

use std::sync::{Arc, Mutex, PoisonError};

use purlin_engine::{
    ApplyOptions, Base, CancelToken, CurrentInputs, DestroyOptions, Plan, PlanOptions, Run, Scope, Scratch,
};
use purlin_model::{Context, Key, Urn};
use purlin_state::{
    AuditAction, Change, Environment, Record, Reserved, RolloutMark, Snapshot, Staleness, Writer,
};

use crate::audited::{Act, AuditedLock};
use crate::sharing::Claims;
use crate::{Documents, Error, Purlin};

/// A session in an environment. It holds the environment's lock until it is dropped, so that the
/// state does not change between planning and applying.
pub struct Session<'a> {
    pub(crate) purlin: &'a Purlin,
    pub(crate) lock: AuditedLock,
    /// The snapshot that was read when the lock was taken.
    pub(crate) read: Mutex<Option<Snapshot>>,
    /// The inputs that the current documents give resources.
    pub(crate) current: Mutex<Option<CurrentInputs>>,
    /// The locks of environments whose installations this one begins to use.
    pub(crate) claims: Claims,
    /// The reserved vacancies that it fills. Declared after the lock, so that they are released
    /// later.
    pub(crate) reserved: Mutex<Vec<Reserved>>,
    /// What the environment says of roll-outs from now on. `None` follows from the documents of a deployment.
    pub(crate) rollouts: Option<Arc<[RolloutMark]>>,
    /// Whether runs end with what is in progress. A pass of a reconciler does: the next one goes on.
    pub(crate) ends_with_progress: bool,
}

impl Session<'_> {
    /// The locked environment.
    pub fn environment(&self) -> &Environment {
        self.lock.environment()
    }

    /// The clock that times in the environment are recorded by: that of the store, if it has one.
    pub(crate) fn clock(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        self.lock.clock()
    }

    /// Finishes pending writes and releases the lock. Dropping the session does the same, but does
    /// not report failures.
    ///
    /// # Errors
    /// [`Error::State`] if the disk fails.
    pub async fn release(self) -> Result<(), Error> {
        Ok(self.lock.release().await?)
    }

    /// Everything that is recorded in the environment.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read completely.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).take();
        match read {
            Some(snapshot) => Ok(snapshot),
            None => {
                let snapshot = self.purlin.store().await?.load(self.environment()).await?;
                if !snapshot.unused_cookies.is_empty() {
                    let unused = snapshot.unused_cookies.clone();
                    self.lock.notes().commit(vec![Change::RemoveCookies(unused)]).await?;
                }
                Ok(snapshot)
            }
        }
    }

    /// Every record of the environment, sorted by URN.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read completely.
    pub async fn records(&self) -> Result<Vec<Arc<Record>>, Error> {
        Ok(self.snapshot().await?.records)
    }

    /// The starting point of plans.
    ///
    /// # Errors
    /// [`Error::Engine`] if the records contradict each other.
    pub async fn base(&self) -> Result<Base, Error> {
        let base = self.base_of(self.snapshot().await?)?;
        self.purlin.with_users(base, self.environment()).await
    }

    fn base_of(&self, snapshot: Snapshot) -> Result<Base, Error> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Base::new(snapshot)?.with_inputs(current))
    }

    /// Makes the inputs of these documents available for calls that fail with the recorded inputs,
    /// for example because a credential was rotated or a wrong address was recorded. An event
    /// reports their use. This applies to everything that works from records: finding out the
    /// outcome of calls, reading, and deleting. Documents with faults are not used.
    pub async fn use_inputs_of(&self, documents: &Documents, context: &Context) {
        let current = self.purlin.current_inputs(documents, context).await;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// Makes a plan that finds out the outcome of interrupted calls; `None` if there are none. A
    /// deployment executes this plan before it plans anything else.
    ///
    /// # Errors
    /// [`Error::Documents`] if a driver is missing.
    pub async fn plan_recovery(&self, context: &Context) -> Result<Option<Plan>, Error> {
        let snapshot = self.snapshot().await?;
        if snapshot.pending.is_empty() {
            *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
            return Ok(None);
        }
        let base = self.base_of(snapshot)?;
        Ok(Some(purlin_engine::recover(context, base, &self.purlin.supplied_drivers().await?, false).await?))
    }

    /// The resources with a pending call.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read.
    pub async fn open_calls(&self) -> Result<Vec<Key>, Error> {
        let snapshot = self.snapshot().await?;
        let open = snapshot.pending.iter().filter_map(|intent| intent.id().urn.key()).collect();
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(open)
    }

    /// Why the records may be older than the real state. In that case, read every resource before
    /// planning ([`Self::plan_refresh`]), unless it is a mere doubt ([`Staleness::is_mere_doubt`]);
    /// execute a plan for all of the documents, which looks for each resource by its name before creating
    /// it; and call [`Self::end_staleness`] once [`Summary::ends_staleness`] is set and every resource was
    /// read and shown ([`Summary::not_shown`]), or [`Self::confirm_staleness`] if
    /// [`Summary::proves_staleness`] is set.
    ///
    /// # Errors
    /// [`Error::State`] if the state cannot be read completely.
    pub async fn staleness(&self) -> Result<Option<Staleness>, Error> {
        let snapshot = self.snapshot().await?;
        let staleness = snapshot.staleness;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(staleness)
    }

    /// Records that every resource was read or looked for, so that the records are reliable again.
    /// Does nothing if the records are not marked as possibly stale.
    ///
    /// # Errors
    /// [`Error::State`] if this cannot be recorded.
    pub async fn end_staleness(&self) -> Result<(), Error> {
        if self.staleness().await?.is_some() {
            self.forget_read();
            self.lock.notes().commit(vec![Change::SetStaleness(None)]).await?;
        }
        Ok(())
    }

    /// Records that the database was restored, so that the next run reads every resource. Does nothing
    /// unless there is a mere doubt about the records.
    ///
    /// # Errors
    /// [`Error::State`] if this cannot be recorded.
    pub async fn confirm_staleness(&self) -> Result<(), Error> {
        if self.staleness().await?.is_some_and(Staleness::is_mere_doubt) {
            self.forget_read();
            self.lock.notes().commit(vec![Change::SetStaleness(Some(Staleness::Restored))]).await?;
        }
        Ok(())
    }

    /// Makes a plan that reads the resources in a scope, except paused ones, and records the
    /// results.
    ///
    /// # Errors
    /// As for [`Self::plan_refresh`]; also [`Error::Documents`] with every fault of the graph.
    pub async fn plan_refresh_of(&self, documents: &Documents, scope: &Scope) -> Result<Plan, Error> {
        let base = self.base().await?.paused(documents.paused()?);
        Ok(purlin_engine::refresh(&documents.context, base, &self.purlin.supplied_drivers().await?, scope)
            .await?)
    }

    /// Makes a plan that reads every resource in a scope and records the results.
    ///
    /// # Errors
    /// [`Error::Documents`] if a driver is missing, or a name matches nothing.
    pub async fn plan_refresh(&self, context: &Context, scope: &Scope) -> Result<Plan, Error> {
        let base = self.base().await?;
        Ok(purlin_engine::refresh(context, base, &self.purlin.supplied_drivers().await?, scope).await?)
    }

    /// The same from a given starting point, for the `wanted` resources.
    pub(crate) async fn plan_reads(
        &self,
        context: &Context,
        base: Base,
        wanted: &(dyn Fn(&Urn) -> bool + Sync),
    ) -> Result<Plan, Error> {
        Ok(purlin_engine::read(context, base, &self.purlin.supplied_drivers().await?, wanted).await?)
    }

    /// Makes a plan that brings the environment in line with the documents. Without effects.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault; other errors if a driver or the state fails.
    pub async fn plan(&self, documents: &Documents, options: PlanOptions) -> Result<Plan, Error> {
        let base = self.base().await?;
        self.purlin.plan_from(documents, base, options).await
    }

    /// Makes a plan that deletes recorded resources, from the records alone.
    ///
    /// # Errors
    /// [`Error::Documents`] if a required driver is missing, a resource is protected, or a
    /// remaining resource depends on a deleted one.
    pub async fn plan_destroy(&self, context: &Context, options: DestroyOptions) -> Result<Plan, Error> {
        let options = DestroyOptions { parallelism: self.purlin.parallelism(), ..options };
        let base = self.purlin.at_now(self.base().await?).await;
        let base = base.protected(self.purlin.protection(self.environment()));
        let plan =
            purlin_engine::destroy(context, base, &self.purlin.supplied_drivers().await?, options).await?;
        self.purlin.guard_plan(plan, None, &[], self.environment()).await
    }

    /// Executes a plan of this session without an entry in the history. Use [`Self::deploy`] for a
    /// plan of documents, which also prevents other deployments from creating the same
    /// installations meanwhile. The stream ends with the summary; nothing happens unless it is
    /// polled.
    ///
    /// # Errors
    /// If the plan was made offline, or loses data without permission ([`Plan::allow_losses`]).
    /// [`Error::Documents`] if it creates an installation of a bundle that only another tool can
    /// provision, or removes resources that other environments use; [`Error::State`] if another
    /// process has the lock of an environment whose installations it begins to use.
    pub async fn apply(&self, plan: Plan, cancel: CancelToken) -> Result<Run, Error> {
        let writer = self.lock.writer(Act::run(&plan));
        self.apply_of(None, plan, writer, cancel).await
    }

    /// The same, with the documents of the plan, if any, and the receiver of its changes.
    pub(crate) async fn apply_of(
        &self,
        documents: Option<&Documents>,
        plan: Plan,
        writer: Arc<dyn Writer>,
        cancel: CancelToken,
    ) -> Result<Run, Error> {
        crate::installations::check_drivers(&plan)?;
        if let Some(documents) = documents {
            self.reserve(&plan, documents, &cancel).await?;
        }
        self.claim(&plan, &cancel).await?;
        let mut options = self.purlin.apply_options(cancel)?;
        options.waits = !self.ends_with_progress;
        self.forget_read();
        Ok(purlin_engine::apply(plan, writer, options)?)
    }

    /// Renames a resource, and everything that refers to it. Returns the number of changed records.
    ///
    /// # Errors
    /// [`Error::Engine`] if nothing is recorded under the old name, or something under the new one;
    /// [`Error::Documents`] if other environments use it.
    pub async fn rename(&self, old: &Urn, new: &Urn) -> Result<usize, Error> {
        self.spare_one(old, "renamed").await?;
        let act = Act::new(AuditAction::Rename, [old.as_str(), new.as_str()]);
        self.edit(act, purlin_engine::rename(self.snapshot().await?, old, new)?).await
    }

    /// Forgets a resource: its record, its old copies, and its pending calls. The real objects
    /// stay. With `force`, this works even if other resources depend on it, which then lose that
    /// dependency.
    ///
    /// # Errors
    /// [`Error::Engine`] if nothing is recorded under the name, or other resources depend on it;
    /// [`Error::Documents`] if other environments use it.
    pub async fn forget(&self, urn: &Urn, force: bool) -> Result<usize, Error> {
        if !force {
            self.spare_one(urn, "forgotten").await?;
        }
        self.edit(
            Act::new(AuditAction::Forget, [urn.as_str()]),
            purlin_engine::forget(self.snapshot().await?, urn, force)?,
        )
        .await
    }

    /// Settles a call with an unknown outcome according to the user: the resource either exists
    /// under the given provider id or does not exist.
    ///
    /// # Errors
    /// [`Error::Engine`] if no call on it is pending.
    pub async fn settle(&self, urn: &Urn, exists_as: Option<&str>) -> Result<usize, Error> {
        let now = (self.clock())();
        let act = Act::new(AuditAction::Settle, [urn.as_str()]);
        self.edit(act, purlin_engine::settle(self.snapshot().await?, urn, exists_as, now)?).await
    }

    /// Protects a resource regardless of the documents, or removes that protection.
    ///
    /// # Errors
    /// [`Error::Engine`] if nothing is recorded under the name.
    pub async fn protect(&self, urn: &Urn, on: bool) -> Result<usize, Error> {
        let action = if on { AuditAction::Protect } else { AuditAction::Unprotect };
        self.edit(Act::new(action, [urn.as_str()]), purlin_engine::protect(self.snapshot().await?, urn, on)?)
            .await
    }

    /// Shares an installation with a group, or stops sharing it. With `by_hand`, this overrides the
    /// documents; otherwise it lasts until the documents set it again.
    ///
    /// # Errors
    /// [`Error::Engine`] if nothing is recorded under the name.
    pub async fn share(&self, urn: &Urn, group: Option<Arc<str>>, by_hand: bool) -> Result<usize, Error> {
        let action = if group.is_some() { AuditAction::Share } else { AuditAction::Unshare };
        let act = Act::new(action, [urn.as_str()]);
        self.edit(act, purlin_engine::share(self.snapshot().await?, urn, group.as_ref(), by_hand)?).await
    }

    /// Marks a resource for replacement in the next run, or removes the mark.
    ///
    /// # Errors
    /// [`Error::Engine`] if nothing is recorded under the name.
    pub async fn taint(&self, urn: &Urn, on: bool) -> Result<usize, Error> {
        let action = if on { AuditAction::Taint } else { AuditAction::Untaint };
        self.edit(Act::new(action, [urn.as_str()]), purlin_engine::taint(self.snapshot().await?, urn, on)?)
            .await
    }

    /// Repairs contradictions between records as far as possible, for example after a repair that
    /// lost something. Returns the number of changed records.
    ///
    /// # Errors
    /// [`Error::State`] if the records cannot be read completely, or written.
    pub async fn repair_contradictions(&self) -> Result<usize, Error> {
        let act = Act::new(AuditAction::Repair, [""; 0]);
        self.write(act, purlin_engine::repair_contradictions(&self.snapshot().await?)).await
    }

    /// Drops the snapshot, since the state is about to change.
    fn forget_read(&self) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Changes the record, unless a move was interrupted: it continues only with the records as it left
    /// them.
    async fn edit(&self, act: Act, changes: Vec<Change>) -> Result<usize, Error> {
        let snapshot = self.snapshot().await?;
        match snapshot.closed_by.as_ref().filter(|closed_by| crate::interrupted_move(closed_by).is_some()) {
            Some(closed_by) => Err(Error::closed(self.environment(), closed_by)),
            None => self.write(act, changes).await,
        }
    }

    /// Writes changes together with their entry in the audit. Without changes, there is none.
    async fn write(&self, act: Act, changes: Vec<Change>) -> Result<usize, Error> {
        let edited = changes.len();
        if edited > 0 {
            self.forget_read();
            self.lock.record(act, changes).await?;
        }
        Ok(edited)
    }
}

impl Purlin {
    /// The starting point of plans after reading the real resources, without recording the result:
    /// the outcomes of interrupted calls, as far as reading shows them, and with `refresh` every
    /// resource in its scope. Also returns the findings.
    ///
    /// # Errors
    /// If a driver is missing or fails to read.
    pub async fn read_without_recording(
        &self,
        documents: &Documents,
        mut base: Base,
        refresh: Option<&Scope>,
    ) -> Result<(Base, Vec<purlin_engine::Event>), Error> {
        let context = &documents.context;
        let mut found = Vec::new();
        if base.has_pending() || refresh.is_some() {
            base = base.with_inputs(self.current_inputs(documents, context).await);
        }
        if base.has_pending() {
            let plan =
                purlin_engine::recover(context, base.clone(), &self.supplied_drivers().await?, true).await?;
            // The plan leaves undecided resources alone and reports them.
            base = self.on_scratch(base, plan, &mut found, true).await?;
        }
        if let Some(scope) = refresh {
            let base_of = base.clone().paused(documents.paused()?);
            let plan =
                purlin_engine::refresh(context, base_of, &self.supplied_drivers().await?, scope).await?;
            base = self.on_scratch(base, plan, &mut found, false).await?;
        }
        Ok((base, found))
    }

    async fn on_scratch(
        &self,
        base: Base,
        plan: Plan,
        found: &mut Vec<purlin_engine::Event>,
        may_fail: bool,
    ) -> Result<Base, Error> {
        use futures::StreamExt as _;
        let scratch = Arc::new(Scratch::default());
        let options = self.apply_options(CancelToken::default())?;
        let mut run = purlin_engine::apply(plan, Arc::clone(&scratch) as _, options)?;
        while let Some(event) = run.next().await {
            match event {
                purlin_engine::Event::Summary(summary) => {
                    if let Some((key, cause)) = summary.failed.into_iter().next().filter(|_| !may_fail) {
                        return Err(purlin_engine::Error::Driver { key, cause }.into());
                    }
                }
                event => found.push(event),
            }
        }
        Ok(base.with(scratch.take())?)
    }

    pub(crate) fn apply_options(&self, cancel: CancelToken) -> Result<ApplyOptions, Error> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Error::Random(error.to_string()))?;
        let waits = !self.ends_with_progress();
        Ok(ApplyOptions { parallelism: self.parallelism(), cancel, clock: self.clock(), seed, waits })
    }
}
