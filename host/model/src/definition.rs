//! How a resource type is provisioned, and when (SPEC §3 [D]).

use std::fmt;
use std::sync::Arc;

use crate::{Class, Location, Recipe, TypeName};

/// A definition: a recipe and the contexts to which it applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its id, unique among definitions.
    pub id: Arc<str>,
    /// The resource type that it provisions: a type, or a pattern with `*`.
    pub type_pattern: Arc<str>,
    /// The recipe.
    pub recipe: Arc<Recipe>,
    /// When it is used; none means never.
    pub criteria: Vec<Criterion>,
    /// Where it was written.
    pub location: Location,
}

impl Definition {
    /// Whether the type is a pattern. Patterns apply only if no exact type matches.
    pub fn is_pattern(&self) -> bool {
        self.type_pattern.contains('*')
    }
}

/// One row of matching criteria. It matches when each of its fields equals the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// Weight 1.
    pub env_type: Option<Arc<str>>,
    /// Weight 2.
    pub app_id: Option<Arc<str>>,
    /// Weight 4.
    pub env_id: Option<Arc<str>>,
    /// Weight 8.
    pub res_id: Option<Arc<str>>,
    /// The class to which it applies, `default` by default.
    pub class: Class,
    /// Where it was written.
    pub location: Location,
}

impl Criterion {
    /// The sum of the weights of its fields, 0 to 15. The matching relies on `res_id` weighing more
    /// than all other fields together.
    pub fn specificity(&self) -> u8 {
        u8::from(self.env_type.is_some())
            + 2 * u8::from(self.app_id.is_some())
            + 4 * u8::from(self.env_id.is_some())
            + 8 * u8::from(self.res_id.is_some())
    }
}

/// Schemas of a resource type (document kind `ResourceType`).
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceType {
    /// The type.
    pub type_name: TypeName,
    /// The kinds of manifests that are resources of this type (SPEC §7).
    pub manifests: Vec<ManifestKind>,
    /// JSON Schema of the developers' `params`.
    pub params: Option<serde_json::Value>,
    /// JSON Schema of the outputs.
    pub outputs: Option<serde_json::Value>,
    /// Where it was written.
    pub location: Location,
}

/// A kind of manifest, in any version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ManifestKind {
    /// The group of its `apiVersion`, empty for the core group.
    pub group: Arc<str>,
    /// Its `kind`.
    pub kind: Arc<str>,
}

impl fmt::Display for ManifestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.group {
            "" => write!(f, "{} of the core group", self.kind),
            group => write!(f, "{} of `{group}`", self.kind),
        }
    }
}
