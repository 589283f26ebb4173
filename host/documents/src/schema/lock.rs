//! Schema of the lock.

use serde_json::{Value, json};

use super::{DIALECT, DRIVER, closed, head};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Lock");
    let list =
        |description: &str| json!({"description": description, "type": "array", "items": {"type": "string"}});
    let version = json!({
        "version": {
            "description": "The version in its manifest.",
            "type": "string",
            "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$",
        },
        "digest": {
            "description": "The digest of the component.",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        },
        "name": {"description": "The name in its manifest.", "type": "string"},
        "imports": list("Capabilities that its imports can use."),
        "requests": list("Capabilities that it requests."),
        "grants": list("Granted capabilities."),
    });
    let drivers = json!({
        "drivers": {
            "description": "Drivers by name.",
            "type": "object",
            "propertyNames": {"pattern": format!("^{DRIVER}$")},
            "additionalProperties": {
                "description": "The approved versions.",
                "type": "array",
                "items": closed("A version.", &["version", "digest"], version),
            },
        },
    });
    let mut schema = closed(
        "Approved drivers. `purlin driver approve` writes this file.",
        &["apiVersion", "kind", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "spec": closed("Approved drivers.", &["drivers"], drivers),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin lock".into();
    schema
}
