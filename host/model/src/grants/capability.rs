//! The kinds of access that an operator grants to a driver.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

/// A kind of access, in the order in which grants are listed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// HTTP requests.
    Http,
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
    /// Lookups of names.
    Dns,
    /// Private networks that names may resolve to.
    Addresses,
    /// Trusted certificates.
    Ca,
    /// Environment variables.
    Env,
    /// Folders.
    Dirs,
    /// Secret stores.
    Secrets,
}

impl Capability {
    /// Every capability.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name, which is that of its field in `grants`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no capability. Drivers may name any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no capability `{0}`")]
pub struct UnknownCapability(pub String);

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(text: &str) -> Result<Self, UnknownCapability> {
        let found = Self::ALL.iter().copied().find(|capability| capability.name() == text);
        found.ok_or_else(|| UnknownCapability(text.to_owned()))
    }
}
