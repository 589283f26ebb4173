//! Schema of the test cases for a driver.

use serde_json::{Value, json};

use super::{CLASS, DIALECT, NAME, TYPE, closed, text};

pub(super) fn schema() -> Value {
    let object = |description: &str| json!({"description": description, "type": "object"});
    let parts = || {
        json!({
            "values": object("`inputs.values` of a definition."),
            "secrets": object("`inputs.secrets` of a definition."),
            "params": object("Params of a developer."),
            "connection": object("`inputs.connection` of a definition."),
            "account": text("`driver_account` of a definition."),
        })
    };
    let mut refused = parts();
    refused["inputs"] = closed("Inputs that replace those of the case.", &[], parts());
    refused["at"] = json!({
        "description": "JSON Pointers, all of which the driver must report.",
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "pattern": "^/(values|secrets|params|connection)(/|$)"},
    });
    let skip = json!({
        "description": "Rules that are not checked for the driver.",
        "type": "array",
        "items": closed("A rule.", &["rule", "why"], json!({
            "rule": text("Id of the rule."),
            "why": text("Why it does not apply."),
        })),
    });
    let case = json!({
        "name": {"description": "A unique name.", "type": "string", "pattern": NAME},
        "type": {"description": "Resource type. Default: the first type of the driver.", "type": "string", "pattern": TYPE},
        "class": {"description": "Resource class.", "type": "string", "pattern": CLASS},
        "inputs": closed("The inputs of the resource.", &[], parts()),
        "update": closed("A merge patch of the inputs that updates in place.", &[], parts()),
        "replace": closed("A merge patch of the inputs that replaces.", &[], parts()),
        "rotate": closed("Another connection that reaches the same system.", &["connection"], json!({
            "connection": {"description": "A merge patch of the connection.", "type": "object"},
        })),
        "invalid": {
            "description": "Merge patches of the inputs that the driver must reject.",
            "type": "array",
            "items": closed("A merge patch, and the rejected inputs.", &["at"], refused),
        },
        "skip": skip.clone(),
    });
    let cases = json!({
        "description": "Valid inputs, and changes to them.",
        "type": "array",
        "minItems": 1,
        "items": closed("A case.", &["name", "inputs"], case),
    });
    let description = "Test cases of `purlin driver check`.";
    let mut schema = closed(description, &["cases"], json!({"cases": cases, "skip": skip}));
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin driver cases".into();
    schema
}
