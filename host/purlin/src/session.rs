//! A deployment under way: the lock of an environment, and what is recorded in it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use purlin_engine::{
    ApplyOptions, Base, CancelToken, CurrentInputs, DestroyOptions, Plan, PlanOptions, Run, Scope, Scratch,
    Summary,
};
use purlin_model::{Context, Key, Urn};
use purlin_state::{Change, Doubt, Environment, Lock, Record, Reserved, Snapshot};

use crate::sharing::Claims;
use crate::{Documents, Error, Purlin};

/// A deployment under way. It holds the environment's lock until it is dropped, so that what it
/// plans is what it finds when it applies.
pub struct Session<'a> {
    pub(crate) purlin: &'a Purlin,
    pub(crate) lock: Lock,
    /// What was read when the lock was taken.
    pub(crate) read: Mutex<Option<Snapshot>>,
    /// What the current documents give resources.
    pub(crate) current: Mutex<Option<CurrentInputs>>,
    /// The locks of environments of which this one begins to use something.
    pub(crate) claims: Claims,
    /// What it installs because nobody else has it. It comes behind the lock, so that it is given back later.
    pub(crate) reserved: Mutex<Vec<Reserved>>,
}

impl Session<'_> {
    /// The environment that is locked.
    pub fn environment(&self) -> &Environment {
        self.lock.environment()
    }

    /// Writes what waits and gives the lock up. Dropping the session does the same, but tells nobody when
    /// it fails.
    ///
    /// # Errors
    /// [`Error::State`] when the disk fails.
    pub async fn release(self) -> Result<(), Error> {
        Ok(self.lock.release().await?)
    }

    /// Everything that is recorded in the environment.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).take();
        match read {
            Some(snapshot) => Ok(snapshot),
            None => Ok(self.purlin.store().await?.load(self.environment()).await?),
        }
    }

    /// Every record of the environment, sorted by URN.
    ///
    /// # Errors
    /// [`Error::State`] when they cannot be read whole.
    pub async fn records(&self) -> Result<Vec<Arc<Record>>, Error> {
        Ok(self.snapshot().await?.records)
    }

    /// What plans start from.
    ///
    /// # Errors
    /// [`Error::Engine`] when the records contradict each other.
    pub async fn base(&self) -> Result<Base, Error> {
        let base = self.base_of(self.snapshot().await?)?;
        self.purlin.with_users(base, self.environment()).await
    }

    fn base_of(&self, snapshot: Snapshot) -> Result<Base, Error> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Base::new(snapshot)?.with_inputs(current))
    }

    /// Lets the inputs of these documents be used where a call about something recorded fails with the
    /// recorded ones: a credential was rotated, or a wrong address was recorded. An event says so. This is
    /// for what comes from the record: finding out what became of calls, reading, deleting. Documents with
    /// faults are not used.
    pub async fn know(&self, documents: &Documents, context: &Context) {
        let current = self.purlin.current_inputs(documents, context).await;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// Plans to find out what became of calls that were interrupted; none where there are none.
    /// Whoever deploys carries this out before planning anything else.
    ///
    /// # Errors
    /// [`Error::Documents`] when a driver is missing.
    pub async fn plan_recovery(&self, context: &Context) -> Result<Option<Plan>, Error> {
        let snapshot = self.snapshot().await?;
        if snapshot.pending.is_empty() {
            *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
            return Ok(None);
        }
        let base = self.base_of(snapshot)?;
        Ok(Some(purlin_engine::recover(context, base, &**self.purlin.registry()?, false).await?))
    }

    /// Finds out what became of calls that were interrupted, and writes it down: what
    /// [`Self::plan_recovery`] plans, carried out. None where there are none. What stays undecided is
    /// in [`Summary::unknown`] and [`Summary::failed`]; later plans name it and do everything else.
    ///
    /// # Errors
    /// [`Error::Documents`] when a driver is missing.
    pub async fn recover(&self, context: &Context, cancel: CancelToken) -> Result<Option<Summary>, Error> {
        use futures::StreamExt as _;
        let Some(plan) = self.plan_recovery(context).await? else { return Ok(None) };
        let mut run = self.apply(plan, cancel).await?;
        while let Some(event) = run.next().await {
            if let purlin_engine::Event::Summary(summary) = event {
                return Ok(Some(summary));
            }
        }
        Ok(None)
    }

    /// The resources with a call whose outcome is not known.
    ///
    /// # Errors
    /// [`Error::State`] when they cannot be read.
    pub async fn open_calls(&self) -> Result<Vec<Key>, Error> {
        let snapshot = self.snapshot().await?;
        let open = snapshot.pending.iter().filter_map(|intent| intent.id().urn.key()).collect();
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(open)
    }

    /// Why what is recorded may be older than what is real. Then read every resource before planning
    /// ([`Self::plan_refresh`]), carry out a plan for all of the documents, which looks for each resource by
    /// its name before it creates it, and call [`Self::trust`] once [`Summary::ends_doubt`] says so.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn doubt(&self) -> Result<Option<Doubt>, Error> {
        let snapshot = self.snapshot().await?;
        let doubt = snapshot.doubt;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(doubt)
    }

    /// Writes down that every resource was read or looked for, so that what is recorded can be relied on again. Does
    /// nothing where it was not in doubt.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be written.
    pub async fn trust(&self) -> Result<(), Error> {
        if self.doubt().await?.is_some() {
            self.edit(vec![Change::Trust]).await?;
        }
        Ok(())
    }

    /// Plans to read the resources in a scope that the documents do not pause, and to record what is found.
    ///
    /// # Errors
    /// As [`Self::plan_refresh`]; also [`Error::Documents`] with every fault of the graph.
    pub async fn plan_refresh_of(&self, documents: &Documents, scope: &Scope) -> Result<Plan, Error> {
        let base = self.base().await?.paused(documents.paused()?);
        Ok(purlin_engine::refresh(&documents.context, base, &**self.purlin.registry()?, scope).await?)
    }

    /// Plans to read every resource in a scope, and to record what is found.
    ///
    /// # Errors
    /// [`Error::Documents`] when a driver is missing, or a name fits nothing.
    pub async fn plan_refresh(&self, context: &Context, scope: &Scope) -> Result<Plan, Error> {
        let base = self.base().await?;
        Ok(purlin_engine::refresh(context, base, &**self.purlin.registry()?, scope).await?)
    }

    /// The same from what is given, for the resources for which `wanted` gives a grace period.
    pub(crate) async fn plan_reads(
        &self,
        context: &Context,
        base: Base,
        wanted: &(dyn Fn(&Urn) -> Option<Duration> + Sync),
    ) -> Result<Plan, Error> {
        Ok(purlin_engine::read(context, base, &**self.purlin.registry()?, wanted).await?)
    }

    /// Plans to make the environment what the documents say. No effects.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault; others when a driver or the state fails.
    pub async fn plan(&self, documents: &Documents, options: PlanOptions) -> Result<Plan, Error> {
        let base = self.base().await?;
        self.purlin.plan_from(documents, base, options).await
    }

    /// Plans to delete what is recorded, from the record alone.
    ///
    /// # Errors
    /// [`Error::Documents`] when a driver that is needed is missing, something is protected, or
    /// something that stays depends on what goes.
    pub async fn plan_destroy(&self, context: &Context, options: DestroyOptions) -> Result<Plan, Error> {
        let base = self.base().await?.protected(self.purlin.protection(self.environment()));
        let mut plan = purlin_engine::destroy(context, base, &**self.purlin.registry()?, options).await?;
        self.purlin.warn_of_last_uses(&mut plan).await?;
        self.purlin.allow_as_recorded(plan, self.environment()).await
    }

    /// Carries out a plan that this session made, without a word in the history; a plan of documents is for
    /// [`Self::deploy`], which also keeps others from installing the same meanwhile. The stream ends with the
    /// summary; nothing happens while nobody polls it.
    ///
    /// # Errors
    /// When the plan was made offline, or loses data that nobody allowed to be lost
    /// ([`Plan::allow_losses`]). [`Error::Documents`] when it makes an installation of a bundle that only
    /// another tool can provision, or takes away what others use in other environments; [`Error::State`] when
    /// somebody has the lock of an environment of which it begins to use something.
    pub async fn apply(&self, plan: Plan, cancel: CancelToken) -> Result<Run, Error> {
        self.apply_of(None, plan, cancel).await
    }

    /// The same of a plan that was made from documents, if any.
    pub(crate) async fn apply_of(
        &self,
        documents: Option<&Documents>,
        plan: Plan,
        cancel: CancelToken,
    ) -> Result<Run, Error> {
        crate::installations::check_drivers(&plan)?;
        if let Some(documents) = documents {
            self.reserve(&plan, documents, &cancel).await?;
        }
        self.claim(&plan, &cancel).await?;
        let options = self.purlin.apply_options(cancel)?;
        self.forget_read();
        Ok(purlin_engine::apply(plan, self.lock.writer(), options)?)
    }

    /// Gives a resource another name, and whatever refers to it with it. Returns how many records
    /// changed.
    ///
    /// # Errors
    /// [`Error::Engine`] when nothing is recorded under the old name, or something under the new;
    /// [`Error::Documents`] when others use it in other environments.
    pub async fn rename(&self, old: &Urn, new: &Urn) -> Result<usize, Error> {
        self.spare_one(old, "renamed").await?;
        self.edit(purlin_engine::rename(self.snapshot().await?, old, new)?).await
    }

    /// Forgets a resource: its record, its old copies, and what is pending. What is real stays. With
    /// `force`, also where others depend on it: they lose that dependency.
    ///
    /// # Errors
    /// [`Error::Engine`] when nothing is recorded under the name, or others depend on it; [`Error::Documents`] when
    /// others use it in other environments.
    pub async fn forget(&self, urn: &Urn, force: bool) -> Result<usize, Error> {
        if !force {
            self.spare_one(urn, "forgotten").await?;
        }
        self.edit(purlin_engine::forget(self.snapshot().await?, urn, force)?).await
    }

    /// Ends a call whose outcome is not known, by what somebody found out: the resource exists under the
    /// driver's id that is given, or does not exist.
    ///
    /// # Errors
    /// [`Error::Engine`] when no call on it is open.
    pub async fn settle(&self, urn: &Urn, exists_as: Option<&str>) -> Result<usize, Error> {
        self.edit(purlin_engine::settle(self.snapshot().await?, urn, exists_as)?).await
    }

    /// Protects a resource whatever documents say, or lifts that again.
    ///
    /// # Errors
    /// [`Error::Engine`] when nothing is recorded under the name.
    pub async fn protect(&self, urn: &Urn, on: bool) -> Result<usize, Error> {
        self.edit(purlin_engine::protect(self.snapshot().await?, urn, on)?).await
    }

    /// Shares an installation in a group, or with nobody. With `by_hand` that holds whatever documents say, otherwise
    /// until they say it again.
    ///
    /// # Errors
    /// [`Error::Engine`] when nothing is recorded under the name.
    pub async fn share(&self, urn: &Urn, group: Option<Arc<str>>, by_hand: bool) -> Result<usize, Error> {
        self.edit(purlin_engine::share(self.snapshot().await?, urn, group.as_ref(), by_hand)?).await
    }

    /// Marks a resource to be replaced at the next occasion, or takes the mark away.
    ///
    /// # Errors
    /// [`Error::Engine`] when nothing is recorded under the name.
    pub async fn taint(&self, urn: &Urn, on: bool) -> Result<usize, Error> {
        self.edit(purlin_engine::taint(self.snapshot().await?, urn, on)?).await
    }

    /// Ends what the records say against each other where that can be ended, as after a repair that
    /// lost something. Returns how many records changed.
    ///
    /// # Errors
    /// [`Error::State`] when they cannot be read whole, or written.
    pub async fn mend(&self) -> Result<usize, Error> {
        self.edit(purlin_engine::mend(&self.snapshot().await?)).await
    }

    /// What was read before is about to change.
    fn forget_read(&self) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn edit(&self, changes: Vec<Change>) -> Result<usize, Error> {
        let edited = changes.len();
        if edited > 0 {
            self.forget_read();
            self.lock.writer().commit(changes).await?;
        }
        Ok(edited)
    }
}

impl Purlin {
    /// What plans start from once it was looked at what is real, without writing that down: what
    /// became of interrupted calls, as far as looking tells, and with `refresh` every resource in
    /// its scope. Says what was found.
    ///
    /// # Errors
    /// When a driver is missing or fails to look.
    pub async fn look(
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
            let plan = purlin_engine::recover(context, base.clone(), &**self.registry()?, true).await?;
            // What cannot be found out now is left alone by the plan, and named there.
            base = self.on_scratch(base, plan, &mut found, true).await?;
        }
        if let Some(scope) = refresh {
            let base_of = base.clone().paused(documents.paused()?);
            let plan = purlin_engine::refresh(context, base_of, &**self.registry()?, scope).await?;
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
        Ok(ApplyOptions { parallelism: self.parallelism(), cancel, clock: self.clock(), seed })
    }
}
