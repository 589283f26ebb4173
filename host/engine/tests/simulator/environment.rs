//! One environment of a simulated life: its documents, its drivers, its state, and the process that runs a
//! command in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures::StreamExt as _;
use purlin_documents::{Input, load};
use purlin_engine::{
    Accounts, Action, ApplyOptions, Base, CancelToken, DestroyOptions, Error, Event, KnownOutputs, Plan,
    PlanOptions, Scope, Summary, SuppliedDrivers,
};
use purlin_graph::{DefinitionIndex, Graph};
use purlin_model::{Context, EnvironmentId, Reason};
use purlin_state::{Change, Environment, Operation, Snapshot, Writer};

use crate::documents::{self, Documents, Resource, key};
use crate::drivers::{GRACE, Shelf};
use crate::scenario::{Behind, Command, CommandScope, DriverKind, Step};
use crate::sim::Shared;
use crate::store::SimStore;
use crate::world::{Planned, World};

/// An environment, and the process that runs a command in it.
pub(crate) struct SimEnvironment {
    pub(crate) environment: Environment,
    pub(crate) sim: Shared,
    pub(crate) store: SimStore,
    pub(crate) drivers: Vec<DriverKind>,
    pub(crate) documents: Documents,
    pub(crate) number: usize,
    shelf: Arc<Shelf>,
    graph: Option<(Documents, Arc<Graph>)>,
    runs: u64,
    /// The host that works here, if there are several.
    pub(crate) host: Option<u8>,
}

/// The environments of a life, by number.
const NAMES: [&str; 3] = ["dev", "test", "prod"];

/// How a command ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) summaries: Vec<Summary>,
    /// Keys that warnings of the plan name.
    pub(crate) warned: BTreeSet<String>,
    /// The codes of the faults for which the plan was rejected; a failed call of a driver is `driver`.
    pub(crate) refused: Vec<String>,
    pub(crate) crashed: bool,
    /// Its host lost the lease.
    pub(crate) is_lost: bool,
    /// A person cancelled it.
    pub(crate) is_cancelled: bool,
    /// The records were in doubt when the command began.
    pub(crate) doubted: bool,
    /// The records were in doubt, and the command trusted them again.
    pub(crate) trusted: bool,
}

impl Ended {
    pub(crate) fn calls(&self) -> usize {
        self.summaries.iter().map(|summary| summary.calls).sum()
    }

    /// Whether only resources that wait for others are unfinished.
    pub(crate) fn only_waits(&self) -> bool {
        let waits = |summary: &Summary| summary.is_success() || summary.only_waits();
        !self.crashed && self.refused.is_empty() && self.summaries.iter().all(waits)
    }

    pub(crate) fn is_success(&self) -> bool {
        !self.crashed && self.refused.is_empty() && self.summaries.iter().all(Summary::is_success)
    }
}

/// How a promise was broken.
pub(crate) type BrokenPromise = String;

/// The environment of a number.
pub(crate) fn environment(number: usize) -> Environment {
    Environment { org: "acme".into(), app: "shop".into(), env: NAMES[number % NAMES.len()].into() }
}

impl SimEnvironment {
    pub(crate) fn new(
        number: usize,
        (sim, store): (Shared, SimStore),
        drivers: &[DriverKind],
        documents: Documents,
    ) -> Self {
        Self {
            environment: environment(number),
            shelf: Arc::new(Shelf::new(drivers, &sim)),
            drivers: drivers.to_vec(),
            documents,
            number,
            graph: None,
            runs: 0,
            host: None,
            sim,
            store,
        }
    }

    /// The drivers of a process.
    fn drivers(&self) -> SuppliedDrivers {
        let accounts = Accounts::new(Default::default(), PlanOptions::default().stores, false);
        SuppliedDrivers {
            drivers: Arc::clone(&self.shelf) as _,
            accounts: Arc::new(accounts),
            store: Some(self.store.whole()),
        }
    }

    /// Lets time pass. Requests in transit arrive meanwhile.
    pub(crate) fn wait(&self, time: Duration) {
        self.sim.late_requests_arrive();
        self.sim.pass(time);
    }

    /// The same environment on another host.
    pub(crate) fn beside(&self) -> Self {
        let sim = Arc::new(self.sim.beside("other host"));
        let store = self.store.beside(Arc::clone(&sim));
        let (documents, runs) = (self.documents.clone(), self.runs);
        let (graph, drivers) = (self.graph.clone(), &*self.drivers);
        Self { graph, runs, ..Self::new(self.number, (sim, store), drivers, documents) }
    }

    /// Continues with the documents and the graph of another host.
    pub(crate) fn goes_on_as(&mut self, other: Self) {
        (self.documents, self.graph) = (other.documents, other.graph);
        self.runs = self.runs.max(other.runs);
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.sim.world()
    }

    pub(crate) fn context(&self) -> Context {
        let Environment { org, app, env } = self.environment.clone();
        Context {
            org,
            app,
            namespace: env.clone(),
            env: EnvironmentId { id: env, kind: "development".into() },
            deployment: self.runs.to_string().into(),
        }
    }

    pub(crate) fn urn(&self, slot: u8) -> Option<String> {
        let id = self.documents.resources.get(&slot)?.id(slot);
        let key = purlin_model::Key::parse(&key(&id)).ok()?;
        Some(purlin_model::Urn::new(&self.context(), &key).as_str().to_owned())
    }

    /// The URNs of the resources that have a setting.
    fn with_setting(&self, setting: impl Fn(&Resource) -> bool) -> BTreeSet<String> {
        let resources = self.documents.resources.iter().filter(|(_, resource)| setting(resource));
        resources.filter_map(|(slot, _)| self.urn(*slot)).collect()
    }

    /// Takes the graph that another place built from the same documents.
    pub(crate) fn reads_as(&mut self, other: &Self) {
        self.graph.clone_from(&other.graph);
    }

    fn graph(&mut self) -> Result<Arc<Graph>, BrokenPromise> {
        if let Some((of, graph)) = &self.graph
            && *of == self.documents
        {
            return Ok(Arc::clone(graph));
        }
        let text = self.documents.text();
        let loaded = load(&[Input::Text { name: "simulated.yaml".into(), text: text.clone() }]);
        if loaded.has_errors() {
            return Err(format!("the documents are wrong: {:#?}\n{text}", loaded.diagnostics));
        }
        let definition_index =
            DefinitionIndex::new(loaded.definitions).map_err(|errors| format!("{errors:#?}\n{text}"))?;
        let input = purlin_graph::Input {
            context: Arc::new(self.context()),
            definition_index: Arc::new(definition_index),
            deployment: Arc::new(loaded.deployment),
            outputs: &KnownOutputs::default(),
            recorded: &|_| false,
        };
        let graph = purlin_graph::build(&input).map_err(|errors| format!("{errors:#?}\n{text}"))?;
        let graph = Arc::new(graph);
        self.graph = Some((self.documents.clone(), Arc::clone(&graph)));
        Ok(graph)
    }

    /// The durable state, which must always be intact.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, BrokenPromise> {
        self.store.durable().map_err(|error| format!("the state cannot be read: {error}"))
    }

    pub(crate) fn base(&self) -> Result<Base, BrokenPromise> {
        Base::new(self.snapshot()?).map_err(|error| format!("the state is damaged: {error}"))
    }

    /// Runs one step in a separate process.
    pub(crate) async fn process(&mut self, step: &Step) -> Result<Ended, BrokenPromise> {
        self.runs += 1;
        for edit in &step.edits {
            self.documents.edit(edit);
        }
        // Some commands follow at once, others once the grace has passed.
        if step.timing.is_multiple_of(3) {
            self.wait(Duration::from_secs(step.timing % 45));
        }
        let token = self.sim.begin(step, self.host.is_some());
        self.store.open(step.disk_full, step.lost.map_or(0, |(_, kept)| kept));
        let sim = Arc::clone(&self.sim);
        if let Some(host) = self.host {
            tokio::select! {
                biased;
                () = sim.gone.notified() => {
                    self.store.forget();
                    return Ok(Ended { crashed: true, ..Ended::default() });
                }
                taken = self.take_lease(host) => taken?,
            }
        }
        if let Some(back) = step.restore {
            // A person takes longer than a system to show what the copy does not know.
            self.wait(GRACE);
            self.restore(back)?;
        }
        let before = self.snapshot()?;
        if self.sim.may_call() {
            let retained = self.with_setting(|resource| resource.retain);
            let prefix = self.environment.urn_prefix();
            self.world().begin(&prefix, &before, retained);
            self.world().doubts_in(&prefix, before.staleness.is_some());
            self.sim.say(format!("{:?}", step.command));
        }
        self.change_behind(step, &before);
        let ended = tokio::select! {
            biased;
            () = sim.gone.notified() => Ok(Ended { crashed: true, ..Ended::default() }),
            ended = self.command(step, &token) => ended,
        };
        // Everything in flight ends with the command.
        let mut ended = match ended {
            // A command that writes at once returns the error of the store itself.
            Err(why) if self.store.is_lost() && why == self.store.lost().to_string() => Ended::default(),
            ended => ended?,
        };
        if ended.crashed {
            self.store.crash(step.crash.map_or(0, |(_, kept)| kept));
            self.store.forget();
        } else if self.store.is_lost() {
            // The store promises nothing about unfinished writes, and nothing more is written.
            self.store.crash(0);
            self.store.forget();
            (ended.crashed, ended.is_lost) = (true, true);
            ended.is_cancelled = self.sim.is_cancelled();
        } else if self.store.has_waiting() && !self.store.has_failed() {
            return Err("the run ended before all changes were durable".to_owned());
        } else {
            self.store.release();
        }
        self.base()?;
        Ok(ended)
    }

    /// Takes the lease, and waits until the calls of a previous holder that did not release it have ended.
    async fn take_lease(&self, host: u8) -> Result<(), BrokenPromise> {
        let lapsed = self.store.take(host).map_err(|error| error.to_string())?;
        self.sim.point().await;
        if let Some(lapsed) = lapsed {
            let wait = purlin_engine::last_attempts(&self.snapshot()?.pending).saturating_sub(lapsed);
            self.sim.say(format!("  waits {wait:?} for the calls of the host before"));
            tokio::time::sleep(wait).await;
            self.sim.late_requests_arrive();
            self.sim.point().await;
        }
        Ok(())
    }

    /// Changes resources behind Purlin's back, but only those that their drivers can read: nothing could
    /// detect other changes.
    fn change_behind(&self, step: &Step, before: &Snapshot) {
        if !self.sim.may_call() {
            return;
        }
        for (slot, what) in &step.behind {
            let Some(urn) = self.urn(*slot) else { continue };
            let mut world = self.world();
            let ids: Vec<String> = before
                .records
                .iter()
                .filter(|record| record.urn.as_str() == urn && record.superseded.is_none())
                .map(|record| record.state.id.expose().to_owned())
                .filter(|id| {
                    let is_seen = |id: &String| {
                        let driver = world.things.get(id).and_then(|t| self.drivers.get(t.driver));
                        driver.is_some_and(|driver| driver.implements.read)
                    };
                    is_seen(id) && world.inside(id).iter().all(is_seen)
                })
                .collect();
            ids.iter().for_each(|id| world.behind(id, *what));
            drop(world);
            if *what == Behind::Vanish && !ids.is_empty() {
                self.sim.say("  (behind our back)".into());
            }
        }
    }

    async fn command(&mut self, step: &Step, token: &CancelToken) -> Result<Ended, BrokenPromise> {
        let mut ended = Ended::default();
        if step.command == Command::Resolve {
            // A person waits until nothing is in transit.
            self.sim.late_requests_arrive();
            self.resolve()?;
            return Ok(ended);
        }
        let base = self.base()?;
        if base.has_pending() {
            let plan = match purlin_engine::recover(&self.context(), base, &self.drivers(), false).await {
                Ok(plan) => plan,
                Err(error) => return Err(format!("no recovery: {error:?}")),
            };
            let summary = self.apply(plan, step, token, true).await?;
            ended.summaries.push(summary);
            if token.is_requested() || self.store.has_failed() {
                return Ok(ended);
            }
        }
        let doubted = self.base()?.staleness().is_some();
        ended.doubted = doubted;
        let mut is_all_shown = true;
        if let Command::Up { scope, .. } = &step.command
            && doubted
        {
            let refresh = Command::Refresh(scope.clone());
            let plan = match self.plan(&refresh, self.base()?).await? {
                Ok(plan) => plan,
                Err(refused) => return Ok(Ended { refused, ..ended }),
            };
            let summary = self.apply(plan, step, token, false).await?;
            let goes_on = summary.failed.is_empty() && summary.halted.is_none() && !summary.cancelled;
            is_all_shown = summary.not_shown.is_empty();
            ended.summaries.push(summary);
            if !goes_on {
                return Ok(ended);
            }
        }
        let base = self.base()?;
        let pending: Vec<String> = base
            .snapshot()
            .pending
            .iter()
            .filter(|intent| matches!(intent.operation, Operation::Create(_)))
            .filter_map(|intent| Some(intent.id().urn.key()?.to_string()))
            .collect();
        let plan = match self.plan(&step.command, base).await? {
            Ok(plan) => plan,
            Err(refused) => {
                ended.refused = refused;
                return Ok(ended);
            }
        };
        ended.warned = plan.warnings.iter().map(|warning| warning.key.to_string()).collect();
        if !matches!(step.command, Command::Refresh(_))
            && let Some(silent) = pending.iter().find(|key| {
                !ended.warned.contains(*key) && !ended.warned.contains(&self.renamed(key.to_string()))
            })
        {
            return Err(format!("the plan says nothing of the undecided `{silent}`"));
        }
        let summary = self.apply(plan, step, token, false).await?;
        let ends_staleness = summary.ends_staleness && is_all_shown;
        ended.summaries.push(summary);
        if ends_staleness {
            ended.trusted = self.store.commit(vec![Change::SetStaleness(None)]).await.is_ok();
        }
        Ok(ended)
    }

    /// The current key of a resource that is recorded under a previous one.
    pub(crate) fn renamed(&self, key: String) -> String {
        let old = |(slot, resource): (&u8, &Resource)| {
            let old = documents::key(&resource.alias.map(|number| documents::name(*slot, number))?);
            (old == key).then(|| documents::key(&resource.id(*slot)))
        };
        self.documents.resources.iter().find_map(old).unwrap_or(key)
    }

    async fn plan(
        &mut self,
        command: &Command,
        base: Base,
    ) -> Result<Result<Plan, Vec<String>>, BrokenPromise> {
        let context = self.context();
        let plan = match command {
            Command::Up { full, keep_removed, scope, replace } => {
                let graph = self.graph()?;
                let name = |slot: &u8| self.documents.resources.get(slot).map(|r| key(&r.id(*slot)));
                let options = PlanOptions {
                    full: *full,
                    keep_removed: *keep_removed,
                    scope: self.scope(scope),
                    replace: replace.iter().filter_map(name).collect(),
                    ..PlanOptions::default()
                };
                purlin_engine::plan(graph, &context, base, &self.drivers(), options).await
            }
            Command::Refresh(part) => {
                purlin_engine::refresh(&context, base, &self.drivers(), &self.scope(part)).await
            }
            Command::Destroy(part) => {
                let options = DestroyOptions { scope: self.scope(part), ..DestroyOptions::default() };
                purlin_engine::destroy(&context, base, &self.drivers(), options).await
            }
            Command::Resolve => return Ok(Err(Vec::new())),
        };
        match plan {
            Ok(plan) => Ok(Ok(plan)),
            Err(Error::Driver { key, cause }) => {
                self.sim.say(format!("  no plan: {key}: {cause}"));
                Ok(Err(vec!["driver".into()]))
            }
            Err(Error::Documents(faults)) => {
                let mut codes = Vec::new();
                for fault in faults.iter().filter(|fault| fault.is_error()) {
                    self.sim.say(format!("  refused: {}", fault.message));
                    codes.push(fault.code.to_owned());
                }
                Ok(Err(codes))
            }
            // A name of a resource that no longer exists.
            Err(Error::Names(names)) => {
                for (_, name) in &names {
                    self.sim.say(format!("  refused: {name}"));
                }
                Ok(Err(vec!["no-such-resource".into()]))
            }
            Err(error) => Err(format!("no plan: {error}")),
        }
    }

    fn scope(&self, part: &CommandScope) -> Scope {
        let names = |slots: &[u8]| {
            let named = |slot: &u8| {
                let resource = self.documents.resources.get(slot);
                key(&resource.map_or_else(|| format!("r{slot}"), |resource| resource.id(*slot)))
            };
            slots.iter().map(named).collect()
        };
        Scope { targets: names(&part.targets), exclude: names(&part.exclude), dependents: part.dependents }
    }

    async fn apply(
        &mut self,
        plan: Plan,
        step: &Step,
        token: &CancelToken,
        finds_out: bool,
    ) -> Result<Summary, BrokenPromise> {
        self.runs += 1;
        let pending = self.snapshot()?.pending;
        let pending = pending.iter().map(|intent| intent.id().urn.as_str().to_owned()).collect();
        self.announce(&plan, &pending, finds_out);
        let mut seed = [0; 32];
        // A real process uses a random seed.
        seed[..8].copy_from_slice(&self.runs.to_le_bytes());
        seed[8] = self.documents.place;
        seed[9] = self.host.unwrap_or_default();
        let (clock, skew) = (self.store.clone(), step.skew);
        let options = ApplyOptions {
            parallelism: usize::from(step.parallelism),
            cancel: token.clone(),
            clock: Arc::new(move || clock.time().saturating_add_signed(skew)),
            seed,
            waits: step.waits,
        };
        let writer: Arc<dyn Writer> = Arc::new(self.store.clone());
        let mut run = purlin_engine::apply(plan, writer, options).map_err(|error| error.to_string())?;
        let mut last = None;
        while let Some(event) = run.next().await {
            if let Event::Resource { key, action, phase } = &event {
                self.sim.say(format!("  event {} {key} {phase:?}", action.as_str()));
            }
            last = Some(event);
        }
        match last {
            Some(Event::Summary(summary)) => match &summary.integrity {
                None => Ok(summary),
                Some(wrong) => Err(format!("after the run the records contradict each other: {wrong}")),
            },
            other => Err(format!("the last event is not the summary but {other:?}")),
        }
    }

    /// Tells the world what the plan will do, so that it can object.
    fn announce(&self, plan: &Plan, pending: &BTreeSet<String>, finds_out: bool) {
        let protected = self.with_setting(|resource| resource.protect);
        let mut planned: BTreeMap<String, Planned> = BTreeMap::new();
        // A pending call belongs to an earlier plan.
        let prefix = self.environment.urn_prefix();
        let stays = |urn: &String| finds_out || pending.contains(urn) || !urn.starts_with(&prefix);
        let earlier = self.world().planned.clone().into_iter().filter(|(urn, _)| stays(urn));
        planned.extend(earlier);
        for step in &plan.steps {
            let urn = step.urn.as_str();
            if step.action != Action::None {
                let why: Vec<&str> = step.reasons.iter().map(Reason::code).collect();
                let why = why.join(", ");
                let first = if step.delete_before_replace { " (first the old one)" } else { "" };
                self.sim.say(format!("  plan {} {}{first}: {why}", step.action.as_str(), step.key));
            }
            let entry = planned.entry(urn.to_owned()).or_default();
            entry.replaced |= step.action == Action::Replace;
            // It is now deleted for its own sake, whatever an earlier plan intended.
            let of_copy = step.reasons.iter().any(|reason| matches!(reason, Reason::Replaced));
            if step.action == Action::Delete && !of_copy {
                entry.replaced = false;
            }
            entry.deletes_first |= step.delete_before_replace;
            if !finds_out {
                entry.protected = protected.contains(urn);
            }
        }
        for warning in &plan.warnings {
            self.sim.say(format!("  warning {}: {}", warning.key, warning.message));
        }
        // A host that has lost the environment carries out nothing of its plan.
        if self.sim.may_call() {
            self.world().planned = planned;
        }
    }
}
