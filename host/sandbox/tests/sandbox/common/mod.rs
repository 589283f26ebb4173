//! The common part of the tests: the adversary of tests/guests, and a resource to call it for.
#![allow(unreachable_pub)]

pub mod servers;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use purlin_model::driver::{Inputs, ResourceState, Subject};
use purlin_model::{Context, EnvironmentId, Key, Limits, Urn, Value};
use purlin_sandbox::{CallContext, CallError, Driver, DriverSetup, Sandbox, SandboxConfig, Source, Worker};
use serde_json::json;
use tracing::Dispatch;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt};

/// A component of `cargo xtask drivers`.
pub fn component(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("PURLIN_DRIVERS_DIR").map(PathBuf::from).unwrap_or_default();
    let path = folder.join(name).with_extension("wasm");
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask drivers` first", path.display()))
}

/// A sandbox that compiles each component once for all tests, in a separate process.
pub fn sandbox() -> Sandbox {
    sandbox_with_describe_time(seconds(600))
}

/// The same, with another time for a component to describe itself to [`Sandbox::ask`].
pub fn sandbox_with_describe_time(describe_time: Duration) -> Sandbox {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    Sandbox::new(SandboxConfig {
        instances: 16,
        cache: Some(cache),
        compiler: Arc::new(worker()),
        describe_time,
        ..SandboxConfig::default()
    })
    .expect("a sandbox")
}

/// The worker of this crate.
pub fn worker() -> Worker {
    Worker::new(env!("CARGO_BIN_EXE_purlin-worker"), [])
}

pub fn setup(limits: Limits) -> DriverSetup {
    DriverSetup { name: "acme/bad".into(), limits, ..DriverSetup::default() }
}

pub async fn load(sandbox: &Sandbox, setup: &DriverSetup) -> Driver {
    sandbox.load(Source::Bytes(component("guests").into()), setup).await.expect("it is a driver")
}

/// The adversary within these limits.
pub async fn guest(limits: Limits) -> Driver {
    load(&sandbox(), &setup(limits)).await
}

pub fn subject() -> Subject {
    subject_of("postgres.default#modules.web.externals.db")
}

pub fn subject_of(key: &str) -> Subject {
    let context = Context {
        org: "acme".into(),
        app: "shop".into(),
        env: EnvironmentId { id: "dev".into(), kind: "development".into() },
        namespace: "dev".into(),
        deployment: "1".into(),
    };
    let key = Key::parse(key).expect("a key");
    Subject { urn: Urn::new(&context, &key), key, context }
}

pub fn inputs(values: serde_json::Value) -> Inputs {
    Inputs { values: values.into(), secrets: Value::map(), params: Value::map(), ..Inputs::default() }
}

/// The password that must not appear.
pub const PASSWORD: &str = "hunter2-and-more";

pub fn with_password(values: serde_json::Value) -> Inputs {
    Inputs { secrets: Value::from(json!({"password": PASSWORD})), ..inputs(values) }
}

pub async fn create(driver: &Driver, inputs: &Inputs) -> Result<ResourceState, CallError> {
    let subject = subject();
    driver.create(&CallContext::new(&subject, "key-1"), inputs, "name", None).await
}

/// The result when the adversary does this.
pub async fn deed(driver: &Driver, values: serde_json::Value) -> Result<ResourceState, CallError> {
    create(driver, &inputs(values)).await
}

/// The same in a call that may take this long, whatever the limit of its driver is.
pub async fn deed_within(
    time: Duration,
    driver: &Driver,
    values: serde_json::Value,
) -> Result<ResourceState, CallError> {
    let subject = subject();
    let context = CallContext { time: Some(time), ..CallContext::new(&subject, "key-1") };
    driver.create(&context, &inputs(values), "name", None).await
}

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Keeps events of drivers.
#[derive(Clone, Default)]
pub struct DriverLog(pub Arc<Mutex<Vec<String>>>);

impl DriverLog {
    /// Receives this thread's events from now on.
    pub fn listen(&self) -> tracing::subscriber::DefaultGuard {
        // If there is only one subscriber, tracing disables an event for all threads when a thread without
        // a subscriber, such as that of another test, reaches it first.
        static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));
        LazyLock::force(&ANOTHER);
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().expect("ours").clone()
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl<S: tracing::Subscriber> Layer<S> for DriverLog {
    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        if event.metadata().target() == "purlin::driver" {
            let mut text = Text(event.metadata().level().to_string());
            event.record(&mut text);
            self.0.lock().expect("ours").push(text.0);
        }
    }
}
