//! A platform in memory: documents as text, a driver that does what its inputs say, a store that
//! keeps records in memory with the real codec.
#![allow(clippy::expect_used, clippy::panic, dead_code)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use purlin_documents::{Input, load};
use purlin_engine::{
    ApplyOptions, Call, CancelToken, Driver, Drivers, Error, Event, KnownOutputs, Needed, Plan, PlanOptions,
    Summary,
};
use purlin_graph::{Catalogue, Graph};
use purlin_model::driver::{
    Checked, Failure, Impact, Implements, Inputs, InvalidInput, Manifest, ResourceState, TypeSchema,
};
use purlin_model::{Context, Diagnostic, EnvironmentId, Value};
use purlin_sandbox::{CallError, Change};
use purlin_state::{Environment, MemoryStore, Record, Store};

/// Echoes its inputs, and misbehaves where they say so: `fail: create|update|delete|check`,
/// `partial: text`, `sleep: ms`, `forces: replacement`. Remembers every call with an effect.
#[derive(Default)]
pub(crate) struct Scripted {
    manifest: Option<Manifest>,
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) running: AtomicU64,
    pub(crate) most_running: AtomicU64,
    pub(crate) alive: Mutex<BTreeSet<String>>,
    /// Keys that fail whatever they are asked, to be changed between runs.
    pub(crate) broken: Mutex<BTreeSet<String>>,
}

impl Scripted {
    pub(crate) fn new(name: &str, implements: Implements) -> Arc<Self> {
        let types = vec![TypeSchema { type_name: "*".into(), inputs: true.into(), outputs: true.into() }];
        Arc::new(Self {
            manifest: Some(Manifest {
                name: name.into(),
                version: semver::Version::new(1, 0, 0),
                description: "does as it is told".into(),
                implements,
                types,
                wishes: Vec::new(),
            }),
            ..Self::default()
        })
    }

    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().expect("calls"))
    }

    async fn act(&self, what: &str, call: &Call, inputs: &Inputs) -> Result<(), CallError> {
        let key = call.subject.key.to_string();
        assert!(!call.idempotency_key.is_empty(), "a call with effects has an idempotency key");
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let sleep = text(inputs, "sleep").and_then(|ms| ms.parse().ok()).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(sleep)).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.calls.lock().expect("calls").push(format!("{what} {key}"));
        if text(inputs, "fail").as_deref() == Some(what) || self.broken.lock().expect("broken").contains(&key)
        {
            return Err(CallError::Failure(Failure::Failed(format!("{what} of {key} failed"))));
        }
        Ok(())
    }
}

fn text(inputs: &Inputs, name: &str) -> Option<String> {
    Some(inputs.params.get(name)?.as_str()?.to_owned())
}

fn state(call: &Call, inputs: &Inputs) -> ResourceState {
    let mut outputs = inputs.params.as_map().cloned().unwrap_or_default();
    outputs.extend(inputs.values.as_map().cloned().unwrap_or_default());
    for (name, value) in inputs.secrets.as_map().into_iter().flatten() {
        outputs.insert(name.clone(), value.clone().into_secret());
    }
    outputs.insert("id".into(), Value::string(call.subject.key.to_string()));
    ResourceState {
        id: call.subject.key.to_string(),
        outputs: Value::Map(outputs),
        ..ResourceState::default()
    }
}

#[async_trait]
impl Driver for Scripted {
    fn manifest(&self) -> &Manifest {
        self.manifest.as_ref().expect("made by new")
    }
    fn known_as(&self) -> &str {
        "test/scripted"
    }
    fn digest(&self) -> &str {
        "scripted"
    }
    async fn check(&self, _: &Call, inputs: &Inputs, _: Option<&Inputs>) -> Result<Checked, CallError> {
        if text(inputs, "fail").as_deref() == Some("check") {
            let input = InvalidInput { pointer: "/params/fail".into(), message: "told to fail".into() };
            return Err(CallError::Failure(Failure::InvalidInputs(vec![input])));
        }
        let mut values = inputs.values.as_map().cloned().unwrap_or_default();
        values.entry("defaulted".into()).or_insert_with(|| "yes".into());
        Ok(Checked { values: Value::Map(values), secrets: inputs.secrets.clone(), warnings: Vec::new() })
    }
    async fn name(&self, call: &Call, _: &Inputs) -> Result<String, CallError> {
        Ok(call.subject.key.id().to_owned())
    }
    async fn create(&self, call: &Call, inputs: &Inputs, _: &str) -> Result<ResourceState, CallError> {
        self.act("create", call, inputs).await?;
        let made = self.alive.lock().expect("alive").insert(call.subject.key.to_string());
        assert!(made, "{} was made twice", call.subject.key);
        let state = state(call, inputs);
        match text(inputs, "partial") {
            Some(message) => Err(CallError::Failure(Failure::Partial { state: Box::new(state), message })),
            None => Ok(state),
        }
    }
    async fn update_impact(&self, _: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        let replaces =
            if text(change.after, "forces").is_some() { vec!["/params/forces".into()] } else { Vec::new() };
        Ok(Impact { replaces, delete_before_replace: false, stable_outputs: vec!["id".into()] })
    }
    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        assert_ne!(change.before, change.after, "an update changes something");
        self.act("update", call, change.after).await?;
        Ok(state(call, change.after))
    }
    async fn delete(&self, call: &Call, _: &ResourceState, inputs: &Inputs) -> Result<(), CallError> {
        self.act("delete", call, inputs).await?;
        assert!(
            self.alive.lock().expect("alive").remove(call.subject.key.as_str()),
            "deleted what was not there"
        );
        Ok(())
    }
}

struct Shelf(Arc<Scripted>);

#[async_trait]
impl Drivers for Shelf {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let name = match needed {
            Needed::For(requirement) => &*requirement.name,
            Needed::Recorded(name, _) => name,
        };
        let known = name == self.0.known_as() || name == "purlin/echo";
        if known {
            Ok(Arc::clone(&self.0) as _)
        } else {
            Err(Box::new(Diagnostic::error("driver", format!("no driver `{name}`"))))
        }
    }
}

/// A platform in memory.
pub(crate) struct Platform {
    pub(crate) driver: Arc<Scripted>,
    pub(crate) store: Arc<MemoryStore>,
    runs: AtomicU64,
}

impl Platform {
    pub(crate) fn new() -> Self {
        let all = Implements { check: false, name: true, read: false, update_impact: true, update: true };
        Self::with(all)
    }

    pub(crate) fn with(implements: Implements) -> Self {
        Self {
            // A driver may well call itself something else than its operator does.
            driver: Scripted::new("author/scripted", implements),
            store: Arc::new(MemoryStore::default()),
            runs: AtomicU64::new(0),
        }
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

    pub(crate) fn graph(&self, documents: &str) -> Arc<Graph> {
        let loaded = load(&[Input::Text { name: "test.yaml".into(), text: documents.into() }]);
        assert!(!loaded.has_errors(), "{:#?}", loaded.diagnostics);
        let input = purlin_graph::Input {
            context: Arc::new(self.context()),
            catalogue: Arc::new(Catalogue::new(loaded.definitions).expect("definitions")),
            deployment: Arc::new(loaded.deployment),
            outputs: &KnownOutputs::default(),
        };
        Arc::new(purlin_graph::build(&input).unwrap_or_else(|errors| panic!("{errors:#?}")))
    }

    pub(crate) async fn records(&self) -> Vec<Record> {
        self.store.load(&Environment::of(&self.context())).await.expect("records")
    }

    pub(crate) async fn plan(&self, documents: &str) -> Result<Plan, Error> {
        let graph = self.graph(documents);
        purlin_engine::plan(
            graph,
            &self.context(),
            self.records().await,
            &Shelf(Arc::clone(&self.driver)),
            PlanOptions::default(),
        )
        .await
    }

    pub(crate) async fn destroy_plan(&self) -> Result<Plan, Error> {
        purlin_engine::destroy(&self.context(), self.records().await, &Shelf(Arc::clone(&self.driver))).await
    }

    pub(crate) async fn run(&self, plan: Plan, cancel: CancelToken) -> (Vec<Event>, Summary) {
        let clock = Arc::new(AtomicU64::new(1));
        let options = ApplyOptions {
            parallelism: 8,
            cancel,
            clock: Arc::new(move || clock.fetch_add(1, Ordering::SeqCst)),
        };
        let run = purlin_engine::apply(plan, Arc::clone(&self.store) as _, options).expect("a run");
        let mut events: Vec<Event> = run.collect().await;
        match events.pop() {
            Some(Event::Summary(summary)) => (events, summary),
            other => panic!("the last event is the summary, not {other:?}"),
        }
    }

    pub(crate) async fn up(&self, documents: &str) -> Summary {
        let plan = self.plan(documents).await.unwrap_or_else(|error| panic!("{error:?}"));
        self.run(plan, CancelToken::default()).await.1
    }

    pub(crate) async fn destroy(&self) -> Summary {
        let plan = self.destroy_plan().await.expect("a plan");
        self.run(plan, CancelToken::default()).await.1
    }
}

/// A definition of type `thing`, and resources of it given as `name: params`.
pub(crate) fn things(shared: &str) -> String {
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
  shared:
{shared}"
    )
}
