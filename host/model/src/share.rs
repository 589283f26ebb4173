//! The additional record of an installation, with which others can use it (SPEC §6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{BundleReference, Declared, Path, Settings, Urn, Value};

/// The part of an installation that others may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationShare {
    /// Its namespace, empty for the global one.
    pub namespace: Arc<str>,
    /// The group that shares it; none if it may not be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Arc<str>>,
    /// Whether a person set the group, so that documents do not change it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The interface that its bundle claims to implement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provides: Option<Arc<str>>,
    /// The outputs that its bundle offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offered>,
    /// The digest of them, in hex.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub interface: Arc<str>,
    /// The outputs that its bundle makes from those of its requirements, if its driver gives the
    /// others: by name, a value in the syntax of definitions. They are computed when they are read,
    /// so that they follow their sources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promoted: BTreeMap<Arc<str>, serde_json::Value>,
    /// The installation of another environment that it represents. Then it is not an installation
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<InstallationUse>,
}

/// An output, a parameter or a credential, as others see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its name.
    pub name: Arc<str>,
    /// `$id`: its globally known name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// JSON Schema keywords for its values.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub schema: serde_json::Map<String, serde_json::Value>,
    /// `sensitive`: whether its value is secret.
    #[serde(default, rename = "sensitive", skip_serializing_if = "std::ops::Not::not")]
    pub is_sensitive: bool,
}

impl Offered {
    /// Whether both mean the same value: if both have a `$id`, it decides, else the name.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(one), Some(other)) => one == other,
            _ => self.name == other.name,
        }
    }
}

/// The needs of a user in an installation of another environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallationUse {
    /// The URN of the installation.
    pub installation: Urn,
    /// Whether a person named it: then neither its bundle nor its version is compared with the
    /// requirement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The repository of the bundle that the requirement names, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Arc<str>>,
    /// Whether an installation of another bundle fits, too, because of its interface.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_interface: bool,
    /// The accepted versions of that bundle, as written; none if any is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Arc<str>>,
    /// The outputs that are read, by the installation's names for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Arc<str>>,
    /// `interface.id` of the requirement: the interface that the installation has to provide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Arc<str>>,
    /// The digest of the known parameters and credentials that the requirement gives, in hex: as
    /// long as these do not change, it keeps the installation whatever the owner changes.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub given: Arc<str>,
}

impl InstallationUse {
    /// The param that names the installation, in the resource that represents it.
    pub const PARAM: &str = "uses";
}

impl InstallationShare {
    /// The record of an installation of a bundle with these offers.
    pub fn new(
        namespace: Arc<str>,
        group: Option<Arc<str>>,
        provides: Option<Arc<str>>,
        offers: Vec<Offered>,
    ) -> Self {
        let interface = digest(&offers);
        let promoted = BTreeMap::new();
        Self { namespace, group, by_hand: false, provides, offers, interface, promoted, uses: None }
    }

    /// Marks the secret parts of a value at a path of its outputs.
    #[must_use]
    pub fn seal(&self, path: &Path, value: Value) -> Value {
        let is_secret = |name: &str| self.offers.iter().any(|one| one.is_sensitive && *one.name == *name);
        match (&*path.0, value) {
            ([], Value::Map(map)) if self.offers.iter().any(|one| one.is_sensitive) => {
                let one = |(name, value): (Arc<str>, Value)| {
                    let value = if is_secret(&name) { value.into_secret() } else { value };
                    (name, value)
                };
                Value::Map(map.into_iter().map(one).collect())
            }
            ([name, ..], value) if is_secret(name) => value.into_secret(),
            (_, value) => value,
        }
    }

    /// Whether the recorded interface matches its digest.
    pub fn is_whole(&self) -> bool {
        self.interface == digest(&self.offers)
    }
}

impl From<&Declared> for Offered {
    fn from(declared: &Declared) -> Self {
        Self {
            name: Arc::clone(&declared.name),
            id: declared.id.clone(),
            schema: declared.schema.clone(),
            is_sensitive: declared.is_sensitive,
        }
    }
}

/// The same for the same outputs, in whatever order.
fn digest(offers: &[Offered]) -> Arc<str> {
    let mut all: Vec<String> =
        offers.iter().map(|one| serde_json::to_string(one).unwrap_or_default()).collect();
    all.sort_unstable();
    let digest: [u8; 32] = Sha256::digest(all.join("\n").as_bytes()).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// A recorded installation, as requirements see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Existing {
    /// Its URN.
    pub urn: Urn,
    /// Its name in its environment.
    pub name: Arc<str>,
    /// Its environment, for people.
    pub place: Arc<str>,
    /// The bundle that it is made from.
    pub reference: BundleReference,
    /// The part that others may see.
    pub share: Arc<InstallationShare>,
    /// The names of the recorded outputs.
    pub outputs: Arc<BTreeSet<Arc<str>>>,
    /// Its recorded parameters and credentials.
    pub settings: Arc<Settings>,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// Whether it can be used: it exists and matches its last deployment, and no change of that is
    /// pending.
    pub is_ready: bool,
}

/// A user of an installation in another environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The URN of the resource that represents the installation there.
    pub urn: Urn,
    /// Its needs.
    pub needs: InstallationUse,
}
