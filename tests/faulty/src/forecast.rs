//! Previews: the title is certain.

use purlin_sdk::bindings::purlin::driver::types::Failure;
use purlin_sdk::preview_bindings::exports::purlin::preview::preview::{Effect, Forecast, Guest};
use serde_json::json;

use crate::{Faulty, fault, wanted};

purlin_sdk::preview_bindings::export_preview!(Faulty with_types_in purlin_sdk::preview_bindings);

impl Guest for Faulty {
    fn preview(effect: Effect) -> Result<Forecast, Failure> {
        let mut title = match &effect {
            Effect::Create(request) => wanted(&request.inputs).title,
            Effect::Update(change) => wanted(&change.after).title,
            Effect::Delete(request) => wanted(&request.inputs).title,
        };
        if fault("preview.keeps") {
            title.push('!');
        }
        Ok(Forecast {
            outputs: json!({"title": title}).to_string(),
            secrets: "{}".into(),
            unknown: Vec::new(),
            sensitive: Vec::new(),
            parts: Vec::new(),
            token: None,
            notes: Vec::new(),
        })
    }
}
