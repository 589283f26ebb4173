//! A new key for everything.

use std::path::Path;

use secrecy::SecretString;

use super::{EmbeddedStore, Inner, blocking};
use crate::disk::head::Head;
use crate::disk::index;
use crate::disk::journal::{self, Journal};
use crate::keys::Keyring;
use crate::table::Table;
use crate::{Error, codec, keyspace};

impl EmbeddedStore {
    /// Seals everything anew, with a new key. Whenever it is cut off, either the old key opens all of the
    /// state or the new one does. Gives the public half of the new key. What [`crate::Store::seal`] sealed
    /// before does not open any more.
    ///
    /// Where the key lies in a file, the file follows, with the key given or one that is made. Where
    /// it comes from elsewhere, the new one has to be given.
    ///
    /// # Errors
    /// [`Error::Busy`] while anybody writes, [`Error::KeyInvalid`] when what is given is no key,
    /// [`Error::Damaged`] when something does not open with the old one, and when the disk fails.
    pub async fn rotate_key(&self, new: Option<SecretString>) -> Result<String, Error> {
        let inner = std::sync::Arc::clone(&self.0);
        blocking("purlin-state-rotate", move || inner.rotate(new.as_ref())).await?
    }
}

impl Inner {
    fn rotate(&self, new: Option<&SecretString>) -> Result<String, Error> {
        self.with(|open| open.read = None)?;
        drop(self.root.share(self.wait)?);
        self.root.establish(&self.probe)?;
        let _alone = self.root.alone(&self.holder, self.wait)?;
        self.keys.refresh()?;
        self.finish_rotation()?;
        // What does not open now would be lost with the old key.
        for folder in self.root.folders()? {
            if let Some((_, path)) = journal::newest(&folder)? {
                let reading = journal::Reading::of(&folder, &path)?;
                resealed(&reading.table, &self.keys)?;
            }
        }
        let name = self.keys.rotate(new, &self.probe)?;
        self.finish_rotation()?;
        Ok(name)
    }

    /// Goes on with a rotation that was cut off. Where that cannot be done now, everything opens all the
    /// same.
    pub(super) fn settle_rotation(&self) -> Result<(), Error> {
        self.keys.refresh()?;
        if !self.keys.is_rotating() {
            return Ok(());
        }
        let settled = self.root.alone(&self.holder, self.wait).and_then(|_alone| {
            self.keys.refresh()?;
            self.finish_rotation()
        });
        if let Err(error) = settled {
            tracing::warn!(error = error.with_cause(), "the rotation of the state's key is not finished");
        }
        Ok(())
    }

    /// Ends what a rotation began. The caller has the store alone.
    fn finish_rotation(&self) -> Result<(), Error> {
        self.keys.take_place(&self.probe)?;
        if self.keys.stored().is_empty() {
            return Ok(());
        }
        let mut changed = false;
        for folder in self.root.folders()? {
            changed |= self.reseal(&folder)?;
        }
        if changed || self.keys.stored().len() > 1 {
            index::remove(&self.root)?;
            self.probe.at("index: after the old one is removed");
        }
        self.keys.finish_rotation(&self.probe)
    }

    /// Seals an environment again, unless it is sealed with the newest key; says whether it did.
    fn reseal(&self, folder: &Path) -> Result<bool, Error> {
        let Some((_, path)) = journal::find(folder)? else { return Ok(false) };
        let mut table = Table::default();
        let mut journal = Journal::open(folder, path, &mut table, self.probe.clone())?;
        let newest = self.keys.stored().first().map(codec::encode_key);
        if table.get(keyspace::DATA_KEY) == newest.as_deref() {
            return Ok(false);
        }
        let table = resealed(&table, &self.keys)?;
        journal.renew(folder, &table)?;
        journal.close()?;
        Head::open(folder)?.note(journal.position())?;
        Ok(true)
    }
}

/// The same entries, all of them sealed with the newest data key: also what was written before there was a
/// key, and by versions that sealed less.
fn resealed(table: &Table, keys: &Keyring) -> Result<Table, Error> {
    let mut result = Table::default();
    for (at, value) in table.iter().filter(|(at, _)| *at != keyspace::DATA_KEY) {
        let sealed = codec::reseal(value, &keyspace::describe(at, None), keys, keys)?;
        result.apply(at.to_vec(), Some(sealed));
    }
    if let Some(newest) = keys.stored().first() {
        result.apply(keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(newest)));
    }
    Ok(result)
}
