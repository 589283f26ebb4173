//! The driver's inputs (how to reach the cluster, the manifests, and what to wait for) and its
//! outputs.
//!
//! This module knows the shape of inputs and nothing about any cluster.

use purlin_sdk::{Failure, Input, Inputs, Json, Object, Outputs, Raw};
use serde::Serialize;
use serde_json::{Map, json};

use crate::object::{CONTAINERS, VOLUMES};

/// The inputs.
#[derive(Inputs, Serialize)]
pub struct KubernetesInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

#[derive(Input, Serialize)]
pub(crate) struct Values {
    /// The namespace of objects that do not name one.
    #[input(default = "default")]
    pub(crate) namespace: String,
    /// The field manager that owns the applied fields. If it changes, the old one releases them.
    #[input(default = "purlin")]
    pub(crate) field_manager: String,
    /// The object. Either this or `manifests` is required.
    #[schemars(extend("required" = PARTS, "properties" = parts(), "allOf" = data()))]
    manifest: Option<Object>,
    /// Several objects that form one resource.
    #[schemars(extend("items" = {
        "type": "object", "required": PARTS, "properties": parts(), "allOf": data(),
    }))]
    manifests: Option<Vec<Object>>,
    /// When the resource counts as done.
    #[input(default)]
    pub(crate) wait: Wait,
    /// Whether objects that are removed from `manifests` are deleted. Otherwise they stay, without
    /// being managed.
    #[input(default = true)]
    pub(crate) prune: bool,
    /// Whether objects that hold data are deleted when they are removed from `manifests`.
    #[input(default)]
    pub(crate) force_destroy: bool,
    /// Whether to take over fields from other managers.
    #[input(default)]
    pub(crate) force_conflicts: bool,
    /// How to delete objects.
    #[input(default)]
    pub(crate) delete: Deletion,
    /// Outputs, as JSON Pointers into the live object. With `manifests`, the first part of a
    /// pointer is the number of the object, counted from 0. `/data/…` of a Secret is decoded to
    /// text, and is always secret.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": "^/"}))]
    pub(crate) outputs: Map<String, Json>,
    /// Secret outputs, in the same way.
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
        holds(&VOLUMES, "the data on the volume, unless its class keeps it"),
        holds(&CONTAINERS, "every object in it, volumes among them"),
    ])
}

/// The API server, and the credentials for it: a `token`, or a `username` with a `password`.
#[derive(Input, Serialize)]
pub(crate) struct Connection {
    /// The URL of the API server, without a trailing `/`.
    #[input(replaces, reaches = "http", format = "uri")]
    pub(crate) server: String,
    /// The token of a user or a service account. It can be rotated at any time.
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
    /// The object is ready.
    #[default]
    Ready,
    /// The object exists in the API server.
    Exists,
    /// Applying it is enough.
    None,
}

#[derive(Default, Input, Serialize)]
pub(crate) struct Wait {
    /// What to wait for: that each object is ready, that it exists in the API server (`exists`), or
    /// nothing. A run waits for a resource until `limits.pending` of the driver.
    #[serde(rename = "for")]
    #[input(default)]
    pub(crate) until: WaitFor,
}

/// Whether dependents are deleted before an object, deleted after it, or kept.
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

#[derive(Default, Input, Serialize)]
pub(crate) struct Deletion {
    /// Whether an object's dependents are deleted before it (`foreground`), deleted after it, or
    /// kept (`orphan`).
    #[input(default)]
    pub(crate) propagation: Propagation,
}

#[derive(Input, Serialize)]
pub(crate) struct Secrets {
    /// The secret part of `values.manifest`, which is merged into it.
    manifest: Option<Object>,
    /// The secret parts of `values.manifests`, by `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    manifests: Option<Map<String, Json>>,
}

/// The outputs, in addition to those in `outputs` and `secret_outputs`.
#[derive(Default, Outputs)]
#[output(open)]
pub(crate) struct KubernetesOutputs {
    /// The API version of the first object. The kind, name, namespace and uid are also those of the
    /// first object.
    pub(crate) api_version: Option<String>,
    /// The kind.
    pub(crate) kind: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The namespace, if the object is in one.
    pub(crate) namespace: Option<String>,
    /// The uid.
    pub(crate) uid: Option<String>,
    /// All objects, each with the same five fields.
    pub(crate) objects: Vec<Json>,
    /// The SHA-256 digest of the live values of the secret parts, if there are any.
    pub(crate) digest: Option<String>,
}

/// A manifest with its secret part, and its place in the inputs.
pub(crate) struct SplitManifest<'a> {
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
    pub(crate) fn manifests(&self) -> Vec<SplitManifest<'_>> {
        if let Some(manifest) = &self.values.manifest {
            let secret = self.secrets.manifest.as_ref();
            return vec![SplitManifest { pointer: "/values/manifest".to_owned(), manifest, secret }];
        }
        let secrets = self.secrets.manifests.as_ref();
        let given = self.values.manifests.iter().flatten().enumerate();
        let given = given.map(|(index, manifest)| SplitManifest {
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
