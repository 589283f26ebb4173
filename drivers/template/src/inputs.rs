//! What the driver is given.

use std::fmt;

use purlin_sdk::{Json, Object};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;

/// Values, secrets and params, as templates see them. Templates are `values.templates`, or
/// `secrets.templates` for what is itself a secret.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct TemplateInputs {
    /// `.driver.values`
    pub values: Holder,
    /// `.driver.secrets`
    pub secrets: Holder,
    /// `.resource`
    pub params: Object,
}

impl TemplateInputs {
    /// Whether a template makes a cookie, which others may read at the next call.
    pub(crate) fn has_cookie(&self) -> bool {
        self.values.templates.cookie.is_some() || self.secrets.templates.cookie.is_some()
    }
}

/// A map that may hold templates.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The templates.
    #[serde(deserialize_with = "map")]
    pub templates: Templates,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Object,
}

/// The templates, each a text or a map whose leaves are templates.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Templates {
    /// Made first, and seen by all others as `.init`.
    pub init: Option<Json>,
    /// What others may read.
    pub outputs: Option<Json>,
    /// Outputs that are secret.
    pub secrets: Option<Json>,
    /// Manifests to deliver, by name.
    pub manifests: Option<Json>,
    /// Given back as `.cookie` at the next call.
    pub cookie: Option<Json>,
}

/// Templates have names: a list of them is none, though it could be read as one.
fn map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Templates, D::Error> {
    struct ByName;
    impl<'de> Visitor<'de> for ByName {
        type Value = Templates;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of templates")
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Templates, A::Error> {
            Templates::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_map(ByName)
}

impl Templates {
    /// Name and content, in the order in which they are rendered.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &Json)> {
        let all = [
            ("init", &self.init),
            ("outputs", &self.outputs),
            ("secrets", &self.secrets),
            ("manifests", &self.manifests),
            ("cookie", &self.cookie),
        ];
        all.into_iter().filter_map(|(name, template)| Some((name, template.as_ref()?)))
    }
}

/// JSON Schema of the inputs.
pub(crate) fn schema() -> Json {
    let template = json!({"type": ["string", "object", "array", "null"]});
    let templates = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "init": template, "outputs": template, "secrets": template, "cookie": template,
            "manifests": {
                "type": ["string", "object", "null"],
                "additionalProperties": {
                    "type": "object",
                    "required": ["location", "data"],
                    "properties": {"location": {"type": "string"}, "data": {"type": ["string", "object"]}},
                },
            },
        },
    });
    json!({
        "type": "object",
        "properties": {
            "values": {"type": "object", "properties": {"templates": templates}},
            "secrets": {"type": "object", "properties": {"templates": templates}},
        },
    })
}
