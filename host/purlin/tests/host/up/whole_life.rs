//! What a program embeds besides deployments: a driver from bytes, secret stores of its own, outputs
//! as JSON, and the deletion of an environment.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use purlin_host::{
    Answer, Consent, Context, ContextDefaults, DriverOrigin, Event, Events, InProcess, Input, Purlin,
    SecretFault, SecretRef, SecretStores, Summary, TeardownOptions, UpOptions, Workspace, load, outputs,
};
use secrecy::SecretString;

const PLATFORM: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: greeting}
spec:
  type: greeting
  driver: acme/say
  inputs:
    values: {text: hello}
    secret_refs: {password: {store: vault, ref: web}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {app: shop, shared: {one: {type: greeting}}}
";

const WORKSPACE: &str = "
apiVersion: purlin.dev/v1
kind: Workspace
spec: {drivers: {acme/say: {grants: {secrets: [vault]}}}}
";

/// The stores of a program: one, which only the driver `acme/say` may read.
#[derive(Debug)]
struct Vault;

#[async_trait]
impl SecretStores for Vault {
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault> {
        match (driver, store) {
            ("acme/say", "vault") => Ok(()),
            _ => Err(SecretFault::new("only `acme/say` may read `vault`")),
        }
    }

    async fn get(&self, secret: &SecretRef, _: &Context) -> Result<SecretString, SecretFault> {
        Ok(format!("the password of {}", secret.name).into())
    }
}

fn text(name: &str, text: &str) -> Input {
    Input::Text { name: name.into(), text: text.into() }
}

/// The driver `purlin/echo` as bytes.
fn component() -> Vec<u8> {
    let folder = PathBuf::from(std::env::var_os("PURLIN_DRIVERS_DIR").expect("built drivers"));
    std::fs::read(folder.join("echo.wasm")).expect("a driver")
}

/// The workspace as it is read, which names a store that only the program has.
fn workspace() -> Workspace {
    let loaded = load(&[text("purlin.yaml", WORKSPACE)]);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    loaded.workspace.expect("a workspace")
}

/// How a run in a task of its own ended: it may outlive what started it.
async fn end(mut run: Events) -> Result<Summary, purlin_host::Error> {
    let task = tokio::spawn(async move {
        let mut summary = None;
        while let Some(event) = run.next().await {
            if let Event::Summary(end) = event? {
                summary = Some(end);
            }
        }
        Ok(summary.expect("a summary"))
    });
    task.await.expect("a task")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_brings_its_driver_and_its_stores_and_deletes_what_it_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let builder = Purlin::builder()
        .workspace(workspace())
        .state_folder(folder.path().join("state"))
        .cache_folder(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .compiler(Arc::new(InProcess))
        .driver("acme/say", component())
        .secret_stores(Arc::new(Vault));
    let purlin = Arc::new(builder.build());
    assert!(purlin.knows_driver("acme/say"));
    let drivers = purlin.drivers().await.expect("drivers");
    let own = drivers.iter().find(|driver| driver.name == "acme/say").expect("the driver");
    assert_eq!((&own.origin, own.pinned), (&DriverOrigin::BuiltIn, None), "it needs no approval");

    let documents = || {
        let loaded = load(&[text("platform.yaml", PLATFORM), text("purlin.yaml", WORKSPACE)]);
        purlin.documents(loaded, &ContextDefaults::default()).expect("documents")
    };
    let environment = documents().environment();
    let summary = end(purlin.up(documents(), UpOptions::default())).await.expect("a run");
    assert!(summary.is_success(), "{summary:?}");

    let found = outputs(&purlin.records(&environment).await.expect("records"));
    assert_eq!(
        serde_json::to_value(&found).expect("JSON"),
        serde_json::json!({
            "format": 1,
            "workloads": {},
            "resources": {"base-env.default#base-env": {}, "greeting.default#shared.one": {"text": "hello", "password": "[secret]"}},
        })
    );

    let asked = TeardownOptions {
        consent: Some(Consent::new(|plan| {
            assert_eq!(plan.summary().changes(), 2);
            async { Answer::No }
        })),
        ..TeardownOptions::default()
    };
    let summary = end(purlin.destroy(&environment, asked)).await.expect("a run");
    assert!(summary.cancelled, "{summary:?}");
    assert_eq!(purlin.records(&environment).await.expect("records").len(), 2);

    let summary = end(purlin.destroy(&environment, TeardownOptions::default())).await.expect("a run");
    assert!(summary.is_success(), "{summary:?}");
    assert!(purlin.records(&environment).await.expect("records").is_empty());
    // There is nothing left to delete.
    let summary = end(purlin.destroy(&environment, TeardownOptions::default())).await.expect("a run");
    assert!(summary.is_success() && summary.calls == 0, "{summary:?}");
    purlin.close().await.expect("closed");
}

#[test]
fn without_stores_of_the_program_a_grant_of_an_unknown_store_is_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let purlin = Purlin::builder().workspace(workspace()).state_folder(folder.path()).build();
    let loaded = load(&[text("platform.yaml", PLATFORM)]);
    let Err(error) = purlin.documents(loaded, &ContextDefaults::default()) else { panic!("a fault") };
    let codes: Vec<_> = error.diagnostics().iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["unknown-store"]);
}
