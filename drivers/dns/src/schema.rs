//! The schemas of inputs and outputs.

use purlin_sdk::Json;
use serde_json::json;

pub(crate) fn inputs() -> Json {
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": {
                "type": "object",
                "required": ["url", "api_key"],
                "additionalProperties": false,
                "description": "The server, and the key of its API.",
                "properties": {
                    "url": {"type": "string", "x-purlin-reaches": "http", "x-purlin-replaces": true, "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://", "description": "Where the API is, such as `http://10.0.0.53:8081`. A change replaces the resource."},
                    "id": {"type": "string", "default": "localhost", "x-purlin-replaces": true, "description": "The server's id in its API. A change replaces the resource."},
                    "api_key": {"type": "string", "writeOnly": true, "description": "The key of the API."},
                },
            },
            "values": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "zone": {
                        "type": ["object", "null"],
                        "required": ["name"],
                        "additionalProperties": false,
                        "x-purlin-holds-data": "the zone, with its name servers, keys and metadata, and with `force_destroy` every record in it",
                        "properties": {
                            "name": {"type": "string", "x-purlin-replaces": true, "description": "Such as `example.org`. A change of it replaces."},
                            "kind": {"enum": ["Native", "Master", "Slave"], "default": "Native"},
                            "nameservers": {"type": ["array", "null"], "items": {"type": "string"}, "description": "Names of the servers that answer for it."},
                            "masters": {"type": "array", "items": {"type": "string"}, "description": "Addresses that a `Slave` is copied from."},
                            "soa_edit_api": {"type": ["string", "null"], "default": "DEFAULT", "description": "How the serial changes with the records."},
                            "force_destroy": {"type": "boolean", "default": false, "description": "Whether a zone that has records left is deleted with them."},
                            "delete_records": {"type": "boolean", "description": "The former name of `force_destroy`."},
                        },
                    },
                    "records": {
                        "type": ["object", "null"],
                        "required": ["zone", "name", "type", "content"],
                        "additionalProperties": false,
                        "properties": {
                            "zone": {"type": "string", "x-purlin-replaces": true, "description": "A change of it replaces."},
                            "name": {"type": "string", "x-purlin-replaces": true, "description": "In full or below the zone; `@` is the zone itself. A change of it replaces."},
                            "type": {"type": "string", "x-purlin-replaces": true, "pattern": "^[A-Z][A-Z0-9]*$", "description": "Such as `A`. A change of it replaces."},
                            "ttl": {"type": "integer", "minimum": 0, "maximum": i32::MAX, "default": 3600, "description": "Seconds that an answer may be kept."},
                            "content": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "One for each record; their order does not matter."},
                        },
                    },
                },
            },
        },
    })
}

pub(crate) fn outputs() -> Json {
    json!({
        "type": "object",
        "required": ["name", "zone"],
        "properties": {
            "name": {"type": "string", "description": "The name, with a dot at its end."},
            "fqdn": {"type": "string", "description": "The name, without a dot at its end."},
            "zone": {"type": "string", "description": "The zone, with a dot at its end."},
            "kind": {"type": "string", "description": "Of a zone."},
            "nameservers": {"type": "array", "items": {"type": "string"}, "description": "Of a zone: what answers for it."},
            "type": {"type": "string", "description": "Of records."},
            "ttl": {"type": "integer", "description": "Of records: seconds."},
            "content": {"type": "array", "items": {"type": "string"}, "description": "Of records."},
        },
        "additionalProperties": false,
    })
}
