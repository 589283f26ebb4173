//! Drivers of contract 0.1.0, in the types of the current one.
//!
//! That edition has no `connection`, does not receive the replaced resource or the known ids, and
//! can return neither `undecided` nor `needs-delete-before`. All other changes of later editions
//! are translated here as well, and nowhere else.

use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};
use zeroize::Zeroize;

use self::generated::exports::purlin::driver::lifecycle as old;
use self::generated::purlin::driver::{log, metrics, operation, types as old_types};
pub(crate) use self::generated::{Driver, DriverPre};
use crate::bindings::exports::purlin::driver::lifecycle as new;
use crate::bindings::purlin::driver::{
    log as new_log, metrics as new_metrics, operation as new_operation, types as new_types,
};
use crate::capability::Guest;
use crate::contract::Answer;

mod generated {
    #![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]

    wasmtime::component::bindgen!({
        path: "wit/0.1",
        world: "driver",
        imports: {
            "purlin:driver/operation.checkpoint": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

/// Links this edition's interfaces for drivers.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    Driver::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

/// The exports of an instance.
#[derive(Clone, Copy)]
pub(crate) struct Exports<'a>(&'a old::Guest);

impl<'a> Exports<'a> {
    pub(crate) fn new(driver: &'a Driver) -> Self {
        Self(driver.purlin_driver_lifecycle())
    }

    pub(crate) async fn describe(self, store: &mut Store<Guest>) -> wasmtime::Result<new::Manifest> {
        Ok(manifest(self.0.call_describe(store).await?))
    }

    pub(crate) async fn check(
        self,
        store: &mut Store<Guest>,
        request: &new::CheckRequest,
    ) -> Answer<new::Checked> {
        let old_request = old::CheckRequest {
            resource: resource(&request.resource),
            inputs: inputs(&request.inputs),
            previous: request.previous.clone(),
        };
        let answer = self.0.call_check(store, &old_request).await?;
        Ok(answer.map(checked).map_err(failure))
    }

    pub(crate) async fn name(self, store: &mut Store<Guest>, request: &new::NameRequest) -> Answer<String> {
        let old_request =
            old::NameRequest { resource: resource(&request.resource), inputs: inputs(&request.inputs) };
        Ok(self.0.call_name(store, &old_request).await?.map_err(failure))
    }

    pub(crate) async fn create(
        self,
        store: &mut Store<Guest>,
        request: &new::CreateRequest,
    ) -> Answer<new::State> {
        let old_request = old::CreateRequest {
            resource: resource(&request.resource),
            inputs: inputs(&request.inputs),
            name: request.name.clone(),
            call: call(&request.call),
        };
        let answer = self.0.call_create(store, &old_request).await?;
        Ok(answer.map(state).map_err(failure))
    }

    pub(crate) async fn read(
        self,
        store: &mut Store<Guest>,
        request: &new::ReadRequest,
    ) -> Answer<Option<new::Observed>> {
        let old_request = old::ReadRequest {
            resource: resource(&request.resource),
            id: request.id.clone(),
            name: request.name.clone(),
            inputs: inputs(&request.inputs),
            state: request.state.as_ref().map(recorded),
            call: call(&request.call),
        };
        let answer = self.0.call_read(store, &old_request).await?;
        let observed =
            |found: old::Observed| new::Observed { state: state(found.state), values: found.values };
        Ok(answer.map(|found| found.map(observed)).map_err(failure))
    }

    pub(crate) async fn update_impact(
        self,
        store: &mut Store<Guest>,
        request: &new::Change,
    ) -> Answer<new::Impact> {
        let answer = self.0.call_update_impact(store, &change(request)).await?;
        let impact = |impact: old::Impact| new::Impact {
            replaces: impact.replaces,
            delete_before_replace: impact.delete_before_replace,
            stable_outputs: impact.stable_outputs,
        };
        Ok(answer.map(impact).map_err(failure))
    }

    pub(crate) async fn update(self, store: &mut Store<Guest>, request: &new::Change) -> Answer<new::State> {
        let answer = self.0.call_update(store, &change(request)).await?;
        Ok(answer.map(state).map_err(failure))
    }

    pub(crate) async fn delete(self, store: &mut Store<Guest>, request: &new::DeleteRequest) -> Answer<()> {
        let old_request = old::DeleteRequest {
            resource: resource(&request.resource),
            state: recorded(&request.state),
            inputs: inputs(&request.inputs),
            call: call(&request.call),
        };
        Ok(self.0.call_delete(store, &old_request).await?.map_err(failure))
    }
}

fn resource(resource: &new_types::Resource) -> old_types::Resource {
    let new_types::Resource { urn, guresid, type_name, class, id, context } = resource.clone();
    let new_types::Context { org, app, env, env_type, namespace, deployment } = context;
    let context = old_types::Context { org, app, env, env_type, namespace, deployment };
    old_types::Resource { urn, guresid, type_name, class, id, context }
}

/// Without the connection, and without its places.
fn inputs(inputs: &new_types::Inputs) -> old_types::Inputs {
    let places = |places: &[String]| {
        places.iter().filter(|place| !is_in_connection(place)).cloned().collect::<Vec<_>>()
    };
    old_types::Inputs {
        values: inputs.values.clone(),
        secrets: inputs.secrets.clone(),
        params: inputs.params.clone(),
        account: inputs.account.clone(),
        unknown: places(&inputs.unknown),
        sensitive: places(&inputs.sensitive),
    }
}

fn is_in_connection(place: &str) -> bool {
    place.strip_prefix("/connection").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn call(call: &new_types::Call) -> old_types::Call {
    old_types::Call { idempotency_key: call.idempotency_key.clone(), deadline: call.deadline }
}

fn recorded(state: &new_types::State) -> old_types::State {
    let manifest = |file: &new_types::ManifestFile| old_types::ManifestFile {
        name: file.name.clone(),
        location: file.location.clone(),
        data: file.data.clone(),
    };
    old_types::State {
        id: state.id.clone(),
        outputs: state.outputs.clone(),
        secrets: state.secrets.clone(),
        cookie: state.cookie.clone(),
        manifests: state.manifests.iter().map(manifest).collect(),
    }
}

fn change(change: &new::Change) -> old::Change {
    old::Change {
        resource: resource(&change.resource),
        state: recorded(&change.state),
        before: inputs(&change.before),
        after: inputs(&change.after),
        name: change.name.clone(),
        call: call(&change.call),
    }
}

fn state(mut state: old_types::State) -> new_types::State {
    let manifest = |file: old_types::ManifestFile| new_types::ManifestFile {
        name: file.name,
        location: file.location,
        data: file.data,
    };
    // It cannot be destructured, because it is wiped when dropped.
    new_types::State {
        id: std::mem::take(&mut state.id),
        outputs: std::mem::take(&mut state.outputs),
        secrets: std::mem::take(&mut state.secrets),
        cookie: std::mem::take(&mut state.cookie),
        manifests: std::mem::take(&mut state.manifests).into_iter().map(manifest).collect(),
    }
}

fn checked(mut checked: old::Checked) -> new::Checked {
    new::Checked {
        values: std::mem::take(&mut checked.values),
        secrets: std::mem::take(&mut checked.secrets),
        warnings: faults(std::mem::take(&mut checked.warnings)),
    }
}

fn faults(faults: Vec<old_types::InvalidInput>) -> Vec<new_types::InvalidInput> {
    let fault = |fault: old_types::InvalidInput| new_types::InvalidInput {
        pointer: fault.pointer,
        message: fault.message,
    };
    faults.into_iter().map(fault).collect()
}

fn failure(failure: old_types::Failure) -> new_types::Failure {
    use new_types::Failure as New;
    use old_types::Failure as Old;
    match failure {
        Old::InvalidInputs(found) => New::InvalidInputs(faults(found)),
        Old::Denied(old_types::Denial { capability, target, message }) => {
            New::Denied(new_types::Denial { capability, target, message })
        }
        Old::NotFound(message) => New::NotFound(message),
        Old::Conflict(message) => New::Conflict(message),
        Old::RetryAfter(old_types::Retry { after_ms, message }) => {
            New::RetryAfter(new_types::Retry { after_ms, message })
        }
        Old::Partial(old_types::Partial { state: reached, message }) => {
            New::Partial(new_types::Partial { state: state(reached), message })
        }
        Old::Failed(message) => New::Failed(message),
    }
}

fn manifest(manifest: old::Manifest) -> new::Manifest {
    let flags = [
        (old::Implements::CHECK, new::Implements::CHECK),
        (old::Implements::NAME, new::Implements::NAME),
        (old::Implements::READ, new::Implements::READ),
        (old::Implements::UPDATE_IMPACT, new::Implements::UPDATE_IMPACT),
        (old::Implements::UPDATE, new::Implements::UPDATE),
        (old::Implements::REPEAT_CREATE, new::Implements::REPEAT_CREATE),
    ];
    let set = flags.into_iter().filter(|(flag, _)| manifest.implements.contains(*flag));
    let schema = |schema: old::TypeSchema| new::TypeSchema {
        type_name: schema.type_name,
        inputs: schema.inputs,
        outputs: schema.outputs,
    };
    let requested = |request: old::Wish| new::RequestedCapability {
        capability: request.capability,
        pattern: request.pattern,
        reason: request.reason,
    };
    new::Manifest {
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        implements: set.fold(new::Implements::empty(), |all, (_, flag)| all | flag),
        types: manifest.types.into_iter().map(schema).collect(),
        requested_capabilities: manifest.wishes.into_iter().map(requested).collect(),
    }
}

impl old_types::Host for Guest {}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => new_log::Level::Trace,
            log::Level::Debug => new_log::Level::Debug,
            log::Level::Info => new_log::Level::Info,
            log::Level::Warn => new_log::Level::Warn,
            log::Level::Error => new_log::Level::Error,
        };
        new_log::Host::write(self, level, message)
    }
}

impl metrics::Host for Guest {
    fn count(&mut self, name: String, by: u64) -> wasmtime::Result<()> {
        new_metrics::Host::count(self, name, by)
    }

    fn record_value(&mut self, name: String, value: f64) -> wasmtime::Result<()> {
        new_metrics::Host::record_value(self, name, value)
    }
}

impl operation::Host for Guest {
    async fn checkpoint(&mut self, id: String) -> wasmtime::Result<()> {
        new_operation::Host::checkpoint(self, id).await
    }

    fn progress(&mut self, message: String, percent: Option<u8>) -> wasmtime::Result<()> {
        new_operation::Host::progress(self, message, percent)
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        new_operation::Host::cancelled(self)
    }
}

// Data that goes to a driver or comes from it in plain text is wiped when the call is over.

impl Drop for old_types::Inputs {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}

impl Drop for old_types::State {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}

impl Drop for old::CheckRequest {
    fn drop(&mut self) {
        self.previous.zeroize();
    }
}

impl Drop for old::Checked {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}
