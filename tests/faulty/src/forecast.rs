//! Previews: the title is certain as soon as it is known.

use purlin_sdk::bindings::purlin::driver::types::Failure;
use purlin_sdk::preview_bindings::exports::purlin::preview::preview::{Effect, Forecast, Guest};
use serde_json::json;

use crate::{Faulty, fault, store, wanted};

/// In place of a rule: previews do what they foresee, which breaks `preview.keeps`, as the next two do.
const ACTING: &str = "preview.acting";

/// In place of a rule: no two forecasts are the same.
const VARYING: &str = "preview.varying";

/// In place of a rule: an output that depends on unknown inputs passes for certain.
const GUESSING: &str = "preview.guessing";

purlin_sdk::preview_bindings::export_preview!(Faulty with_types_in purlin_sdk::preview_bindings);

impl Guest for Faulty {
    fn preview(effect: Effect) -> Result<Forecast, Failure> {
        let mut wanted = match &effect {
            Effect::Create(request) => wanted(&request.inputs),
            Effect::Update(change) => wanted(&change.after),
            Effect::Delete(request) => wanted(&request.inputs),
        };
        if fault(ACTING) && store::fits(&wanted.title) {
            match &effect {
                Effect::Create(_) | Effect::Update(_) => store::write(&wanted)?,
                Effect::Delete(request) => store::remove(&request.state.id)?,
            }
        }
        if fault("preview.keeps") {
            wanted.title.push('!');
        }
        // It is empty as long as it is not known.
        let is_certain = !wanted.title.is_empty() || fault(GUESSING);
        let mut outputs = if is_certain { json!({"title": wanted.title}) } else { json!({}) };
        if fault(VARYING) {
            outputs["bytes"] = format!("{:?}", std::time::SystemTime::now()).into();
        }
        Ok(Forecast {
            outputs: outputs.to_string(),
            secrets: "{}".into(),
            unknown: Vec::new(),
            sensitive: Vec::new(),
            parts: Vec::new(),
            token: None,
            notes: Vec::new(),
        })
    }
}
