//! Schema of a resource type.

use serde_json::{Value, json};

use super::{DIALECT, TYPE, closed, head, text};

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("ResourceType");
    let metadata = json!({
        "id": text("An id for people."),
        "name": text("A name for people."),
        "description": text("What it is, in a sentence."),
    });
    let spec = json!({
        "type": {"description": "The type.", "type": "string", "pattern": TYPE},
        "params": nested("JSON Schema of what developers may ask for."),
        "outputs": nested("JSON Schema of the outputs."),
    });
    let mut schema = closed(
        "Schemas of a resource type.",
        &["apiVersion", "kind", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed("What names it.", &[], metadata),
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
