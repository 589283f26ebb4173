//! Where a server is and how to talk to it, as it stands in a driver's inputs.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use purlin_sdk::{Faults, Json};
use serde_json::json;

use crate::tls::{Tls, certificates};

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether and how it is encrypted.
    pub tls: Tls,
    /// Certificates (PEM) that the server's has to come from.
    pub ca: Option<String>,
    /// Seconds for a connection.
    pub connect_timeout: u64,
}

impl Server {
    /// Seconds for a connection where inputs name none.
    pub const CONNECT_TIMEOUT: u64 = 10;

    /// How long a connection may take.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.connect_timeout)
    }

    /// Everything that is wrong with it, below `/connection`.
    pub fn validate(&self, faults: &mut Faults) {
        let place = |name: &str| format!("/connection/{name}");
        let ascii = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_name = !self.host.is_empty() && self.host.len() <= 253 && self.host.chars().all(ascii);
        if self.host.parse::<IpAddr>().is_err() && !is_name {
            faults.add(place("host"), "has to be a name such as `db.internal`, or an address");
        }
        match (&self.ca, self.tls) {
            (None, Tls::VerifyFull | Tls::VerifyCa) => faults.add(
                place("ca"),
                "is missing: give the certificates (PEM) that the server's has to come from, or say `tls: require` \
                 (encrypted, and nobody looks whom by) or `tls: disable`",
            ),
            (Some(ca), Tls::VerifyFull | Tls::VerifyCa) => {
                if let Err(reason) = certificates(ca) {
                    faults.add(place("ca"), reason);
                }
            }
            _ => {}
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// JSON Schema of a connection to a server: where it is, as whom the driver works there, and TLS. `port` and
/// `user` are the defaults.
pub fn connection_schema(port: u16, user: &str) -> Json {
    json!({
        "type": "object",
        "x-purlin-reaches": "tcp",
        "x-purlin-port": port,
        "required": ["host"],
        "additionalProperties": false,
        "description": "The server, and as whom the driver works there.",
        "properties": {
            "host": {"type": "string", "x-purlin-replaces": true, "description": "Name or address of the server. A change replaces the resource."},
            "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": port, "x-purlin-replaces": true, "description": "Port of the server. A change replaces the resource."},
            "user": {"type": "string", "default": user, "description": "Whom the driver works as."},
            "password": {"type": ["string", "null"], "writeOnly": true, "description": "The password of `user`."},
            "tls": {
                "enum": ["disable", "require", "verify-ca", "verify-full"],
                "default": Tls::default(),
                "description": "Whether the connection is encrypted (TLS 1.3) and the server proves who it is: `verify-full` wants a certificate from `ca` with the host's name, `verify-ca` one from `ca`, `require` any, `disable` no TLS."
            },
            "ca": {"type": ["string", "null"], "description": "Certificates (PEM) of the authorities that the server's certificate has to come from; `verify-full` and `verify-ca` need them."},
            "connect_timeout": {"type": "integer", "minimum": 1, "maximum": 300, "default": Server::CONNECT_TIMEOUT, "description": "Seconds for opening a connection."},
        }
    })
}
