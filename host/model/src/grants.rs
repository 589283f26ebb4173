//! The grants of a driver (SPEC §8, capabilities). Anything not listed here is not granted.
//!
//! Patterns are parsed once, when they are read; matching them needs no text of documents.

mod capability;
mod endpoint;
mod host;
mod http;
mod need;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use capability::{Capability, UnknownCapability};
pub use endpoint::{Endpoint, PortPattern};
pub use host::{HostPattern, network};
pub use http::{HttpGrant, MethodPattern, PathPattern, Scheme, is_plain_path};
pub use ipnet::IpNet;
pub use need::{InputNeed, Lack, Need, needs_of_inputs};

use crate::Location;

/// The grants of a driver. Empty grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Folders.
    pub dirs: Vec<DirGrant>,
    /// Environment variables that it may see.
    pub env: Vec<String>,
    /// Requests that it may make.
    pub http: Vec<HttpGrant>,
    /// Targets of connections.
    pub tcp: Vec<Endpoint>,
    /// Targets of datagrams.
    pub udp: Vec<Endpoint>,
    /// Names that it may look up, besides those of the other grants.
    pub dns: Vec<HostPattern>,
    /// Addresses that no name may lead to unless they are listed here: loopback, link-local,
    /// private and multicast ones, and similar. Others need not be listed.
    pub addresses: Vec<IpNet>,
    /// Files with certificates to trust, besides the system's. PEM.
    pub ca: Vec<PathBuf>,
    /// Secret stores whose secrets it may receive.
    pub secrets: Vec<Arc<str>>,
}

/// A folder that a driver may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirGrant {
    /// On the host, relative to the workspace's folder.
    pub host: PathBuf,
    /// As the driver sees it, absolute.
    pub guest: String,
    /// Whether it may write.
    pub writable: bool,
    /// The place of its `mode`, or else of the grant.
    pub location: Location,
}

impl DirGrant {
    /// Whether a path of the driver is in the folder.
    pub fn contains(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.guest.trim_end_matches('/'));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for DirGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.writable { "rw" } else { "ro" };
        write!(f, "{} as {} {mode}", self.host.display(), self.guest)
    }
}

impl Grants {
    /// Whether a driver may look up a name: names for sockets, and those of `dns`. The host looks
    /// up the names of requests.
    pub fn may_look_up(&self, name: &str) -> bool {
        let sockets = self.tcp.iter().chain(&self.udp).map(|grant| &grant.host);
        sockets.chain(&self.dns).any(|host| host.matches_name(name))
    }

    /// Every grant as its capability and pattern, in the order of [`Capability`] and, within
    /// one, as written.
    pub fn lines(&self) -> Vec<(Capability, String)> {
        fn all<T: fmt::Display>(
            capability: Capability,
            items: &[T],
        ) -> impl Iterator<Item = (Capability, String)> {
            items.iter().map(move |item| (capability, item.to_string()))
        }
        let Self { http, tcp, udp, dns, addresses, ca, env, dirs, secrets } = self;
        let ca = ca.iter().map(|file| (Capability::Ca, file.display().to_string()));
        all(Capability::Http, http)
            .chain(all(Capability::Tcp, tcp))
            .chain(all(Capability::Udp, udp))
            .chain(all(Capability::Dns, dns))
            .chain(all(Capability::Addresses, addresses))
            .chain(ca)
            .chain(all(Capability::Env, env))
            .chain(all(Capability::Dirs, dirs))
            .chain(all(Capability::Secrets, secrets))
            .collect()
    }
}

/// A text that is not a valid pattern of a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The fault, as a fragment of a sentence.
    pub message: String,
    /// How to correct it.
    pub help: &'static str,
}

impl PatternError {
    fn new(message: impl Into<String>, help: &'static str) -> Self {
        Self { message: message.into(), help }
    }
}
