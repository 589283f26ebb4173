//! Schema of the lock.

use serde_json::{Value, json};

use super::{DIALECT, DRIVER, closed, head};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Lock");
    let list =
        |description: &str| json!({"description": description, "type": "array", "items": {"type": "string"}});
    let version = json!({
        "version": {
            "description": "The version that it says it is.",
            "type": "string",
            "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$",
        },
        "digest": {
            "description": "What the component is.",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        },
        "name": {"description": "The name that it gives itself.", "type": "string"},
        "imports": list("Capabilities that its imports could use."),
        "wishes": list("Capabilities that it asks for."),
        "grants": list("What it was granted."),
    });
    let drivers = json!({
        "drivers": {
            "description": "Drivers by name.",
            "type": "object",
            "propertyNames": {"pattern": format!("^{DRIVER}$")},
            "additionalProperties": {
                "description": "The versions that were approved.",
                "type": "array",
                "items": closed("A version.", &["version", "digest"], version),
            },
        },
    });
    let mut schema = closed(
        "What was approved of drivers. `purlin driver approve` writes it.",
        &["apiVersion", "kind", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "spec": closed("What was approved.", &["drivers"], drivers),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin lock".into();
    schema
}
