//! Why a server could not be talked to.

use std::fmt;
use std::io;
use std::time::Duration;

use purlin_sdk::Failure;

/// What went wrong on the way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The operator did not grant it. For a look-up the name is in it, for a connection nothing.
    Denied {
        /// Whether the name may not be looked up; else it is the connection that is not granted.
        lookup: bool,
    },
    /// Nobody knows the name.
    UnknownName,
    /// The server's machine answers, and nobody listens there.
    Refused,
    /// There is no way there.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// The other side ended the connection.
    Closed,
    /// TLS could not be agreed on, or the server is not who it should be.
    Tls(String),
    /// Anything else.
    Other(String),
}

/// What went wrong, and with which server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `HOST:PORT`.
    pub server: String,
    /// What went wrong.
    pub trouble: Trouble,
}

impl Error {
    /// The failure for a call that has done nothing yet.
    pub fn failure(&self, what: &str) -> Failure {
        let again = |seconds| Failure::RetryAfter {
            after: Duration::from_secs(seconds),
            message: format!("{what}: {self}"),
        };
        match &self.trouble {
            Trouble::Denied { .. } => Failure::denied("tcp", &self.server, format!("{what} needs it")),
            // A server that is just being started does so; the host's patience is bounded.
            Trouble::Refused => again(2),
            Trouble::Closed => again(1),
            Trouble::Unreachable => again(5),
            // It had its time; whoever stays silent does not begin to talk by being asked again.
            Trouble::TimedOut | Trouble::UnknownName | Trouble::Tls(_) | Trouble::Other(_) => {
                Failure::failed(format!("{what}: {self}"))
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.trouble {
            Trouble::Denied { lookup: true } => write!(f, "looking up {server} is not granted"),
            Trouble::Denied { lookup: false } => write!(f, "the connection to {server} is not granted"),
            Trouble::UnknownName => write!(f, "nobody knows the name of {server}"),
            Trouble::Refused => write!(f, "{server} refuses the connection; does the server run?"),
            Trouble::Unreachable => write!(f, "{server} cannot be reached"),
            Trouble::TimedOut => write!(f, "{server} did not answer in time"),
            Trouble::Closed => write!(f, "{server} ended the connection"),
            Trouble::Tls(reason) => write!(f, "no TLS with {server}: {reason}"),
            Trouble::Other(reason) => write!(f, "no connection to {server}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::Unreachable,
            io::ErrorKind::PermissionDenied => Self::Denied { lookup: false },
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset => Self::Closed,
            io::ErrorKind::InvalidData => Self::Tls(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }
}
