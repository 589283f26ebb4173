//! A server's address and settings, as in a driver's inputs.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use purlin_sdk::Faults;

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
    /// The default for the seconds to connect.
    pub const CONNECT_TIMEOUT: u64 = 10;

    /// The time limit for a connection.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.connect_timeout)
    }

    /// All faults in it, below `/connection`.
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
                "is missing: give the certificates (PEM) of the authorities for the server's certificate, or \
                 set `tls: require` (encrypted, but the certificate is not verified) or `tls: disable`",
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
