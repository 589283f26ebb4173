//! Requests and answers as JSON for a report, without secrets.

use purlin_model::Label;
use purlin_model::driver::{Checked, DriverInfo, Failure, Forecast, Impact, Inputs, Observed, ResourceState};
use purlin_sandbox::CallError;
use serde_json::{Value as Json, json};

/// Bytes of one text that are shown.
const LONGEST: usize = 300;

/// Something that a report shows.
pub(crate) trait ReportJson {
    fn report_json(&self) -> Json;
}

impl ReportJson for Inputs {
    fn report_json(&self) -> Json {
        let mut all = serde_json::Map::new();
        for (name, value) in [
            ("values", &self.values),
            ("secrets", &self.secrets),
            ("params", &self.params),
            ("connection", &self.connection),
            ("account", &self.account()),
        ] {
            let value = short(value.redact());
            if value.as_object().is_none_or(|map| !map.is_empty()) && !value.is_null() {
                all.insert(name.to_owned(), value);
            }
        }
        Json::Object(all)
    }
}

impl ReportJson for ResourceState {
    fn report_json(&self) -> Json {
        json!({"id": self.id.to_string(), "outputs": short(self.outputs.redact())})
    }
}

impl ReportJson for Checked {
    fn report_json(&self) -> Json {
        json!({"values": short(self.values.redact()), "secrets": short(self.secrets.redact())})
    }
}

impl ReportJson for Label {
    fn report_json(&self) -> Json {
        short(self.to_string().into())
    }
}

impl ReportJson for Observed {
    fn report_json(&self) -> Json {
        let mut shown = self.state.report_json();
        shown["values"] = self.values.as_ref().map_or(Json::Null, |values| short(values.redact()));
        shown
    }
}

impl<T: ReportJson> ReportJson for Option<T> {
    fn report_json(&self) -> Json {
        self.as_ref().map_or("none".into(), ReportJson::report_json)
    }
}

impl ReportJson for Impact {
    fn report_json(&self) -> Json {
        json!({"replaces": self.replaces, "stable-outputs": self.stable_outputs})
    }
}

impl ReportJson for Forecast {
    fn report_json(&self) -> Json {
        json!({"outputs": short(self.outputs.redact()), "parts": self.parts.len()})
    }
}

impl ReportJson for () {
    fn report_json(&self) -> Json {
        "done".into()
    }
}

impl ReportJson for DriverInfo {
    fn report_json(&self) -> Json {
        json!({"name": self.name, "version": self.version.to_string()})
    }
}

/// An error; a driver's own error by its code.
pub(crate) fn error(error: &CallError) -> Json {
    let CallError::Failure(failure) = error else { return json!({"ended": error.to_string()}) };
    let content = match failure {
        Failure::InvalidInputs(faults) => json!(faults),
        Failure::Denied { capability, target, message } => {
            json!({"capability": capability, "target": target, "message": message})
        }
        Failure::Partial { state, problem } => {
            json!({"state": state.report_json(), "message": problem.to_string()})
        }
        Failure::Pending { state, pending } => {
            json!({"state": state.as_ref().map(|state| state.report_json()), "message": pending.message})
        }
        Failure::RetryAfter { message, .. } => json!(message),
        Failure::NotFound(problem)
        | Failure::Conflict(problem)
        | Failure::Failed(problem)
        | Failure::Undecided(problem)
        | Failure::NeedsDeleteBefore(problem) => json!(problem.to_string()),
    };
    json!({(failure.code()): content})
}

/// The same with long texts cut.
pub(crate) fn short(json: Json) -> Json {
    match json {
        Json::String(text) if text.len() > LONGEST => {
            let cut = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
            format!("{cut}… ({} bytes)", text.len()).into()
        }
        Json::Array(items) => items.into_iter().map(short).collect(),
        Json::Object(map) => map.into_iter().map(|(key, value)| (key, short(value))).collect(),
        other => other,
    }
}
