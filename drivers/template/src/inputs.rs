//! The driver's inputs.

use purlin_sdk::{Input, Inputs, Json, Object};

/// The values, secrets and params that templates read. The templates are in `values.templates`, or
/// in `secrets.templates` if they are secret themselves.
#[derive(Clone, Default, Inputs)]
pub struct TemplateInputs {
    /// `.driver.values`
    pub values: Holder,
    /// `.driver.secrets`
    pub secrets: Holder,
    /// `.resource`
    pub params: Object,
}

impl TemplateInputs {
    /// Whether a template writes a cookie, which others may read in the next call.
    pub(crate) fn has_cookie(&self) -> bool {
        self.values.templates.cookie.is_some() || self.secrets.templates.cookie.is_some()
    }
}

/// A map that may contain templates.
#[derive(Clone, Default, Input)]
pub struct Holder {
    /// The templates. Those in `secrets` create only secret outputs.
    #[serde(default)]
    pub templates: Templates,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Object,
}

/// The templates, each a text or a map whose leaves are templates.
#[derive(Clone, Default, Input)]
pub struct Templates {
    /// Rendered first. The result is `.init` in all other templates.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub init: Option<Json>,
    /// The outputs, which must be a map. They are `.outputs` in the following templates.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub outputs: Option<Json>,
    /// The secret outputs, which must be a map. They are `.secrets` in the following templates.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub secrets: Option<Json>,
    /// Manifests to deliver, by name: a map of `{location, data}`.
    #[schemars(extend(
        "type" = ["string", "object", "null"],
        "additionalProperties" = {
            "type": "object",
            "required": ["location", "data"],
            "properties": {"location": {"type": "string"}, "data": {"type": ["string", "object"]}},
        },
    ))]
    pub manifests: Option<Json>,
    /// Up to 10 KiB, which the next call gets as `.cookie`.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub cookie: Option<Json>,
}

impl Templates {
    /// Names and contents, in rendering order.
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
