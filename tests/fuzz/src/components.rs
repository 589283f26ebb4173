//! Whole components: random bytes, and a good driver with changes. They are inspected, compiled in
//! a worker, linked and called, like untrusted ones.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purlin_model::driver::{Inputs, ResourceState, Subject};
use purlin_model::{Context, EnvironmentId, Key, Limits, Urn, Value};
use purlin_sandbox::{CallContext, DriverSetup, ReadRequest, Sandbox, SandboxConfig, Source, Worker};
use tokio::runtime::Runtime;

/// The folder of the build.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("a program");
    let folder = this.parent().expect("a folder");
    let is_test = folder.ends_with("deps");
    let built = if is_test { folder.parent().expect("a folder") } else { folder };
    built.to_owned()
}

/// A good driver of a few kilobytes.
fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let path = built().join("../drivers/hostile/honest.wasm");
        std::fs::read(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask drivers` first", path.display()))
    })
}

fn sandbox() -> &'static (Runtime, Sandbox) {
    static SANDBOX: OnceLock<(Runtime, Sandbox)> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let program = built().join("purlin-worker").with_extension(std::env::consts::EXE_EXTENSION);
        assert!(program.exists(), "{}: run `cargo build --workspace --bins`", program.display());
        let config = SandboxConfig {
            instances: 2,
            compiler: Arc::new(Worker::new(program, [])),
            ..SandboxConfig::default()
        };
        let sandbox = Sandbox::new(config).expect("a sandbox");
        (runtime, sandbox)
    })
}

/// The first byte decides whether the rest is a component (zero), or changes of the good one: two
/// bytes for the position and one for the value of each.
pub(crate) fn target(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let component = match kind {
        0 => rest.to_vec(),
        _ => {
            let mut component = good().to_vec();
            let length = component.len();
            for change in rest.as_chunks::<3>().0 {
                let [high, low, byte] = *change;
                component[usize::from(u16::from_be_bytes([high, low])) % length] = byte;
            }
            component
        }
    };
    let (runtime, sandbox) = sandbox();
    runtime.block_on(live(sandbox, component));
}

/// Calls everything of a driver.
async fn live(sandbox: &Sandbox, component: Vec<u8>) {
    let _ = sandbox.interfaces(component.clone().into()).await;
    let limits = Limits { time: Some(Duration::from_millis(300)), ..Limits::default() };
    let _ = sandbox.ask(component.clone().into(), None, "fuzzed", &limits).await;
    let setup = DriverSetup { name: "fuzzed".into(), limits, ..DriverSetup::default() };
    let Ok(driver) = sandbox.load(Source::Bytes(component.into()), &setup).await else { return };
    let context = Context {
        org: "o".into(),
        app: "a".into(),
        env: EnvironmentId { id: "e".into(), kind: "t".into() },
        namespace: "n".into(),
        deployment: "1".into(),
    };
    let key = Key::parse("x.default#y").expect("a key");
    let subject = Subject { urn: Urn::new(&context, &key), key, context };
    let call = CallContext::new(&subject, "key");
    let inputs = Inputs {
        values: Value::map(),
        secrets: Value::from(serde_json::json!({"password": "a-secret-of-mine"})),
        params: Value::map(),
        ..Inputs::default()
    };
    let state = ResourceState { id: "id".into(), outputs: Value::map(), ..ResourceState::default() };
    let _ = driver.check(&call, &inputs, None).await;
    let _ = driver.create(&call, &inputs, "name", None).await;
    let _ = driver
        .read(
            &call,
            ReadRequest { id: Some("id"), name: "name", inputs: &inputs, state: Some(&state), known: &[] },
        )
        .await;
    let _ = driver.delete(&call, (&state, false), &inputs).await;
}
