//! Schemas of bundles and of requirements.

use serde_json::{Value, json};

use super::{DIALECT, DRIVER, closed, definition, head, lifecycle, text};

/// As for container images: `HOST:PORT/NAME:TAG@DIGEST`.
const REFERENCE: &str = "^[A-Za-z0-9][A-Za-z0-9_.+-]*(:[0-9]+)?(/[A-Za-z0-9][A-Za-z0-9_.+-]*)*(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?(@.+)?$";

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Bundle");
    let name = json!({
        "description": "The repository of the bundle, such as `ORG/NAME`.",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9_.+-]*(:[0-9]+(?=/))?(/[A-Za-z0-9][A-Za-z0-9_.+-]*)*$",
    });
    let version = json!({
        "description": "A version with three numbers.",
        "type": "string",
        "pattern": "^v?(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-+].+)?$",
    });
    let mut schema = closed(
        "A recipe with a name, a version and requirements.",
        &["apiVersion", "kind", "metadata", "spec"],
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": closed(
                "The identity of the document.",
                &["name", "version"],
                json!({"name": name, "version": version, "description": words()}),
            ),
            "spec": spec(),
        }),
    );
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin Bundle".into();
    schema
}

fn spec() -> Value {
    let mut inputs = definition::inputs();
    if let Some(fields) = inputs.as_object_mut() {
        fields.shift_remove("not");
    }
    if let Some(properties) = inputs["properties"].as_object_mut() {
        properties.shift_remove("secret_refs");
    }
    closed(
        "The recipe and its requirements.",
        &[],
        json!({
            "driver": {
                "description": "Driver `ORG/NAME`, optionally with `@RANGE` for its versions. Without a driver, the outputs are the parameters.",
                "type": "string",
                "pattern": format!("^{DRIVER}(@.+)?$"),
            },
            "inputs": inputs,
            "parameters": declared("Parameters that users of the bundle can set.", false),
            "credentials": declared("Credentials for other systems. Always secret.", false),
            "outputs": declared("Outputs of the bundle.", false),
            "requires": requirements("The bundles that it requires.", true),
            "provides": closed(
                "The interface that it implements.",
                &["interface"],
                json!({"interface": closed("An interface.", &["id"], json!({"id": text("Its name.")}))}),
            ),
            "lifecycle": lifecycle::of_definition(),
        }),
    )
}

fn words() -> Value {
    json!({"description": "Its purpose.", "type": "string"})
}

/// Parameters, credentials or outputs. Keywords of JSON Schema are beside these fields. Those that
/// are asked for may have an `$id` in place of a name.
fn declared(description: &str, is_asked: bool) -> Value {
    let named = json!({"required": ["name"]});
    let identified = if is_asked { json!({"anyOf": [named, {"required": ["$id"]}]}) } else { named };
    let mut item = json!({
            "type": "object",
            "properties": {
                "name": text("Its name."),
                "$id": text("Its global name."),
                "description": words(),
                "required": {"description": "Whether a value is required.", "type": "boolean"},
                "sensitive": {"description": "Whether it is secret.", "type": "boolean"},
                "source": closed(
                    "The output of a requirement that is used if no value is set.",
                    &["output"],
                    json!({
                        "dependency": text("The name of the requirement."),
                        "output": text("The name of the output."),
                    }),
                ),
            },
    });
    if let (Some(item), Value::Object(identified)) = (item.as_object_mut(), identified) {
        item.extend(identified);
    }
    json!({"description": description, "type": "array", "items": item})
}

/// The requirements of a bundle or a deployment.
pub(super) fn requirements(description: &str, of_bundle: bool) -> Value {
    let reference =
        |description: &str| json!({"description": description, "type": "string", "pattern": REFERENCE});
    let mut asked = json!({
        "outputs": declared("Outputs that the bundle must have.", true),
        "parameters": declared("Parameters that the bundle must accept.", true),
        "credentials": declared("Credentials that the bundle must accept.", true),
    });
    let document = closed("The interface that the bundle must have.", &[], asked.clone());
    if let Some(fields) = asked.as_object_mut() {
        fields.insert("id".to_owned(), text("Name of the interface."));
        fields.insert("reference".to_owned(), reference("A bundle with the same interface."));
        fields.insert("document".to_owned(), document);
    }
    let mut interface = closed(
        "The interface that the bundle must have, in addition to the outputs that are used.",
        &[],
        asked,
    );
    let twice = ["document", "outputs", "parameters", "credentials"].map(|name| json!({"required": [name]}));
    interface["not"] = json!({"required": ["reference"], "anyOf": twice});
    let mut bundle = closed(
        "The required bundle.",
        &[],
        json!({
            "reference": reference("The bundle, such as `getporter/mysql:v1.0.0`."),
            "version": {"description": "Version range.", "type": "string"},
            "interface": interface,
        }),
    );
    bundle["anyOf"] = json!([{"required": ["reference"]}, {"required": ["interface"]}]);
    let sharing = json!({
        "description": "How the installation is shared.",
        "type": "object",
        "properties": {
            "mode": {"description": "`group` or `none`.", "enum": ["group", "none", true, false]},
            "group": closed("The group.", &[], json!({"name": {"description": "Its name.", "type": "string"}})),
        },
        "additionalProperties": false,
        "not": {
            "required": ["mode", "group"],
            "properties": {
                "mode": {"enum": ["none", false]},
                "group": {"required": ["name"]},
            },
        },
    });
    let mut properties = json!({
        "name": {"description": "The name of the requirement.", "type": "string", "pattern": "^[^/]*[^/\\s][^/]*$"},
        "bundle": {"description": "The bundle.", "oneOf": [reference("The bundle."), bundle]},
        "parameters": {"description": "Values of its parameters.", "type": "object"},
        "credentials": {"description": "Values of its credentials.", "type": "object"},
        "sharing": sharing,
    });
    if of_bundle {
        properties["outputs"] =
            json!({"description": "Outputs derived from its outputs: `${outputs.NAME}`.", "type": "object"});
    }
    json!({
        "description": description,
        "type": "array",
        "items": closed("A requirement.", &["name", "bundle"], properties),
    })
}
