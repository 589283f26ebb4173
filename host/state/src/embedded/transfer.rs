//! An environment in a file, to be kept or moved: a journal that says all that it needs to be read, sealed
//! with a data key of its own.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{EmbeddedStore, Inner, Part, blocking};
use crate::disk::journal::{Journal, Reading};
use crate::disk::{Claimed, Writing, files};
use crate::keys::{Keyring, Owner};
use crate::probe::Probed;
use crate::table::Table;
use crate::{Doubt, Environment, Error, Holder, codec, keyspace};

impl EmbeddedStore {
    /// Writes all that is recorded in an environment, its history included, to a file that is not there
    /// yet. It is sealed for `recipient` (`age1…`), else for the store's own key; one is made where there is
    /// none. Gives how many resources are in it.
    ///
    /// # Errors
    /// [`Error::Io`] when the file is there already or cannot be written, [`Error::KeyInvalid`] when the
    /// recipient is none, and as [`crate::Store::load`].
    pub async fn export(
        &self,
        environment: &Environment,
        file: &Path,
        recipient: Option<&str>,
    ) -> Result<usize, Error> {
        let (inner, environment, file) = (Arc::clone(&self.0), environment.clone(), file.to_owned());
        let recipient = recipient.map(str::to_owned);
        let export = move || inner.export(&environment, &file, recipient.as_deref());
        blocking("purlin-state-export", export).await?
    }

    /// Records what a file holds that [`Self::export`] wrote, in place of what is recorded in that
    /// environment. Gives the environment, and how many resources are in it. The next run reads them
    /// before it plans, since what is real may have changed.
    ///
    /// # Errors
    /// [`Error::Exists`] when something is recorded there and `replace` is not set, [`Error::WrongKey`] when
    /// the file is sealed for another key, [`Error::Locked`], and when either cannot be read or written.
    pub async fn import(
        &self,
        file: &Path,
        holder: Holder,
        replace: bool,
    ) -> Result<(Environment, usize), Error> {
        let (inner, file) = (Arc::clone(&self.0), file.to_owned());
        blocking("purlin-state-import", move || inner.import(&file, &holder, replace)).await?
    }
}

impl Inner {
    fn export(
        &self,
        environment: &Environment,
        file: &Path,
        recipient: Option<&str>,
    ) -> Result<usize, Error> {
        if file.symlink_metadata().is_ok() {
            return Err(Error::io("write", file)(std::io::ErrorKind::AlreadyExists.into()));
        }
        let owner = match recipient {
            Some(text) => Owner::parse(text).ok_or_else(|| Error::KeyInvalid {
                origin: format!("`{text}`, for whom it is to be encrypted,"),
            })?,
            None => {
                // Where there is no key yet, one is made.
                let _shared = self.root.share(self.wait)?;
                self.root.establish(&self.probe)?;
                self.keys.data()?;
                self.keys.key()?.owner()
            }
        };
        let new = Keyring::for_owner(&owner)?;
        let of = environment.clone();
        let mut sealed = self.read(environment, Part::All, |table, keys, _| {
            let mut sealed = Table::default();
            for (at, value) in table.iter().filter(|(at, _)| *at != keyspace::DATA_KEY) {
                let value = codec::reseal(value, &keyspace::describe(at, Some(&of)), keys, &new)?;
                sealed.apply(at.to_vec(), Some(value));
            }
            Ok(sealed)
        })?;
        let records = sealed.range(&keyspace::all(keyspace::Kind::Record)).count();
        sealed.apply(keyspace::NAME_OF_EXPORT.to_vec(), Some(codec::encode_name(environment, &new)?));
        for stored in new.stored() {
            sealed.apply(keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(&stored)));
        }
        // Written beside, so that no file with this name is ever half of one.
        let folder = files::folder_of(file);
        let beside = tempdir(folder)?;
        let written = Journal::write(&beside, 1, &sealed, Probed::default()).and_then(|mut journal| {
            journal.close()?;
            fs::rename(journal.path(), file).map_err(Error::io("write", file))?;
            files::sync_folder(folder)
        });
        let _ = fs::remove_dir_all(&beside);
        written.map(|()| records)
    }

    fn import(&self, file: &Path, holder: &Holder, replace: bool) -> Result<(Environment, usize), Error> {
        let reading = Reading::of(file, file).map_err(|error| no_export(file, error))?;
        let damaged =
            |detail: &str| Error::Damaged { name: file.display().to_string(), detail: detail.into() };
        if !reading.was_closed() {
            return Err(damaged("it is no file of `purlin state export`, or is not whole"));
        }
        let name = reading.table.get(keyspace::NAME_OF_EXPORT);
        let environment = name.map(codec::decode_name).transpose()?;
        let environment = environment.ok_or_else(|| damaged("`purlin state export` did not write it"))?;
        let key = reading.table.get(keyspace::DATA_KEY).map(codec::decode_key).transpose()?;
        let key = key.ok_or_else(|| damaged("it lacks its key"))?;
        let old = self.keys.reading(vec![key])?;
        self.settle_rotation()?;
        let claimed = Claimed::take(&self.root, &environment, holder, self.wait, &self.probe)?;
        self.keys.refresh()?;
        self.with(|open| open.read = None)?;
        let mut writing = Writing::open(claimed, self.keys.clone(), self.probe.clone())?;
        let count = |table: &Table| table.range(&keyspace::all(keyspace::Kind::Record)).count();
        let there = count(&writing.shared().read().table);
        if there > 0 && !replace {
            return Err(Error::Exists { environment, records: there });
        }
        let mut table = Table::default();
        for (at, value) in reading.table.iter() {
            if at == keyspace::DATA_KEY || at == keyspace::NAME_OF_EXPORT {
                continue;
            }
            if keyspace::place_of(at) != Some(&keyspace::place(&environment)[..]) {
                return Err(damaged("it holds something of another environment"));
            }
            let value = codec::reseal(value, &keyspace::describe(at, Some(&environment)), &old, &self.keys)?;
            table.apply(at.to_vec(), Some(value));
        }
        let doubt = keyspace::prefix(keyspace::Kind::Doubt, &keyspace::place(&environment));
        table.apply(doubt, Some(codec::encode_doubt(Doubt::Copied, &self.keys)?));
        for stored in self.keys.stored().into_iter().take(1) {
            table.apply(keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(&stored)));
        }
        let records = count(&table);
        writing.replace(table)?;
        writing.finish()?;
        Ok((environment, records))
    }
}

/// A folder beside a file, to write it in.
fn tempdir(folder: &Path) -> Result<std::path::PathBuf, Error> {
    let path = folder.join(format!(".purlin-export-{}", std::process::id()));
    files::private_folder(&path)?;
    Ok(path)
}

fn no_export(file: &Path, error: Error) -> Error {
    match error {
        Error::Corrupt { .. } => Error::Damaged {
            name: file.display().to_string(),
            detail: "it is no file of `purlin state export`, or is not whole".into(),
        },
        error => error,
    }
}
