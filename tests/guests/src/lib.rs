//! A driver that does whatever its inputs request, good or bad: the tests' adversary.
//!
//! `values.do` names the deed of `create` and `update`. Everything else is an ordinary driver.
#![cfg(target_family = "wasm")]
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "bad manners are its trade"
)]

mod deeds;
mod forecast;
mod http;
mod net;
mod programs;
mod vault;

use purlin_sdk::bindings::exports::purlin::driver::lifecycle::Guest;
use purlin_sdk::bindings::purlin::driver::types::{
    Change, CheckRequest, Checked, CreateRequest, DeleteRequest, DriverInfo, Failure, Impact, NameRequest,
    Observed, ReadRequest, RequestedCapability, State, TypeSchema,
};
use serde_json::Value;

struct Adversary;

/// The inputs of the type `account`, which is well-behaved, and shows its account.
const ACCOUNT: &str = r#"{"type": "object", "required": ["account"], "properties": {
    "values": {"type": "object"},
    "account": {"type": "object", "required": ["region", "token"], "additionalProperties": false, "properties": {
        "type": {"const": "guests"}, "region": {"type": "string"}, "size": {"default": 7},
        "token": {"type": "string", "writeOnly": true}
    }}
}}"#;

/// The inputs of the type `connected`, which shows its account and its connection.
const CONNECTION: &str = r#"{"type": "object", "required": ["connection"], "properties": {
    "values": {"type": "object"},
    "connection": {"type": "object", "required": ["server", "token"], "additionalProperties": false, "properties": {
        "server": {"type": "string", "x-purlin-replaces": true}, "timeout": {"type": "integer", "default": 30},
        "token": {"type": "string", "writeOnly": true}
    }}
}}"#;

purlin_sdk::bindings::export_lifecycle!(Adversary with_types_in purlin_sdk::bindings);

impl Guest for Adversary {
    fn describe() -> DriverInfo {
        let schema = |name: &str, implements: &[&str]| TypeSchema {
            type_name: name.into(),
            implements: implements.iter().map(|name| (*name).to_owned()).collect(),
            inputs: r#"{"type":"object"}"#.into(),
            outputs: r#"{"type":"object"}"#.into(),
        };
        DriverInfo {
            name: "purlin-test/guests".into(),
            version: "1.2.3".into(),
            description: "Does whatever its inputs ask for.".into(),
            types: vec![
                schema("*", &["check", "name", "read", "update-impact", "update", "repeat-create"]),
                schema("plain", &["name"]),
                TypeSchema { inputs: ACCOUNT.into(), ..schema("account", &["check", "read", "update"]) },
                TypeSchema {
                    inputs: CONNECTION.into(),
                    ..schema("connected", &["check", "name", "read", "update"])
                },
            ],
            requested_capabilities: vec![RequestedCapability {
                capability: "dirs".into(),
                pattern: Some("/data".into()),
                reason: "to write where it is told to".into(),
            }],
            notes: vec![],
        }
    }

    fn check(request: CheckRequest) -> Result<Checked, Failure> {
        let mut values: Value = serde_json::from_str(&request.inputs.values).unwrap();
        let fields = values.as_object_mut().unwrap();
        fields.entry("size").or_insert(1.into());
        if fields.contains_key("show-unknown") {
            fields.insert("unknown".into(), request.inputs.unknown.clone().into());
            fields.insert("sensitive".into(), request.inputs.sensitive.clone().into());
        }
        Ok(Checked { values: values.to_string(), secrets: request.inputs.secrets, warnings: vec![] })
    }

    fn name(request: NameRequest) -> Result<String, Failure> {
        Ok(format!("{}-{}", request.subject.type_name, &request.subject.guresid[..8]))
    }

    /// The object gets the id `values.id`, if there is one: with the id `do`, its deletion performs the deed too.
    fn create(request: CreateRequest) -> Result<State, Failure> {
        if deeds::shows_access(&request.subject) {
            return Ok(deeds::account(&request.subject, &request.inputs));
        }
        let values: Value = serde_json::from_str(&request.inputs.values).unwrap();
        let id = values["id"].as_str().map(str::to_owned);
        deeds::perform(&request.inputs, &id.unwrap_or_else(|| format!("id-{}", request.subject.guresid)))
    }

    /// Reality has the values in `values.reality`, verbatim.
    fn read(request: ReadRequest) -> Result<Option<Observed>, Failure> {
        if request.subject.type_name == "secret" {
            return vault::look_up(&request);
        }
        if deeds::shows_access(&request.subject) {
            let state = deeds::account(&request.subject, &request.inputs);
            return Ok(request.id.map(|_| Observed { state, values: None }));
        }
        let values: Value = serde_json::from_str(&request.inputs.values).unwrap();
        let state = match (request.id.as_deref(), request.state) {
            (Some("gone"), _) => return Ok(None),
            (Some("missing"), _) => return Err(Failure::NotFound("it is missing".into())),
            (Some("do"), _) => deeds::perform(&request.inputs, "do")?,
            (Some("facts"), _) => deeds::facts("facts", &request.call),
            (Some("astray"), Some(state)) => State { id: "another".into(), ..state },
            (_, Some(state)) => state,
            // Without a record: by id, else by name.
            (Some(id), None) => deeds::found(id),
            (None, None) => deeds::found(&request.name),
        };
        let values = values.get("reality").map(|text| text.as_str().unwrap().to_owned());
        Ok(Some(Observed { state, values }))
    }

    fn update_impact(request: Change) -> Result<Impact, Failure> {
        let before: Value = serde_json::from_str(&request.before.values).unwrap();
        let after: Value = serde_json::from_str(&request.after.values).unwrap();
        let replaces = if before["place"] == after["place"] { vec![] } else { vec!["/values/place".into()] };
        Ok(Impact { replaces, delete_before_replace: false, stable_outputs: vec!["/outputs/host".into()] })
    }

    fn update(request: Change) -> Result<State, Failure> {
        if request.state.id == "facts" {
            return Ok(deeds::facts("facts", &request.call));
        }
        if deeds::shows_access(&request.subject) {
            return Ok(deeds::account(&request.subject, &request.after));
        }
        let values: Value = serde_json::from_str(&request.after.values).unwrap();
        match values["do"].as_str() {
            Some("tell") => Ok(deeds::recalled(&request.state)),
            _ => deeds::perform(&request.after, &request.state.id),
        }
    }

    fn delete(request: DeleteRequest) -> Result<(), Failure> {
        if request.subject.type_name == "account" && request.inputs.account.contains("expired") {
            return Err(Failure::Failed(format!("refused: {}", request.inputs.account).into()));
        }
        match request.state.id.as_str() {
            "missing" => Err(Failure::NotFound("it is missing".into())),
            "facts" => Err(Failure::Failed(deeds::facts("facts", &request.call).outputs.into())),
            "consent" => {
                let (allowed, agreed) = (request.data_loss_allowed, forecast::agreed());
                Err(Failure::Failed(format!("data loss allowed: {allowed}, {agreed}").into()))
            }
            "do" => deeds::perform(&request.inputs, "do").map(drop),
            _ => Ok(()),
        }
    }
}
