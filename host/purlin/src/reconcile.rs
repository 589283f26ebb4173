//! Keeps an environment in line with its documents (SPEC §7), one pass at a time: reads, plans and
//! applies. The caller repeats the passes. This module does not plan or call drivers itself; it
//! decides *when* each resource is due (`due.rs`), and what needs no consent.

mod due;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use purlin_engine::{Action, Base, CancelToken, Event, Phase, Plan, PlanOptions, Summary};
use purlin_graph::Graph;
use purlin_model::{Context, Drift, Finding, Key, Obstacle, Reason, Reconcile, Urn};
use purlin_state::{Change, Deployment, ObstacleRecord, Status};

use self::due::Schedule;
use crate::{Documents, Error, Purlin, Session};

/// The delay before looking again for a target that no document declares, in milliseconds. A change
/// to the documents is handled at once.
const LONG_WAIT: u64 = 60_000;

/// How long a plan without steps remains valid while nothing changes, in milliseconds. Secrets in
/// stores change without notice.
const PLAN_AGAIN: u64 = 600_000;

/// Reconciles one environment. It remembers what to retry and when; everything else is in the
/// state.
pub struct Keeper {
    schedule: Schedule,
    /// The failure of the last attempt for each resource to retry.
    failures: HashMap<Urn, Arc<str>>,
    /// The requests (`reconcile-requested-at`) that were fulfilled.
    requests: HashMap<Urn, Arc<str>>,
    /// The history entry of the current documents.
    entry: Option<Deployment>,
    /// The number of the last deployment from documents when the current ones were read, or at the
    /// end of the last pass; 0 if there was none. `None` before the first pass.
    last: Option<u64>,
    /// The number of a later deployment, because of which a pass was refused.
    newer: Option<u64>,
    /// The number of records after the last pass.
    records: usize,
    /// The resources that the current documents pause, once known.
    paused: Option<Arc<HashSet<Urn>>>,
    /// The fingerprint of the last state that needed no changes, and the time of that finding.
    in_sync: Option<([u8; 32], u64)>,
}

/// The result of one pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// The summary of the run; empty if the pass was cancelled before it.
    pub summary: Summary,
    /// The number of resources that were read.
    pub read: usize,
    /// Resources that were left alone because the operation needs consent.
    pub needs_consent: Vec<(Key, Action)>,
    /// Resources that others changed and that stay that way (`drift: report`).
    pub drifted: Vec<Key>,
    /// When the next pass is due, in milliseconds since 1970.
    pub next: u64,
}

impl Pass {
    /// Whether everything matches the documents.
    pub fn is_in_sync(&self) -> bool {
        self.summary.is_success() && self.needs_consent.is_empty() && self.drifted.is_empty()
    }
}

impl Keeper {
    /// Starts with every resource due to be read. `seed` is the seed of the jitter.
    pub fn new(seed: u64) -> Self {
        Self {
            schedule: Schedule::new(seed),
            failures: HashMap::new(),
            requests: HashMap::new(),
            entry: None,
            last: None,
            newer: None,
            records: 0,
            paused: None,
            in_sync: None,
        }
    }

    /// Notes that the documents were read again: they get a new history entry, and resources that
    /// wait for a retry are retried at once.
    pub fn documents_changed(&mut self) {
        self.last = self.newer.take().or(self.last);
        self.entry = None;
        self.in_sync = None;
        self.paused = None;
        self.schedule.retry_all();
        self.failures.clear();
    }

    /// Notes that the documents of the next pass were read after this deployment, which was the
    /// last one from documents then.
    pub(crate) fn read_after(&mut self, deployment: &Deployment) {
        self.last = Some(deployment.number);
        self.newer = None;
    }

    /// Reads every resource and retries everything in the next pass.
    pub fn request_all(&mut self) {
        self.schedule = self.schedule.afresh();
        self.in_sync = None;
        self.failures.clear();
    }

    /// Makes one pass: finds out the outcome of interrupted calls, reads the resources that are
    /// due, plans, and executes the steps that need no consent. `on_event` receives every event
    /// except the summaries.
    ///
    /// # Errors
    /// The errors of planning. Existing resources stay unchanged, and the caller tries again later.
    /// [`Error::DeployedMeanwhile`] if others have deployed other documents since the last pass,
    /// until [`Self::documents_changed`] says that the documents were read again.
    pub async fn pass(
        &mut self,
        purlin: &Purlin,
        documents: &Documents,
        cancel: CancelToken,
        on_event: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Pass, Error> {
        let clock = purlin.clock();
        let policy = &purlin.workspace().reconcile;
        let session = purlin.begin_within(&documents.environment(), purlin.lock_timeout, &cancel).await?;
        let mut pass = Pass::default();
        if !session.open_calls().await?.is_empty() {
            session.use_inputs_of(documents, &documents.context).await;
        }
        if let Some(plan) = session.plan_recovery(&documents.context).await? {
            let summary = follow(session.apply(plan, cancel.clone()).await?, on_event).await;
            self.count(&summary, &documents.context, clock());
            // The plan below leaves undecided resources alone and reports them.
        }
        let read = self.read(&session, documents, (&cancel, on_event), &mut pass, clock()).await?;
        if cancel.is_requested() {
            pass.summary.cancelled = true;
            return Ok(pass);
        }
        let base = session.base().await?;
        let fingerprint = base.fingerprint();
        let is_same = |(seen, at): (_, u64)| seen == fingerprint && clock() < at + PLAN_AGAIN;
        if self.in_sync.is_some_and(is_same) && self.failures.is_empty() {
            // The reads found no changes, and the state is unchanged.
            pass.next = self.schedule.next(clock());
            return Ok(pass);
        }
        self.check_last(&session, documents).await?;
        let plan = self.plan(&session, base, documents, policy, &mut pass, clock()).await?;
        self.meet_requests(&plan, policy, clock());
        let urns: HashMap<Key, Urn> =
            plan.steps.iter().map(|step| (step.key.clone(), step.urn.clone())).collect();
        let mut run = session.keep(plan, documents, cancel, self.entry.take()).await?;
        let mut summary = Summary::default();
        while let Some(event) = run.next().await {
            match event {
                Event::Summary(end) => summary = end,
                event => on_event(&event),
            }
        }
        self.entry = run.into_entry();
        self.last = Some(last_number(&last_deployment(&session).await?));
        if read && summary.ends_staleness {
            session.end_staleness().await?;
        }
        self.records = session.records().await?.len();
        let now = clock();
        let failed: HashSet<&Key> = summary.failed.iter().map(|(key, _)| key).collect();
        let waiting = summary.waiting.iter().map(|(key, _)| key);
        let left: HashSet<&Key> = summary.skipped.iter().map(|(key, _)| key).chain(waiting).collect();
        for (key, urn) in urns.iter().filter(|(key, _)| !failed.contains(key)) {
            if self.schedule.succeeded(urn, now) {
                self.failures.remove(urn);
            }
            if !left.contains(key) {
                // A resource that was just created is not read at once.
                self.schedule.made(urn, now, due::interval(policy, urn));
            }
        }
        for (key, cause) in &summary.failed {
            if let Some(urn) = urns.get(key) {
                self.schedule.failed(urn, now);
                self.failures.insert(urn.clone(), cause.to_string().into());
            }
        }
        let known: HashSet<&Urn> = urns.values().collect();
        self.schedule.keep_only(&known);
        self.failures.retain(|urn, _| known.contains(urn));
        let waits = !summary.waiting.is_empty() || !summary.skipped.is_empty();
        pass.next = self.schedule.next(now).min(if waits { now + LONG_WAIT } else { u64::MAX });
        pass.summary = summary;
        self.in_sync = pass.is_in_sync().then_some((fingerprint, now));
        Ok(pass)
    }

    /// Others may have deployed other documents before this pass got the lock, while its own were
    /// being read or it was waiting. Theirs may be newer, so the pass must not undo what they did.
    async fn check_last(&mut self, session: &Session<'_>, documents: &Documents) -> Result<(), Error> {
        let last = last_deployment(session).await?;
        let number = last_number(&last);
        let is_known = self.last.is_none_or(|known| known == number);
        if !is_known && last.is_some_and(|last| last.documents != Some(documents.archive_digest())) {
            self.newer = Some(number);
            return Err(Error::DeployedMeanwhile { environment: session.environment().clone() });
        }
        (self.last, self.newer) = (Some(number), None);
        Ok(())
    }

    /// Counts the failures of a run that only reads.
    fn count(&mut self, summary: &Summary, context: &Context, now: u64) {
        for (key, cause) in &summary.failed {
            let urn = Urn::new(context, key);
            self.schedule.failed(&urn, now);
            self.failures.insert(urn, cause.to_string().into());
        }
    }

    /// Reads the resources that are due. Returns whether all of them could be read, and none is so new that its
    /// system may not show it yet.
    async fn read(
        &mut self,
        session: &Session<'_>,
        documents: &Documents,
        (cancel, on_event): (&CancelToken, &mut (dyn FnMut(&Event) + Send)),
        pass: &mut Pass,
        now: u64,
    ) -> Result<bool, Error> {
        let base = session.base().await?;
        let policy = &session.purlin.workspace().reconcile;
        let environment = documents.environment();
        // The folder may have been moved, or a disk is not mounted. The resources still exist.
        if base.is_empty() && self.records > 0 && session.purlin.history(&environment).await?.is_empty() {
            return Err(Error::StateGone { environment, records: self.records });
        }
        let exists = |record: &&purlin_state::Record| record.status != Status::Absent;
        let all: Vec<&Urn> = base.all_current().filter(exists).map(|record| &record.urn).collect();
        self.schedule.set_resources(&all, now);
        let due: HashSet<Urn> = match base.staleness().is_some() {
            true => all.into_iter().cloned().collect(),
            false => self.schedule.due(now, &|urn| due::interval(policy, urn)).into_iter().collect(),
        };
        if due.is_empty() {
            return Ok(true);
        }
        let wanted = |urn: &Urn| due.contains(urn);
        let paused = match &self.paused {
            Some(paused) => Arc::clone(paused),
            None => documents.paused()?,
        };
        self.paused = Some(Arc::clone(&paused));
        let current = session.purlin.current_inputs(documents, &documents.context).await;
        let base = base.with_inputs(current);
        let plan = session.plan_reads(&documents.context, base.paused(paused), &wanted).await?;
        pass.read = plan.steps.len();
        let mut not_shown: Vec<(Urn, u64)> = Vec::new();
        let mut listen = |event: &Event| {
            if let Event::Resource { key, phase: Phase::Observed { finding, .. }, .. } = event
                && let Finding::NotVisible { seconds } = finding
            {
                let over = now.saturating_add(seconds.saturating_mul(1_000));
                not_shown.push((Urn::new(&documents.context, key), over));
            }
            on_event(event);
        };
        let summary = follow(session.apply(plan, cancel.clone()).await?, &mut listen).await;
        if summary.cancelled {
            return Ok(false);
        }
        // A failed read is retried after a short delay. A resource that no driver can read waits
        // its full interval.
        let failed: HashSet<Urn> =
            summary.failed.iter().map(|(key, _)| Urn::new(&documents.context, key)).collect();
        for urn in due.difference(&failed) {
            self.schedule.was_read(urn, now, due::interval(policy, urn));
        }
        // A new resource that is missing may just not be visible yet.
        for (urn, over) in &not_shown {
            self.schedule.read_by(urn, *over);
        }
        self.count(&summary, &documents.context, now);
        Ok(summary.failed.is_empty() && summary.halted.is_none() && not_shown.is_empty())
    }

    /// Makes a plan without steps that need consent.
    async fn plan(
        &mut self,
        session: &Session<'_>,
        base: Base,
        documents: &Documents,
        policy: &Reconcile,
        pass: &mut Pass,
        now: u64,
    ) -> Result<Plan, Error> {
        let mut held: HashMap<Urn, Reason> = HashMap::new();
        for urn in self.schedule.backed_off(now) {
            let message = self.failures.get(urn).cloned().unwrap_or_else(|| "".into());
            held.insert(urn.clone(), Reason::BackedOff { message });
        }
        let mut keep_removed = !policy.delete;
        loop {
            let options =
                PlanOptions { held: Arc::new(held.clone()), keep_removed, ..PlanOptions::default() };
            let mut plan = session.purlin.plan_from(documents, base.clone(), options).await?;
            if policy.data_loss {
                let losses = plan.losses_not_allowed();
                plan.allow_losses(&losses);
            }
            let losses: HashSet<Key> = plan.losses_not_allowed().into_iter().collect();
            let mut more = false;
            for step in plan.steps.iter().filter(|step| !step.left_out) {
                let loses = losses.contains(&step.key);
                let changed = base.is_drifted(&step.urn) || step.reasons.contains(&Reason::Gone);
                match step.action {
                    Action::Create | Action::Update | Action::Replace
                        if changed && due::drift(policy, &step.urn) == Drift::Report =>
                    {
                        more |= held.insert(step.urn.clone(), Reason::DriftReported).is_none();
                        pass.drifted.push(step.key.clone());
                    }
                    Action::Replace if loses || !policy.replace => {
                        let action = Action::Replace.as_str().into();
                        more |= held.insert(step.urn.clone(), Reason::NeedsConsent { action }).is_none();
                        pass.needs_consent.push((step.key.clone(), Action::Replace));
                    }
                    // An old copy is deleted with the replacement that was approved.
                    Action::Delete if loses && !keep_removed => {
                        keep_removed = true;
                        more = true;
                    }
                    _ => {}
                }
            }
            if more {
                continue;
            }
            if keep_removed {
                self.note_removed(session, &plan, &base, pass, now).await?;
            }
            pass.drifted.sort();
            pass.needs_consent.sort_by(|a, b| a.0.cmp(&b.0));
            pass.needs_consent.dedup();
            return Ok(plan);
        }
    }

    /// Reports the resources that left the documents but are kept, in the state as well.
    async fn note_removed(
        &self,
        session: &Session<'_>,
        plan: &Plan,
        base: &Base,
        pass: &mut Pass,
        now: u64,
    ) -> Result<(), Error> {
        let known: HashSet<&Key> =
            plan.graph().into_iter().flat_map(Graph::nodes).map(|node| node.key).collect();
        let snapshot = base.snapshot();
        let unmet: HashMap<&Urn, &ObstacleRecord> =
            snapshot.unmet.iter().map(|unmet| (&unmet.urn, unmet)).collect();
        let action: Arc<str> = Action::Delete.as_str().into();
        let mut changes = Vec::new();
        for record in base.all_current().filter(|record| record.status != Status::Absent) {
            let Some(key) = record.urn.key().filter(|key| !known.contains(key)) else { continue };
            let obstacle = Obstacle::NeedsConsent { action: Arc::clone(&action) };
            if unmet.get(&record.urn).is_none_or(|unmet| unmet.obstacle != obstacle) {
                let unmet = ObstacleRecord { urn: record.urn.clone(), obstacle, since: now };
                changes.push(Change::Obstruct { urn: record.urn.clone(), unmet: Some(Box::new(unmet)) });
            }
            pass.needs_consent.push((key, Action::Delete));
        }
        if !changes.is_empty() {
            session.lock.writer().commit(changes).await?;
        }
        Ok(())
    }

    /// Takes the read intervals and the requests from a graph.
    fn meet_requests(&mut self, plan: &Plan, policy: &Reconcile, now: u64) {
        for node in plan.graph().into_iter().flat_map(Graph::nodes) {
            let urn = Urn::new(&plan.context, node.key);
            if let Some(interval) = node.lifecycle.poll_interval {
                self.schedule.own_interval(&urn, interval, due::interval(policy, &urn), now);
            }
            if let Some(request) = &node.lifecycle.reconcile_requested
                && self.requests.insert(urn.clone(), Arc::clone(request)).is_some_and(|met| met != *request)
            {
                self.schedule.request(&urn, now);
            }
        }
    }
}

/// The last deployment from documents in the environment of a session.
async fn last_deployment(session: &Session<'_>) -> Result<Option<Deployment>, Error> {
    Ok(session.purlin.store().await?.last_from_documents(session.environment()).await?)
}

/// Its number; 0 if there was none.
fn last_number(last: &Option<Deployment>) -> u64 {
    last.as_ref().map_or(0, |last| last.number)
}

/// Passes on all events of a run but the summary, and returns that.
pub(crate) async fn follow(
    mut run: impl Stream<Item = Event> + Unpin,
    on_event: &mut (dyn FnMut(&Event) + Send),
) -> Summary {
    while let Some(event) = run.next().await {
        match event {
            Event::Summary(summary) => return summary,
            event => on_event(&event),
        }
    }
    Summary::default()
}
