//! Unit tests of drivers without WebAssembly: requests to send, and the messages to the host.
//!
//! [`describe`], [`check`], [`create`] and the others call a driver as the host does, through the
//! same JSON and the same defaults, for any type that was passed to [`crate::export!`].

use std::cell::{Cell, RefCell};
use std::path::Path;

use serde_json::{Value, json};

use crate::bindings::exports::purlin::driver::lifecycle as raw;
use crate::bindings::purlin::driver::types;
use crate::glue::failure;
use crate::{Checked, Failure, Impact, Observed, Raw, State, log::Level, table};

pub use raw::Guest as Exported;
pub use types::Inputs as GivenInputs;

/// A message from a driver to the host.
#[derive(Clone, Debug)]
pub enum HostMessage {
    /// A log line.
    Log(Level, String),
    /// An addition to a counter.
    Count(String, u64),
    /// A measurement.
    Value(String, f64),
    /// A checkpoint.
    Checkpoint(String),
    /// Progress.
    Progress(String, Option<u8>),
}

thread_local! {
    static MESSAGES: RefCell<Vec<HostMessage>> = const { RefCell::new(Vec::new()) };
    static CANCELLED: Cell<bool> = const { Cell::new(false) };
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn record(message: HostMessage) {
    MESSAGES.with_borrow_mut(|all| all.push(message));
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn is_cancelled() -> bool {
    CANCELLED.get()
}

/// The messages on this thread since the last call.
pub fn messages() -> Vec<HostMessage> {
    MESSAGES.take()
}

/// The result of [`crate::operation::cancelled`] on this thread from now on.
pub fn cancel(cancelled: bool) {
    CANCELLED.set(cancelled);
}

/// A resource `demo.default#shared.demo` of the application `shop` in the environment `dev`.
pub fn resource() -> types::Resource {
    types::Resource {
        urn: "urn:purlin:dev/acme::shop::shared::demo.default::shared.demo".to_owned(),
        guresid: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        type_name: "demo".to_owned(),
        class: "default".to_owned(),
        id: "shared.demo".to_owned(),
        context: types::Context {
            org: "acme".to_owned(),
            app: "shop".to_owned(),
            env: "dev".to_owned(),
            env_type: "development".to_owned(),
            namespace: "dev".to_owned(),
            deployment: "1".to_owned(),
        },
    }
}

/// Inputs from `{"values":…,"secrets":…,"params":…,"connection":…}`; omitted parts are empty.
pub fn inputs(document: &Value) -> types::Inputs {
    let part = |name: &str| document.get(name).cloned().unwrap_or_else(|| json!({})).to_string();
    types::Inputs {
        values: part("values"),
        secrets: part("secrets"),
        params: part("params"),
        connection: part("connection"),
        account: None,
        unknown: Vec::new(),
        sensitive: Vec::new(),
    }
}

fn call() -> types::Call {
    types::Call { idempotency_key: "test".to_owned(), deadline: u64::MAX }
}

/// The driver's manifest.
pub fn describe<D: Exported>() -> raw::Manifest {
    D::describe()
}

/// Checks inputs, with the result of an earlier check.
///
/// # Errors
/// The driver's failure.
pub fn check<D: Exported>(inputs: types::Inputs, previous: Option<&Value>) -> Result<Checked, Failure> {
    let request =
        raw::CheckRequest { resource: resource(), inputs, previous: previous.map(Value::to_string) };
    let checked = D::check(request).map_err(failure)?;
    Ok(Checked {
        values: serde_json::from_str(&checked.values)?,
        secrets: serde_json::from_str(&checked.secrets)?,
        warnings: checked.warnings,
    })
}

/// Names and creates a resource.
///
/// # Errors
/// The driver's failure.
pub fn create<D: Exported>(inputs: types::Inputs) -> Result<State, Failure> {
    let name = D::name(raw::NameRequest { resource: resource(), inputs: inputs.clone() }).map_err(failure)?;
    let request = raw::CreateRequest { resource: resource(), inputs, name, replaces: None, call: call() };
    Ok(D::create(request).map_err(failure)?.try_into()?)
}

/// Reads a resource from its record.
///
/// # Errors
/// The driver's failure.
pub fn read<D: Exported>(inputs: types::Inputs, state: &State) -> Result<Option<Observed>, Failure> {
    look::<D>(inputs, Some(&state.id), Some(state))
}

/// Searches for a resource without a record: by the id of an import or a checkpoint, or without one
/// by the name that the driver gives it.
///
/// # Errors
/// The driver's failure.
pub fn find<D: Exported>(inputs: types::Inputs, id: Option<&str>) -> Result<Option<Observed>, Failure> {
    look::<D>(inputs, id, None)
}

fn look<D: Exported>(
    inputs: types::Inputs,
    id: Option<&str>,
    state: Option<&State>,
) -> Result<Option<Observed>, Failure> {
    let name = match D::name(raw::NameRequest { resource: resource(), inputs: inputs.clone() }) {
        Ok(name) => name,
        // Inputs of another version may have no name now; the host would know the recorded one.
        Err(_) if id.is_some() => String::new(),
        Err(error) => return Err(failure(error)),
    };
    let request = raw::ReadRequest {
        resource: resource(),
        id: id.map(str::to_owned),
        name,
        inputs,
        state: state.cloned().map(Into::into),
        known: Vec::new(),
        call: call(),
    };
    D::read(request).map_err(failure)?.map(TryInto::try_into).transpose().map_err(Failure::from)
}

fn change(before: types::Inputs, after: types::Inputs, state: &State) -> raw::Change {
    raw::Change {
        resource: resource(),
        state: state.clone().into(),
        before,
        after,
        name: String::new(),
        call: call(),
    }
}

/// Assesses a change.
///
/// # Errors
/// The driver's failure.
pub fn update_impact<D: Exported>(
    before: types::Inputs,
    after: types::Inputs,
    state: &State,
) -> Result<Impact, Failure> {
    let impact = D::update_impact(change(before, after, state)).map_err(failure)?;
    Ok(Impact {
        replaces: impact.replaces,
        delete_before_replace: impact.delete_before_replace,
        stable_outputs: impact.stable_outputs,
    })
}

/// Updates a resource.
///
/// # Errors
/// The driver's failure.
pub fn update<D: Exported>(
    before: types::Inputs,
    after: types::Inputs,
    state: &State,
) -> Result<State, Failure> {
    Ok(D::update(change(before, after, state)).map_err(failure)?.try_into()?)
}

/// Deletes a resource.
///
/// # Errors
/// The driver's failure.
pub fn delete<D: Exported>(inputs: types::Inputs, state: &State) -> Result<(), Failure> {
    let request =
        raw::DeleteRequest { resource: resource(), state: state.clone().into(), inputs, call: call() };
    D::delete(request).map_err(failure)
}

/// The same inputs with these places unknown.
#[must_use]
pub fn unknown(mut inputs: types::Inputs, pointers: &[&str]) -> types::Inputs {
    inputs.unknown = pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
    inputs
}

/// Checks that an input that the driver chooses, and that the schema marks with `replaces`, stays as
/// it is for life: the same inputs, checked again for an existing resource that was renamed, give the
/// same value. See [`crate::CheckRequest::choose`].
///
/// # Errors
/// The inputs that change, or the driver's failure.
pub fn chosen_inputs_stay<D: Exported>(inputs: types::Inputs) -> Result<(), String> {
    let request = |resource, previous| raw::CheckRequest { resource, inputs: inputs.clone(), previous };
    let check = |request| {
        let checked = D::check(request).map_err(|error| failure(error).to_string())?;
        serde_json::from_str::<Value>(&checked.values).map_err(|error| error.to_string())
    };
    let first = check(request(resource(), None))?;
    let previous = json!({"values": first, "secrets": {}, "params": {}, "connection": {}}).to_string();
    let renamed = types::Resource {
        urn: "urn:purlin:dev/acme::shop::shared::demo.default::shared.other".to_owned(),
        guresid: "f".repeat(40),
        id: "shared.other".to_owned(),
        ..resource()
    };
    let again = check(request(renamed, Some(previous)))?;
    let mut changed = Vec::new();
    for schema in describe::<D>().types {
        let schema: Value = serde_json::from_str(&schema.inputs).map_err(|error| error.to_string())?;
        let values = schema.pointer("/properties/values").unwrap_or(&Value::Null);
        differing(values, &first, &again, "/values", &mut changed);
    }
    if changed.is_empty() {
        Ok(())
    } else {
        Err(format!("a renamed resource would be replaced: {changed:?}"))
    }
}

fn differing(schema: &Value, before: &Value, after: &Value, place: &str, found: &mut Vec<String>) {
    if before != after && schema.get("x-purlin-replaces") == Some(&Value::Bool(true)) {
        found.push(place.to_owned());
        return;
    }
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let (before, after) = (before.get(name), after.get(name));
        if let (Some(before), Some(after)) = (before, after.or(Some(&Value::Null))) {
            differing(schema, before, after, &format!("{place}/{name}"), found);
        }
    }
}

/// Inputs in raw form.
///
/// # Errors
/// If the inputs are not JSON.
pub fn raw<I>(inputs: types::Inputs) -> Result<Raw<I>, Failure> {
    crate::glue::raw_inputs(inputs)
}

/// Checks that a README has the tables of a driver's inputs and outputs, each below its line
/// `<!-- inputs -->` or `<!-- outputs -->`. A driver of several resource types names the type:
/// `<!-- inputs of bucket -->`. If `PURLIN_BLESS=1` is in the environment, it writes the tables.
///
/// # Errors
/// If the README cannot be read or written, has no such line, or has other tables.
pub fn check_readme<D: Exported>(readme: impl AsRef<Path>) -> Result<(), String> {
    let readme = readme.as_ref();
    let failed = |verb: &str, error: std::io::Error| format!("cannot {verb} {}: {error}", readme.display());
    let before = std::fs::read_to_string(readme).map_err(|error| failed("read", error))?;
    let after = table::written(&before, &describe::<D>().types)?;
    if after == before {
        return Ok(());
    }
    if std::env::var_os("PURLIN_BLESS").is_none() {
        let shown = readme.display();
        return Err(format!("{shown} has other tables than the schemas; PURLIN_BLESS=1 writes:\n{after}"));
    }
    std::fs::write(readme, after).map_err(|error| failed("write", error))
}
