//! Previews: whatever `values.preview` asks for, and `values.deletion` of a deletion.

use purlin_sdk::bindings::purlin::driver::types::{Failure, Finding, Inputs};
use purlin_sdk::preview::consent;
use purlin_sdk::preview_bindings::exports::purlin::preview::preview::{Effect, Forecast, Guest};
use purlin_sdk::preview_bindings::purlin::preview::types::{Action, Part};
use serde_json::Value;

use crate::{Adversary, deeds};

purlin_sdk::preview_bindings::export_preview!(Adversary with_types_in purlin_sdk::preview_bindings);

impl Guest for Adversary {
    fn preview(effect: Effect) -> Result<Forecast, Failure> {
        let inputs = match &effect {
            Effect::Create(request) => &request.inputs,
            Effect::Update(change) => &change.after,
            Effect::Delete(request) => &request.inputs,
        };
        let values: Value = serde_json::from_str(&inputs.values).unwrap();
        let wanted = match &effect {
            Effect::Delete(_) if values["deletion"].is_object() => &values["deletion"],
            _ => &values["preview"],
        };
        if wanted["tell"].is_string() {
            return Ok(Forecast { outputs: told(&effect, inputs).to_string(), ..nothing() });
        }
        match wanted["do"].as_str().unwrap_or_default() {
            "" => {}
            "invalid" => {
                let fault =
                    Finding { pointer: "/values/preview".into(), message: "it cannot be foreseen".into() };
                return Err(Failure::InvalidInputs(vec![fault]));
            }
            "undecided" => return Err(Failure::Undecided("perhaps".into())),
            // An effect, which a preview must not have.
            _ => drop(deeds::perform(&Inputs { values: wanted.to_string(), ..inputs.clone() }, "preview")?),
        }
        let secrets: Value = serde_json::from_str(&inputs.secrets).unwrap();
        let secret = secrets["password"].as_str().unwrap_or_default().to_owned();
        let text = |name: &str| wanted[name].as_str().map(|text| text.replace("{secret}", &secret));
        let texts = |of: &Value| -> Vec<String> {
            of.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().into()).collect()
        };
        let part = |part: &Value| Part {
            address: part["address"].as_str().unwrap_or_default().replace("{secret}", &secret),
            moved_from: part["moved_from"].as_str().map(str::to_owned),
            type_name: "thing".into(),
            action: action(part["action"].as_str().unwrap_or("create")),
            before: part["before"].as_str().map(str::to_owned),
            after: part["after"].as_str().map(|text| text.replace("{secret}", &secret)),
            unknown: texts(&part["unknown"]),
            sensitive: texts(&part["sensitive"]),
            replaces: texts(&part["replaces"]),
            holds_data: part["holds_data"].as_str().map(str::to_owned),
            notes: part["reason"]
                .as_str()
                .map(|reason| ("reason".into(), format!("{reason:?}")))
                .into_iter()
                .collect(),
        };
        let parts = match wanted["parts"].as_u64() {
            Some(count) => {
                (0..count).map(|number| part(&serde_json::json!({"address": number.to_string()}))).collect()
            }
            None => wanted["parts"].as_array().into_iter().flatten().map(part).collect(),
        };
        Ok(Forecast {
            outputs: text("outputs").unwrap_or_else(|| "{}".into()),
            secrets: text("secrets").unwrap_or_else(|| "{}".into()),
            unknown: texts(&wanted["unknown"]),
            sensitive: texts(&wanted["sensitive"]),
            parts,
            token: text("token").map(String::into_bytes),
            notes: vec![],
        })
    }
}

fn nothing() -> Forecast {
    Forecast {
        outputs: "{}".into(),
        secrets: "{}".into(),
        unknown: vec![],
        sensitive: vec![],
        parts: vec![],
        token: None,
        notes: vec![],
    }
}

/// What the request says.
fn told(effect: &Effect, inputs: &Inputs) -> Value {
    let (kind, name, replaces, key) = match effect {
        Effect::Create(request) => ("create", &*request.name, request.replaces.clone(), &request.call),
        Effect::Update(change) => ("update", &*change.name, Some(change.state.id.clone()), &change.call),
        Effect::Delete(request) => ("delete", "", Some(request.state.id.clone()), &request.call),
    };
    serde_json::json!({
        "kind": kind, "name": name, "of": replaces, "unknown": inputs.unknown, "key": key.idempotency_key,
        "token": consent::token().is_some(),
    })
}

/// What the effect is told of the consent.
pub(crate) fn agreed() -> Value {
    consent::reached("module.a", Action::Create);
    serde_json::json!({"token": consent::token().map(|token| String::from_utf8_lossy(&token).into_owned())})
}

fn action(name: &str) -> Action {
    match name {
        "none" => Action::None,
        "read" => Action::Read,
        "update" => Action::Update,
        "create-then-delete" => Action::CreateThenDelete,
        "delete-then-create" => Action::DeleteThenCreate,
        "delete" => Action::Delete,
        "adopt" => Action::Adopt,
        "forget" => Action::Forget,
        _ => Action::Create,
    }
}
