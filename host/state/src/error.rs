//! What can go wrong with a store, and what a person needs to act.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Environment, Holder, Vacancy};

/// What went wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another deployment of the environment is running.
    #[error("the environment {environment} is locked by {}; wait until it is done", by(holder.as_deref()))]
    Locked {
        /// What is locked.
        environment: Environment,
        /// By whom, since when and from where, where that could be read.
        holder: Option<Box<Holder>>,
    },
    /// Another deployment makes an installation that both would share.
    #[error("{vacancy} is being installed by {}; wait until it is done", by(holder.as_deref()))]
    Reserved {
        /// What is reserved.
        vacancy: Vacancy,
        /// By whom, since when and from where, where that could be read.
        holder: Option<Box<Holder>>,
    },
    /// Something is recorded where something else is to be put in its place.
    #[error("the environment {environment} has {records} resource{} on record already", if *records == 1 { "" } else { "s" })]
    Exists {
        /// Where.
        environment: Environment,
        /// How many resources.
        records: usize,
    },
    /// The lock of the environment is lost: its folder is gone, or others have it. Nothing was written.
    #[error("the lock of the environment {environment} is lost, so nothing more is written")]
    Lost {
        /// What was locked.
        environment: Environment,
    },
    /// Another process changes the whole store, or is writing to it while that is to be done.
    #[error("the state in `{}` is in use by {}; wait until it is done", folder.display(), by(holder.as_deref()))]
    Busy {
        /// The store's folder.
        folder: PathBuf,
        /// By whom, where that could be read.
        holder: Option<Box<Holder>>,
    },
    /// The store was written by a newer version of the program.
    #[error(
        "{what} has format {found}, and this version of purlin reads up to {supported}; use a newer purlin"
    )]
    Newer {
        /// What: the state's folder, or a record.
        what: String,
        /// Its format.
        found: u32,
        /// The newest format that is understood.
        supported: u32,
    },
    /// A record does not read as it was written.
    #[error("the record of `{name}` is damaged: {detail}")]
    Damaged {
        /// The URN, or where that is lost, the place.
        name: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The store itself cannot be read.
    #[error("the state in `{}` is damaged: {detail}", folder.display())]
    Corrupt {
        /// The store's folder.
        folder: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A record cannot be written down in this format.
    #[error("the record of `{name}` cannot be written: {detail}")]
    Unwritable {
        /// The URN, or what else it is.
        name: String,
        /// Why.
        detail: &'static str,
    },
    /// The key file is not there, but something was encrypted with it.
    #[error("the key file `{}` is missing, and the state holds secrets encrypted for `{recipient}`; restore the file or name the right one", path.display())]
    KeyMissing {
        /// Where it should be.
        path: PathBuf,
        /// The public key that secrets are encrypted for.
        recipient: String,
    },
    /// Others can read the key file.
    #[error("the key file `{}` can be read by others (mode {mode:04o}); run `chmod 600 {}`", path.display(), path.display())]
    KeyExposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// What was given as a key is none.
    #[error("{origin} holds no age identity (`AGE-SECRET-KEY-1…`)")]
    KeyInvalid {
        /// Where it came from.
        origin: String,
    },
    /// The key is not the one that the secrets were encrypted for.
    #[error("wrong key: {origin} is for `{given}`, and the state's secrets are encrypted for `{expected}`")]
    WrongKey {
        /// Where it came from.
        origin: String,
        /// The public key in the state.
        expected: String,
        /// The public key of what was given.
        given: String,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There was no room for a change. Nothing of it is recorded; a later one may be.
    #[error("the state in `{}` could not be written: {detail}", folder.display())]
    Refused {
        /// The environment's folder.
        folder: PathBuf,
        /// What failed.
        detail: String,
    },
    /// The disk failed while writing. Whether the change is recorded is not known.
    #[error("the state in `{}` could not be written: {detail}", folder.display())]
    Write {
        /// The store's folder.
        folder: PathBuf,
        /// What failed.
        detail: String,
    },
    /// The database has no tables of Purlin, or those of an earlier version.
    #[error("`{place}` is not prepared for this version of Purlin; run `purlin state init`")]
    Unprepared {
        /// The database.
        place: String,
    },
    /// The database does not answer.
    #[error("the state in `{place}` cannot be reached: {detail}")]
    Unreachable {
        /// The database.
        place: String,
        /// What was seen last.
        detail: String,
    },
    /// The database rejected the user or the password.
    #[error("`{place}` rejects the login: {detail}")]
    Login {
        /// The database.
        place: String,
        /// What the database said.
        detail: String,
    },
    /// The database refused a statement.
    #[error("cannot {action} in `{place}`: {detail}")]
    Database {
        /// The database.
        place: String,
        /// What was tried.
        action: &'static str,
        /// What the database said.
        detail: String,
    },
    /// The address of a database is wrong.
    #[error("the address of the state is wrong: {detail}")]
    Address {
        /// What is wrong with it.
        detail: String,
    },
    /// An environment is to be copied from a state that it was moved away from.
    #[error(
        "the environment {environment} was moved to another state, so what is recorded here is out of date"
    )]
    Moved {
        /// Which.
        environment: Environment,
    },
    /// Something is to be copied from a store to itself.
    #[error("both names mean the same state")]
    Same,
    /// The store, which the program that embeds Purlin brought, does not do this.
    #[error("this store does not support the operation")]
    Unsupported,
    /// The store was closed.
    #[error("the state is closed")]
    Closed,
}

impl Error {
    /// A reporter of failures on a path, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// In one line, with what the system said.
    pub(crate) fn with_cause(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    /// The same as one after which nothing is recorded.
    pub(crate) fn into_refused(self) -> Self {
        let folder = match &self {
            Self::Io { path, .. } => path.clone(),
            _ => PathBuf::new(),
        };
        Self::Refused { folder, detail: self.with_cause() }
    }
}

/// Who holds something.
fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), ToString::to_string)
}
