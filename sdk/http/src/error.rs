//! Why there is no answer, and what that means for the call: can something have happened?

use std::fmt;
use std::time::Duration;

use purlin_sdk::Failure;

use crate::Request;

/// How long to wait for a server that cannot be reached.
const UNREACHABLE: Duration = Duration::from_secs(1);

/// Why there is no answer. `target` is the method and the URL without its query, which may contain
/// secrets.
///
/// It is not a `std` error, so that `?` converts it to the right [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The operator has not granted it. Nothing was sent.
    Denied {
        /// Method and URL.
        target: String,
        /// The purpose of the request.
        message: String,
    },
    /// It cannot be sent: its URL or one of its headers is invalid. Nothing was sent.
    Unusable {
        /// Method and URL.
        target: String,
        /// The fault.
        message: String,
    },
    /// The server is not reachable at present. Nothing was sent.
    Unreachable {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
    },
    /// The server's name is unknown, or it could not prove its identity. Nothing was sent.
    Untrusted {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
    },
    /// All or part of it was sent, and no complete answer came.
    Lost {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
        /// Whether sending it again is harmless.
        repeatable: bool,
        /// Whether it may have changed something.
        effects: bool,
    },
    /// The answer is larger than the limit. The request was carried out.
    TooLarge {
        /// Method and URL.
        target: String,
        /// The limit, in bytes.
        largest: usize,
        /// Whether the request may have changed something.
        effects: bool,
    },
}

impl Error {
    /// An [`Error::Unusable`].
    pub fn unusable(request: &Request, message: impl Into<String>) -> Self {
        Self::Unusable { target: request.target(), message: message.into() }
    }

    /// An [`Error::Unreachable`].
    pub fn unreachable(request: &Request, message: impl Into<String>) -> Self {
        Self::Unreachable { target: request.target(), message: message.into() }
    }

    /// An [`Error::Lost`].
    pub fn lost(request: &Request, message: impl Into<String>) -> Self {
        Self::Lost {
            target: request.target(),
            message: message.into(),
            repeatable: request.is_repeatable(),
            effects: request.has_effects(),
        }
    }

    /// An [`Error::TooLarge`].
    pub(crate) fn too_large(request: &Request, largest: usize) -> Self {
        Self::TooLarge { target: request.target(), largest, effects: request.has_effects() }
    }

    /// Whether the request may have been carried out with an unknown outcome.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::TooLarge { .. })
    }

    /// `Some(None)`, so no particular delay, if sending it again is useful and harmless.
    pub(crate) fn retry_delay(&self) -> Option<Option<Duration>> {
        let again = matches!(self, Self::Unreachable { .. } | Self::Lost { repeatable: true, .. });
        again.then_some(None)
    }

    pub(crate) fn with_reason(mut self, reason: &str) -> Self {
        if let Self::Denied { message, .. } = &mut self {
            *message = if message.is_empty() { reason.to_owned() } else { format!("{reason}; {message}") };
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { target, message } => write!(f, "{target} is denied: {message}"),
            Self::Unusable { target, message }
            | Self::Unreachable { target, message }
            | Self::Untrusted { target, message }
            | Self::Lost { target, message, .. } => write!(f, "{target}: {message}"),
            Self::TooLarge { target, largest, .. } => {
                write!(f, "{target}: the answer has more than {largest} bytes")
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Denied { target, message } => Self::denied("http", target, message),
            // The effect is unknown, and the host finds out. Any other failure would mean that
            // nothing was created, and a created object would be forgotten.
            Error::Lost { effects: true, .. } | Error::TooLarge { effects: true, .. } => {
                Self::undecided(text)
            }
            Error::Unreachable { .. } | Error::Lost { effects: false, .. } => {
                Self::retry_after(UNREACHABLE, text)
            }
            Error::Unusable { .. } | Error::Untrusted { .. } | Error::TooLarge { effects: false, .. } => {
                Self::failed(text)
            }
        }
    }
}
