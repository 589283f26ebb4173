//! Schema of a definition in our own envelope.

use serde_json::{Value, json};

use super::{CLASS, DIALECT, DRIVER, bundle, closed, head, lifecycle, text};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Definition");
    let mut schema = closed(
        "How a resource type is provisioned, and when.",
        &["apiVersion", "kind", "metadata", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed("What names it.", &["id"], json!({"id": text("Id, unique among definitions.")})),
            "spec": spec(),
            "criteria": criteria(),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin definition".into();
    // One place for criteria is enough.
    schema["not"] = json!({
        "required": ["criteria"],
        "properties": {"spec": {"required": ["criteria"]}},
    });
    schema
}

fn spec() -> Value {
    closed(
        "The recipe, and when it is used.",
        &["type", "driver"],
        json!({
            "type": {
                "description": "Resource type, or a pattern with `*`.",
                "type": "string",
                "pattern": "^[A-Za-z0-9*][A-Za-z0-9_/*-]*$",
            },
            "driver": {
                "description": "Driver `ORG/NAME`, with `@RANGE` behind it for its versions.",
                "type": "string",
                "pattern": format!("^{DRIVER}(@.+)?$"),
            },
            "driver_account": text("Account that the driver works with."),
            "inputs": inputs(),
            "provision": {
                "description": "Resources that are added whenever this definition is used, by descriptor.",
                "type": "object",
                "additionalProperties": provision(),
            },
            "criteria": criteria(),
            "lifecycle": lifecycle::of_definition(),
            "requires": bundle::requirements("The bundles that each of its resources needs.", false),
        }),
    )
}

pub(super) fn inputs() -> Value {
    let mut inputs = closed(
        "What the driver gets.",
        &[],
        json!({
            "values": {"description": "Inputs that may be seen.", "type": "object"},
            "secrets": {"description": "Inputs that may not be seen.", "type": "object"},
            "secret_refs": {
                "description": "Secrets by reference: leaves `{store, ref, version}` or `{value}`.",
                "type": "object",
            },
            "connection": {
                "description": "How the driver reaches the system: server, credentials, CA. Leaves `{store, ref, version}` are secrets of a store.",
                "type": "object",
            },
        }),
    );
    inputs["not"] = json!({"required": ["secrets", "secret_refs"]});
    inputs
}

fn provision() -> Value {
    let mut provision = closed(
        "How the added resource depends.",
        &[],
        json!({
            "is_dependent": {"description": "It depends on its co-provisioner.", "type": "boolean"},
            "match_dependents": {
                "description": "Whatever depends on the co-provisioner depends on it too.",
                "type": "boolean",
            },
            "params": {"description": "Its params.", "type": "object"},
        }),
    );
    provision["type"] = json!("object");
    provision
}

fn criteria() -> Value {
    let criterion = closed(
        "Fits when each field that it has equals the context.",
        &[],
        json!({
            "env_type": text("Type of the environment; weight 1."),
            "app_id": text("Application; weight 2."),
            "env_id": text("Environment; weight 4."),
            "res_id": text("Id of the resource; weight 8."),
            "class": {"description": "Class of the resource; `default` when left out.", "type": "string", "pattern": CLASS},
        }),
    );
    json!({
        "description": "When the definition is used; never without a criterion.",
        "oneOf": [{"type": "array", "items": criterion.clone()}, criterion],
    })
}
