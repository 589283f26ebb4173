//! The possible errors of a server or of the connection, and their failures in the contract.

use std::fmt;
use std::time::Duration;

use purlin_sdk::{Failure, State};
use purlin_sdk_net::Error as NetError;

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum StatementError {
    /// The connection.
    Net(NetError),
    /// The server rejected it.
    Sql(Box<SqlError>),
    /// The server does not follow the protocol, or requests something that this client does not
    /// have.
    Nonsense { server: String, message: String },
}

/// An error of the server.
#[derive(Debug, Default)]
pub(crate) struct SqlError {
    /// SQLSTATE.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
}

impl StatementError {
    /// Whether the outcome of the statement is unknown.
    pub(crate) fn is_uncertain(&self) -> bool {
        !matches!(self, Self::Sql(_))
    }

    /// SQLSTATE, if the server gave one.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Sql(error) => Some(&error.code),
            _ => None,
        }
    }

    /// The failure, if it is unknown whether something was `done`, such as `made`. `state` is what there is
    /// then.
    pub(crate) fn unknown(&self, what: &str, done: &str, state: State) -> Failure {
        let message = format!("{what}: {self}; it is unknown whether it was {done}");
        Failure::partial(state, message)
    }

    /// The failure, if nothing was changed. `what` is the intended action.
    pub(crate) fn failure(&self, what: &str) -> Failure {
        let error = match self {
            Self::Net(error) => return error.failure(what),
            Self::Nonsense { .. } => return Failure::failed(format!("{what}: {self}")),
            Self::Sql(error) => error,
        };
        let text = format!("{what}: {error}");
        let busy = |seconds| Failure::retry_after(Duration::from_secs(seconds), &text);
        let failure = match error.code.as_str() {
            "28P01" | "28000" => Failure::failed(format!(
                "{text}; `connection.user` and `connection.password` have to be those of a role that may log in"
            )),
            "42501" => Failure::failed(format!(
                "{text}; the role `connection.user` is not allowed to do this: it needs CREATEDB for databases, \
                 CREATEROLE for roles, and to own what it changes or grants"
            )),
            "3D000" | "42704" | "3F000" | "42883" => Failure::not_found(text),
            "42P04" | "42710" | "42P06" | "23505" | "2BP01" | "0LP01" => Failure::conflict(text),
            // Too many connections, starting up or shutting down, in use, locked, serialisation.
            "53300" | "57P03" | "57P01" | "57P02" => busy(2),
            "55006" | "55P03" | "40001" | "40P01" => busy(3),
            "XX000" if error.message.contains("concurrently") => busy(1),
            code if code.starts_with("53") => busy(10),
            _ => Failure::failed(text),
        };
        failure.with_detail("code", &error.code)
    }
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(error) => error.fmt(f),
            Self::Sql(error) => error.fmt(f),
            Self::Nonsense { server, message } => write!(f, "cannot talk to {server}: {message}"),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for more in [&self.detail, &self.hint].into_iter().flatten() {
            write!(f, "; {}", more.replace('\n', ", "))?;
        }
        write!(f, " (SQLSTATE {})", self.code)
    }
}

impl From<NetError> for StatementError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}
