//! A driver whose effects can be counted: each resource is a separate file in a granted folder,
//! under an id that no other attempt would choose, and each effect is recorded. It never recognises
//! an earlier attempt: an object that is created twice exists twice. Only if it is `named` can it be found by
//! its name.

use std::fs;
use std::path::PathBuf;

use purlin_sdk::{
    CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Observed, Read, ReadRequest,
    RequestedCapability, State, TypeSchema, Update, UpdateImpact, UpdateRequest, operation,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The granted folder.
const FOLDER: &str = "/data";

/// A driver whose effects can be counted.
pub struct Ledger;

/// What it is given.
#[derive(Deserialize)]
pub struct Given {
    values: Values,
}

/// The inputs of a resource.
#[derive(Clone, Deserialize, Serialize)]
pub struct Values {
    /// Can be changed in place.
    value: String,
    /// Cannot.
    #[serde(default)]
    fixed: String,
    /// Whether the old one must be deleted before the new one is created.
    #[serde(default)]
    first: bool,
    /// Whether it is created without an earlier checkpoint of its id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    quiet: bool,
    /// Whether reads without an id find the object by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    named: bool,
    /// The bytes that the driver keeps privately for it. Each call has to get what the last one returned.
    #[serde(default, skip_serializing_if = "none")]
    keeps: usize,
}

fn none(bytes: &usize) -> bool {
    *bytes == 0
}

/// A real object.
#[derive(Deserialize, Serialize)]
struct Thing {
    urn: String,
    name: String,
    values: Values,
}

impl Driver for Ledger {
    const NAME: &str = "acme/ledger";
    const DESCRIPTION: &str = "Makes files, and keeps a ledger of what it did.";
    type Inputs = Given;

    fn types() -> Vec<TypeSchema> {
        // An object with `data: true` holds data.
        let data =
            json!({"if": {"const": true}, "then": {"x-purlin-holds-data": "what was entered into it"}});
        let inputs = json!({"properties": {"values": {"properties": {"data": data}}}});
        vec![TypeSchema::any(inputs, true.into())]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "dirs".to_owned(),
            pattern: None,
            reason: "the folder with what is made, as /data".to_owned(),
        }]
    }

    fn create(request: CreateRequest<Given>) -> Result<State, Failure> {
        let key = &request.call.idempotency_key;
        let id = id_of(&request.name, key);
        let values = request.inputs.given.values;
        if !values.quiet {
            operation::checkpoint(&id);
        }
        write(&id, &Thing { urn: request.subject.urn, name: request.name, values: values.clone() })?;
        note("create", &id, key)?;
        state(&id, &values)
    }

    fn delete(request: DeleteRequest<Given>) -> Result<(), Failure> {
        // Of what a killed call reported, only the id is known.
        if !request.state.cookie.is_empty() {
            kept(&request.state)?;
        }
        match fs::remove_file(path(&request.state.id)) {
            Ok(()) => note("delete", &request.state.id, &request.call.idempotency_key),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Failure::failed(error.to_string())),
        }
    }
}

impl Read for Ledger {
    fn read(request: ReadRequest<Given>) -> Result<Option<Observed>, Failure> {
        let id = match request.id {
            Some(id) => id,
            // The object with this key, and not one that only has the same name.
            None => match id_named(&request.name, &request.known)? {
                Some(id) => id,
                None => id_of(&request.name, &request.call.idempotency_key),
            },
        };
        request.state.iter().filter(|state| !state.cookie.is_empty()).try_for_each(kept)?;
        let Ok(text) = fs::read(path(&id)) else { return Ok(None) };
        let thing: Thing = serde_json::from_slice(&text).map_err(|e| Failure::failed(e.to_string()))?;
        let values = serde_json::to_value(&thing.values).map_err(|e| Failure::failed(e.to_string()))?;
        let values = values.as_object().cloned().unwrap_or_default();
        Observed::new(state(&id, &thing.values)?, values).map(Some)
    }
}

impl UpdateImpact for Ledger {
    fn update_impact(request: ImpactRequest<Given>) -> Result<Impact, Failure> {
        kept(&request.state)?;
        let mut impact = Impact::default();
        if request.changes("/values/fixed") {
            impact.replaces.push("/values/fixed".to_owned());
            impact.delete_before_replace = request.after.get("/values/first") == Some(&true.into());
        }
        impact.keep(&request.state, ["id"]);
        Ok(impact)
    }
}

impl Update for Ledger {
    fn update(request: UpdateRequest<Given>) -> Result<State, Failure> {
        kept(&request.state)?;
        let id = request.state.id;
        if fs::metadata(path(&id)).is_err() {
            return Err(Failure::not_found(id));
        }
        let values = request.after.given.values;
        write(&id, &Thing { urn: request.subject.urn, name: request.name, values: values.clone() })?;
        note("update", &id, &request.call.idempotency_key)?;
        state(&id, &values)
    }
}

purlin_sdk::export!(Ledger);

fn id_of(name: &str, key: &str) -> String {
    format!("{name}-{}", key.get(..8).unwrap_or(key))
}

/// The id of the object that can be found by a name.
fn id_named(name: &str, known: &[String]) -> Result<Option<String>, Failure> {
    let Ok(things) = fs::read_dir(PathBuf::from(FOLDER).join("things")) else { return Ok(None) };
    for file in things {
        let path = file.map_err(|error| Failure::failed(error.to_string()))?.path();
        let Some(id) = path.file_name().and_then(|id| id.to_str()) else { continue };
        let thing: Option<Thing> = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let is_it = |thing: Thing| thing.values.named && thing.name == name;
        if !known.iter().any(|known| known == id) && thing.is_some_and(is_it) {
            return Ok(Some(id.to_owned()));
        }
    }
    Ok(None)
}

fn path(id: &str) -> PathBuf {
    PathBuf::from(FOLDER).join("things").join(id)
}

/// Writes the whole object or nothing.
fn write(id: &str, thing: &Thing) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::failed(error.to_string());
    fs::create_dir_all(PathBuf::from(FOLDER).join("things")).map_err(failed)?;
    fs::create_dir_all(PathBuf::from(FOLDER).join("making")).map_err(failed)?;
    let text = serde_json::to_vec(thing).map_err(|error| Failure::failed(error.to_string()))?;
    let making = PathBuf::from(FOLDER).join("making").join(id);
    fs::write(&making, text).map_err(failed)?;
    fs::rename(&making, path(id)).map_err(failed)
}

/// Each effect is a separate file: concurrent appends to one are not safe.
fn note(what: &str, id: &str, key: &str) -> Result<(), Failure> {
    let folder = PathBuf::from(FOLDER).join("effects");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join(format!("{what} {id} {key}")), ""))
        .map_err(|error| Failure::failed(error.to_string()))
}

fn state(id: &str, values: &Values) -> Result<State, Failure> {
    let state = State::new(id).outputs(json!({"id": id, "value": values.value, "fixed": values.fixed}))?;
    Ok(State { cookie: cookie(id, &values.value, values.keeps), ..state })
}

/// What the driver keeps for an object, with its value.
fn cookie(id: &str, value: &str, bytes: usize) -> Vec<u8> {
    let mut cookie = format!("{id} has {value}: ").repeat(bytes / 8 + 1).into_bytes();
    cookie.truncate(bytes);
    cookie
}

/// Checks that the driver is given what it returned with these outputs.
fn kept(state: &State) -> Result<(), Failure> {
    let value = state.outputs.get("value").and_then(|value| value.as_str()).unwrap_or_default();
    if state.cookie == cookie(&state.id, value, state.cookie.len()) {
        return Ok(());
    }
    Err(Failure::failed(format!("what was kept for {} with {value} is not what was given", state.id)))
}
