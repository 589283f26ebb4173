//! Schemas of Deployments and Deployment Sets.

use serde_json::{Value, json};

use super::{DIALECT, bundle, closed, head, lifecycle, namespace, part, requests, score, text};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Deployment");
    let mut schema = closed(
        "The resources to deploy, and their context.",
        &["apiVersion", "kind", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed("The identity of the document.", &[], json!({"name": text("A display name.")})),
            "spec": spec(),
            "lifecycle": lifecycle::of_deployment(),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin Deployment".into();
    schema["$defs"] = score::definitions();
    // One place for lifecycle settings is enough.
    schema["not"] = json!({
        "required": ["lifecycle"],
        "properties": {"spec": {"required": ["lifecycle"]}},
    });
    schema
}

fn spec() -> Value {
    let environment = closed(
        "Environment with its type.",
        &["id"],
        json!({"id": part("Id, such as `dev`."), "type": part("Type, such as `development`.")}),
    );
    let file = closed(
        "A workload from a file.",
        &["score"],
        json!({"score": text("Path of a Score file, from the folder of this document.")}),
    );
    closed(
        "Context, workloads and shared resources.",
        &[],
        json!({
            "org": part("Organisation."),
            "app": part("Application."),
            "env": {"description": "Environment.", "oneOf": [part("Its id."), environment]},
            "namespace": namespace(),
            "values": {"description": "Values that `${values.NAME}` reads.", "type": "object"},
            "workloads": {
                "description": "Workloads: Score files, or Score documents written here.",
                "type": "array",
                "items": {
                    "type": "object",
                    "if": {"required": ["score"]},
                    "then": file,
                    "else": score::workload(&["metadata", "containers"]),
                },
            },
            "shared": requests("Resources that workloads share; the id is `shared.NAME`.", false),
            "requires": bundle::requirements("The bundles that it requires. An installation has the name of its requirement.", false),
            "lifecycle": lifecycle::of_deployment(),
        }),
    )
}

pub(super) fn set_schema() -> Value {
    // An unknown field that holds more may be a misplaced part of the document.
    let remark = json!({"type": ["string", "number", "boolean"]});
    json!({
        "$schema": DIALECT,
        "title": "Deployment Set",
        "description": "Modules and the resources that they share.",
        "type": "object",
        "required": ["modules"],
        "properties": {
            "modules": {
                "description": "Workloads by name.",
                "type": "object",
                "propertyNames": {"pattern": "^[^:\\s\\p{Cc}#<>'\"`()\\[\\]{}]+$", "not": {"pattern": "\\.externals\\."}},
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "profile": {"description": "Profile of the workload.", "type": ["string", "null"], "pattern": "\\S"},
                        "spec": {"description": "The containers and their settings.", "type": ["object", "null"]},
                        "externals": requests("Resources that only this workload uses.", true),
                    },
                    "additionalProperties": remark,
                },
            },
            "shared": requests("Resources that workloads share.", true),
        },
        "additionalProperties": remark,
    })
}
