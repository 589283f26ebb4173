//! Rotates the key of the whole store.

use std::path::Path;

use secrecy::SecretString;

use super::{EmbeddedStore, Inner, blocking};
use crate::disk::head::Head;
use crate::disk::index;
use crate::disk::journal::{self, Journal};
use crate::keys::{Keyring, SealedKey};
use crate::table::Table;
use crate::{Error, codec, keyspace};

impl EmbeddedStore {
    /// Seals everything again with a new key. If this is interrupted at any point, either the old
    /// or the new key opens the whole state. Returns the public half of the new key. Bytes that
    /// [`crate::Store::seal`] sealed before can no longer be opened.
    ///
    /// If the key is in a file, the file gets the given key or a new one. If the key comes from
    /// elsewhere, the new one must be given.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process writes; [`Error::KeyInvalid`] if the given key is not
    /// a key; [`Error::Damaged`] if an entry cannot be opened with the old key; and if the disk
    /// fails.
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
        // Entries that cannot be opened now would be lost with the old key.
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

    /// Continues an interrupted rotation. If that is not possible now, everything can be opened all
    /// the same.
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
            tracing::warn!(
                error = purlin_files::with_causes(&error),
                "the rotation of the state's key is not finished"
            );
        }
        Ok(())
    }

    /// Completes a rotation. The caller has locked the whole store.
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

    /// Seals an environment again, unless it is already sealed with the newest key. Returns whether
    /// it did.
    fn reseal(&self, folder: &Path) -> Result<bool, Error> {
        let Some((_, path)) = journal::find(folder)? else { return Ok(false) };
        let mut table = Table::default();
        let mut journal = Journal::open(folder, path, &mut table, self.probe.clone())?;
        let newest = self.keys.stored().first().map(SealedKey::encode);
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

/// The entries, all sealed with the newest data key, including those that were written before there
/// was a key.
fn resealed(table: &Table, keys: &Keyring) -> Result<Table, Error> {
    let mut result = Table::default();
    for (at, value) in table.iter().filter(|(at, _)| *at != keyspace::DATA_KEY) {
        let sealed = codec::reseal(value, &keyspace::describe(at, None), keys, keys)?;
        result.apply(at.to_vec(), Some(sealed));
    }
    if let Some(newest) = keys.stored().first() {
        result.apply(keyspace::DATA_KEY.to_vec(), Some(newest.encode()));
    }
    Ok(result)
}
