//! Schema of the test cases for a driver.

use serde_json::{Value, json};

use super::{CLASS, DIALECT, NAME, TYPE, closed, text};

pub(super) fn schema() -> Value {
    let object = |description: &str| json!({"description": description, "type": "object"});
    let parts = || {
        json!({
            "values": object("What a definition gives as `inputs.values`."),
            "secrets": object("What a definition gives as `inputs.secrets`."),
            "params": object("What a developer gives."),
            "connection": object("What a definition gives as `inputs.connection`."),
            "account": text("The definition's `driver_account`."),
        })
    };
    let mut refused = parts();
    refused["inputs"] = closed("Inputs in place of the case's.", &[], parts());
    refused["at"] = json!({
        "description": "JSON Pointers that the driver has to name, all of them.",
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "pattern": "^/(values|secrets|params|connection)(/|$)"},
    });
    let skip = json!({
        "description": "Rules that the driver is not held to.",
        "type": "array",
        "items": closed("A rule.", &["rule", "why"], json!({
            "rule": text("Id of the rule."),
            "why": text("Why it does not apply."),
        })),
    });
    let case = json!({
        "name": {"description": "A name of its own.", "type": "string", "pattern": NAME},
        "type": {"description": "Resource type; the first that the driver names when left out.", "type": "string", "pattern": TYPE},
        "class": {"description": "Resource class.", "type": "string", "pattern": CLASS},
        "inputs": closed("What the resource is made from.", &[], parts()),
        "update": closed("A merge patch of the inputs that is made in place.", &[], parts()),
        "replace": closed("A merge patch of the inputs that replaces.", &[], parts()),
        "rotate": closed("Another connection that reaches the same system.", &["connection"], json!({
            "connection": {"description": "A merge patch of the connection.", "type": "object"},
        })),
        "invalid": {
            "description": "Merge patches of the inputs that the driver has to refuse.",
            "type": "array",
            "items": closed("One of them.", &["at"], refused),
        },
        "skip": skip.clone(),
    });
    let cases = json!({
        "description": "Inputs that the driver takes, and what is to become of them.",
        "type": "array",
        "minItems": 1,
        "items": closed("A case.", &["name", "inputs"], case),
    });
    let description = "What `purlin driver check` tries a driver with.";
    let mut schema = closed(description, &["cases"], json!({"cases": cases, "skip": skip}));
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin driver cases".into();
    schema
}
