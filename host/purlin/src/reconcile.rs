//! Keeps an environment in line with its documents (SPEC §7), one pass at a time. The caller repeats the
//! passes. Each is a run of the pipeline ([`Job::keep`]); this module decides *when* each resource is due
//! (`due.rs`), what needs no consent, and which documents are in force.

mod due;
mod in_force;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use purlin_engine::{Action, Base, CancelToken, Event, Phase, Plan, PlanOptions, Summary, Warning};
use purlin_graph::Graph;
use purlin_model::{Diagnostic, Drift, Finding, Key, Obstacle, Reason, Reconcile, Urn};
use purlin_state::{Change, Deployment, Environment, ObstacleRecord, RolloutMark, Status};

use self::due::Schedule;
use self::in_force::InForce;
use crate::rollouts::Desired;
use crate::{Documents, Error, Follower, Job, Purlin, RunEnd, Session, Stage};

/// The delay before looking again for a target that no document declares, in milliseconds. A change
/// to the documents is handled at once.
const LONG_WAIT: u64 = 60_000;

/// The delay before trying rejected documents again, in milliseconds: what they lack may have come.
const REJECTED_WAIT: u64 = 10_000;

/// How long a plan without steps remains valid while nothing changes, in milliseconds. Secrets in
/// stores change without notice.
const PLAN_AGAIN: u64 = 600_000;

/// Reconciles one environment. It remembers what to retry and when; everything else is in the
/// state.
pub struct Keeper {
    schedule: Schedule,
    /// The failure of the last attempt for each resource to retry.
    failures: HashMap<Urn, Arc<str>>,
    /// The requests (`reconcile-requested-at`) of the last graph. `None` before the first one, since a
    /// first pass reads everything.
    requests: Option<HashMap<Urn, Arc<str>>>,
    /// The history entry of the current documents.
    entry: Option<Deployment>,
    /// The number of the last deployment from documents when the current ones were read, or at the
    /// end of the last pass; 0 if there was none. `None` before the first pass.
    last: Option<u64>,
    /// The number of a later deployment, because of which a pass was refused.
    newer: Option<u64>,
    /// The number of records after the last pass.
    records: usize,
    /// The documents to keep to while newer ones are wrong.
    in_force: InForce,
    /// The environment.
    place: Option<Environment>,
    /// What roll-outs want of the environment, and what it said of them before.
    wanted: Option<(Desired, Arc<[RolloutMark]>)>,
    /// The fingerprint of the last state that needed no changes, the time of that finding, and whether it
    /// is about the documents before the current ones.
    in_sync: Option<([u8; 32], u64, bool)>,
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
    /// The warnings of the plan; `None` if no plan was needed.
    pub warnings: Option<Vec<Warning>>,
    /// The roll-outs that leave the environment alone from now on, because these documents are others.
    pub left_rollouts: Vec<u64>,
    /// Why the documents of this pass were rejected: it kept to those before.
    pub rejected: Option<Error>,
    /// When the next pass is due, in milliseconds since 1970.
    pub next: u64,
}

impl Pass {
    /// Whether everything matches the documents.
    pub fn is_in_sync(&self) -> bool {
        let is_as_wanted = self.needs_consent.is_empty() && self.drifted.is_empty();
        self.summary.is_success() && is_as_wanted && self.rejected.is_none()
    }
}

impl Keeper {
    /// Starts with every resource due to be read. `seed` is the seed of the jitter.
    pub fn new(seed: u64) -> Self {
        Self {
            schedule: Schedule::new(seed),
            failures: HashMap::new(),
            requests: None,
            entry: None,
            last: None,
            newer: None,
            records: 0,
            in_force: InForce::default(),
            wanted: None,
            place: None,
            in_sync: None,
        }
    }

    /// The same for a watch: while its documents are wrong, the last ones that were not stay in force, or
    /// those of the last deployment.
    pub fn watching(seed: u64) -> Self {
        Self { in_force: InForce::of_watch(), ..Self::new(seed) }
    }

    /// Notes that the documents were read again: they get a new history entry, and resources that
    /// wait for a retry are retried at once.
    pub fn documents_changed(&mut self) {
        if let Some(newer) = self.newer.take() {
            self.last = Some(newer);
            // Others have deployed, so that what they deployed is in force.
            self.in_force.forget();
        }
        self.entry = None;
        self.in_sync = None;
        self.in_force.changed();
        self.schedule.retry_all();
        self.failures.clear();
    }

    /// Notes that the documents cannot be read, and why, so that the status says it. The ones that were
    /// given to the last pass are to be given to the next one.
    pub fn documents_rejected(&mut self, faults: &[Diagnostic]) {
        self.in_force.unreadable(faults);
    }

    /// Notes that the documents of the next pass were read after this deployment, which was the
    /// last one from documents then.
    pub(crate) fn read_after(&mut self, deployment: &Deployment) {
        self.last = Some(deployment.number);
        self.newer = None;
    }

    /// Notes what roll-outs want of the environment in the next pass, and what it says of them now.
    pub(crate) fn wants(&mut self, desired: Desired, marks: Arc<[RolloutMark]>) {
        self.wanted = Some((desired, marks));
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
    /// While a watch's documents are wrong, the pass is made with those that are in force
    /// ([`Pass::rejected`]), and the state says so.
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
        let place = self.place.get_or_insert_with(|| documents.environment()).clone();
        let mut session = purlin.begin_within(&place, purlin.lock_timeout, &cancel).await?;
        session.ends_with_progress = true;
        session.rollouts = self.wanted.as_ref().map(|(desired, _)| Arc::clone(&desired.marks));
        // Nothing is read by a graph that cannot be built, and nothing is done in another environment.
        let made = match purlin.graph(documents).await {
            Ok(_) if documents.environment() == place => {
                self.pass_of(&session, documents, false, &cancel, on_event).await
            }
            Ok(_) => Err(elsewhere(&documents.environment(), &place)),
            Err(error) => Err(error),
        };
        let pass = match made {
            Ok(pass) => {
                self.in_force.accept(documents);
                pass
            }
            Err(error) => {
                if !error.is_input() {
                    return Err(error);
                }
                // Without others, or if those cannot be read, the error of the current ones counts.
                let Ok(Some(earlier)) = self.in_force.earlier(&session).await else { return Err(error) };
                let why = self.in_force.reject(&error);
                session.rollouts =
                    self.wanted.as_ref().map(|(desired, before)| desired.refused(before, &why));
                let pass = self.pass_of(&session, &earlier, true, &cancel, on_event).await?;
                let next = pass.next.min(purlin.clock()() + REJECTED_WAIT);
                Pass { rejected: Some(error), next, ..pass }
            }
        };
        let found = (self.last, pass.is_in_sync());
        self.in_force.note(&session, self.entry.as_mut(), found).await?;
        session.release().await?;
        Ok(pass)
    }

    /// A pass with the current documents, or with those before (`is_earlier`).
    async fn pass_of(
        &mut self,
        session: &Session<'_>,
        documents: &Documents,
        is_earlier: bool,
        cancel: &CancelToken,
        on_event: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<Pass, Error> {
        let clock = session.purlin.clock();
        let policy = &session.purlin.workspace().reconcile;
        let agreed = self.wanted.as_ref().and_then(|(desired, _)| desired.consent);
        let agreed = agreed.map(|consented| consented.applied_to(policy));
        let policy = agreed.as_ref().unwrap_or(policy);
        let now = clock();
        let due = self.due(session, documents, now).await?;
        let options = PlanOptions { keep_removed: !policy.delete, ..PlanOptions::default() };
        let job = Job::keep(documents, due.clone(), cancel.clone());
        let mut round = Round {
            keeper: self,
            documents,
            is_earlier,
            policy,
            due,
            options,
            on_event,
            clock: &*clock,
            pass: Pass::default(),
            urns: HashMap::new(),
            fingerprint: [0; 32],
        };
        let end = session.attempt(&job, None, &mut round).await?;
        let Round { mut pass, urns, fingerprint, .. } = round;
        let now = clock();
        match end {
            RunEnd::Applied { summary, .. } => {
                if summary.proves_staleness {
                    session.confirm_staleness().await?;
                } else if summary.ends_staleness {
                    session.end_staleness().await?;
                }
                pass.summary = summary;
            }
            // The reads found no changes, and the state is unchanged.
            RunEnd::Nothing(_) | RunEnd::Declined => {
                pass.next = self.schedule.next(now);
                return Ok(pass);
            }
            RunEnd::Stopped(_, summary) => {
                pass.summary.cancelled = summary.cancelled;
                pass.summary.halted = summary.halted;
                return Ok(pass);
            }
        }
        let last = Some(last_number(&last_deployment(session).await?));
        let done = &pass.summary.done;
        if self.last != last || done.create + done.update + done.replace + done.delete > 0 {
            self.in_force.is_unknown();
        }
        self.last = last;
        self.records = session.records().await?.len();
        self.reschedule(&pass.summary, &urns, policy, now);
        let waits = !pass.summary.waiting.is_empty() || !pass.summary.skipped.is_empty();
        pass.next = self.schedule.next(now).min(if waits { now + LONG_WAIT } else { u64::MAX });
        self.in_sync = pass.is_in_sync().then_some((fingerprint, now, is_earlier));
        Ok(pass)
    }

    /// Schedules the resources of a plan after its run.
    fn reschedule(&mut self, summary: &Summary, urns: &HashMap<Key, Urn>, policy: &Reconcile, now: u64) {
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
    }

    /// The resources that wait for a retry.
    fn backed_off(&self, now: u64) -> HashMap<Urn, Reason> {
        let backed_off = self.schedule.backed_off(now).map(|urn| {
            let message = self.failures.get(urn).cloned().unwrap_or_else(|| "".into());
            (urn.clone(), Reason::BackedOff { message })
        });
        backed_off.collect()
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
    fn count(&mut self, summary: &Summary, documents: &Documents, now: u64) {
        for (key, cause) in &summary.failed {
            let urn = Urn::new(&documents.context, key);
            self.schedule.failed(&urn, now);
            self.failures.insert(urn, cause.to_string().into());
        }
    }

    /// The resources to read now.
    async fn due(
        &mut self,
        session: &Session<'_>,
        documents: &Documents,
        now: u64,
    ) -> Result<HashSet<Urn>, Error> {
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
        Ok(match base.staleness().is_some_and(|staleness| !staleness.is_mere_doubt()) {
            true => all.into_iter().cloned().collect(),
            false => self.schedule.due(now, &|urn| due::interval(policy, urn)).into_iter().collect(),
        })
    }

    /// Takes the read intervals and the requests from a graph.
    fn meet_requests(&mut self, graph: &Graph, policy: &Reconcile, now: u64) {
        let (mut intervals, mut requests) = (HashMap::new(), HashMap::new());
        for node in graph.nodes() {
            let Some(urn) = graph.urn(node.id) else { continue };
            if let Some(interval) = node.lifecycle.poll_interval {
                intervals.insert(urn.clone(), interval);
            }
            if let Some(request) = &node.lifecycle.reconcile_requested {
                requests.insert(urn, Arc::clone(request));
            }
        }
        self.schedule.set_own_intervals(intervals, now, &|urn| due::interval(policy, urn));
        let known = self.requests.replace(requests.clone());
        let is_new = |(urn, request): &(&Urn, &Arc<str>)| {
            known.as_ref().is_some_and(|known| known.get(*urn) != Some(request))
        };
        for (urn, _) in requests.iter().filter(is_new) {
            self.schedule.request(urn, now);
        }
    }
}

/// The run of one pass: decides what it does.
struct Round<'k> {
    keeper: &'k mut Keeper,
    documents: &'k Documents,
    is_earlier: bool,
    policy: &'k Reconcile,
    due: HashSet<Urn>,
    options: PlanOptions,
    on_event: &'k mut (dyn FnMut(&Event) + Send),
    clock: &'k (dyn Fn() -> u64 + Send + Sync),
    pass: Pass,
    /// The resources of the plan.
    urns: HashMap<Key, Urn>,
    /// The state that the plan was made from.
    fingerprint: [u8; 32],
}

impl Follower for Round<'_> {
    fn leaves(&mut self, rollouts: &[u64]) {
        self.pass.left_rollouts = rollouts.to_vec();
    }

    fn begins(&mut self, stage: Stage, plan: &Plan) {
        match stage {
            Stage::Recovery => {}
            Stage::Reading => self.pass.read = plan.steps.len(),
            Stage::Deployment => {
                self.urns = plan.steps.iter().map(|step| (step.key.clone(), step.urn.clone())).collect();
                if let Some(graph) = plan.graph() {
                    self.keeper.meet_requests(graph, self.policy, (self.clock)());
                }
            }
        }
    }

    async fn options(&mut self, session: &Session<'_>, base: &Base) -> Result<Option<PlanOptions>, Error> {
        self.fingerprint = base.fingerprint();
        let now = (self.clock)();
        let is_same = |(seen, at, is_earlier): ([u8; 32], u64, bool)| {
            is_earlier == self.is_earlier && seen == self.fingerprint && now < at + PLAN_AGAIN
        };
        if self.keeper.in_sync.is_some_and(is_same) && self.keeper.failures.is_empty() {
            return Ok(None);
        }
        self.keeper.check_last(session, self.documents).await?;
        // A read that failed just now is not followed by an attempt to change the resource.
        self.options.left_alone = Arc::new(self.keeper.backed_off(now));
        Ok(Some(self.options.clone()))
    }

    /// Holds back what needs consent.
    async fn restricts(
        &mut self,
        session: &Session<'_>,
        base: &Base,
        plan: &mut Plan,
    ) -> Result<Option<PlanOptions>, Error> {
        if self.policy.data_loss {
            let losses = plan.losses_not_allowed();
            plan.allow_losses(&losses);
        }
        let losses: HashSet<Key> = plan.losses_not_allowed().into_iter().collect();
        let left_alone = Arc::make_mut(&mut self.options.left_alone);
        let pass = &mut self.pass;
        let mut more = false;
        for step in plan.steps.iter().filter(|step| !step.left_out) {
            let loses = losses.contains(&step.key);
            let changed = base.is_drifted(&step.urn) || step.reasons.contains(&Reason::Gone);
            match step.action {
                Action::Create | Action::Update | Action::Replace
                    if changed && due::drift(self.policy, &step.urn) == Drift::Report =>
                {
                    more |= left_alone.insert(step.urn.clone(), Reason::DriftReported).is_none();
                    pass.drifted.push(step.key.clone());
                }
                Action::Replace if loses || !self.policy.replace => {
                    let action = Action::Replace.as_str().into();
                    more |= left_alone.insert(step.urn.clone(), Reason::NeedsConsent { action }).is_none();
                    pass.needs_consent.push((step.key.clone(), Action::Replace));
                }
                // An old copy is deleted with the replacement that was approved.
                Action::Delete if loses && !self.options.keep_removed => {
                    self.options.keep_removed = true;
                    more = true;
                }
                _ => {}
            }
        }
        if more {
            return Ok(Some(self.options.clone()));
        }
        if self.options.keep_removed {
            note_removed(session, plan, base, pass, (self.clock)()).await?;
        }
        pass.drifted.sort();
        pass.needs_consent.sort_by(|a, b| a.0.cmp(&b.0));
        pass.needs_consent.dedup();
        pass.warnings = Some(plan.warnings.clone());
        Ok(None)
    }

    fn entry(&mut self) -> Option<Deployment> {
        let entry = self.keeper.entry.take();
        if !self.keeper.in_force.is_rejecting() {
            return entry;
        }
        // Passes with two sets of documents alternate, and each set has an entry of its own.
        let digest = Some(self.documents.archive_digest());
        entry.filter(|entry| entry.documents == digest)
    }

    fn entered(&mut self, entry: Option<Deployment>) {
        self.keeper.entry = entry;
    }

    async fn agrees(&mut self, _: &mut Plan) -> bool {
        true
    }

    async fn follow(&mut self, stage: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary {
        let Self { documents, on_event, .. } = self;
        let now = (self.clock)();
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
        let summary = follow(run, &mut listen).await;
        if stage != Stage::Deployment {
            self.keeper.count(&summary, documents, now);
        }
        if stage == Stage::Reading && !summary.cancelled {
            // A failed read is retried after a short delay. A resource that no driver can read waits
            // its full interval.
            let failed: HashSet<Urn> =
                summary.failed.iter().map(|(key, _)| Urn::new(&documents.context, key)).collect();
            for urn in self.due.difference(&failed) {
                self.keeper.schedule.was_read(urn, now, due::interval(self.policy, urn));
            }
            // A new resource that is missing may just not be visible yet.
            for (urn, over) in &not_shown {
                self.keeper.schedule.read_by(urn, *over);
            }
        }
        summary
    }
}

/// Reports the resources that left the documents but are kept, in the state as well.
async fn note_removed(
    session: &Session<'_>,
    plan: &Plan,
    base: &Base,
    pass: &mut Pass,
    now: u64,
) -> Result<(), Error> {
    let known: HashSet<&Key> = plan.graph().into_iter().flat_map(Graph::nodes).map(|node| node.key).collect();
    let snapshot = base.snapshot();
    let obstacles: HashMap<&Urn, &ObstacleRecord> =
        snapshot.obstacles.iter().map(|obstacle| (&obstacle.urn, obstacle)).collect();
    let action: Arc<str> = Action::Delete.as_str().into();
    let mut changes = Vec::new();
    for record in base.all_current().filter(|record| record.status != Status::Absent) {
        let Some(key) = record.urn.key().filter(|key| !known.contains(key)) else { continue };
        let obstacle = Obstacle::NeedsConsent { action: Arc::clone(&action) };
        if obstacles.get(&record.urn).is_none_or(|known| known.obstacle != obstacle) {
            let obstacle = ObstacleRecord { urn: record.urn.clone(), obstacle, since: now };
            changes.push(Change::Obstruct { urn: record.urn.clone(), obstacle: Some(Box::new(obstacle)) });
        }
        pass.needs_consent.push((key, Action::Delete));
    }
    if !changes.is_empty() {
        session.lock.notes().commit(changes).await?;
    }
    Ok(())
}

/// The fault of documents that are about another environment than the one that a watch keeps.
fn elsewhere(now: &Environment, place: &Environment) -> Error {
    let message = format!("the documents are about {now} now, and this watch keeps {place}");
    let fault = Diagnostic::error("app-changed", message);
    Error::Documents(vec![fault.help("start a watch of its own for the other environment")])
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
