//! The attacks, by name.

mod answers;
mod files;
mod handles;
mod host;
mod memory;
mod network;
mod requests;
mod text;
mod time;

use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::{Value, json};

/// The attack to carry out.
pub(crate) struct Attack {
    pub(crate) values: Value,
    pub(crate) secret: String,
}

/// An ordinary answer.
pub(crate) fn state(outputs: &Value) -> State {
    State {
        id: "id".into(),
        outputs: outputs.to_string(),
        secrets: "{}".into(),
        cookie: vec![],
        manifests: vec![],
        sensitive: vec![],
        version: 0,
        notes: vec![],
    }
}

pub(crate) fn failed(what: impl ToString) -> Failure {
    Failure::Failed(what.to_string().into())
}

impl Attack {
    pub(crate) fn text(&self, name: &str) -> String {
        self.text_or(name, "")
    }

    pub(crate) fn text_or(&self, name: &str, default: &str) -> String {
        self.values[name].as_str().unwrap_or(default).to_owned()
    }

    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        self.values[name].as_u64().map_or(default, |number| number as usize)
    }

    /// A list of texts, with the secret if requested.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let texts = self.values[name].as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(|text| self.filled(text)).collect()
    }

    /// Attacks in this function, if requested.
    pub(crate) fn at(&self, function: &str) -> Result<(), Failure> {
        if self.values["at"] == function {
            let call = Call { idempotency_key: String::new(), deadline: 0, hints: vec![] };
            self.perform(&call)?;
        }
        Ok(())
    }

    pub(crate) fn perform(&self, call: &Call) -> Result<State, Failure> {
        let name = self.text_or("attack", "nothing");
        if name == "nothing" {
            return Ok(state(&self.values));
        }
        let rooms = [
            memory::perform,
            time::perform,
            handles::perform,
            answers::perform,
            text::perform,
            files::perform,
            requests::perform,
            network::perform,
            host::perform,
        ];
        for room in rooms {
            if let Some(result) = room(self, &name, call) {
                return result;
            }
        }
        Err(failed(format!("unknown attack `{name}`: {}", json!(self.values))))
    }
}
