//! An environment on its way to a file or to another store.
//!
//! An export is a copy of everything that is recorded in one environment, encrypted with its own
//! data key. Stores create and import exports; `purlin state export` writes one to a file, in the
//! form of a journal.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::files;
use crate::disk::journal::{Journal, Reading};
use crate::keys::{Keyring, Owner, SealedKey};
use crate::keyspace::{self, EntryKind};
use crate::probe::Probed;
use crate::table::Table;
use crate::{Environment, Error, Staleness, codec};

const FOREIGN: &str = "`purlin state export` did not write this file, or the file is incomplete";

/// A copy of everything that is recorded in an environment, including its history, encrypted for
/// one key.
pub struct Export {
    environment: Environment,
    /// The name for messages.
    name: String,
    /// The entries, sealed with the data key.
    table: Table,
    /// The data key, sealed for the owner.
    key: SealedKey,
}

impl Export {
    /// Copies the entries of an environment, which `keys` can open, for an owner.
    pub(crate) fn of<'t>(
        environment: &Environment,
        entries: impl Iterator<Item = (&'t [u8], &'t [u8])>,
        keys: &Keyring,
        owner: &Owner,
    ) -> Result<Self, Error> {
        let new = Keyring::for_owner(owner)?;
        let mut table = Table::default();
        for (at, value) in entries.filter(|(at, _)| *at != keyspace::DATA_KEY) {
            let value = codec::reseal(value, &keyspace::describe(at, Some(environment)), keys, &new)?;
            table.apply(at.to_vec(), Some(value));
        }
        table.apply(keyspace::NAME_OF_EXPORT.to_vec(), Some(codec::encode_name(environment, &new)?));
        let key = new.stored().into_iter().next().ok_or(Error::Closed)?;
        Ok(Self { environment: environment.clone(), name: environment.to_string(), table, key })
    }

    /// The environment of the export.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The number of resources, including old copies.
    pub fn records(&self) -> usize {
        self.table.range(&keyspace::all(EntryKind::Record)).count()
    }

    /// Checks that the key of a store opens the export.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if it is encrypted for another key.
    pub(crate) fn check_key(&self, keys: &Keyring) -> Result<(), Error> {
        keys.reading(vec![self.key.clone()]).map(drop)
    }

    /// The entries, sealed with `keys` of another store. With `staleness`, the next run reads all
    /// resources before it plans.
    ///
    /// # Errors
    /// [`Error::WrongKey`] if the export is encrypted for another key than that of `keys`, and
    /// [`Error::Damaged`].
    pub(crate) fn entries(&self, keys: &Keyring, staleness: Option<Staleness>) -> Result<Table, Error> {
        let old = keys.reading(vec![self.key.clone()])?;
        let place = keyspace::place(&self.environment);
        let mut table = Table::default();
        for (at, value) in self.table.iter().filter(|(at, _)| *at != keyspace::NAME_OF_EXPORT) {
            if keyspace::place_of(at) != Some(&place[..]) {
                return Err(self.damaged("it has entries of another environment"));
            }
            let name = keyspace::describe(at, Some(&self.environment));
            table.apply(at.to_vec(), Some(codec::reseal(value, &name, &old, keys)?));
        }
        if let Some(staleness) = staleness {
            let key = keyspace::prefix(EntryKind::Staleness, &place);
            table.apply(key, Some(codec::encode_staleness(staleness, keys)?));
        }
        Ok(table)
    }

    /// Writes the export to a new file. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or cannot be written.
    pub fn write(mut self, file: &Path) -> Result<(), Error> {
        if file.symlink_metadata().is_ok() {
            return Err(Error::io("write", file)(std::io::ErrorKind::AlreadyExists.into()));
        }
        self.table.apply(keyspace::DATA_KEY.to_vec(), Some(self.key.encode()));
        // Written next to the file first, so that the file is never incomplete.
        let folder = files::folder_of(file);
        let beside = folder_beside(folder)?;
        let written = Journal::write(&beside, 1, &self.table, Probed::default()).and_then(|mut journal| {
            journal.close()?;
            fs::rename(journal.path(), file).map_err(Error::io("write", file))?;
            files::sync_folder(folder)
        });
        let _ = fs::remove_dir_all(&beside);
        written
    }

    /// Reads an export from a file. Blocks.
    ///
    /// # Errors
    /// [`Error::Damaged`] if [`Self::write`] did not write the file or the file is incomplete, and
    /// [`Error::Io`].
    pub fn read(file: &Path) -> Result<Self, Error> {
        let name = file.display().to_string();
        let damaged = |detail: &str| Error::Damaged { name: name.clone(), detail: detail.into() };
        let reading = Reading::of(file, file).map_err(|error| match error {
            Error::Corrupt { .. } => damaged(FOREIGN),
            error => error,
        })?;
        if !reading.was_closed() {
            return Err(damaged(FOREIGN));
        }
        let environment = reading.table.get(keyspace::NAME_OF_EXPORT).map(codec::decode_name).transpose()?;
        let environment = environment.ok_or_else(|| damaged(FOREIGN))?;
        let key = reading.table.get(keyspace::DATA_KEY).map(SealedKey::decode).transpose()?;
        let key = key.ok_or_else(|| damaged("its data key is missing"))?;
        let mut table = Table::default();
        for (at, value) in reading.table.iter().filter(|(at, _)| *at != keyspace::DATA_KEY) {
            table.apply(at.to_vec(), Some(value.to_vec()));
        }
        Ok(Self { environment, name, table, key })
    }

    fn damaged(&self, detail: &str) -> Error {
        Error::Damaged { name: self.name.clone(), detail: detail.into() }
    }
}

/// How an import treats the existing and the imported records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Replace the existing records of the environment.
    pub replace: bool,
    /// The export may be old, so resources may have changed since. The next run reads all of them
    /// before it plans.
    pub is_old: bool,
}

impl ImportOptions {
    /// Keeps a closed environment closed if the import comes from a file, since there was a reason
    /// to close it.
    pub(crate) fn keep_closed(self, environment: &Environment, now: &Table, table: &mut Table) {
        let key = keyspace::prefix(EntryKind::Closed, &keyspace::place(environment));
        if let Some(closed) = now.get(&key).filter(|_| self.is_old && table.get(&key).is_none()) {
            table.apply(key, Some(closed.to_vec()));
        }
    }

    /// Keeps the audit of an environment that has one, instead of that of the export. Returns whether it has one.
    pub(crate) fn keep_audit(self, environment: &Environment, now: &Table, table: &mut Table) -> bool {
        let prefix = keyspace::prefix(EntryKind::Audit, &keyspace::place(environment));
        if now.range(&prefix).next().is_none() {
            return false;
        }
        let theirs: Vec<Vec<u8>> = table.range(&prefix).map(|(key, _)| key.to_vec()).collect();
        theirs.into_iter().for_each(|key| table.apply(key, None));
        true
    }

    pub(crate) fn staleness(self) -> Option<Staleness> {
        self.is_old.then_some(Staleness::Imported)
    }

    /// Rejects an import that would replace records without `replace`.
    pub(crate) fn check(self, environment: &Environment, records: usize) -> Result<(), Error> {
        match records > 0 && !self.replace {
            true => Err(Error::Exists { environment: environment.clone(), records }),
            false => Ok(()),
        }
    }
}

/// A private folder in the same file system, to write the file in.
fn folder_beside(folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(format!(".purlin-export-{}", std::process::id()));
    files::private_folder(&path)?;
    Ok(path)
}
