//! What the driver is given: how to reach the cluster, the manifests, and how patient to be.
//!
//! It knows the shape of inputs and nothing of any cluster.

use std::time::Duration;

use purlin_sdk::{Failure, Json, Object, Raw};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// Field manager where none is named.
pub(crate) const MANAGER: &str = "purlin";
/// Namespace of objects that name none.
pub(crate) const NAMESPACE: &str = "default";
/// How long to wait for readiness, and for deletion, where nothing is said.
pub(crate) const PATIENCE: &str = "25s";

/// All inputs.
#[derive(Deserialize, Serialize)]
pub struct KubernetesInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    #[serde(default)]
    pub(crate) secrets: Secrets,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    namespace: Option<String>,
    field_manager: Option<String>,
    manifest: Option<Object>,
    manifests: Option<Vec<Object>>,
    #[serde(default)]
    pub(crate) wait: Wait,
    #[serde(default = "yes")]
    pub(crate) prune: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) force_destroy: bool,
    #[serde(default)]
    pub(crate) force_conflicts: bool,
    #[serde(default)]
    pub(crate) delete: Deletion,
    #[serde(default)]
    pub(crate) outputs: Map<String, Json>,
    #[serde(default)]
    pub(crate) secret_outputs: Map<String, Json>,
}

fn yes() -> bool {
    true
}

/// Where the API server is, and who asks.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) server: String,
    pub(crate) token: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
}

impl Values {
    /// Namespace of objects that name none.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(NAMESPACE)
    }

    /// The manager that owns what is applied.
    pub(crate) fn manager(&self) -> &str {
        self.field_manager.as_deref().unwrap_or(MANAGER)
    }
}

/// What counts as done.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
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

#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Wait {
    #[serde(rename = "for")]
    pub(crate) until: WaitFor,
    timeout: Option<String>,
}

impl Wait {
    pub(crate) fn timeout(&self) -> Duration {
        patience(self.timeout.as_deref())
    }
}

/// Whether dependents go before an object, after it, or stay.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Propagation {
    #[default]
    Foreground,
    Background,
    Orphan,
}

impl Propagation {
    /// As the API calls it.
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Self::Foreground => "Foreground",
            Self::Background => "Background",
            Self::Orphan => "Orphan",
        }
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Deletion {
    pub(crate) propagation: Propagation,
    timeout: Option<String>,
}

impl Deletion {
    pub(crate) fn timeout(&self) -> Duration {
        patience(self.timeout.as_deref())
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Secrets {
    manifest: Option<Object>,
    manifests: Option<Map<String, Json>>,
}

/// A manifest with its secret part, and where it was given.
pub(crate) struct Given<'a> {
    pub(crate) pointer: String,
    pub(crate) manifest: &'a Object,
    pub(crate) secret: Option<&'a Object>,
}

impl KubernetesInputs {
    /// What `check` says, for inputs that it has not seen.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        crate::check::validate(&Raw::new(serde_json::to_value(self)?))
    }

    /// The manifests in the order in which they were given.
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

    /// Whether it is one object by itself.
    pub(crate) fn is_single(&self) -> bool {
        self.values.manifest.is_some()
    }

    /// Whether parts of manifests are secret.
    pub(crate) fn has_secret_parts(&self) -> bool {
        self.secrets.manifest.is_some() || self.secrets.manifests.is_some()
    }
}

/// Whether `KIND/NAME` or `KIND/NAMESPACE/NAME` means a manifest.
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

fn patience(text: Option<&str>) -> Duration {
    duration(text.unwrap_or(PATIENCE)).unwrap_or_default()
}

/// `500ms`, `25s`, `5m` or `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
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
