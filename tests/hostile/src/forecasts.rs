//! Forecasts that are too large, false, or say what they must not. `values.forecast` has what the test requests
//! verbatim; once all inputs are known, `values.then` has it, if it is there.

use std::time::SystemTime;

use purlin_sdk::bindings::purlin::driver::types::{Failure, Inputs};
use purlin_sdk::preview_bindings::exports::purlin::preview::preview::{Effect, Forecast, Guest};
use purlin_sdk::preview_bindings::purlin::preview::types::{Action, Part};
use serde_json::Value;

use crate::Hostile;
use crate::attacks::Attack;

purlin_sdk::preview_bindings::export_preview!(Hostile with_types_in purlin_sdk::preview_bindings);

impl Guest for Hostile {
    fn preview(effect: Effect) -> Result<Forecast, Failure> {
        let inputs = match &effect {
            Effect::Create(request) => &request.inputs,
            Effect::Update(change) => &change.after,
            Effect::Delete(request) => &request.inputs,
        };
        let attack = Attack::of(inputs);
        attack.at("preview")?;
        Ok(foreseen(&attack, inputs))
    }
}

fn foreseen(attack: &Attack, inputs: &Inputs) -> Forecast {
    let text = |name: &str, otherwise: &str| match attack.number(&format!("{name}-bytes"), 0) {
        0 => attack.filled(&attack.text_or(name, otherwise)),
        bytes => format!("{{\"x\":\"{}\"}}", "x".repeat(bytes)),
    };
    let then = Some(&attack.values["then"]).filter(|then| then.is_array() && inputs.unknown.is_empty());
    let wanted = then.unwrap_or(&attack.values["parts"]);
    let mut parts: Vec<Part> =
        wanted.as_array().into_iter().flatten().map(|wanted| part(attack, wanted)).collect();
    // As many as the test counts, each as the first one but for its address.
    if let Some(first) = parts.first().cloned() {
        let address = |number: usize| format!("{}{number}", first.address);
        let more =
            (1..attack.number("count", 1)).map(|number| Part { address: address(number), ..first.clone() });
        parts.extend(more);
    }
    // Another one each time.
    if attack.values["varies"] == true {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        parts.iter_mut().for_each(|part| part.address.push_str(&now.to_string()));
    }
    let places = |name: &str| {
        let mut places = attack.texts(name);
        let times = attack.number("places", 1);
        let all = places.len();
        places = places.into_iter().cycle().take(all * times).collect();
        places
    };
    Forecast {
        outputs: text("outputs", "{}"),
        secrets: text("secrets", "{}"),
        unknown: places("unknown"),
        sensitive: places("sensitive"),
        parts,
        token: attack.values["token"].as_u64().map(|bytes| vec![b't'; bytes as usize]),
        notes: notes(attack, &attack.values["notes"]),
    }
}

fn part(attack: &Attack, wanted: &Value) -> Part {
    let text = |name: &str| wanted[name].as_str().map(|text| attack.filled(text));
    let times = wanted["places"].as_u64().unwrap_or(1) as usize;
    let places = |name: &str| -> Vec<String> {
        let places = wanted[name].as_array().into_iter().flatten();
        let places: Vec<_> = places.map(|place| attack.filled(place.as_str().unwrap())).collect();
        places.iter().cycle().take(places.len() * times).cloned().collect()
    };
    let long = |name: &str| match wanted[&format!("{name}-bytes")].as_u64() {
        Some(bytes) => Some("x".repeat(bytes as usize)),
        None => text(name),
    };
    Part {
        address: long("address").unwrap_or_default(),
        moved_from: text("moved_from"),
        type_name: long("type").unwrap_or_default(),
        action: match wanted["action"].as_str() {
            Some("delete") => Action::Delete,
            Some("delete-then-create") => Action::DeleteThenCreate,
            _ => Action::Create,
        },
        before: text("before"),
        after: text("after"),
        unknown: places("unknown"),
        sensitive: places("sensitive"),
        replaces: places("replaces"),
        holds_data: long("holds_data"),
        notes: notes(attack, &wanted["notes"]),
    }
}

/// Notes by name: JSON texts.
fn notes(attack: &Attack, wanted: &Value) -> Vec<(String, String)> {
    let wanted = wanted.as_object().into_iter().flatten();
    wanted.map(|(name, note)| (attack.filled(name), attack.filled(note.as_str().unwrap()))).collect()
}
