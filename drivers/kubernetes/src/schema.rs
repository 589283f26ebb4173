//! What inputs and outputs look like, for people and editors.

use crate::object;
use purlin_sdk::Json;
use serde_json::json;

pub(crate) fn inputs() -> Json {
    let holds = |kinds: &[&str], what: &str| {
        json!({
            "if": {"properties": {"kind": {"enum": kinds}}, "required": ["kind"]},
            "then": {"x-purlin-holds-data": what},
        })
    };
    let manifest = json!({
        "type": "object",
        "allOf": [
            holds(&object::VOLUMES, "what is on the volume, unless its class keeps it"),
            holds(&object::CONTAINERS, "every object in it, volumes among them"),
        ],
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "namespace": {"type": ["string", "null"]}},
            },
        },
    });
    let pointers = json!({"type": "object", "additionalProperties": {"type": "string", "pattern": "^/"}});
    let time = |what: &str| json!({"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$", "default": "25s", "description": what});
    let described = |schema: &Json, what: &str| {
        let mut schema = schema.clone();
        schema["description"] = what.into();
        schema
    };
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": {
                "type": "object",
                "required": ["server"],
                "additionalProperties": false,
                "description": "The API server, and who asks: a `token`, or a `username` with its `password`.",
                "properties": {
                    "server": {"type": "string", "format": "uri", "x-purlin-reaches": "http", "x-purlin-replaces": true, "description": "URL of the API server. A change replaces the resource."},
                    "token": {"type": ["string", "null"], "writeOnly": true, "description": "Token of a user or a service account."},
                    "username": {"type": ["string", "null"], "writeOnly": true, "description": "A user."},
                    "password": {"type": ["string", "null"], "writeOnly": true, "description": "The user's password."},
                },
            },
            "values": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "namespace": {"type": ["string", "null"], "default": "default", "description": "Namespace of objects that name none."},
                    "field_manager": {"type": ["string", "null"], "default": "purlin", "description": "Who owns what is applied."},
                    "manifest": described(&manifest, "The object."),
                    "manifests": {"type": "array", "items": manifest, "description": "Objects that are one resource."},
                    "wait": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": {
                            "for": {"enum": ["ready", "exists", "none"], "default": "ready"},
                            "timeout": time("How long to wait, at most as long as the call may take."),
                        },
                    },
                    "prune": {"type": "boolean", "default": true, "description": "Whether objects that left the list are deleted."},
                    "force_destroy": {"type": "boolean", "default": false, "description": "Whether objects that hold data are pruned, too."},
                    "force_conflicts": {"type": "boolean", "default": false, "description": "Whether fields are taken from other managers."},
                    "delete": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": {
                            "propagation": {"enum": ["foreground", "background", "orphan"], "default": "foreground"},
                            "timeout": time("How long to wait until an object is gone."),
                        },
                    },
                    "outputs": described(&pointers, "Outputs by JSON pointers into the live object; in a list the first part of a pointer is the object's number."),
                    "secret_outputs": described(&pointers, "The same for secret outputs; the data of a Secret is decoded."),
                },
            },
            "secrets": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "manifest": {"type": ["object", "null"], "description": "Secret part of `values.manifest`, laid over it."},
                    "manifests": {"type": ["object", "null"], "description": "Secret parts of `values.manifests`, by `KIND/NAME`."},
                },
            },
        },
    })
}

pub(crate) fn outputs() -> Json {
    json!({
        "type": "object",
        "required": ["kind", "name", "objects"],
        "properties": {
            "api_version": {"type": "string"},
            "kind": {"type": "string", "description": "Of the first object, as are the name, the namespace and the uid."},
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "uid": {"type": "string"},
            "objects": {"type": "array", "description": "All objects: api_version, kind, namespace, name, uid."},
            "digest": {"type": "string", "description": "SHA-256 of what the cluster has of the secret parts, where there are any."},
        },
    })
}
