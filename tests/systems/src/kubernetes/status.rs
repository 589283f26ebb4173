//! What is wrong with a request, as `Status` objects say it.

use serde_json::{Value, json};

/// A refusal.
#[derive(Clone, Debug)]
pub(super) struct Refused(pub(super) u16, pub(super) Value);

/// One cause: reason, message and field.
pub(super) type Cause = (&'static str, String, String);

/// A `Status` of a failure.
pub(super) fn refused(code: u16, reason: &str, message: impl Into<String>) -> Refused {
    Refused(
        code,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message.into(), "reason": reason, "code": code,
        }),
    )
}

/// The same with causes.
pub(super) fn with_causes(mut refused: Refused, causes: &[Cause]) -> Refused {
    let causes: Vec<Value> = causes
        .iter()
        .map(|(reason, message, field)| json!({"reason": reason, "message": message, "field": field}))
        .collect();
    refused.1["details"]["causes"] = causes.into();
    refused
}

/// 404 for an object.
pub(super) fn not_found(resource: &str, name: &str) -> Refused {
    refused(404, "NotFound", format!("{resource} \"{name}\" not found"))
}

/// 422 with causes.
pub(super) fn invalid(kind: &str, name: &str, causes: &[Cause]) -> Refused {
    let all: Vec<String> = causes.iter().map(|(_, message, field)| format!("{field}: {message}")).collect();
    let message = format!("{kind} \"{name}\" is invalid: {}", all.join(", "));
    with_causes(refused(422, "Invalid", message), causes)
}
