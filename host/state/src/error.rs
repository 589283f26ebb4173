//! The errors of a store, with everything that a person needs to act.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Environment, Holder, Vacancy};

/// Why something random cannot be made.
pub(crate) const NO_RANDOM: &str = "the system gives no random numbers";

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another deployment of the environment is running.
    #[error("{} locked by {}; wait until it is done", subject(environment), by(holder.as_deref()))]
    Locked {
        /// The environment.
        environment: Environment,
        /// The holder of the lock, if it could be read.
        holder: Option<Box<Holder>>,
    },
    /// Another deployment is creating an installation that both would share.
    #[error("{vacancy} is being installed by {}; wait until it is done", by(holder.as_deref()))]
    Reserved {
        /// The reserved vacancy.
        vacancy: Vacancy,
        /// The holder of the reservation, if it could be read.
        holder: Option<Box<Holder>>,
    },
    /// The environment to write to already has records.
    #[error("the environment {environment} already has {records} recorded resource{}", if *records == 1 { "" } else { "s" })]
    Exists {
        /// The environment.
        environment: Environment,
        /// The number of recorded resources.
        records: usize,
    },
    /// The lock of the environment was lost: its folder is gone, or another process has it. Nothing
    /// was written.
    #[error("the lock of the environment {environment} is lost, so nothing more is written")]
    Lost {
        /// The environment.
        environment: Environment,
    },
    /// Another process has locked the whole store, or is writing to a store that must be locked.
    #[error("the state in `{}` is in use by {}; wait until it is done", folder.display(), by(holder.as_deref()))]
    Busy {
        /// The store's folder.
        folder: PathBuf,
        /// The other process, if it could be read.
        holder: Option<Box<Holder>>,
    },
    /// A newer version of the program wrote the store.
    #[error(
        "{what} has format {found}, and this version of purlin reads up to {supported}; use a newer purlin"
    )]
    Newer {
        /// The state's folder, or a record.
        what: String,
        /// Its format.
        found: u32,
        /// The newest format that this version supports.
        supported: u32,
    },
    /// A record is damaged.
    #[error("the record of `{name}` is damaged: {detail}")]
    Damaged {
        /// The URN or, if that is lost, the place.
        name: String,
        /// The fault.
        detail: String,
    },
    /// The store itself cannot be read.
    #[error("the state in `{}` is damaged: {detail}", folder.display())]
    Corrupt {
        /// The store's folder.
        folder: PathBuf,
        /// The damage.
        detail: String,
    },
    /// A record cannot be encoded in this format.
    #[error("the record of `{name}` cannot be written: {detail}")]
    Unwritable {
        /// The URN, or another name.
        name: String,
        /// The reason.
        detail: &'static str,
    },
    /// The key file is missing although something was encrypted with the key.
    #[error("the key file `{}` is missing, and the state contains secrets encrypted for `{recipient}`", path.display())]
    KeyMissing {
        /// The path where it should be.
        path: PathBuf,
        /// The public key that secrets are encrypted for.
        recipient: String,
    },
    /// There is no key file, and nothing was encrypted yet.
    #[error("there is no key file `{}`", path.display())]
    NoKey {
        /// The path where it should be.
        path: PathBuf,
    },
    /// Other users can read the key file.
    #[error("the key file `{}` can be read by others (mode {mode:04o})", path.display())]
    KeyExposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The key file cannot be read.
    #[error("cannot read the key file `{}`", path.display())]
    KeyUnreadable {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// The key cannot be had from its source.
    #[error("{reason}")]
    KeyUnavailable {
        /// Why not; it names the source.
        reason: String,
    },
    /// The given key is not a key.
    #[error("{origin} contains no age identity (`AGE-SECRET-KEY-1…`)")]
    KeyInvalid {
        /// Its source.
        origin: String,
    },
    /// The key is not the one that the secrets were encrypted for.
    #[error("wrong key: {origin} is for `{given}`, and the state's secrets are encrypted for `{expected}`")]
    WrongKey {
        /// Its source.
        origin: String,
        /// The public key in the state.
        expected: String,
        /// The public half of the given key.
        given: String,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// There was no space for a change. Nothing of it is recorded; a later change may succeed.
    #[error("the state in `{}` could not be written, and nothing was recorded: {detail}", folder.display())]
    Refused {
        /// The environment's folder.
        folder: PathBuf,
        /// The failure.
        detail: String,
    },
    /// The disk failed during a write. It is unknown whether the change is recorded.
    #[error("writing the state in `{}` failed, and it is unknown whether the change was recorded: {detail}", folder.display())]
    Write {
        /// The store's folder.
        folder: PathBuf,
        /// The failure.
        detail: String,
    },
    /// The database has no tables of Purlin.
    #[error("`{place}` is not prepared for this version of Purlin; run `purlin state init`")]
    Unprepared {
        /// The database.
        place: String,
    },
    /// The database does not respond.
    #[error("the state in `{place}` cannot be reached: {detail}")]
    Unreachable {
        /// The database.
        place: String,
        /// Why another attempt may succeed.
        outage: Outage,
        /// The last failure.
        detail: String,
    },
    /// No login succeeds until somebody changes something.
    #[error("cannot log in to `{place}`: {detail}")]
    Login {
        /// The database.
        place: String,
        /// What has to change.
        fault: LoginFault,
        /// The message of the database, or of TLS.
        detail: String,
    },
    /// The password of the database, or the key of its client certificate, cannot be had.
    #[error("{reason}")]
    Credentials {
        /// Why not; it names the source, and contains no secret.
        reason: String,
        /// What provides it.
        help: Option<String>,
    },
    /// The user of the database lacks a right.
    #[error("cannot {action} in `{place}`: {detail}")]
    Denied {
        /// The database.
        place: String,
        /// The action that failed.
        action: &'static str,
        /// The message of the database.
        detail: String,
    },
    /// The database rejected a statement.
    #[error("cannot {action} in `{place}`: {detail}")]
    Database {
        /// The database.
        place: String,
        /// The action that failed.
        action: &'static str,
        /// The message of the database.
        detail: String,
    },
    /// The address of a database is invalid.
    #[error("the address of the state is wrong: {detail}")]
    Address {
        /// The fault.
        detail: String,
    },
    /// The source of a copy is a state that the environment was moved away from.
    #[error(
        "the environment {environment} was moved to another state, so what is recorded here is out of date"
    )]
    Moved {
        /// The environment.
        environment: Environment,
    },
    /// The source and the target of a copy are the same store.
    #[error("both names mean the same state")]
    Same,
    /// The store, provided by a program that embeds Purlin, does not support the operation.
    #[error("this store does not support the operation")]
    Unsupported,
    /// The store was closed.
    #[error("the state is closed")]
    Closed,
}

impl Error {
    /// Creates errors about a path, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// Whether the input is at fault, such as a configuration, so that trying again without a change is
    /// useless.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Unprepared { .. }
                | Self::Address { .. }
                | Self::Credentials { .. }
                | Self::Unsupported
                | Self::Moved { .. }
                | Self::Same
                | Self::KeyMissing { .. }
                | Self::NoKey { .. }
                | Self::KeyExposed { .. }
                | Self::WrongKey { .. }
                | Self::KeyInvalid { .. }
                | Self::KeyUnavailable { .. }
        )
    }

    /// Whether the database cannot be reached or does not accept this user, so that no step that needs it
    /// can succeed.
    pub fn is_unreached(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Login { .. } | Self::Credentials { .. } | Self::Address { .. }
        )
    }

    /// Converts this into an error after which nothing is recorded.
    pub(crate) fn into_refused(self) -> Self {
        let folder = match &self {
            Self::Io { path, .. } => path.clone(),
            _ => PathBuf::new(),
        };
        Self::Refused { folder, detail: purlin_files::with_causes(&self) }
    }
}

/// Why a database does not respond, although it may later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outage {
    /// It does not answer, is starting or stopping, or has no free connection.
    NoAnswer,
    /// Nothing listens at the address.
    Refused,
    /// The name of the host has no address.
    NoAddress,
    /// It accepts no changes, as a standby does.
    ReadOnly,
    /// It accepted earlier credentials, and the current ones are rejected or cannot be read.
    Credentials,
}

/// Why no login succeeds until somebody changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginFault {
    /// The server rejects the user or the password.
    Rejected,
    /// The server asks for a password, and there is none.
    NoPassword,
    /// The server's `pg_hba.conf` does not admit this user from this machine to the database.
    NotAdmitted,
    /// The server admits only encrypted connections.
    NeedsTls,
    /// The server asks for a certificate of the client, or does not accept the one that it got.
    NeedsCertificate,
    /// The server has no TLS.
    NoTls,
    /// The server's certificate comes from no trusted authority.
    Untrusted,
    /// The server's certificate is for another name than that of the host.
    OtherName,
    /// The server's certificate has expired, or is not valid yet.
    Expired,
    /// What answers does not speak PostgreSQL, or not as Purlin does.
    OtherProtocol,
    /// The server has no such database.
    NoDatabase,
}

/// An environment as the subject of a sentence, with the verb.
fn subject(environment: &Environment) -> String {
    match *environment == Environment::fleet() {
        true => format!("{environment} are"),
        false => format!("the environment {environment} is"),
    }
}

/// The name of a holder.
fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), ToString::to_string)
}
