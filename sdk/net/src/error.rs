//! Why communication with a server failed.

use std::fmt;
use std::io;
use std::time::Duration;

use purlin_sdk::Failure;

/// The kind of error on the way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The operator did not grant it. For a lookup the name is in it, for a connection nothing.
    Denied {
        /// Whether the lookup of the name is denied; else it is the connection.
        lookup: bool,
    },
    /// The name does not exist.
    UnknownName,
    /// The server's machine answers, and no program listens there.
    Refused,
    /// There is no route to it.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// The other side ended the connection.
    Closed,
    /// TLS could not be negotiated, or the server has the wrong identity.
    Tls(String),
    /// Anything else.
    Other(String),
}

/// An error, and the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `HOST:PORT`.
    pub server: String,
    /// What went wrong.
    pub trouble: Trouble,
}

impl Error {
    /// The failure for a call that has not changed anything yet.
    pub fn failure(&self, what: &str) -> Failure {
        let again = |seconds| Failure::retry_after(Duration::from_secs(seconds), format!("{what}: {self}"));
        match &self.trouble {
            Trouble::Denied { .. } => Failure::denied("tcp", &self.server, format!("{what} needs it")),
            // A server that is starting does so; the host retries only a bounded number of times.
            Trouble::Refused => again(2),
            Trouble::Closed => again(1),
            Trouble::Unreachable => again(5),
            // It had its time; a silent server does not begin to answer because of another attempt.
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
            Trouble::UnknownName => write!(f, "the name of {server} cannot be resolved"),
            Trouble::Refused => write!(f, "{server} refuses the connection; is the server running?"),
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
