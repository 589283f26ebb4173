//! A driver that keeps the contract, except for the one rule that its bytes name.
//!
//! It stores objects as files of a granted folder. The broken rule is in [`FAULT`], a text that
//! tests change in the component's bytes, because `describe` has no arguments. Each `fault("RULE")`
//! is one way to break that rule and no other.
#![cfg(target_family = "wasm")]
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::result_large_err,
    reason = "bad manners are its trade"
)]

mod announce;
mod forecast;
mod store;

use purlin_sdk::bindings::exports::purlin::driver::lifecycle::Guest;
use purlin_sdk::bindings::purlin::driver::types::{
    Change, CheckRequest, Checked, CreateRequest, DeleteRequest, DriverInfo, Failure, Finding, Impact,
    Inputs, NameRequest, Observed, Pending, ReadRequest, RequestedCapability, State, TypeSchema,
};
use purlin_sdk::bindings::purlin::driver::{log, operation};
use serde_json::{Map, Value, json};

struct Faulty;

purlin_sdk::bindings::export_lifecycle!(Faulty with_types_in purlin_sdk::bindings);

/// Precedes the name of the rule, and is as long as both together.
#[used]
static FAULT: [u8; 64] = *b"purlin-faulty breaks:none                                       ";

/// In place of a rule: a failed `create` leaves an object, and reports that its outcome is unknown, which the
/// contract permits.
const UNDECIDED: &str = "undecided";

/// In place of a rule: every object is ready only some looks after `create`, and then has other values than it was
/// given.
const LATE: &str = "late";

/// Whether an object is ready only some looks after `create`.
fn is_late(title: &str) -> bool {
    fault(LATE) || title == "mine"
}

fn not_ready(state: State) -> Failure {
    Failure::Pending(Pending { state: Some(state), after_ms: 20, message: "it starts".into() })
}

/// Whether this component breaks that rule.
fn fault(rule: &str) -> bool {
    let bytes = std::hint::black_box(&FAULT);
    std::str::from_utf8(&bytes[21..]).is_ok_and(|named| named.trim_end() == rule)
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).expect("an object")
}

/// The inputs of an object.
struct Wanted {
    title: String,
    text: String,
    secret: Option<String>,
    /// Where each effect is announced, if anywhere.
    announce: Option<String>,
}

fn wanted(inputs: &Inputs) -> Wanted {
    let (values, secrets) = (object(&inputs.values), object(&inputs.secrets));
    let text = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    Wanted {
        title: text(&values, "title").unwrap_or_default(),
        text: text(&values, "text").unwrap_or_default(),
        secret: text(&secrets, "secret"),
        announce: text(&values, "announce"),
    }
}

fn state(wanted: &Wanted) -> State {
    let mut outputs = json!({"title": wanted.title, "bytes": wanted.text.len()});
    if fault("create.outputs") {
        outputs["bytes"] = "many".into();
    }
    let mut secrets = json!({});
    if let Some(secret) = &wanted.secret {
        let side = if fault("secrets.hidden") { &mut outputs } else { &mut secrets };
        side["mark"] = format!("{}:{secret}", wanted.title).into();
    }
    let cookie = if fault("answers") { vec![0; 10_241] } else { Vec::new() };
    State {
        id: wanted.title.clone(),
        outputs: outputs.to_string(),
        secrets: secrets.to_string(),
        cookie,
        manifests: Vec::new(),
        sensitive: Vec::new(),
        version: 0,
        notes: Vec::new(),
    }
}

impl Guest for Faulty {
    fn describe() -> DriverInfo {
        if fault("describe.alone") {
            log::write(log::Level::Info, "here I am");
        }
        let description = match fault("describe.same") {
            true => format!("{:?}", std::time::SystemTime::now()),
            false => "Keeps things in a folder.".to_owned(),
        };
        let size = if fault("schema.valid") { json!("long") } else { json!(65536) };
        let text = json!({"type": "string", "maxLength": size, "description": "What is kept."});
        let title = if fault("schema.agrees") { "^never$" } else { "^[a-z0-9-]+$" };
        let inputs = json!({
            "type": "object",
            "properties": {
                "values": {
                    "type": "object", "required": ["text"], "additionalProperties": false,
                    "properties": {
                        "text": text, "title": {"type": "string", "pattern": title},
                        "announce": {"type": "string"},
                    },
                },
                "connection": {"type": "object", "properties": {"key": {"type": "string", "writeOnly": true}}},
                "secrets": {"type": "object", "properties": {"secret": {"type": "string"}}},
            },
        });
        let outputs = json!({
            "type": "object", "required": ["title", "bytes"],
            "properties": {
                "title": {"type": "string"}, "bytes": {"type": "integer"},
                "mark": {"type": "string"},
                "receipt": {"type": "string", "x-purlin-write-once": true},
            },
        });
        let implements = ["check", "name", "read", "update-impact", "update", "repeat-create"];
        DriverInfo {
            name: "purlin-test/faulty".into(),
            version: "1.0.0".into(),
            description,
            types: vec![TypeSchema {
                type_name: "thing".into(),
                implements: implements.map(str::to_owned).into(),
                inputs: inputs.to_string(),
                outputs: outputs.to_string(),
            }],
            requested_capabilities: vec![
                RequestedCapability {
                    capability: "dirs".into(),
                    pattern: None,
                    reason: "to keep them".into(),
                },
                RequestedCapability { capability: "tcp".into(), pattern: None, reason: "to announce".into() },
            ],
            notes: Vec::new(),
        }
    }

    fn check(request: CheckRequest) -> Result<Checked, Failure> {
        let (mut values, secrets) = (object(&request.inputs.values), object(&request.inputs.secrets));
        if fault("check.accepts") {
            return Err(Failure::InvalidInputs(vec![invalid("/values/text", "not today")]));
        }
        if fault("quiet") {
            drop(std::fs::File::open(store::FOLDER));
        }
        let unknown = |place: &str| request.inputs.unknown.iter().any(|unknown| unknown == place);
        if fault("text.any")
            && values.get("text").and_then(Value::as_str).is_some_and(|text| text.len() > 60_000)
        {
            panic!("too much for me");
        }
        let mut faults = Vec::new();
        if !unknown("/values/text") && !values.get("text").is_some_and(Value::is_string) {
            faults.push(invalid("/values/text", "has to be a text"));
        }
        let title_fits = |title: &Value| title.as_str().is_some_and(store::fits);
        if !unknown("/values/title") && !values.get("title").is_none_or(title_fits) {
            faults.push(invalid("/values/title", "has to be small letters, digits and dashes"));
        }
        if !unknown("/secrets/secret") && !secrets.get("secret").is_none_or(Value::is_string) {
            faults.push(invalid("/secrets/secret", "has to be a text"));
        }
        if !unknown("/values/announce") && !values.get("announce").is_none_or(Value::is_string) {
            faults.push(invalid("/values/announce", "has to be a text"));
        }
        if fault("check.unknown") && unknown("/values/text") {
            faults.push(invalid("/values/text", "has to be a text"));
        }
        if fault("check.faults") {
            faults.truncate(1);
        }
        if !faults.is_empty() {
            return Err(Failure::InvalidInputs(faults));
        }
        let drawn = format!("t-{}", &request.subject.guresid[..12]);
        values.entry("title").or_insert(drawn.into());
        if fault("check.fixpoint") {
            let title = format!("{}-x", values["title"].as_str().unwrap_or_default());
            let checked = values["title"].as_str().is_some_and(|title| title.ends_with("-x-x"));
            if !checked && !unknown("/values/title") {
                values.insert("title".into(), title.into());
            }
        }
        if let Some(previous) = request.previous.filter(|_| fault("check.previous"))
            && !values["text"].is_null()
        {
            // A random draw that forgets its result; the checked inputs are used unchanged.
            let given = object(&request.inputs.values).contains_key("title");
            if !given && object(&previous.values)["text"] == values["text"] {
                values.insert("title".into(), "t-drawn-anew".into());
            }
        }
        if fault("limits") && Vec::<u8>::new().try_reserve_exact(14 << 20).is_err() {
            values.insert("title".into(), "t-small".into());
        }
        Ok(Checked {
            values: Value::Object(values).to_string(),
            secrets: request.inputs.secrets.clone(),
            warnings: vec![],
        })
    }

    fn name(request: NameRequest) -> Result<String, Failure> {
        let name = wanted(&request.inputs).title;
        if fault("connection.rotated") {
            let key = object(&request.inputs.connection);
            let length = key.get("key").and_then(Value::as_str).map_or(0, str::len);
            return Ok(format!("{name}.{length}"));
        }
        if fault("name.same") {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            return Ok(format!("{name}.{}", now.as_nanos()));
        }
        Ok(name)
    }

    fn create(request: CreateRequest) -> Result<State, Failure> {
        let wanted = wanted(&request.inputs);
        if !store::granted() {
            return Err(match fault("denied") {
                true => Failure::Failed("no such folder".into()),
                false => store::denied(),
            });
        }
        if fault("create.works") {
            return Err(Failure::Failed("not today".into()));
        }
        if !object(&request.inputs.values).contains_key("text") || !store::fits(&wanted.title) {
            if fault("create.clean") {
                store::write(&wanted)?;
            }
            if fault(UNDECIDED) && store::fits(&wanted.title) {
                store::write(&wanted)?;
                return Err(Failure::Undecided("the answer was lost".into()));
            }
            return Err(Failure::InvalidInputs(vec![invalid("/values", "is not what `check` returned")]));
        }
        if fault("cancel") && operation::cancelled() {
            loop {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        if fault("create.repeat") && store::exists(&wanted.title) {
            return Err(Failure::Conflict("there is one already".into()));
        }
        let checkpoint = if fault("create.checkpoint") { "another" } else { &wanted.title };
        if fault("create.cut") {
            // In place, in two steps: between them, only half of it exists.
            store::write_in_two(&wanted)?;
            operation::checkpoint(checkpoint, None);
        } else {
            operation::checkpoint(checkpoint, None);
            store::write(&wanted)?;
        }
        if let Some(old) = request.replaces.filter(|_| fault("replace.beside")) {
            store::remove(&old)?;
        }
        announce::effect(wanted.announce.as_deref()).map_err(|lost| match fault("create.lost") {
            true => Failure::Failed(lost.into()),
            false => Failure::Undecided(lost.into()),
        })?;
        operation::progress("kept", Some(100));
        let made = with_receipt(state(&wanted), "first");
        if is_late(&wanted.title) {
            store::begin(&wanted.title)?;
            return Err(not_ready(made));
        }
        Ok(made)
    }

    fn read(request: ReadRequest) -> Result<Option<Observed>, Failure> {
        let title = request.id.as_deref().unwrap_or(&request.name);
        let title = title.split('.').next().unwrap_or_default().to_owned();
        let by_name = request.id.is_none();
        let wants = wanted(&request.inputs);
        if fault("read.none") && by_name && !store::exists(&title) {
            return Ok(Some(Observed { state: state(&wants), values: None }));
        }
        let Some(mut text) = store::read(&title)? else { return Ok(None) };
        if let Some(looks) = store::look(&title)? {
            // Only where the record is what `create` answered.
            let record = request.state.as_ref().is_some_and(|state| state.outputs.contains("receipt"));
            if fault("create.pending") && looks == 0 && record {
                return Ok(None);
            }
            return Err(not_ready(state(&Wanted { title, text, ..wants })));
        }
        if by_name && fault("read.finds") {
            return Ok(None);
        }
        if fault("read.values") || fault(LATE) {
            text.push(' ');
        }
        let values = json!({"title": title, "text": text}).to_string();
        text.truncate(text.trim_end().len());
        let state = state(&Wanted { title, text, ..wants });
        let state = if fault("outputs.once") { with_receipt(state, "second") } else { state };
        Ok(Some(Observed { state, values: Some(values) }))
    }

    fn update_impact(request: Change) -> Result<Impact, Failure> {
        let (before, after) = (object(&request.before.values), object(&request.after.values));
        let mut replaces = Vec::new();
        if before["title"] != after["title"] {
            replaces.push(if fault("impact.agrees") { "/values/name" } else { "/values/title" }.to_owned());
        }
        let stable = if fault("impact.stable") { "/outputs/bytes" } else { "/outputs/title" };
        Ok(Impact { replaces, delete_before_replace: false, stable_outputs: vec![stable.into()] })
    }

    fn update(request: Change) -> Result<State, Failure> {
        let wanted = wanted(&request.after);
        let is_done = store::read(&request.state.id)?.is_some_and(|text| text == wanted.text);
        if fault("update.repeat") && is_done {
            return Ok(state(&Wanted { text: format!("{}!", wanted.text), ..wanted }));
        }
        if fault("update.works") {
            return Ok(state(&wanted));
        }
        if fault("update.lost") && store::is_marked("lost", &request.call.idempotency_key) {
            return Err(Failure::Conflict("an earlier attempt got no answer".into()));
        }
        if fault("update.cut") {
            // Gives up if the mark of an attempt exists.
            store::only("mark", &request.call.idempotency_key)?;
        }
        store::write(&wanted)?;
        if fault("update.cut") {
            store::remove("mark")?;
        }
        announce::effect(wanted.announce.as_deref()).map_err(|lost| {
            let key = &request.call.idempotency_key;
            let kept = if fault("update.lost") { store::only("lost", key) } else { Ok(()) };
            kept.err().unwrap_or(Failure::Undecided(lost.into()))
        })?;
        Ok(state(&wanted))
    }

    fn delete(request: DeleteRequest) -> Result<(), Failure> {
        let id = &request.state.id;
        if !store::exists(id) && fault("delete.repeat") && !store::exists("lost") {
            return Err(Failure::Failed("there is none".into()));
        }
        if fault("delete.gone") && store::first_time(id)? {
            return Ok(());
        }
        let wanted = wanted(&request.inputs);
        if fault("delete.lost") && wanted.announce.is_some() && !store::exists(id) && store::exists("lost") {
            return Err(Failure::Failed("there is none any more".into()));
        }
        store::remove(id)?;
        announce::effect(wanted.announce.as_deref()).map_err(|lost| {
            let is_marked = fault("delete.lost") || fault("delete.repeat");
            let kept = if is_marked { store::mark("lost") } else { Ok(()) };
            kept.err().unwrap_or(Failure::Undecided(lost.into()))
        })
    }
}

/// With the output that only `create` returns.
fn with_receipt(mut state: State, receipt: &str) -> State {
    let mut outputs = object(&state.outputs);
    outputs.insert("receipt".into(), receipt.into());
    state.outputs = Value::Object(outputs).to_string();
    state
}

fn invalid(pointer: &str, message: &str) -> Finding {
    Finding { pointer: pointer.into(), message: message.into() }
}
