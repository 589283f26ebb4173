//! The JSON Schemas of inputs and outputs.

use purlin_sdk::Json;
use purlin_sdk_aws::connection_schema;
use serde_json::json;

fn text(description: &str) -> Json {
    json!({"type": ["string", "null"], "description": description})
}

/// The same, a change of which replaces the resource.
fn fixed(description: &str) -> Json {
    let mut schema = text(description);
    schema["x-purlin-replaces"] = true.into();
    schema
}

fn document(description: &str) -> Json {
    json!({"type": ["object", "string", "null"], "description": format!("{description}, as JSON or as a text with JSON.")})
}

fn tags() -> Json {
    json!({
        "type": ["object", "null"],
        "description": "Tags. Others than these are taken away.",
        "additionalProperties": {"type": ["string", "null"]},
    })
}

fn attached() -> Json {
    json!({
        "type": ["array", "null"],
        "description": "ARNs of the policies that are attached, all of them: others are detached. Left alone when left out.",
        "items": {"type": ["string", "null"]},
    })
}

/// An object with these properties and no others, or nothing.
fn object(description: &str, required: &[&str], properties: Json) -> Json {
    json!({
        "type": ["object", "null"],
        "description": description,
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

pub(crate) fn inputs() -> Json {
    let name = || fixed("Its name, `purlin-` and the resource's `guresid` when left out.");
    let path = || fixed("A path before the name, such as `/teams/blue/`; `/` when left out.");
    json!({
        "type": "object",
        "required": ["values", "connection"],
        "properties": {
            "connection": connection_schema(false),
            "values": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "policy": object("A policy that can be attached.", &["document"], json!({
                        "name": name(),
                        "document": document("The policy document"),
                        "path": path(),
                        "description": fixed("What it is for. A change replaces the policy."),
                        "tags": tags(),
                    })),
                    "role": object("A role.", &["assume_role_policy"], json!({
                        "name": name(),
                        "assume_role_policy": document("Who may take on the role: its trust policy"),
                        "path": path(),
                        "description": text("What it is for."),
                        "tags": tags(),
                        "max_session_duration": {"type": ["integer", "null"], "minimum": 3600, "maximum": 43200, "description": "Seconds that a session may last, 3600 when left out."},
                        "attached_policies": attached(),
                    })),
                    "user": object("A user.", &[], json!({
                        "name": name(),
                        "path": path(),
                        "tags": tags(),
                        "attached_policies": attached(),
                        "access_key": {"type": ["boolean", "null"], "description": "Whether it gets an access key, told in the secret outputs."},
                    })),
                    "role_policy": object("A policy that is part of a role.", &["role", "name", "document"], json!({
                        "role": fixed("The role's name."),
                        "name": fixed("Its name within the role."),
                        "document": document("The policy document"),
                    })),
                    "attachment": object("A policy attached to a role or a user.", &["policy_arn"], json!({
                        "role": fixed("The role's name."),
                        "user": fixed("Or the user's name."),
                        "policy_arn": fixed("The policy's ARN."),
                    })),
                },
            },
        },
    })
}

pub(crate) fn outputs() -> Json {
    json!({
        "type": "object",
        "properties": {
            "arn": {"type": "string", "description": "ARN of a policy, role or user."},
            "name": {"type": "string", "description": "Its name."},
            "id": {"type": "string", "description": "The id that AWS gave it, which no later one of that name has."},
            "role": {"type": "string", "description": "The role that a policy is part of, or is attached to."},
            "user": {"type": "string", "description": "The user that a policy is attached to."},
            "policy_arn": {"type": "string", "description": "ARN of the attached policy."},
            "access_key_id": {"type": "string", "writeOnly": true, "description": "Of a user with an access key."},
            "secret_access_key": {"type": "string", "writeOnly": true, "description": "Likewise."},
        },
    })
}
