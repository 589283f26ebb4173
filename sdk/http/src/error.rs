//! Why there is no answer, and what that means for the call: may something have happened?

use std::fmt;
use std::time::Duration;

use purlin_sdk::{Failure, log};

use crate::Request;

/// How long to wait for a server that cannot be reached.
const UNREACHABLE: Duration = Duration::from_secs(1);

/// Why there is no answer. `target` is the method and the URL, without a query, for there may be
/// secrets in it.
///
/// It is not a `std` error, so that `?` makes of it the [`Failure`] that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The operator has not granted it. Nothing was sent.
    Denied {
        /// Method and URL.
        target: String,
        /// Why it was wanted.
        message: String,
    },
    /// It cannot be sent: its URL or one of its headers is wrong. Nothing was sent.
    Unusable {
        /// Method and URL.
        target: String,
        /// What is wrong.
        message: String,
    },
    /// Nobody is there, at present. Nothing was sent.
    Unreachable {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
    },
    /// The server's name is unknown, or it could not prove who it is. Nothing was sent.
    Untrusted {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
    },
    /// It was sent, or part of it, and no whole answer came.
    Lost {
        /// Method and URL.
        target: String,
        /// What went wrong.
        message: String,
        /// Whether sending it again does no harm.
        repeatable: bool,
    },
    /// The answer is larger than it may be. The request was carried out.
    TooLarge {
        /// Method and URL.
        target: String,
        /// What it may have, in bytes.
        largest: usize,
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
        Self::Lost { target: request.target(), message: message.into(), repeatable: request.is_repeatable() }
    }

    /// Whether the request may have been carried out although nobody can say so. Of a `create`
    /// this is no failure: it would say that nothing was made.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::TooLarge { .. })
    }

    /// Whether sending it again makes sense and does no harm.
    pub(crate) fn asks_for_patience(&self) -> Option<Option<Duration>> {
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
            | Self::Lost { target, message, repeatable: true } => write!(f, "{target}: {message}"),
            Self::Lost { target, message, repeatable: false } => {
                write!(f, "{target}: {message}; whether it was carried out is not known")
            }
            Self::TooLarge { target, largest } => {
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
            Error::Unreachable { .. } | Error::Lost { repeatable: true, .. } => {
                Self::RetryAfter { after: UNREACHABLE, message: text }
            }
            Error::Unusable { .. }
            | Error::Untrusted { .. }
            | Error::Lost { repeatable: false, .. }
            | Error::TooLarge { .. } => Self::Failed(text),
        }
    }
}

/// Ends the call without an answer, where it cannot be told whether anything was made and every
/// failure would be a lie: the host takes it for interrupted, and finds out at the next run by the
/// checkpoint or by name.
#[allow(clippy::panic)] // In unit tests, where there is no call to end.
pub fn end_undecided(message: &str) -> ! {
    log::error(message);
    #[cfg(target_family = "wasm")]
    std::process::abort();
    #[cfg(not(target_family = "wasm"))]
    std::panic::panic_any(format!("undecided: {message}"));
}
