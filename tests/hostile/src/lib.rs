//! A driver that attacks its host. `values.attack` names the attack, `values.at` the function;
//! `create` by default. Attacks that Rust cannot express are in `wat/`.
#![cfg(target_family = "wasm")]
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "it attacks the host"
)]

mod attacks;
mod encodings;
mod forecasts;

use attacks::Attack;
use purlin_sdk::bindings::exports::purlin::driver::lifecycle::Guest;
use purlin_sdk::bindings::purlin::driver::types::{
    Change, CheckRequest, Checked, CreateRequest, DeleteRequest, DriverInfo, Failure, Finding, Impact,
    Inputs, NameRequest, Observed, Partial, ReadRequest, State, TypeSchema,
};
use serde_json::{Value, json};

struct Hostile;

purlin_sdk::bindings::export_lifecycle!(Hostile with_types_in purlin_sdk::bindings);

impl Guest for Hostile {
    fn describe() -> DriverInfo {
        DriverInfo {
            name: "purlin-test/hostile".into(),
            version: "1.0.0".into(),
            description: "Attacks its host.".into(),
            types: vec![TypeSchema {
                type_name: "*".into(),
                implements: ["check", "name", "read", "update-impact", "update"].map(String::from).into(),
                inputs: "{}".into(),
                outputs: "{}".into(),
            }],
            requested_capabilities: vec![],
            notes: vec![],
        }
    }

    fn check(request: CheckRequest) -> Result<Checked, Failure> {
        let attack = Attack::of(&request.inputs);
        attack.at("check")?;
        let warnings =
            attack.texts("warnings").into_iter().map(|message| Finding { pointer: message.clone(), message });
        Ok(Checked {
            values: request.inputs.values,
            secrets: request.inputs.secrets,
            warnings: warnings.collect(),
        })
    }

    fn name(request: NameRequest) -> Result<String, Failure> {
        let attack = Attack::of(&request.inputs);
        attack.at("name")?;
        Ok(attack.values["name"]
            .as_str()
            .map_or_else(|| "n".repeat(attack.number("length", 1)), str::to_owned))
    }

    fn create(request: CreateRequest) -> Result<State, Failure> {
        Attack::of(&request.inputs).perform(&request.call)
    }

    fn read(request: ReadRequest) -> Result<Option<Observed>, Failure> {
        let attack = Attack::of(&request.inputs);
        attack.at("read")?;
        let values = attack.values["reality"].as_str().map(str::to_owned);
        let state = request.state.unwrap_or_else(|| attacks::state(&json!({})));
        Ok(Some(Observed { state: State { id: attack.text_or("id", &state.id), ..state }, values }))
    }

    fn update_impact(request: Change) -> Result<Impact, Failure> {
        let attack = Attack::of(&request.after);
        attack.at("update-impact")?;
        Ok(Impact {
            replaces: attack.texts("replaces"),
            delete_before_replace: false,
            stable_outputs: attack.texts("stable"),
        })
    }

    fn update(request: Change) -> Result<State, Failure> {
        let attack = Attack::of(&request.after);
        attack.at("update")?;
        let state = State { id: attack.text_or("id", &request.state.id), ..request.state };
        match attack.text("kind").as_str() {
            "partial" => Err(Failure::Partial(Partial { state, problem: "the rest is missing".into() })),
            _ => Ok(state),
        }
    }

    fn delete(request: DeleteRequest) -> Result<(), Failure> {
        Attack::of(&request.inputs).at("delete").map(drop)
    }
}

impl Attack {
    fn of(inputs: &Inputs) -> Self {
        let values: Value = serde_json::from_str(&inputs.values).unwrap();
        let secrets: Value = serde_json::from_str(&inputs.secrets).unwrap();
        Self { values, secret: secrets["password"].as_str().unwrap_or_default().to_owned() }
    }
}
