//! Inputs and outputs as JSON Schema.

use purlin_sdk::Json;
use purlin_sdk_net::connection_schema;
use serde_json::json;

use super::Connection;

/// What the driver takes.
pub(crate) fn inputs() -> Json {
    let name = |description: &str| json!({"type": ["string", "null"], "minLength": 1, "maxLength": 63, "description": description});
    let names = |description: &str| json!({"type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "description": description});
    let truth = |description: &str| json!({"type": ["boolean", "null"], "description": description});
    let limit = json!({
        "type": ["integer", "null"], "minimum": -1,
        "description": "Connections at the same time; -1, the default, for no limit."
    });
    let fixed = |description: &str| {
        let mut schema = name(description);
        schema["x-purlin-replaces"] = true.into();
        schema
    };
    let mut connection = connection_schema(Connection::PORT, "postgres");
    connection["properties"]["database"] = json!({
        "type": "string", "minLength": 1, "maxLength": 63, "default": "postgres",
        "description": "The database that the driver connects to for work on others."
    });
    let values = json!({
        "type": "object",
        "additionalProperties": false,
        "description": "Just one of `database`, `role` and `grant`.",
        "properties": {
            "database": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "description": "A database.",
                "x-purlin-holds-data": "every table of the database, and everything else in it",
                "properties": {
                    "name": name("Its name; one that no other resource has by default. A change renames it."),
                    "owner": name("The role that owns it; the driver's own where none is named."),
                    "encoding": fixed("Such as `UTF8`; the template's by default. A change replaces the database."),
                    "template": fixed("The database that it begins as a copy of. A change replaces the database."),
                    "connection_limit": limit,
                    "extensions": names("Extensions that it has. One that is taken from here stays in the database."),
                    "force_destroy": truth("Whether a database that is not empty is deleted with all that is in it; false by default."),
                    "force": truth("Whether a deletion ends the sessions of others; false by default."),
                }
            },
            "role": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "description": "A role, with `secrets.role_password` where it has a password. It is never a superuser.",
                "properties": {
                    "name": name("Its name; one that no other resource has by default. A change renames it."),
                    "login": truth("Whether it may log in; true by default."),
                    "createdb": truth("Whether it may make databases; false by default."),
                    "createrole": truth("Whether it may make roles; false by default."),
                    "connection_limit": limit,
                    "member_of": names("The roles that it is a member of; of no other."),
                    "valid_until": {
                        "type": ["string", "null"], "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
                        "description": "Until when its password is good, such as `2027-01-31T00:00:00Z`."
                    },
                    "database": name("The database that it is to use: for the outputs `name` and `url` only."),
                }
            },
            "grant": {
                "type": ["object", "null"],
                "required": ["role", "database", "privileges"],
                "additionalProperties": false,
                "description": "Privileges of a role.",
                "properties": {
                    "role": {"type": "string", "minLength": 1, "description": "Who gets them."},
                    "database": {"type": "string", "minLength": 1, "description": "The database they are on or in."},
                    "on": {
                        "enum": ["database", "schema", "all_tables", "all_sequences", "all_functions", null],
                        "description": "What they are on: the database, the schema, or everything of a kind that the schema has."
                    },
                    "schema": name("The schema; `public` by default."),
                    "privileges": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "Such as `CONNECT`, `USAGE`, `SELECT`."},
                    "future_of": names("Roles: what they make in the schema from now on is granted, too."),
                }
            }
        }
    });
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": connection,
            "values": values,
            "secrets": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "role_password": {"type": ["string", "null"], "description": "The password of the role that is made. The server gets a SCRAM verifier of it, not the password."},
                }
            }
        }
    })
}

/// What the driver gives.
pub(crate) fn outputs() -> Json {
    json!({
        "type": "object",
        "required": ["host", "port"],
        "properties": {
            "host": {"type": "string", "description": "The server's name or address."},
            "port": {"type": "integer", "description": "The server's port."},
            "name": {"type": "string", "description": "The database."},
            "username": {"type": "string", "description": "The role."},
            "password": {"type": "string", "writeOnly": true, "description": "The role's password."},
            "url": {"type": "string", "writeOnly": true, "description": "How the role connects, as `libpq` reads it."},
            "password_is": {"enum": ["as given", "changed", "not shown"], "description": "Whether the password that the server keeps is the one that was given; servers show that to superusers only."},
        },
        "additionalProperties": false,
    })
}
