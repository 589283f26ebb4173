//! The kinds of access that an operator grants to a driver.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A kind of access. The order is that of the fields of [`Grants`](super::Grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    pub const ALL: [Self; 9] = [
        Self::Http,
        Self::Tcp,
        Self::Udp,
        Self::Dns,
        Self::Addresses,
        Self::Ca,
        Self::Env,
        Self::Dirs,
        Self::Secrets,
    ];

    /// Its name, which is that of its field in `grants`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Dns => "dns",
            Self::Addresses => "addresses",
            Self::Ca => "ca",
            Self::Env => "env",
            Self::Dirs => "dirs",
            Self::Secrets => "secrets",
        }
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
        let found = Self::ALL.into_iter().find(|capability| capability.name() == text);
        found.ok_or_else(|| UnknownCapability(text.to_owned()))
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
