//! Measures the overhead of the sandbox over bare wasmtime: the same component, the same call, in
//! turns.
//!
//! `floor [COMPONENT] [CALLS]`; the component is `echo` by default. Prints one JSON object per line
//! on standard output, times as medians in microseconds; the last line has the ratio that SPEC §12
//! limits to 1.5.
#![allow(clippy::print_stdout, unsafe_code, reason = "a measurement of files that it made itself")]

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use purlin_model::driver::{Inputs, Subject};
use purlin_model::{Context, EnvironmentId, Key, Urn, Value};
use purlin_sandbox::{
    CallContext, Driver, DriverSetup, Precompiled, Sandbox, SandboxConfig, Source, Target, precompile,
};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// wasmtime alone, as in its own documentation.
mod bare {
    use wasmtime::component::{Component, HasSelf, Linker};
    use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

    use bindings::purlin::driver::types::{Call, Context, CreateRequest, Inputs, Subject};
    use bindings::purlin::driver::{log, operation, types};
    use bindings::purlin::metrics::metrics;

    mod bindings {
        #![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]
        wasmtime::component::bindgen!({ path: "wit", world: "driver", exports: { default: async } });
    }

    struct Nothing;

    impl types::Host for Nothing {}
    impl log::Host for Nothing {
        fn write(&mut self, _: log::Level, _: String) {}
    }
    impl metrics::Host for Nothing {
        fn count(&mut self, _: String, _: u64) {}
        fn measure(&mut self, _: String, _: f64) {}
    }
    impl operation::Host for Nothing {
        fn checkpoint(&mut self, _: String, _: Option<Vec<u8>>) {}
        fn progress(&mut self, _: String, _: Option<u8>) {}
        fn cancelled(&mut self) -> bool {
            false
        }
        fn time_left(&mut self) -> u64 {
            u64::MAX
        }
    }

    pub(crate) struct Bare {
        engine: Engine,
        pre: bindings::DriverPre<Nothing>,
    }

    impl Bare {
        pub(crate) fn new(wasm: &[u8]) -> wasmtime::Result<Self> {
            let mut config = Config::new();
            config.allocation_strategy(InstanceAllocationStrategy::pooling());
            let engine = Engine::new(&config)?;
            let mut linker = Linker::new(&engine);
            bindings::Driver::add_to_linker::<_, HasSelf<_>>(&mut linker, |nothing| nothing)?;
            let component = Component::from_binary(&engine, wasm)?;
            let pre = bindings::DriverPre::new(linker.instantiate_pre(&component)?)?;
            Ok(Self { engine, pre })
        }

        pub(crate) async fn instantiate(&self) -> wasmtime::Result<()> {
            let mut store = Store::new(&self.engine, Nothing);
            self.pre.instantiate_async(&mut store).await.map(drop)
        }

        pub(crate) async fn call(&self) -> wasmtime::Result<usize> {
            let mut store = Store::new(&self.engine, Nothing);
            let driver = self.pre.instantiate_async(&mut store).await?;
            let request = request();
            let state = driver.purlin_driver_lifecycle().call_create(&mut store, &request).await?;
            Ok(state.map_or(0, |state| state.outputs.len()))
        }
    }

    fn request() -> CreateRequest {
        let context = Context {
            org: Some("acme".into()),
            app: "shop".into(),
            env: "dev".into(),
            env_type: "development".into(),
            namespace: Some("dev".into()),
            labels: vec![],
        };
        CreateRequest {
            subject: Subject {
                urn: "urn:purlin:dev/acme::shop::shared::echo.default::shared.one".into(),
                guresid: "0123456789012345678901234567890123456789".into(),
                type_name: "echo".into(),
                class: "default".into(),
                local_name: "shared.one".into(),
                context,
            },
            inputs: Inputs {
                values: super::values().to_string(),
                secrets: "{}".into(),
                params: "{}".into(),
                connection: "{}".into(),
                account: "{}".into(),
                unknown: vec![],
                sensitive: vec![],
            },
            name: "0123456789012345678901234567890123456789".into(),
            replaces: None,
            call: Call { idempotency_key: "key-1".into(), deadline: 0, hints: vec![] },
        }
    }
}

fn values() -> serde_json::Value {
    json!({"host": "db.internal", "port": 5432, "tags": ["a", "b"], "seed": "a value of some length"})
}

fn subject() -> Result<Subject> {
    let context = Context {
        org: "acme".into(),
        app: "shop".into(),
        env: EnvironmentId { id: "dev".into(), kind: "development".into() },
        namespace: "dev".into(),
        deployment: "1".into(),
    };
    let key = Key::parse("echo.default#shared.one")?;
    Ok(Subject { urn: Urn::new(&context, &key), key, context })
}

async fn call(driver: &Driver, subject: &Subject, inputs: &Inputs) -> Result<()> {
    let context = CallContext::new(subject, "key-1");
    driver.create(&context, inputs, "0123456789012345678901234567890123456789", None).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map_or_else(
        || PathBuf::from(std::env::var("PURLIN_DRIVERS_DIR").unwrap_or_default()).join("echo.wasm"),
        PathBuf::from,
    );
    let calls: usize = arguments.next().map_or(Ok(20_000), |calls| calls.parse())?;
    let wasm = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;

    let subject = subject()?;
    let inputs = Inputs { values: Value::from(values()), ..Inputs::default() };
    let bare = bare::Bare::new(&wasm)?;
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let driver = sandbox.load(Source::Bytes(wasm.clone().into()), &DriverSetup::default()).await?;

    let (mut instantiate, mut floor, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..calls + calls / 10 {
        let start = Instant::now();
        bare.instantiate().await?;
        let instantiated = start.elapsed();
        let start = Instant::now();
        bare.call().await?;
        let called = start.elapsed();
        let start = Instant::now();
        call(&driver, &subject, &inputs).await?;
        let sandboxed = start.elapsed();
        // The first tenth warms up.
        if round >= calls / 10 {
            instantiate.push(instantiated);
            floor.push(called);
            ours.push(sandboxed);
        }
    }
    let (instantiate, floor, ours) = (median(instantiate), median(floor), median(ours));
    println!("{}", json!({"measure": "instantiate, bare wasmtime", "us": micros(instantiate)}));
    println!("{}", json!({"measure": "instantiate and call, bare wasmtime", "us": micros(floor)}));
    println!("{}", json!({"measure": "instantiate and call, sandbox", "us": micros(ours)}));

    start(&wasm, &subject, &inputs).await?;
    println!(
        "{}",
        json!({"measure": "sandbox to bare wasmtime", "ratio": ours.as_secs_f64() / floor.as_secs_f64(), "bound": 1.5})
    );
    Ok(())
}

/// From nothing to the first answer, with code that was compiled before.
async fn start(wasm: &[u8], subject: &Subject, inputs: &Inputs) -> Result<()> {
    let code = precompile(wasm, Target::Portable).await?;
    let wasm: &'static [u8] = wasm.to_vec().leak();
    let (mut engines, mut loads, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..20 {
        let start = Instant::now();
        let sandbox = Sandbox::new(SandboxConfig::default())?;
        engines.push(start.elapsed());
        let start = Instant::now();
        // SAFETY: it was compiled just above.
        let code = unsafe { Precompiled::trust(&code) };
        let driver = sandbox.load_precompiled(code, wasm, &DriverSetup::default()).await?;
        loads.push(start.elapsed());
        let start = Instant::now();
        call(&driver, subject, inputs).await?;
        firsts.push(start.elapsed());
    }
    println!("{}", json!({"measure": "start: engine", "us": micros(median(engines))}));
    println!(
        "{}",
        json!({"measure": "start: load compiled code", "us": micros(median(loads)), "bytes": code.len()})
    );
    println!("{}", json!({"measure": "start: first call", "us": micros(median(firsts))}));
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e8).round() / 100.0
}
