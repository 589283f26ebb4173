//! Schema of a resource type.

use serde_json::{Value, json};

use super::{DIALECT, TYPE, closed, head, text};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("ResourceType");
    let metadata = json!({
        "id": text("A display id."),
        "name": text("A display name."),
        "description": text("A description in one sentence."),
    });
    let manifest = closed(
        "A kind of manifest, whatever its version.",
        &["group", "kind"],
        json!({
            "group": {"description": "Group, without a version; empty for the core group.", "type": "string", "pattern": "^[^/]*$"},
            "kind": text("Kind."),
        }),
    );
    let spec = json!({
        "type": {"description": "The type.", "type": "string", "pattern": TYPE},
        "manifest": {
            "description": "The kinds of manifests that are resources of this type.",
            "oneOf": [manifest.clone(), {"type": "array", "items": manifest}],
        },
        "params": nested("JSON Schema of the params. A field that refers to another resource has `x-reference: {type, output}` or `{type, build}`; `x-reference: false` makes it a value. `dependsOn` with `x-reference: {}` is a list of dependencies."),
        "outputs": nested("JSON Schema of the outputs."),
    });
    let mut schema = closed(
        "Schemas of a resource type.",
        &["apiVersion", "kind", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed("The identity of the document.", &[], metadata),
            "spec": closed("The type and its schemas.", &["type"], spec),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin resource type".into();
    schema
}

fn nested(description: &str) -> Value {
    json!({"description": description, "type": "object", "$ref": DIALECT})
}
