//! The driver's inputs.

use purlin_sdk::{Input, Inputs, Json, Object};

/// Values, secrets and params, as templates see them. Templates are `values.templates`, or
/// `secrets.templates` for what is itself a secret.
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

/// A map that may hold templates.
#[derive(Clone, Default, Input)]
pub struct Holder {
    /// The templates. Templates in `secrets` make secret outputs only.
    #[serde(default)]
    pub templates: Templates,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Object,
}

/// The templates, each a text or a map whose leaves are templates.
#[derive(Clone, Default, Input)]
pub struct Templates {
    /// Rendered first, and `.init` for all others.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub init: Option<Json>,
    /// The outputs, and `.outputs` for those after it. It has to render a map.
    #[schemars(extend("type" = ["string", "object", "array", "null"]))]
    pub outputs: Option<Json>,
    /// The secret outputs, and `.secrets` for those after it. It has to render a map.
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
    /// Up to 10 KiB, given back as `.cookie` at the next call.
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
