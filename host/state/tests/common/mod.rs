//! What the tests of the store share.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::expect_used)]

use std::path::Path;
use std::time::Duration;

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Urn, Value};
use purlin_state::{
    Change, DriverVersion, Environment, Error, Holder, Intent, KeyProvider, OpenOptions, Operation, Record,
    RecordId, SledStore, Status,
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

pub fn open(folder: &Path) -> Result<SledStore, Error> {
    SledStore::open(folder, options(folder))
}

pub fn urn(number: usize) -> Urn {
    Urn::parse(&format!(
        "urn:purlin:dev/acme::shop::web::terraform-data.default::modules.web.externals.r{number:05}"
    ))
    .expect("a URN")
}

/// A record without secrets, as a chain of trivial resources has them.
pub fn record(number: usize) -> Record {
    let values: Value = json!({"input": format!("value-{number}"), "size": number}).into();
    Record {
        urn: urn(number),
        superseded: None,
        status: Status::Ready,
        driver: DriverVersion {
            name: "purlin/echo".into(),
            version: "0.1.0".into(),
            digest: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03".into(),
        },
        definition: Some("terraform-data".into()),
        name: urn(number).guresid().as_str().into(),
        inputs: Inputs { values: values.clone(), secrets: Value::map(), params: Value::map(), account: None },
        state: ResourceState {
            id: format!("echo-{number}").into(),
            outputs: values,
            cookie: Vec::new(),
            manifests: Vec::new(),
        },
        dependencies: number.checked_sub(1).map(urn).into_iter().collect(),
        digest: [number as u8; 32],
        protect: false,
        pinned: false,
        retain: false,
        external: false,
        tainted: false,
        deleted_with: None,
        holds_data: None,
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
    record.state.cookie = b"hidden-cookie".to_vec();
    record.digest = *b"hidden-digest-hidden-digest-hidd";
    record
}

pub fn put(record: Record) -> Change {
    Change::Put(Box::new(record))
}

pub fn remove(number: usize) -> Change {
    Change::Remove(RecordId::current(urn(number)))
}

/// What an engine writes before it has a record made.
pub fn intend(record: Record) -> Change {
    let idempotency_key = format!("key-{}", record.name);
    let mut record = record;
    record.state = ResourceState::default();
    Change::Intend(Box::new(Intent {
        operation: Operation::Create(Box::new(record)),
        idempotency_key,
        checkpoint: None,
        since: 1_790_000_000_000,
    }))
}
