//! JSON Schemas of each kind of document, for editors (SPEC §2).

mod bundle;
mod definition;
mod deployment;
mod driver_cases;
mod lifecycle;
mod lock;
mod manifest;
mod resource_type;
mod score;
mod workspace;

use serde_json::{Value, json};

/// The descriptions of fields that resources have in several formats.
const CLASS_OF_RESOURCE: &str = "Resource class. Default: `default`.";
const PARAMS_OF_RESOURCE: &str = "Params, which the definition reads as `${params.NAME}`.";

/// A kind of document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaKind {
    /// `kind: Definition`, in our own envelope.
    Definition,
    /// A Score file.
    Score,
    /// `kind: Deployment`.
    Deployment,
    /// A Deployment Set.
    DeploymentSet,
    /// `kind: ResourceType`.
    ResourceType,
    /// `kind: Workspace`, the file `purlin.yaml`.
    Workspace,
    /// `kind: Bundle`.
    Bundle,
    /// `kind: Lock`, the file `purlin.lock`.
    Lock,
    /// A managed resource.
    Manifest,
    /// The file `check.yaml` beside a driver.
    DriverCases,
}

impl SchemaKind {
    /// Every kind, with its name on the command line.
    pub const ALL: [(&'static str, Self); 10] = [
        ("definition", Self::Definition),
        ("score", Self::Score),
        ("deployment", Self::Deployment),
        ("deployment-set", Self::DeploymentSet),
        ("resource-type", Self::ResourceType),
        ("bundle", Self::Bundle),
        ("workspace", Self::Workspace),
        ("lock", Self::Lock),
        ("manifest", Self::Manifest),
        ("driver-cases", Self::DriverCases),
    ];

    /// The kind of that name, in any case and with or without dashes.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        Self::ALL.iter().find(|(known, _)| plain(known) == plain(name)).map(|(_, kind)| *kind)
    }
}

/// The JSON Schema (2020-12) of a kind of document. It says where unknown fields are errors.
pub fn schema(kind: SchemaKind) -> Value {
    match kind {
        SchemaKind::Definition => definition::schema(),
        SchemaKind::Score => score::schema(),
        SchemaKind::Deployment => deployment::schema(),
        SchemaKind::DeploymentSet => deployment::set_schema(),
        SchemaKind::ResourceType => resource_type::schema(),
        SchemaKind::Bundle => bundle::schema(),
        SchemaKind::Workspace => workspace::schema(),
        SchemaKind::Lock => lock::schema(),
        SchemaKind::Manifest => manifest::schema(),
        SchemaKind::DriverCases => driver_cases::schema(),
    }
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const TYPE: &str = "^[A-Za-z0-9][A-Za-z0-9_/-]*$";
const CLASS: &str = "^[a-z0-9][a-z0-9-]*$";
const DRIVER: &str = "[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*";
/// Names that become parts of ids.
const NAME: &str = "^[^\\s\\p{Cc}#<>'\"`()\\[\\]{}]+$";
/// Parts of the context.
const PART: &str = "^[^:/\\s\\p{Cc}]+$";

/// A map with these fields and no others.
fn closed(description: &str, required: &[&str], properties: Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Non-empty text.
fn text(description: &str) -> Value {
    json!({"description": description, "type": "string", "pattern": "\\S"})
}

fn head(kind: &str) -> (Value, Value) {
    (
        json!({"description": "Group and version.", "const": "purlin.dev/v1"}),
        json!({"description": "Kind of document.", "const": kind}),
    )
}

fn part(description: &str) -> Value {
    json!({"description": description, "type": "string", "pattern": PART})
}

fn namespace() -> Value {
    json!({
        "description": "Namespace. Default: the id of the environment. An empty namespace is global.",
        "type": "string",
        "pattern": "^[^:/\\s\\p{Cc}]*$",
    })
}

/// A map of declared resources. In formats that are not ours, empty fields are treated as omitted.
fn requests(description: &str, foreign: bool) -> Value {
    let kind = |kind: &str| if foreign { json!([kind, "null"]) } else { json!(kind) };
    json!({
        "description": description,
        "type": kind("object"),
        "propertyNames": {"pattern": NAME},
        "additionalProperties": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": {"description": "Resource type.", "type": "string", "pattern": TYPE},
                "class": {"description": CLASS_OF_RESOURCE, "type": kind("string"), "pattern": CLASS},
                "id": {"description": "Id under which deployments share the resource.", "type": kind("string"), "pattern": NAME},
                "params": {"description": PARAMS_OF_RESOURCE, "type": kind("object")},
            },
            "additionalProperties": false,
        },
    })
}

#[cfg(test)]
mod tests;
