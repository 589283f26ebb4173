//! Shared code of the store's tests. The example `measure` uses a part of it.
#![allow(dead_code, unreachable_pub)]

pub mod keeps;
#[macro_use]
pub mod scene;

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use futures::lock::Mutex;

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Urn, Value};
use purlin_state::{
    Change, DriverVersion, Durable, EmbeddedStore, Environment, Error, Holder, Intent, KeyProvider, Lock,
    OpenOptions, Operation, Record, RecordId, Status, Store, Writer,
};
use serde_json::json;

pub fn environment() -> Environment {
    Environment { org: "acme".into(), app: "shop".into(), env: "dev".into() }
}

pub fn holder() -> Holder {
    Holder {
        user: "ada".into(),
        host: "build-7".into(),
        pid: std::process::id(),
        command: "purlin up".into(),
        since: 1_790_000_000_000,
    }
}

pub fn options(folder: &Path) -> OpenOptions {
    OpenOptions {
        key: KeyProvider::Generate(folder.join("key")),
        holder: holder(),
        wait: Duration::ZERO,
        probe: None,
    }
}

/// A store, and the locks of environments, each taken with its first commit.
pub struct Working<S: Store + ?Sized> {
    locks: Mutex<HashMap<Environment, Lock>>,
    store: Arc<S>,
}

impl<S: Store + ?Sized> Deref for Working<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.store
    }
}

impl<S: Store + ?Sized> Working<S> {
    pub fn new(store: Arc<S>) -> Self {
        Self { locks: Mutex::default(), store }
    }

    pub async fn writer(&self, environment: &Environment) -> Result<Arc<dyn Writer>, Error> {
        let mut locks = self.locks.lock().await;
        if !locks.contains_key(environment) {
            let lock = self.store.lock(environment, holder()).await?;
            locks.insert(environment.clone(), lock);
        }
        Ok(locks[environment].writer())
    }

    pub fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        block_on(self.writer(&environment()))?.submit(changes)
    }

    pub async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.commit_in(&environment(), changes).await
    }

    pub async fn commit_in(&self, environment: &Environment, changes: Vec<Change>) -> Result<(), Error> {
        let writer = self.writer(environment).await?;
        writer.commit(changes).await
    }

    /// Releases the locks, and returns the first error.
    pub fn release(&self) -> Result<(), Error> {
        block_on(self.let_go())
    }

    async fn let_go(&self) -> Result<(), Error> {
        let locks = std::mem::take(&mut *self.locks.lock().await);
        for lock in locks.into_values() {
            lock.release().await?;
        }
        Ok(())
    }

    pub async fn close(&self) -> Result<(), Error> {
        self.let_go().await?;
        self.store.close().await
    }
}

pub fn open(folder: &Path) -> Result<Working<EmbeddedStore>, Error> {
    open_with(folder, options(folder))
}

pub fn open_with(folder: &Path, options: OpenOptions) -> Result<Working<EmbeddedStore>, Error> {
    EmbeddedStore::open(folder, options).map(|store| Working::new(Arc::new(store)))
}

/// The folder of an environment.
pub fn place(folder: &Path, environment: &Environment) -> PathBuf {
    let name = format!("{}.{}-", environment.app, environment.env);
    let mut found = std::fs::read_dir(folder.join("environments"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&name)));
    let path = found.next().expect("the environment's folder");
    assert!(found.next().is_none());
    path
}

pub fn urn(number: usize) -> Urn {
    Urn::parse(&format!(
        "urn:purlin:dev/acme::shop::web::terraform-data.default::modules.web.externals.r{number:05}"
    ))
    .expect("a URN")
}

/// A record without secrets, as in a chain of trivial resources.
pub fn record(number: usize) -> Record {
    let values: Value = json!({"input": format!("value-{number}"), "size": number}).into();
    Record {
        urn: urn(number),
        superseded: None,
        status: Status::Ready,
        driver: Arc::new(DriverVersion {
            name: "purlin/echo".into(),
            version: "0.1.0".into(),
            digest: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03".into(),
        }),
        definition: Some("terraform-data".into()),
        name: urn(number).guresid().as_str().into(),
        inputs: Inputs {
            values: values.clone(),
            secrets: Value::map(),
            params: Value::map(),
            ..Inputs::default()
        },
        state: ResourceState {
            id: format!("echo-{number}").into(),
            outputs: values,
            ..ResourceState::default()
        },
        dependencies: number.checked_sub(1).map(urn).into_iter().collect(),
        digest: [number as u8; 32],
        protect: false,
        pinned: false,
        retain: false,
        external: false,
        tainted: false,
        deleted_with: None,
        perhaps_deleted_with: Box::default(),
        share: None,
        abandoned: false,
        named: None,
        holds_data: None,
        parts: Arc::default(),
        created: 1_790_000_000_000,
        updated: 1_790_000_000_001,
        deployment: "01J8X5R7Q2".into(),
    }
}

/// The same with a secret input, a secret output and a cookie.
pub fn secret_record(number: usize) -> Record {
    let mut record = record(number);
    record.inputs.secrets = json!({"password": format!("hidden-input-{number}")}).into();
    if let Value::Map(outputs) = &mut record.state.outputs {
        outputs.insert("token".into(), Value::from("hidden-output").into_secret());
    }
    record.state.cookie = b"hidden-cookie".to_vec().into();
    record.digest = *b"hidden-digest-hidden-digest-hidd";
    record
}

pub fn put(record: Record) -> Change {
    Change::Put(Box::new(record))
}

pub fn remove(number: usize) -> Change {
    Change::Remove(RecordId::current(urn(number)))
}

/// The change that an engine writes before a resource is created.
pub fn intend(record: Record) -> Change {
    let idempotency_key = format!("key-{}", record.name);
    let mut record = record;
    record.state = ResourceState::default();
    Change::Intend(Box::new(Intent {
        operation: Operation::Create(Box::new(record)),
        idempotency_key,
        checkpoint: None,
        since: 1_790_000_000_000,
        deadline: None,
        open_deletion: None,
    }))
}

/// The same records, for comparisons.
pub(crate) fn plain(records: &[Arc<Record>]) -> Vec<Record> {
    records.iter().map(|record| Record::clone(record)).collect()
}
