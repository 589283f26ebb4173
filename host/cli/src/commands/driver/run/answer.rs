//! The answers of a driver as JSON. Secrets are separate from the rest, and masked unless the user
//! asked to see them.

use purlin_model::Value;
use purlin_model::driver::{
    Checked, DriverInfo, Failure, Forecast, Impact, Observed, Problem, ResourceState,
};
use purlin_sandbox::CallError;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::report::FORMAT;

/// The description of a driver, with the version of the format.
#[derive(Serialize)]
pub(super) struct Described<'a> {
    format: u8,
    #[serde(flatten)]
    info: &'a DriverInfo,
}

impl<'a> Described<'a> {
    pub(super) fn new(info: &'a DriverInfo) -> Self {
        Self { format: FORMAT, info }
    }
}

pub(super) fn checked(checked: &Checked, show: bool) -> Json {
    json!({
        "values": value(&checked.values, show),
        "secrets": value(&checked.secrets, show),
        "warnings": checked.warnings,
    })
}

/// Outputs and secret outputs, separate, as drivers return them.
fn outputs(all: &Value, show: bool) -> Map<String, Json> {
    let all_secret = matches!(all, Value::Secret(_));
    let (mut outputs, mut secrets) = (Map::new(), Map::new());
    if show || !all_secret {
        for (name, output) in all.as_map().into_iter().flatten() {
            let part = if all_secret || output.has_secret() { &mut secrets } else { &mut outputs };
            part.insert(name.to_string(), value(output, show));
        }
    }
    let mut json = Map::from_iter([("outputs".to_owned(), outputs.into())]);
    if all_secret && !show {
        // Hide the names of the outputs too, since the whole map is secret.
        json.insert("secrets".to_owned(), all.redact());
    } else if !secrets.is_empty() {
        json.insert("secrets".to_owned(), secrets.into());
    }
    json
}

/// The forecast as JSON. Nobody needs its token.
pub(super) fn forecast(forecast: &Forecast, show: bool) -> Json {
    let mut json = outputs(&forecast.outputs, show);
    json.insert("parts".to_owned(), json!(forecast.parts));
    if !forecast.notes.is_empty() {
        json.insert("notes".to_owned(), value(&Value::Map(forecast.notes.clone()), show));
    }
    json.into()
}

/// The state as JSON.
pub(super) fn state(state: &ResourceState, show: bool) -> Json {
    let mut json = json!({"id": state.id.shown(show)});
    if let Some(json) = json.as_object_mut() {
        json.extend(outputs(&state.outputs, show));
        if let Some(cookie) = state.cookie.bytes().filter(|bytes| !bytes.is_empty()) {
            // A cookie may be secret, and a masked part of it is useless.
            let cookie = data_encoding::BASE64.encode(cookie);
            json.insert("cookie".to_owned(), if show { cookie.into() } else { "".into() });
        }
        if !state.manifests.is_empty() {
            let manifests = state.manifests.iter().map(|one| {
                json!({
                    "name": one.name.shown(show),
                    "location": one.location.shown(show),
                    "data": value(&one.data, show),
                })
            });
            json.insert("manifests".to_owned(), manifests.collect());
        }
        if state.version > 0 {
            json.insert("version".to_owned(), state.version.into());
        }
        if !state.notes.is_empty() {
            json.insert("notes".to_owned(), value(&Value::Map(state.notes.clone()), show));
        }
    }
    json
}

pub(super) fn observed(observed: Option<&Observed>, show: bool) -> Json {
    match observed {
        None => json!({"found": false}),
        Some(observed) => {
            let mut found = json!({
                "found": true,
                "state": state(&observed.state, show),
                "values": observed.values.as_ref().map(|values| value(values, show)),
            });
            if let Some(pending) = &observed.pending {
                found["pending"] = json!({"after_ms": pending.after.as_millis(), "message": pending.message});
            }
            found
        }
    }
}

pub(super) fn impact(impact: &Impact) -> Json {
    json!({
        "replaces": impact.replaces,
        "delete_before_replace": impact.delete_before_replace,
        "stable_outputs": impact.stable_outputs,
    })
}

/// The failure of a call as JSON.
pub(super) fn failure(error: &CallError, show: bool) -> Json {
    let CallError::Failure(failure) = error else {
        return json!({"failure": {"kind": "host", "message": error.to_string()}});
    };
    let kind = failure.code();
    let failure = match failure {
        Failure::InvalidInputs(faults) => json!({"kind": kind, "faults": faults}),
        Failure::Denied { capability, target, message } => {
            json!({"kind": kind, "capability": capability, "target": target, "message": message})
        }
        Failure::RetryAfter { after, message } => {
            json!({"kind": kind, "after_ms": after.as_millis(), "message": message})
        }
        Failure::Pending { state, pending } => {
            let state = state.as_ref().map(|state| self::state(state, show));
            let after = pending.after.as_millis();
            json!({"kind": kind, "state": state, "after_ms": after, "message": pending.message})
        }
        Failure::Partial { state, problem } => {
            with_details(json!({"kind": kind, "state": self::state(state, show)}), problem)
        }
        Failure::NotFound(problem)
        | Failure::Conflict(problem)
        | Failure::Failed(problem)
        | Failure::Undecided(problem)
        | Failure::NeedsDeleteBefore(problem) => with_details(json!({"kind": kind}), problem),
    };
    json!({"failure": failure})
}

/// A failure with its message, and its details if there are any.
fn with_details(mut failure: Json, problem: &Problem) -> Json {
    failure["message"] = problem.message.as_str().into();
    if !problem.details.is_empty() {
        failure["details"] =
            problem.details.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect();
    }
    failure
}

/// A value as JSON; unknown values become null.
fn value(value: &Value, show: bool) -> Json {
    if show { value.reveal_marked(&mut |_, _| {}) } else { value.redact() }
}
