//! The driver's inputs (how to reach the cluster, the manifests, and how long to wait) and its
//! outputs.
//!
//! This module knows the shape of inputs and nothing about any cluster.

use std::time::Duration;

use purlin_sdk::{Failure, Input, Inputs, Json, Object, Outputs, Raw};
use serde::Serialize;
use serde_json::{Map, json};

use crate::object::{CONTAINERS, VOLUMES};

/// The default time to wait for readiness, and for deletion.
const PATIENCE: &str = "25s";
/// A duration.
const TIME: &str = "^[0-9]{1,6}(ms|s|m|h)$";

/// All inputs.
#[derive(Inputs, Serialize)]
pub struct KubernetesInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

#[derive(Input, Serialize)]
pub(crate) struct Values {
    /// Namespace of objects that name none.
    #[input(default = "default")]
    pub(crate) namespace: String,
    /// Who owns what is applied. Under a new name the old one lets go.
    #[input(default = "purlin")]
    pub(crate) field_manager: String,
    /// The object. Either this or `manifests` is required.
    #[schemars(extend("required" = PARTS, "properties" = parts(), "allOf" = data()))]
    manifest: Option<Object>,
    /// Objects that are one resource.
    #[schemars(extend("items" = {
        "type": "object", "required": PARTS, "properties": parts(), "allOf": data(),
    }))]
    manifests: Option<Vec<Object>>,
    /// What counts as done.
    #[input(default)]
    pub(crate) wait: Wait,
    /// Whether objects that left `manifests` are deleted. Else they stay, and are nobody's from then on.
    #[input(default = true)]
    pub(crate) prune: bool,
    /// Whether objects that hold data are pruned, too.
    #[input(default)]
    pub(crate) force_destroy: bool,
    /// Whether fields are taken from other managers.
    #[input(default)]
    pub(crate) force_conflicts: bool,
    /// How objects are deleted.
    #[input(default)]
    pub(crate) delete: Deletion,
    /// Outputs by JSON Pointers into the live object. With `manifests` the first part of a pointer is the object's
    /// number, from 0. Of a Secret, `/data/…` is given as text, and is always secret.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": "^/"}))]
    pub(crate) outputs: Map<String, Json>,
    /// The same for secret outputs.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": "^/"}))]
    pub(crate) secret_outputs: Map<String, Json>,
}

/// The members of every manifest.
const PARTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schemas of the members of every manifest.
fn parts() -> Json {
    json!({
        "apiVersion": {"type": "string", "description": "Such as `v1` or `apps/v1`."},
        "kind": {"type": "string", "description": "Such as `ConfigMap`."},
        "metadata": {
            "type": "object",
            "required": ["name"],
            "description": "Its names, labels and annotations.",
            "properties": {
                "name": {"type": "string", "description": "Its name."},
                "namespace": {
                    "type": ["string", "null"],
                    "description": "Its namespace; `values.namespace` by default.",
                },
            },
        },
    })
}

/// The kinds of objects that hold data.
fn data() -> Json {
    let holds = |kinds: &[&str], what: &str| {
        json!({
            "if": {"properties": {"kind": {"enum": kinds}}, "required": ["kind"]},
            "then": {"x-purlin-holds-data": what},
        })
    };
    json!([
        holds(&VOLUMES, "what is on the volume, unless its class keeps it"),
        holds(&CONTAINERS, "every object in it, volumes among them"),
    ])
}

/// The API server, and who asks: a `token`, or a `username` with its `password`.
#[derive(Input, Serialize)]
pub(crate) struct Connection {
    /// URL of the API server, without `/` at its end.
    #[input(replaces, reaches = "http", format = "uri")]
    pub(crate) server: String,
    /// Token of a user or a service account. It can be rotated at any time.
    #[input(secret)]
    pub(crate) token: Option<String>,
    /// A user.
    #[input(secret)]
    pub(crate) username: Option<String>,
    /// The user's password.
    #[input(secret)]
    pub(crate) password: Option<String>,
}

/// When a resource is done.
#[derive(Clone, Copy, Debug, Default, Input, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WaitFor {
    /// The object does what it is for.
    #[default]
    Ready,
    /// The API server has it.
    Exists,
    /// Nothing is looked at after it was applied.
    None,
}

#[derive(Input, Serialize)]
pub(crate) struct Wait {
    /// What is waited for: that each object is ready, or that the API server has it (`exists`), or nothing.
    #[serde(rename = "for")]
    #[input(default)]
    pub(crate) until: WaitFor,
    /// How long; never longer than the call may take (`limits.time`).
    #[input(default = PATIENCE.to_owned(), pattern = TIME)]
    timeout: String,
}

impl Default for Wait {
    fn default() -> Self {
        Self { until: WaitFor::default(), timeout: PATIENCE.to_owned() }
    }
}

impl Wait {
    pub(crate) fn timeout(&self) -> Duration {
        duration(&self.timeout).unwrap_or_default()
    }
}

/// Whether dependents go before an object, after it, or stay.
#[derive(Clone, Copy, Default, Input, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Propagation {
    #[default]
    Foreground,
    Background,
    Orphan,
}

impl Propagation {
    /// The API's name for it.
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Self::Foreground => "Foreground",
            Self::Background => "Background",
            Self::Orphan => "Orphan",
        }
    }
}

#[derive(Input, Serialize)]
pub(crate) struct Deletion {
    /// Whether what an object owns goes before it (`foreground`), after it, or stays (`orphan`).
    #[input(default)]
    pub(crate) propagation: Propagation,
    /// How long to wait until an object is gone.
    #[input(default = PATIENCE.to_owned(), pattern = TIME)]
    timeout: String,
}

impl Default for Deletion {
    fn default() -> Self {
        Self { propagation: Propagation::default(), timeout: PATIENCE.to_owned() }
    }
}

impl Deletion {
    pub(crate) fn timeout(&self) -> Duration {
        duration(&self.timeout).unwrap_or_default()
    }
}

#[derive(Input, Serialize)]
pub(crate) struct Secrets {
    /// A part of `values.manifest` that is secret; it is laid over it.
    manifest: Option<Object>,
    /// The same for `values.manifests`, by `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    manifests: Option<Map<String, Json>>,
}

/// What others may read, besides what `outputs` and `secret_outputs` name.
#[derive(Default, Outputs)]
pub(crate) struct KubernetesOutputs {
    /// Of the first object, as are the kind, the name, the namespace and the uid.
    pub(crate) api_version: Option<String>,
    /// Its kind.
    pub(crate) kind: Option<String>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its namespace, if it is in one.
    pub(crate) namespace: Option<String>,
    /// Its uid.
    pub(crate) uid: Option<String>,
    /// All objects, each with the same five.
    pub(crate) objects: Vec<Json>,
    /// SHA-256 of what the cluster has in the places of the secret parts, where there are any.
    pub(crate) digest: Option<String>,
}

/// A manifest with its secret part, and its place in the inputs.
pub(crate) struct Given<'a> {
    pub(crate) pointer: String,
    pub(crate) manifest: &'a Object,
    pub(crate) secret: Option<&'a Object>,
}

impl KubernetesInputs {
    /// The faults that `check` reports, for inputs that it has not seen.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        crate::check::validate(&Raw::new(serde_json::to_value(self)?))
    }

    /// The manifests in the order of the inputs.
    pub(crate) fn manifests(&self) -> Vec<Given<'_>> {
        if let Some(manifest) = &self.values.manifest {
            let secret = self.secrets.manifest.as_ref();
            return vec![Given { pointer: "/values/manifest".to_owned(), manifest, secret }];
        }
        let secrets = self.secrets.manifests.as_ref();
        let given = self.values.manifests.iter().flatten().enumerate();
        let given = given.map(|(index, manifest)| Given {
            pointer: format!("/values/manifests/{index}"),
            manifest,
            secret: secrets.and_then(|secrets| {
                let (_, part) = secrets.iter().find(|(name, _)| is_called(manifest, name))?;
                part.as_object()
            }),
        });
        given.collect()
    }

    /// Whether the inputs give a single object.
    pub(crate) fn is_single(&self) -> bool {
        self.values.manifest.is_some()
    }

    /// Whether parts of manifests are secret.
    pub(crate) fn has_secret_parts(&self) -> bool {
        self.secrets.manifest.is_some() || self.secrets.manifests.is_some()
    }
}

/// Whether `KIND/NAME` or `KIND/NAMESPACE/NAME` refers to a manifest.
pub(crate) fn is_called(manifest: &Object, called: &str) -> bool {
    let text = |path: &str| manifest_text(manifest, path).unwrap_or_default();
    let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    called == format!("{kind}/{name}") || called == format!("{kind}/{namespace}/{name}")
}

fn manifest_text<'a>(manifest: &'a Object, path: &str) -> Option<&'a str> {
    let (first, rest) = path.trim_start_matches('/').split_once('/').map_or_else(
        || (path.trim_start_matches('/'), String::new()),
        |(first, rest)| (first, format!("/{rest}")),
    );
    manifest.get(first)?.pointer(&rest)?.as_str()
}

/// `500ms`, `25s`, `5m` or `1h`.
fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: u64 = number.parse().ok().filter(|number| *number <= 1_000_000)?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number * 60)),
        "h" => Some(Duration::from_secs(number * 3600)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Some(Duration::from_secs(300)));
        for wrong in ["", "5", "s", "5 s", "-1s", "99999999999999999999s", "5d", "é"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
