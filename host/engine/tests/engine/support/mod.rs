//! A platform in memory: documents as text, a driver that its inputs control, and a store that
//! keeps records in memory with the real codec.

mod store;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use purlin_documents::{Input, load};
use purlin_engine::{
    Accounts, ApplyOptions, Base, CancelToken, DestroyOptions, Error, Event, KnownOutputs, Plan, PlanOptions,
    Scope, Summary, SuppliedDrivers,
};
use purlin_graph::{DefinitionIndex, Graph};
use purlin_model::driver::Implements;
use purlin_model::{Context, Diagnostic, EnvironmentId, Value};
use purlin_state::{Change, Environment, Record, Snapshot, Store, Writer};

pub(crate) use store::Watched;
pub(crate) use world::{Lost, Scripted, Shelf, Thing, locked};

/// All functions except `check`, `read` and repeated creation.
pub(crate) const PLAIN: Implements = Implements {
    check: false,
    name: true,
    read: false,
    update_impact: true,
    update: true,
    repeat_create: false,
};

/// All functions except repeated creation.
pub(crate) const FULL: Implements = Implements { check: true, read: true, ..PLAIN };

/// A platform in memory.
pub(crate) struct Platform {
    /// `test/scripted`, which also echoes implicit resources.
    pub(crate) driver: Arc<Scripted>,
    pub(crate) shelf: Shelf,
    pub(crate) store: Arc<Watched>,
    pub(crate) parallelism: usize,
    runs: AtomicU64,
    clock: Arc<AtomicU64>,
    /// How far the clock advances each time it is read.
    pace: Arc<AtomicU64>,
    /// Whether runs wait for what is in progress.
    pub(crate) waits: AtomicBool,
}

impl Platform {
    pub(crate) fn new() -> Self {
        Self::with(PLAIN)
    }

    pub(crate) fn with(implements: Implements) -> Self {
        let driver = Scripted::new("test/scripted", implements);
        let clock = Arc::new(AtomicU64::new(1));
        locked(&driver.reads_take).0 = Arc::clone(&clock);
        Self {
            shelf: Shelf { drivers: vec![Arc::clone(&driver)], ..Shelf::default() },
            driver,
            store: Arc::new(Watched::new(&Environment {
                org: "acme".into(),
                app: "shop".into(),
                env: "dev".into(),
            })),
            parallelism: 8,
            runs: AtomicU64::new(0),
            clock,
            pace: Arc::new(AtomicU64::new(1)),
            waits: AtomicBool::new(true),
        }
    }

    /// Adds a driver with another name.
    pub(crate) fn add_driver(&mut self, name: &str, implements: Implements) -> Arc<Scripted> {
        let driver = Scripted::new(name, implements);
        self.shelf.drivers.push(Arc::clone(&driver));
        driver
    }

    /// The drivers, which get the cookies that are stored apart from this store.
    pub(crate) fn supplied(&self, store: Arc<dyn Store>) -> SuppliedDrivers {
        let accounts = Accounts::new(Default::default(), PlanOptions::default().stores, false);
        let shelf = Shelf { drivers: self.shelf.drivers.clone(), ..Shelf::default() };
        SuppliedDrivers { drivers: Arc::new(shelf), accounts: Arc::new(accounts), store: Some(store) }
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            org: "acme".into(),
            app: "shop".into(),
            env: EnvironmentId { id: "dev".into(), kind: "development".into() },
            namespace: "dev".into(),
            deployment: self.runs.fetch_add(1, Ordering::SeqCst).to_string().into(),
        }
    }

    /// The graph of documents, or their faults.
    pub(crate) fn try_graph(&self, documents: &str) -> Result<Arc<Graph>, Vec<Diagnostic>> {
        let loaded = load(&[Input::Text { name: "test.yaml".into(), text: documents.into() }]);
        if loaded.has_errors() {
            return Err(loaded.diagnostics);
        }
        let input = purlin_graph::Input {
            context: Arc::new(self.context()),
            definition_index: Arc::new(DefinitionIndex::new(loaded.definitions).expect("definitions")),
            deployment: Arc::new(loaded.deployment),
            outputs: &KnownOutputs::default(),
            recorded: &|_| false,
        };
        purlin_graph::build(&input).map(Arc::new)
    }

    pub(crate) fn graph(&self, documents: &str) -> Arc<Graph> {
        self.try_graph(documents).unwrap_or_else(|errors| panic!("{errors:#?}"))
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        self.store.load().await.expect("records")
    }

    pub(crate) async fn records(&self) -> Vec<Arc<Record>> {
        self.snapshot().await.records
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, time: Duration) {
        self.clock.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }

    /// The time, without letting it pass.
    pub(crate) fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    pub(crate) fn stop_the_clock(&self) {
        self.pace.store(0, Ordering::SeqCst);
    }

    /// Changes records directly.
    pub(crate) async fn write(&self, changes: Vec<Change>) {
        self.store.commit(changes).await.expect("written");
    }

    /// The calls with effects since the last call of this function: `create a`, `delete a~2`. The
    /// second object with a name is `~2`.
    pub(crate) fn done(&self) -> Vec<String> {
        self.done_by(&self.driver)
    }

    /// The same for another driver.
    pub(crate) fn done_by(&self, driver: &Scripted) -> Vec<String> {
        let log = std::mem::take(&mut *locked(&driver.log));
        let short = |(what, id): (String, String)| {
            let name = id.split_once("#shared.")?.1.to_owned();
            Some(format!("{what} {name}"))
        };
        log.into_iter().filter_map(short).collect()
    }

    /// The existing objects, as short ids.
    pub(crate) fn alive(&self) -> Vec<String> {
        let world = locked(&self.driver.world);
        world.keys().filter_map(|id| Some(id.split_once("#shared.")?.1.to_owned())).collect()
    }

    /// The number of old copies that are still to be deleted.
    pub(crate) async fn copies(&self) -> usize {
        self.records().await.iter().filter(|record| record.superseded.is_some()).count()
    }

    /// Makes old copies deletable whose deletion was set to fail.
    pub(crate) async fn mend_copies(&self) {
        let old = self.records().await.into_iter().filter(|record| record.superseded.is_some());
        let mended = old.map(|record| {
            let mut record = Record::clone(&record);
            record.inputs.params = Value::map();
            Change::Put(Box::new(record))
        });
        self.write(mended.collect()).await;
    }

    /// The steps of a plan for documents, except those without an action.
    pub(crate) async fn planned(&self, documents: &str) -> Vec<String> {
        steps(&self.plan(documents).await.unwrap_or_else(|error| panic!("{error:?}")))
    }

    /// The faults of documents that are rejected.
    pub(crate) async fn refused(&self, documents: &str, options: PlanOptions) -> Vec<Diagnostic> {
        match self.plan_with(documents, options).await {
            Err(Error::Documents(faults)) => faults,
            Err(error) => panic!("{error:?}"),
            Ok(plan) => panic!("a plan was made: {:?}", steps(&plan)),
        }
    }

    /// Plans and applies.
    pub(crate) async fn up_with(&self, documents: &str, options: PlanOptions) -> Summary {
        let plan = self.plan_with(documents, options).await.unwrap_or_else(|error| panic!("{error:?}"));
        self.run(plan, CancelToken::default()).await.1
    }

    /// Like [`Self::up`], but must succeed. Returns the calls.
    pub(crate) async fn deploys(&self, documents: &str) -> Vec<String> {
        let summary = self.up(documents).await;
        assert!(summary.is_success(), "{summary:#?}");
        self.done()
    }

    /// The current record with this id.
    pub(crate) async fn record(&self, id: &str) -> Option<Record> {
        let is = |record: &Record| {
            record.superseded.is_none() && record.urn.key().is_some_and(|key| key.id() == id)
        };
        self.records().await.iter().find(|record| is(record)).map(|record| Record::clone(record))
    }

    pub(crate) async fn base(&self) -> Result<Base, Error> {
        Base::new(self.snapshot().await)
    }

    pub(crate) async fn plan(&self, documents: &str) -> Result<Plan, Error> {
        self.plan_with(documents, PlanOptions::default()).await
    }

    pub(crate) async fn plan_with(&self, documents: &str, options: PlanOptions) -> Result<Plan, Error> {
        let graph = self.graph(documents);
        purlin_engine::plan(graph, &self.context(), self.base().await?, &self.shelf, options).await
    }

    pub(crate) async fn destroy_plan(&self) -> Result<Plan, Error> {
        self.destroy_plan_with(DestroyOptions::default()).await
    }

    pub(crate) async fn destroy_plan_with(&self, options: DestroyOptions) -> Result<Plan, Error> {
        purlin_engine::destroy(&self.context(), self.base().await?, &self.shelf, options).await
    }

    pub(crate) async fn refresh_plan(&self, scope: &Scope) -> Result<Plan, Error> {
        purlin_engine::refresh(&self.context(), self.base().await?, &self.shelf, scope).await
    }

    pub(crate) async fn run(&self, plan: Plan, cancel: CancelToken) -> (Vec<Event>, Summary) {
        let (events, summary) = self.carry_out(plan, Arc::clone(&self.store) as _, cancel).await;
        assert_eq!(summary.integrity, None);
        // The recorded state is consistent too.
        Base::new(self.snapshot().await).expect("a whole state");
        (events, summary)
    }

    /// Executes a plan with another store.
    pub(crate) async fn run_on(&self, plan: Plan, store: Arc<dyn Writer>) -> (Vec<Event>, Summary) {
        self.carry_out(plan, store, CancelToken::default()).await
    }

    async fn carry_out(
        &self,
        plan: Plan,
        store: Arc<dyn Writer>,
        cancel: CancelToken,
    ) -> (Vec<Event>, Summary) {
        let (clock, pace) = (Arc::clone(&self.clock), Arc::clone(&self.pace));
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.runs.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        let options = ApplyOptions {
            parallelism: self.parallelism,
            cancel,
            clock: Arc::new(move || clock.fetch_add(pace.load(Ordering::SeqCst), Ordering::SeqCst)),
            seed,
            waits: self.waits.load(Ordering::SeqCst),
        };
        let run = purlin_engine::apply(plan, store, options).expect("a run");
        let mut events: Vec<Event> = run.collect().await;
        match events.pop() {
            Some(Event::Summary(summary)) => (events, summary),
            other => panic!("the last event is the summary, not {other:?}"),
        }
    }

    /// Finds out the outcome of interrupted calls.
    pub(crate) async fn recover(&self) -> Summary {
        let base = self.base().await.expect("a whole state");
        let plan = purlin_engine::recover(&self.context(), base, &self.shelf, false).await.expect("a plan");
        self.run(plan, CancelToken::default()).await.1
    }

    /// Like `purlin up`: settles pending calls first.
    pub(crate) async fn up(&self, documents: &str) -> Summary {
        if self.base().await.expect("a whole state").has_pending() {
            self.recover().await;
        }
        let plan = self.plan(documents).await.unwrap_or_else(|error| panic!("{error:?}"));
        self.run(plan, CancelToken::default()).await.1
    }

    pub(crate) async fn refresh(&self) -> (Vec<Event>, Summary) {
        if self.base().await.expect("a whole state").has_pending() {
            self.recover().await;
        }
        let plan = self.refresh_plan(&Scope::default()).await.expect("a plan");
        self.run(plan, CancelToken::default()).await
    }

    pub(crate) async fn destroy(&self) -> Summary {
        if self.base().await.expect("a whole state").has_pending() {
            self.recover().await;
        }
        let plan = self.destroy_plan().await.expect("a plan");
        self.run(plan, CancelToken::default()).await.1
    }
}

/// The steps of a plan, except those without an action.
pub(crate) fn steps(plan: &Plan) -> Vec<String> {
    let is_thing = |step: &&purlin_engine::Step| step.key.type_name() != "base-env";
    let changes = plan.steps.iter().filter(|step| step.action != purlin_engine::Action::None);
    let name = |id: &str| id.strip_prefix("shared.").unwrap_or(id).to_owned();
    changes.filter(is_thing).map(|step| format!("{} {}", step.action.as_str(), name(step.key.id()))).collect()
}

/// Only these, or all except these.
pub(crate) fn scope(targets: &[&str], exclude: &[&str]) -> Scope {
    let names = |names: &[&str]| names.iter().map(|name| format!("thing#shared.{name}")).collect();
    Scope { targets: names(targets), exclude: names(exclude), dependents: false }
}

/// The position of a call in a list.
pub(crate) fn at(calls: &[String], call: &str) -> usize {
    calls.iter().position(|other| other == call).unwrap_or_else(|| panic!("no `{call}` in {calls:?}"))
}

/// Things by name with their params, in which `<a.id>` reads the output `id` of `a`, and their
/// lifecycle settings, in which `<a>` is the descriptor of `a`.
pub(crate) fn documents(resources: &[(&str, &str)], settings: &[(&str, &str)]) -> String {
    let filled = |text: &str, with: &dyn Fn(&str) -> String| {
        let mut parts = text.split('<');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('>').expect("`<` ends with `>`");
            out.push_str(&with(name));
            out.push_str(rest);
        }
        out
    };
    let reads = |name: &str| {
        let (name, output) = name.split_once('.').expect("`<name.output>`");
        format!("\"${{resources['thing.default#shared.{name}'].outputs.{output}}}\"")
    };
    let shared: String = resources
        .iter()
        .map(|(name, params)| {
            format!("    {name}: {{type: thing, params: {{{}}}}}\n", filled(params, &reads))
        })
        .collect();
    let names = |name: &str| format!("thing#shared.{name}");
    let lifecycle: String = settings
        .iter()
        .map(|(name, setting)| format!("    thing#shared.{name}: {{{}}}\n", filled(setting, &names)))
        .collect();
    let shared = if shared.is_empty() { "    {}\n".to_owned() } else { shared };
    with_lifecycle(&shared, &lifecycle)
}

/// A definition of type `thing`, and resources of that type given as `name: params`.
pub(crate) fn things(shared: &str) -> String {
    with_lifecycle(shared, "")
}

/// The same, with the `lifecycle` block of the Deployment, indented by two.
pub(crate) fn with_lifecycle(shared: &str, lifecycle: &str) -> String {
    let lifecycle = if lifecycle.is_empty() { String::new() } else { format!("  lifecycle:\n{lifecycle}") };
    format!(
        "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: thing}}
spec:
  type: thing
  driver: test/scripted
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {{name: test}}
spec:
{lifecycle}  shared:
{shared}"
    )
}
