//! A platform in memory: documents as text, a driver that does what its inputs say, a store that
//! keeps records in memory with the real codec.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, dead_code, unused_imports)]

mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt as _;
use purlin_documents::{Input, load};
use purlin_engine::{
    ApplyOptions, Base, CancelToken, DestroyOptions, Error, Event, KnownOutputs, Plan, PlanOptions, Scope,
    Summary,
};
use purlin_graph::{Catalogue, Graph};
use purlin_model::driver::Implements;
use purlin_model::{Context, Diagnostic, EnvironmentId};
use purlin_state::{Environment, MemoryStore, Record, Snapshot, Store};

pub(crate) use world::{Lost, Scripted, Shelf, Thing, locked};

/// All functions, but for `check`, `read` and repeated creation.
pub(crate) const PLAIN: Implements = Implements {
    check: false,
    name: true,
    read: false,
    update_impact: true,
    update: true,
    repeat_create: false,
};

/// All functions, but for repeated creation.
pub(crate) const FULL: Implements = Implements { check: true, read: true, ..PLAIN };

/// A platform in memory.
pub(crate) struct Platform {
    /// `test/scripted`, and the echo of implicit resources.
    pub(crate) driver: Arc<Scripted>,
    pub(crate) shelf: Shelf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) parallelism: usize,
    runs: AtomicU64,
    clock: Arc<AtomicU64>,
}

impl Platform {
    pub(crate) fn new() -> Self {
        Self::with(PLAIN)
    }

    pub(crate) fn with(implements: Implements) -> Self {
        let driver = Scripted::new("test/scripted", implements);
        Self {
            shelf: Shelf { drivers: vec![Arc::clone(&driver)], ..Shelf::default() },
            driver,
            store: Arc::new(MemoryStore::default()),
            parallelism: 8,
            runs: AtomicU64::new(0),
            clock: Arc::new(AtomicU64::new(1)),
        }
    }

    /// Adds a driver by another name.
    pub(crate) fn add_driver(&mut self, name: &str, implements: Implements) -> Arc<Scripted> {
        let driver = Scripted::new(name, implements);
        self.shelf.drivers.push(Arc::clone(&driver));
        driver
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

    /// The graph of documents, or what is wrong with them.
    pub(crate) fn try_graph(&self, documents: &str) -> Result<Arc<Graph>, Vec<Diagnostic>> {
        let loaded = load(&[Input::Text { name: "test.yaml".into(), text: documents.into() }]);
        if loaded.has_errors() {
            return Err(loaded.diagnostics);
        }
        let input = purlin_graph::Input {
            context: Arc::new(self.context()),
            catalogue: Arc::new(Catalogue::new(loaded.definitions).expect("definitions")),
            deployment: Arc::new(loaded.deployment),
            outputs: &KnownOutputs::default(),
        };
        purlin_graph::build(&input).map(Arc::new)
    }

    pub(crate) fn graph(&self, documents: &str) -> Arc<Graph> {
        self.try_graph(documents).unwrap_or_else(|errors| panic!("{errors:#?}"))
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        self.store.load(&Environment::of(&self.context())).await.expect("records")
    }

    pub(crate) async fn records(&self) -> Vec<Record> {
        self.snapshot().await.records
    }

    /// The current record with this id.
    pub(crate) async fn record(&self, id: &str) -> Option<Record> {
        let is = |record: &Record| {
            record.superseded.is_none() && record.urn.key().is_some_and(|key| key.id() == id)
        };
        self.records().await.into_iter().find(is)
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
        let clock = Arc::clone(&self.clock);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.runs.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        let options = ApplyOptions {
            parallelism: self.parallelism,
            cancel,
            clock: Arc::new(move || clock.fetch_add(1, Ordering::SeqCst)),
            seed,
        };
        let run = purlin_engine::apply(plan, Arc::clone(&self.store), options).expect("a run");
        let mut events: Vec<Event> = run.collect().await;
        match events.pop() {
            Some(Event::Summary(summary)) => {
                assert_eq!(summary.integrity, None);
                // What is written down is whole, too.
                Base::new(self.snapshot().await).expect("a whole state");
                (events, summary)
            }
            other => panic!("the last event is the summary, not {other:?}"),
        }
    }

    /// Finds out what became of interrupted calls.
    pub(crate) async fn recover(&self) -> Summary {
        let base = self.base().await.expect("a whole state");
        let plan = purlin_engine::recover(&self.context(), base, &self.shelf, false).await.expect("a plan");
        self.run(plan, CancelToken::default()).await.1
    }

    /// As `purlin up` does: what is pending is found out first.
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

/// A definition of type `thing`, and resources of it given as `name: params`.
pub(crate) fn things(shared: &str) -> String {
    with_lifecycle(shared, "")
}

/// The same, with the Deployment's `lifecycle` block, indented by two.
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
