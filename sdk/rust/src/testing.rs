//! Unit tests of drivers without WebAssembly: requests to send, and the messages to the host.
//!
//! [`describe`], [`check`], [`create`] and the others call a driver as the host does, through the
//! same JSON and the same defaults, for any type that was passed to [`crate::export!`]: a driver, or one
//! resource type of a driver that has several.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::glue::{failure, raw};
use crate::preview::Action;
use crate::{Checked, Failure, Forecast, Impact, Observed, Raw, State, log::Level, table};

pub use raw::Guest as Exported;
pub use raw::Inputs as GivenInputs;

/// A message from a driver to the host.
#[derive(Clone, Debug)]
pub enum HostMessage {
    /// A log line.
    Log(Level, String),
    /// An addition to a counter.
    Count(String, u64),
    /// A measurement.
    Measure(String, f64),
    /// A checkpoint of an id, perhaps with a cookie.
    Checkpoint(String, Option<Vec<u8>>),
    /// Progress.
    Progress(String, Option<u8>),
    /// A part that is done.
    Reached(String, Action),
}

thread_local! {
    static MESSAGES: RefCell<Vec<HostMessage>> = const { RefCell::new(Vec::new()) };
    static CANCELLED: Cell<bool> = const { Cell::new(false) };
    static TOKEN: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
    static TIME_LEFT: Cell<Duration> = const { Cell::new(Duration::from_secs(3600)) };
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn record(message: HostMessage) {
    MESSAGES.with_borrow_mut(|all| all.push(message));
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn is_cancelled() -> bool {
    CANCELLED.get()
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn time() -> Duration {
    TIME_LEFT.get()
}

#[cfg(not(target_family = "wasm"))]
pub(crate) fn agreed() -> Option<Vec<u8>> {
    TOKEN.with_borrow(Clone::clone)
}

/// The messages on this thread since the last call.
pub fn messages() -> Vec<HostMessage> {
    MESSAGES.take()
}

/// The result of [`crate::operation::cancelled`] on this thread from now on.
pub fn cancel(cancelled: bool) {
    CANCELLED.set(cancelled);
}

/// The result of [`crate::operation::time_left`] on this thread from now on; an hour before.
pub fn time_left(time: Duration) {
    TIME_LEFT.set(time);
}

/// The result of [`crate::preview::consent::token`] on this thread from now on.
pub fn agree(token: Option<Vec<u8>>) {
    TOKEN.set(token);
}

/// A resource `demo.default#shared.demo` of the application `shop` in the environment `dev`.
pub fn subject() -> raw::Subject {
    subject_of("demo")
}

fn subject_of(type_name: &str) -> raw::Subject {
    raw::Subject {
        urn: format!("urn:purlin:dev/acme::shop::shared::{type_name}.default::shared.demo"),
        guresid: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        type_name: type_name.to_owned(),
        class: "default".to_owned(),
        local_name: "shared.demo".to_owned(),
        context: raw::Context {
            org: Some("acme".to_owned()),
            app: "shop".to_owned(),
            env: "dev".to_owned(),
            env_type: "development".to_owned(),
            namespace: Some("dev".to_owned()),
            labels: Vec::new(),
        },
    }
}

/// [`subject`] with the first of the driver's types.
fn subject_for<D: Exported>() -> raw::Subject {
    let first = D::describe().types.into_iter().map(|schema| schema.type_name).next();
    subject_of(first.as_deref().filter(|name| *name != "*").unwrap_or("demo"))
}

/// Inputs from `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`; omitted parts are empty.
pub fn inputs(document: &Value) -> raw::Inputs {
    let part = |name: &str| document.get(name).cloned().unwrap_or_else(|| json!({})).to_string();
    raw::Inputs {
        values: part("values"),
        secrets: part("secrets"),
        params: part("params"),
        connection: part("connection"),
        account: part("account"),
        unknown: Vec::new(),
        sensitive: Vec::new(),
    }
}

fn call(idempotency_key: &str) -> raw::Call {
    raw::Call { idempotency_key: idempotency_key.to_owned(), deadline: u64::MAX, hints: Vec::new() }
}

/// The key of every call with effects.
const KEY: &str = "test";

/// The driver's description of itself.
pub fn describe<D: Exported>() -> raw::DriverInfo {
    D::describe()
}

/// Checks inputs, with the result of an earlier check.
///
/// # Errors
/// The driver's failure.
pub fn check<D: Exported>(inputs: raw::Inputs, previous: Option<&Value>) -> Result<Checked, Failure> {
    check_as::<D>(subject_for::<D>(), inputs, previous)
}

/// [`check`] for another resource than [`subject`], such as one with labels.
///
/// # Errors
/// The driver's failure.
pub fn check_as<D: Exported>(
    subject: raw::Subject,
    given: raw::Inputs,
    previous: Option<&Value>,
) -> Result<Checked, Failure> {
    let previous = previous.map(inputs);
    let request = raw::CheckRequest { subject, inputs: given, previous, call: call("") };
    let checked = D::check(request).map_err(failure)?;
    Ok(Checked {
        values: serde_json::from_str(&checked.values)?,
        secrets: serde_json::from_str(&checked.secrets)?,
        warnings: checked.warnings,
    })
}

fn name<D: Exported>(inputs: raw::Inputs) -> Result<String, Failure> {
    D::name(raw::NameRequest { subject: subject_for::<D>(), inputs, call: call("") }).map_err(failure)
}

/// Names and creates a resource.
///
/// # Errors
/// The driver's failure.
pub fn create<D: Exported>(inputs: raw::Inputs) -> Result<State, Failure> {
    let (subject, name) = (subject_for::<D>(), name::<D>(inputs.clone())?);
    let request = raw::CreateRequest { subject, inputs, name, replaces: None, call: call(KEY) };
    Ok(D::create(request).map_err(failure)?.try_into()?)
}

/// Reads a resource from its record. After a crash that followed a checkpoint with a cookie, the record
/// has only that id and cookie.
///
/// # Errors
/// The driver's failure.
pub fn read<D: Exported>(inputs: raw::Inputs, state: &State) -> Result<Option<Observed>, Failure> {
    look::<D>(inputs, Some(&state.id), Some(state), "")
}

/// Searches for a resource without a record: by the id of an import or a checkpoint, or without one
/// by the name that the driver gives it.
///
/// # Errors
/// The driver's failure.
pub fn find<D: Exported>(inputs: raw::Inputs, id: Option<&str>) -> Result<Option<Observed>, Failure> {
    look::<D>(inputs, id, None, KEY)
}

fn look<D: Exported>(
    inputs: raw::Inputs,
    id: Option<&str>,
    state: Option<&State>,
    key: &str,
) -> Result<Option<Observed>, Failure> {
    let name = match name::<D>(inputs.clone()) {
        Ok(name) => name,
        // Inputs of another version may have no name now; the host would know the recorded one.
        Err(_) if id.is_some() => String::new(),
        Err(failure) => return Err(failure),
    };
    let request = raw::ReadRequest {
        subject: subject_for::<D>(),
        id: id.map(str::to_owned),
        name,
        inputs,
        state: state.cloned().map(Into::into),
        known: Vec::new(),
        call: call(key),
    };
    D::read(request).map_err(failure)?.map(TryInto::try_into).transpose().map_err(Failure::from)
}

fn change<D: Exported>(before: raw::Inputs, after: raw::Inputs, state: &State, key: &str) -> raw::Change {
    raw::Change {
        subject: subject_for::<D>(),
        state: state.clone().into(),
        before,
        after,
        name: String::new(),
        call: call(key),
    }
}

/// Assesses a change.
///
/// # Errors
/// The driver's failure.
pub fn update_impact<D: Exported>(
    before: raw::Inputs,
    after: raw::Inputs,
    state: &State,
) -> Result<Impact, Failure> {
    let impact = D::update_impact(change::<D>(before, after, state, "")).map_err(failure)?;
    Ok(Impact {
        replaces: impact.replaces,
        delete_before_replace: impact.delete_before_replace,
        stable_outputs: impact.stable_outputs,
    })
}

/// Foresees the creation of a resource, whose name is known if all of its inputs are.
///
/// # Errors
/// The driver's failure.
pub fn preview<D: Exported + raw::PreviewGuest>(inputs: raw::Inputs) -> Result<Forecast, Failure> {
    let name = if inputs.unknown.is_empty() { name::<D>(inputs.clone())? } else { String::new() };
    let (subject, call) = (subject_for::<D>(), call(""));
    let request = raw::CreateRequest { subject, inputs, name, replaces: None, call };
    Ok(D::preview(raw::Effect::Create(request)).map_err(failure)?.try_into()?)
}

/// Foresees a change of a resource.
///
/// # Errors
/// The driver's failure.
pub fn preview_update<D: Exported + raw::PreviewGuest>(
    before: raw::Inputs,
    after: raw::Inputs,
    state: &State,
) -> Result<Forecast, Failure> {
    let change = change::<D>(before, after, state, "");
    Ok(D::preview(raw::Effect::Update(change)).map_err(failure)?.try_into()?)
}

/// Updates a resource.
///
/// # Errors
/// The driver's failure.
pub fn update<D: Exported>(before: raw::Inputs, after: raw::Inputs, state: &State) -> Result<State, Failure> {
    Ok(D::update(change::<D>(before, after, state, KEY)).map_err(failure)?.try_into()?)
}

/// Deletes a resource, although its data is lost.
///
/// # Errors
/// The driver's failure.
pub fn delete<D: Exported>(inputs: raw::Inputs, state: &State) -> Result<(), Failure> {
    let request = raw::DeleteRequest {
        subject: subject_for::<D>(),
        state: state.clone().into(),
        inputs,
        data_loss_allowed: true,
        call: call(KEY),
    };
    D::delete(request).map_err(failure)
}

/// The same inputs with these places unknown.
#[must_use]
pub fn unknown(mut inputs: raw::Inputs, pointers: &[&str]) -> raw::Inputs {
    inputs.unknown = pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
    inputs
}

/// Checks that an input that the driver chooses, and that the schema marks with `replaces`, stays as
/// it is for life: the same inputs, checked again for an existing resource that was renamed, give the
/// same value. See [`crate::CheckRequest::choose`].
///
/// # Errors
/// The inputs that change, or the driver's failure.
pub fn chosen_inputs_stay<D: Exported>(inputs: raw::Inputs) -> Result<(), String> {
    let check = |subject, previous: Option<&Value>| {
        let checked = check_as::<D>(subject, inputs.clone(), previous);
        checked.map(|checked| checked.values).map_err(|failure| failure.to_string())
    };
    let first = check(subject_for::<D>(), None)?;
    let mut renamed = subject_for::<D>();
    renamed.urn = renamed.urn.replace("shared.demo", "shared.other");
    renamed.guresid = "f".repeat(40);
    renamed.local_name = "shared.other".to_owned();
    let again = check(renamed, Some(&json!({"values": first})))?;
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
pub fn raw<I>(inputs: raw::Inputs) -> Result<Raw<I>, Failure> {
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
