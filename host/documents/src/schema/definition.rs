//! Schema of a definition in our own envelope.

use purlin_model::Criterion;
use serde_json::{Value, json};

use super::{CLASS, DIALECT, DRIVER, bundle, closed, head, lifecycle, text};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Definition");
    let mut schema = closed(
        "How a resource type is provisioned, and in which contexts.",
        &["apiVersion", "kind", "metadata", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed("The identity of the document.", &["id"], json!({"id": text("Id, unique among definitions.")})),
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
        "The recipe and its criteria.",
        &["type", "driver"],
        json!({
            "type": {
                "description": "Resource type, or a pattern with `*`.",
                "type": "string",
                "pattern": "^[A-Za-z0-9*][A-Za-z0-9_/*-]*$",
            },
            "driver": {
                "description": "Driver `ORG/NAME`, optionally with `@RANGE` for its versions.",
                "type": "string",
                "pattern": format!("^{DRIVER}(@.+)?$"),
            },
            "driver_account": text("Account that the driver uses."),
            "inputs": inputs(),
            "provision": {
                "description": "Resources that this definition adds whenever it is used, by descriptor.",
                "type": "object",
                "additionalProperties": provision(),
            },
            "criteria": criteria(),
            "lifecycle": lifecycle::of_definition(),
            "requires": bundle::requirements("The bundles that each of its resources requires.", false),
        }),
    )
}

pub(super) fn inputs() -> Value {
    let mut inputs = closed(
        "Inputs of the driver.",
        &[],
        json!({
            "values": {"description": "Inputs that are not secret.", "type": "object"},
            "secrets": {"description": "Secret inputs.", "type": "object"},
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
        "The dependencies of the added resource.",
        &[],
        json!({
            "is_dependent": {"description": "Whether it depends on its co-provisioner.", "type": "boolean"},
            "match_dependents": {
                "description": "Whether resources that depend on the co-provisioner also depend on it.",
                "type": "boolean",
            },
            "params": {"description": "Its params.", "type": "object"},
        }),
    );
    provision["type"] = json!("object");
    provision
}

fn criteria() -> Value {
    let weighted = |description: &str, weight: u8| text(&format!("{description}; weight {weight}."));
    let criterion = closed(
        "Matches if every given field equals the context.",
        &[],
        json!({
            "env_type": weighted("Type of the environment", Criterion::ENV_TYPE_WEIGHT),
            "app_id": weighted("Application", Criterion::APP_ID_WEIGHT),
            "env_id": weighted("Environment", Criterion::ENV_ID_WEIGHT),
            "res_id": weighted("Id of the resource", Criterion::RES_ID_WEIGHT),
            "class": {"description": "Class of the resource. Default: `default`.", "type": "string", "pattern": CLASS},
        }),
    );
    json!({
        "description": "When the definition is used. Without a criterion, it is never used.",
        "oneOf": [{"type": "array", "items": criterion.clone()}, criterion],
    })
}
