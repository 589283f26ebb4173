//! Schema of a Score file: the rules of the published format, restated. Types of resources are
//! those of SPEC §2, and classes have lower case.

use serde_json::{Value, json};

use super::{CLASS_OF_RESOURCE, DIALECT, PARAMS_OF_RESOURCE, TYPE, closed};

const LABEL: &str = "^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$";
const ANNOTATION: &str = "^([a-z0-9][a-z0-9-]{0,61}[a-z0-9](\\.[a-z0-9][a-z0-9-]{0,61}[a-z0-9])*/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$";
const ID: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$";
const MEMORY: &str = "^(0\\.[0-9]+|[1-9][0-9]*(\\.[0-9]+)?)([KMGTPE]i?)?$";
const CPU: &str = "^[0-9]+(m|\\.[0-9]+)?$";

pub(super) fn schema() -> Value {
    let mut schema = workload(&["apiVersion", "metadata", "containers"]);
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Score file".into();
    schema["$defs"] = definitions();
    schema
}

/// A Score document with these required fields.
pub(super) fn workload(required: &[&str]) -> Value {
    let defs = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    closed(
        "A workload.",
        required,
        json!({
            "apiVersion": {"description": "Version of the format.", "const": "score.dev/v1b1"},
            "metadata": {
                "description": "Name, annotations, and other values for `${metadata.NAME}`.",
                "type": "object",
                "required": ["name"],
                "properties": {"name": label("Name of the workload."), "annotations": defs("annotations")},
            },
            "service": closed("The ports of the workload.", &[], json!({"ports": named("Ports by name.", defs("servicePort"))})),
            "containers": {
                "description": "Containers by name.",
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": LABEL},
                "additionalProperties": defs("container"),
            },
            "resources": named("Required resources, by name.", defs("resource")),
        }),
    )
}

fn label(description: &str) -> Value {
    json!({"description": description, "type": "string", "pattern": LABEL})
}

fn named(description: &str, item: Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "propertyNames": {"pattern": LABEL},
        "additionalProperties": item,
    })
}

/// The parts of a workload.
pub(super) fn definitions() -> Value {
    json!({
        "annotations": {
            "description": "Remarks for other tools.",
            "type": "object",
            "propertyNames": {"pattern": ANNOTATION, "maxLength": 316},
            "additionalProperties": {"type": "string"},
        },
        "portNumber": {"type": "integer", "minimum": 1, "maximum": 65535},
        "servicePort": closed("A port of the workload.", &["port"], json!({
            "port": {"description": "Port that others use.", "$ref": "#/$defs/portNumber"},
            "protocol": {"description": "Default: TCP.", "enum": ["TCP", "UDP"]},
            "targetPort": {"description": "Port of the container. Default: `port`.", "$ref": "#/$defs/portNumber"},
        })),
        "resource": resource(),
        "container": container(),
        "amounts": closed("Memory and CPU.", &[], json!({
            "memory": {"description": "Bytes, or with a unit as in `1.5Gi`.", "type": "string", "pattern": MEMORY},
            "cpu": {"description": "CPUs, or thousandths as in `125m`.", "type": "string", "pattern": CPU},
        })),
        "file": file(),
        "volume": closed("A volume that is mounted.", &["source"], json!({
            "source": {"description": "The volume, usually `${resources.NAME}`.", "type": "string"},
            "path": {"description": "Path within the volume.", "type": "string"},
            "target": {"description": "Mount path. Only in lists.", "deprecated": true, "type": "string"},
            "readOnly": {"description": "Whether it is read-only.", "type": "boolean"},
        })),
        "probe": probe(),
    })
}

fn resource() -> Value {
    let metadata = json!({
        "description": "Remarks about the resource.",
        "type": "object",
        "properties": {"annotations": {"$ref": "#/$defs/annotations"}},
    });
    closed(
        "A resource that the workload needs.",
        &["type"],
        json!({
            "type": {"description": "Resource type.", "type": "string", "pattern": TYPE},
            "class": label(CLASS_OF_RESOURCE),
            "id": {
                "description": "Id under which workloads share the resource.",
                "type": "string",
                "pattern": ID,
                "minLength": 2,
                "maxLength": 63,
            },
            "metadata": metadata,
            "params": {"description": PARAMS_OF_RESOURCE, "type": "object"},
        }),
    )
}

fn container() -> Value {
    let words =
        |description: &str| json!({"description": description, "type": "array", "items": {"type": "string"}});
    let before = closed(
        "The state that this container must reach before the other one starts.",
        &["ready"],
        json!({"ready": {"description": "State of this container.", "enum": ["started", "healthy", "complete"]}}),
    );
    let amounts = |description: &str| json!({"description": description, "$ref": "#/$defs/amounts"});
    let probe = |description: &str| json!({"description": description, "$ref": "#/$defs/probe"});
    closed(
        "A container.",
        &["image"],
        json!({
            "image": {"description": "Image with its tag.", "type": "string", "minLength": 1},
            "command": words("Program, instead of the image's own."),
            "args": words("Arguments, instead of the image's own."),
            "variables": {
                "description": "Environment variables; placeholders are filled in.",
                "type": "object",
                "propertyNames": {"pattern": "^[^=]+$"},
                "additionalProperties": {"type": "string"},
            },
            "files": targets("Files by target path.", "file"),
            "volumes": targets("Volumes by target path.", "volume"),
            "before": named("Containers that start after this one.", before),
            "resources": closed("Memory and CPU of the container.", &[], json!({
                "limits": amounts("Upper limits."),
                "requests": amounts("Guaranteed amounts."),
            })),
            "livenessProbe": probe("Checks whether the container is alive."),
            "readinessProbe": probe("Checks whether the container is ready."),
        }),
    )
}

/// A map by target path, or the older list.
fn targets(description: &str, item: &str) -> Value {
    let item = json!({"$ref": format!("#/$defs/{item}")});
    json!({
        "description": description,
        "oneOf": [
            {
                "type": "object",
                "additionalProperties": {"allOf": [{"properties": {"target": false}}, item.clone()]},
            },
            {"type": "array", "deprecated": true, "items": item},
        ],
    })
}

fn file() -> Value {
    let mut file = closed(
        "A file that is mounted.",
        &[],
        json!({
            "target": {
                "description": "Mount path. Only in lists.",
                "deprecated": true,
                "type": "string",
                "minLength": 1,
            },
            "mode": {"description": "Octal mode, such as \"0600\".", "type": "string", "pattern": "^0?[0-7]{3}$"},
            "source": {"description": "Path of a file with the content.", "type": "string", "minLength": 1},
            "content": {"description": "The content; placeholders are filled in.", "type": "string"},
            "binaryContent": {"description": "The content in base64.", "type": "string"},
            "noExpand": {"description": "Whether placeholders are left unchanged.", "type": "boolean"},
        }),
    );
    file["oneOf"] = json!([
        {"required": ["content"]},
        {"required": ["binaryContent"]},
        {"required": ["source"]},
    ]);
    file
}

fn probe() -> Value {
    let header = closed(
        "A header.",
        &["name", "value"],
        json!({
            "name": {"description": "Its name.", "type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
            "value": {"description": "Its value.", "type": "string", "minLength": 1},
        }),
    );
    let http = closed(
        "An HTTP request that must succeed.",
        &["port", "path"],
        json!({
            "host": {"description": "Host of the request.", "type": "string", "minLength": 1},
            "scheme": {"description": "Default: HTTP.", "enum": ["HTTP", "HTTPS"]},
            "path": {"description": "Path of the request.", "type": "string"},
            "port": {"description": "Port of the request.", "$ref": "#/$defs/portNumber"},
            "httpHeaders": {"description": "Headers of the request.", "type": "array", "items": header},
        }),
    );
    let exec = closed(
        "A command that must succeed.",
        &["command"],
        json!({"command": {
            "description": "Program and arguments.",
            "type": "array",
            "items": {"type": "string"},
        }}),
    );
    let mut probe = closed("A probe.", &[], json!({"httpGet": http, "exec": exec}));
    probe["anyOf"] = json!([{"required": ["httpGet"]}, {"required": ["exec"]}]);
    probe
}
