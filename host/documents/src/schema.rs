//! JSON Schemas of each kind of document, for editors (SPEC §2).

use serde_json::Value;

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
}

impl SchemaKind {
    /// Every kind, with its name on the command line.
    pub const ALL: [(&'static str, Self); 6] = [
        ("definition", Self::Definition),
        ("score", Self::Score),
        ("deployment", Self::Deployment),
        ("deployment-set", Self::DeploymentSet),
        ("resource-type", Self::ResourceType),
        ("workspace", Self::Workspace),
    ];

    /// The kind of that name, in any case and with or without dashes.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        Self::ALL.iter().find(|(known, _)| plain(known) == plain(name)).map(|(_, kind)| *kind)
    }
}

/// The JSON Schema (2020-12) of a kind of document.
pub fn schema(kind: SchemaKind) -> Value {
    let _ = kind;
    Value::Bool(true)
}
