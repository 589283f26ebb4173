//! JSON Schemas of each kind of document, for editors (SPEC §2).

use serde_json::{Map, Value};
use strum::{IntoStaticStr, VariantArray};

use crate::declare::Kind;
use crate::{
    bundle, definition, deployment, deployment_set, driver_cases, lock, manifest, resource_type, score,
    workspace,
};

/// A kind of document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
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
    /// `kind: Bundle`.
    Bundle,
    /// `kind: Workspace`, the file `purlin.yaml`.
    Workspace,
    /// `kind: Lock`, the file `purlin.lock`.
    Lock,
    /// A managed resource.
    Manifest,
    /// The file `check.yaml` beside a driver.
    DriverCases,
}

impl SchemaKind {
    /// Every kind.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The kind of that name, in any case and with or without dashes.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        Self::ALL.iter().copied().find(|kind| plain(kind.name()) == plain(name))
    }
}

/// The JSON Schema (2020-12) of a kind of document. It says where unknown fields are errors.
pub fn schema(kind: SchemaKind) -> Value {
    let schema = match kind {
        SchemaKind::Definition => definition::Document::schema(),
        SchemaKind::Score => score::Document::schema(),
        SchemaKind::Deployment => deployment::Document::schema(),
        SchemaKind::DeploymentSet => deployment_set::Document::schema(),
        SchemaKind::ResourceType => resource_type::Document::schema(),
        SchemaKind::Bundle => bundle::Document::schema(),
        SchemaKind::Workspace => workspace::Document::schema(),
        SchemaKind::Lock => lock::Document::schema(),
        SchemaKind::Manifest => manifest::Document::schema(),
        SchemaKind::DriverCases => driver_cases::CasesFile::schema(),
    };
    let mut whole = Map::new();
    whole.insert("$schema".into(), DIALECT.into());
    if let Value::Object(mut schema) = schema {
        whole.extend(schema.shift_remove_entry("title"));
        whole.append(&mut schema);
    }
    whole.into()
}

pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

#[cfg(test)]
mod tests;
