//! What is recorded of an installation beside what is of every resource, so that others can use it (SPEC §6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{BundleReference, Declared, Urn};

/// What others may know of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its namespace, empty for the global one.
    pub namespace: Arc<str>,
    /// The group that shares it; none where nobody may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Arc<str>>,
    /// Whether a person set the group, so that documents do not change it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The interface that its bundle says to implement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provides: Option<Arc<str>>,
    /// What its bundle offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offered>,
    /// The digest of that, in hex.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub interface: Arc<str>,
    /// The outputs that its bundle makes from those of its requirements, where its driver gives the others: by name,
    /// a value in the words of definitions. They are computed where they are read, so that they follow what they
    /// are made from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promoted: BTreeMap<Arc<str>, serde_json::Value>,
    /// The installation of another environment that it stands for. Then it is none itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<Use>,
}

/// An output, as a bundle declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its name.
    pub name: Arc<str>,
    /// `$id`: the name that it is known by everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// What JSON Schema says of its values.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub schema: serde_json::Map<String, serde_json::Value>,
}

/// What somebody needs of an installation of another environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The URN of the installation.
    pub installation: Urn,
    /// Whether a person named it: then neither its bundle nor its version is held against the requirement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The versions that will do, as they are written; none where any will.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Arc<str>>,
    /// The outputs that are read, by the names that the installation has for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Arc<str>>,
}

impl Share {
    /// What is recorded of an installation of a bundle that offers this.
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

    /// Whether what is recorded of its interface is what was written down once.
    pub fn is_whole(&self) -> bool {
        self.interface == digest(&self.offers)
    }
}

impl From<&Declared> for Offered {
    fn from(declared: &Declared) -> Self {
        Self { name: Arc::clone(&declared.name), id: declared.id.clone(), schema: declared.schema.clone() }
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

/// An installation that is recorded somewhere, as requirements see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Existing {
    /// Its URN.
    pub urn: Urn,
    /// What it is called in its environment.
    pub name: Arc<str>,
    /// The environment that it lies in, for people.
    pub place: Arc<str>,
    /// What it is made from.
    pub reference: BundleReference,
    /// What others may know of it.
    pub share: Arc<Share>,
    /// The names of the outputs that are recorded.
    pub outputs: Arc<BTreeSet<Arc<str>>>,
    /// Whether it can be used: it exists as its last deployment wanted it, and nothing is about to change that.
    pub is_ready: bool,
}

/// Somebody in another environment who uses an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The URN of what stands for the installation there.
    pub urn: Urn,
    /// What it needs.
    pub needs: Use,
}
