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
    /// Type of the environment.
    pub env_type: Option<Arc<str>>,
    /// Application.
    pub app_id: Option<Arc<str>>,
    /// Environment.
    pub env_id: Option<Arc<str>>,
    /// Id of the resource.
    pub res_id: Option<Arc<str>>,
    /// The class to which it applies, `default` by default.
    pub class: Class,
    /// Where it was written.
    pub location: Location,
}

impl Criterion {
    /// The weight of `env_type` (SPEC §3).
    pub const ENV_TYPE_WEIGHT: u8 = 1;
    /// The weight of `app_id`.
    pub const APP_ID_WEIGHT: u8 = 2;
    /// The weight of `env_id`.
    pub const ENV_ID_WEIGHT: u8 = 4;
    /// The weight of `res_id`.
    pub const RES_ID_WEIGHT: u8 = 8;

    /// The sum of the weights of its fields, 0 to 15.
    pub fn specificity(&self) -> u8 {
        let weights = [
            (&self.env_type, Self::ENV_TYPE_WEIGHT),
            (&self.app_id, Self::APP_ID_WEIGHT),
            (&self.env_id, Self::ENV_ID_WEIGHT),
            (&self.res_id, Self::RES_ID_WEIGHT),
        ];
        weights.into_iter().filter(|(field, _)| field.is_some()).map(|(_, weight)| weight).sum()
    }
}

/// In the notation of documents, such as `{env_type: production, class: large}`, without the default
/// class.
impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = Some(self.class.as_str()).filter(|class| *class != "default");
        let fields = [
            ("env_type", self.env_type.as_deref()),
            ("app_id", self.app_id.as_deref()),
            ("env_id", self.env_id.as_deref()),
            ("res_id", self.res_id.as_deref()),
            ("class", class),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
        write!(f, "{{{}}}", fields.collect::<Vec<_>>().join(", "))
    }
}

// The matching looks first for a criterion with the id of the resource.
const _: () = assert!(
    Criterion::RES_ID_WEIGHT
        > Criterion::ENV_TYPE_WEIGHT + Criterion::APP_ID_WEIGHT + Criterion::ENV_ID_WEIGHT
);

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
