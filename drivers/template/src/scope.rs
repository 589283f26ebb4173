//! The data that templates see, and which of it is secret.

use purlin_go_template::SecretMask;
use purlin_sdk::{Failure, Inputs, Json, Object};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::inputs::TemplateInputs;
use crate::workload;

/// The result of a template, and its secret places as pointers; `""` means all of it.
#[derive(Clone, Default)]
pub(crate) struct Made {
    pub(crate) json: Json,
    pub(crate) secret: Vec<String>,
}

/// The data of templates, which grows with each result.
pub(crate) struct Scope {
    data: Object,
    /// Secret places in the inputs.
    given: Vec<String>,
    /// Secret places in results.
    made: Vec<String>,
    cookie: Made,
}

/// The stored form of a cookie.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StoredCookie {
    cookie: Json,
    /// Its secret places.
    #[serde(rename = "$sensitive")]
    sensitive: Vec<String>,
}

/// Whether a place is another one, or is inside it.
pub(crate) fn within(place: &str, whole: &str) -> bool {
    place.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The cookie of the last call.
///
/// # Errors
/// If it is not JSON.
pub(crate) fn read_cookie(bytes: &[u8], inputs: &Inputs<TemplateInputs>) -> Result<Made, Failure> {
    let json: Json = serde_json::from_slice(bytes)?;
    if let Ok(StoredCookie { cookie, sensitive }) = StoredCookie::deserialize(&json) {
        return Ok(Made { json: cookie, secret: sensitive });
    }
    // Earlier versions did not record which parts are secret.
    let had_secrets = !inputs.secrets.rest.is_empty() || !inputs.sensitive.is_empty();
    Ok(Made { json, secret: if had_secrets { vec![String::new()] } else { Vec::new() } })
}

/// The ports of services have further names, which are secret together with theirs.
const PORTS: &str = "/params/spec/service/ports";

impl Scope {
    pub(crate) fn new(guresid: &str, inputs: &Inputs<TemplateInputs>, cookie: Made) -> Self {
        let TemplateInputs { values, secrets, params } = &inputs.given;
        let mut data = Object::new();
        data.insert("driver".to_owned(), json!({"values": values.rest, "secrets": secrets.rest}));
        data.insert("resource".to_owned(), Json::Object(workload::familiar(params.clone())));
        data.insert("cookie".to_owned(), cookie.json.clone());
        data.insert("id".to_owned(), guresid.into());
        data.insert("guresid".to_owned(), guresid.into());
        let given = inputs.sensitive.iter().filter_map(|place| {
            if within(place, PORTS) {
                return Some("/resource/spec/service/ports".to_owned());
            }
            match place.strip_prefix("/params") {
                Some(rest) => Some(format!("/resource{rest}")),
                // Templates are not data; their results are secret by place.
                None => (!within(place, "/values/templates")).then(|| format!("/driver{place}")),
            }
        });
        let (given, made) =
            (given.collect(), cookie.secret.iter().map(|place| format!("/cookie{place}")).collect());
        Self { data, given, made, cookie }
    }

    /// Adds the results of the templates of a name.
    pub(crate) fn add(&mut self, name: &str, made: Made) {
        if name == "cookie" {
            self.cookie = made;
            return;
        }
        self.made.extend(made.secret.iter().map(|place| format!("/{name}{place}")));
        let there = self.data.entry(name).or_insert(Json::Null);
        match (there, made.json) {
            (Json::Object(there), Json::Object(more)) => there.extend(more),
            (there, more) => *there = more,
        }
    }

    /// The data as one value, and its secret places; with the outputs also as `.outputs.values`,
    /// unless there is an output of this name.
    pub(crate) fn data(&self, with_values: bool) -> (Json, SecretMask) {
        let mut data = Json::Object(self.data.clone());
        let outputs = data.get_mut("outputs").and_then(Json::as_object_mut).filter(|_| with_values);
        let twice = match outputs {
            Some(outputs) if !outputs.contains_key("values") => {
                outputs.insert("values".to_owned(), Json::Object(outputs.clone()));
                true
            }
            _ => false,
        };
        let mut mask = SecretMask::default();
        mask.cover(&data, "/driver/secrets", &SecretMask::leaves(&data["driver"]["secrets"]));
        for place in &self.given {
            mask.cover(&data, place, &SecretMask::Given);
        }
        // Results of the template `secrets` are always secret.
        if let Some(secrets) = data.get("secrets") {
            mask.cover(&data, "/secrets", &SecretMask::leaves(secrets));
        }
        for place in &self.made {
            mask.cover(&data, place, &SecretMask::Made);
            if let Some(rest) = place.strip_prefix("/outputs").filter(|_| twice) {
                mask.cover(&data, &format!("/outputs/values{rest}"), &SecretMask::Made);
            }
        }
        (data, mask)
    }

    /// The cookie to leave, with its secret places.
    pub(crate) fn cookie(self) -> Option<impl Serialize> {
        let Made { json: cookie, secret: sensitive } = self.cookie;
        (!cookie.is_null()).then_some(StoredCookie { cookie, sensitive })
    }
}
