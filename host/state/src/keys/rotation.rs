//! Replaces the key.
//!
//! The file with the data keys says for which key the state is sealed, and changes atomically. A
//! key file follows it: before the change, the new key is next to the old one as `<file>.next`;
//! after it, the new key replaces the old one. From then on the new data key seals. Everything that
//! the old one sealed is sealed again, one environment after the other, and then the old data key
//! is removed. After an interruption, one key opens the whole state, and the next writer continues.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use secrecy::{ExposeSecret, SecretString};

use super::identity::{Key, read_file};
use super::{DataKey, Keyring, SealedKey, Slot, vault};
use crate::Error;
use crate::disk::files;
use crate::probe::Probed;

/// A new key that the state does not use yet.
pub(crate) struct Rotation {
    key: Key,
    data: Vec<Arc<DataKey>>,
    /// The future data keys of the state: a new one followed by the old ones, all sealed for the
    /// new key.
    pub(crate) stored: Vec<SealedKey>,
}

impl Keyring {
    /// Prepares a new key: the given one or, if the current key is in a file, a generated one. With
    /// a file, the new key waits next to it.
    pub(crate) fn begin_rotation(
        &self,
        given: Option<&SecretString>,
        probe: &Probed,
    ) -> Result<Rotation, Error> {
        let invalid = || Error::KeyInvalid { origin: "the new key".into() };
        let key = match (given, self.file()) {
            (Some(given), _) => Key::parse(given.expose_secret()).ok_or_else(invalid)?,
            (None, Some(_)) => Key::generate(),
            (None, None) => return Err(invalid()),
        };
        let mut data = vec![Arc::new(DataKey::generate(&key.owner())?)];
        for old in self.opened(&mut self.slot())? {
            data.push(Arc::new(old.for_another(&key.owner())?));
        }
        if let Some(path) = self.file() {
            probe.at("rotation: before the new key is written");
            files::replace_private(&next(path), key.to_file().as_bytes())?;
            probe.at("rotation: after the new key is written");
        }
        let stored: Vec<SealedKey> = data.iter().map(|data| data.stored.clone()).collect();
        Ok(Rotation { key, data, stored })
    }

    /// Switches to the new key once the state has its data keys. The caller then seals everything
    /// again. Returns its public half.
    pub(crate) fn rotated(&self, rotation: Rotation, probe: &Probed) -> Result<String, Error> {
        let Rotation { key, data, stored } = rotation;
        let name = key.name.clone();
        {
            let mut slot = self.slot();
            (slot.key, slot.stored, slot.data) = (Some(Arc::new(key)), stored, data);
        }
        self.take_place(probe)?;
        Ok(name)
    }

    /// Withdraws a key that the state does not use.
    pub(crate) fn withdraw_rotation(&self) {
        if let Some(path) = self.file() {
            let _ = fs::remove_file(next(path));
        }
    }

    /// Rotates the key of a state whose data keys are in a file, which switches to the new key
    /// atomically.
    pub(crate) fn rotate(&self, given: Option<&SecretString>, probe: &Probed) -> Result<String, Error> {
        let Some(vault) = &self.vault else { return Err(Error::Closed) };
        let rotation = self.begin_rotation(given, probe)?;
        probe.at("rotation: before the new key counts");
        if let Err(error) = vault::replace(vault, &rotation.stored) {
            // The content of the file decides whether the new key counts.
            if !vault::read(vault).is_ok_and(|now| now == rotation.stored) {
                self.withdraw_rotation();
            }
            return Err(error);
        }
        probe.at("rotation: after the new key counts");
        self.rotated(rotation, probe)
    }

    /// Only the newest data key, with the key that opens it.
    pub(crate) fn newest(&self) -> Result<Self, Error> {
        let mut slot = self.slot();
        let data = self.opened(&mut slot)?.into_iter().take(1).collect();
        let stored = slot.stored.iter().take(1).cloned().collect();
        let slot = Slot { key: slot.key.clone(), stored, data, ..Slot::default() };
        Ok(Self { provider: None, vault: None, slot: Mutex::new(slot) })
    }

    /// Forgets the old data keys, which the state no longer has.
    pub(crate) fn forget_old(&self) {
        let mut slot = self.slot();
        slot.stored.truncate(1);
        slot.data.truncate(1);
    }

    /// Whether the given key is the current key of the state.
    pub(crate) fn is_current(&self, given: &SecretString) -> bool {
        let given = Key::parse(given.expose_secret()).map(|key| key.name);
        given.is_some() && given == self.recipient()
    }

    /// Whether a rotation is unfinished.
    pub(crate) fn is_rotating(&self) -> bool {
        self.slot().stored.len() > 1 || self.file().is_some_and(|path| next(path).exists())
    }

    /// Moves the key that waits next to the file into place if the state is sealed for it.
    /// Otherwise it belongs to a rotation that never took effect, and is removed.
    pub(crate) fn take_place(&self, probe: &Probed) -> Result<(), Error> {
        let Some(path) = self.file() else { return Ok(()) };
        let next = next(path);
        if !next.exists() {
            return Ok(());
        }
        let expected = self.slot().stored.first().map(|stored| stored.recipient.clone());
        if waiting(path, expected.as_deref()).is_none() {
            return fs::remove_file(&next).map_err(Error::io("remove", &next));
        }
        // Exports and backups that were made before need the old key.
        if let Ok(old) = read_file(path) {
            files::replace_private(&beside(path, &old), old.to_file().as_bytes())?;
        }
        probe.at("rotation: before the new key takes its place");
        fs::rename(&next, path).map_err(Error::io("write", path))?;
        files::sync_folder(files::folder_of(path))?;
        probe.at("rotation: after the new key took its place");
        Ok(())
    }

    /// Removes the old data keys, which no longer seal anything.
    pub(crate) fn finish_rotation(&self, probe: &Probed) -> Result<(), Error> {
        let Some(vault) = &self.vault else { return Ok(()) };
        let mut slot = self.slot();
        if slot.stored.len() < 2 {
            return Ok(());
        }
        probe.at("rotation: before the old data key goes");
        vault::replace(vault, slot.stored.get(..1).unwrap_or_default())?;
        slot.stored.truncate(1);
        slot.data.truncate(1);
        probe.at("rotation: after the old data key went");
        Ok(())
    }
}

/// The path of an old key, named after its public half.
fn beside(path: &Path, old: &Key) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", old.name.get(..12).unwrap_or(&old.name)));
    name.into()
}

/// The path of a waiting key.
fn next(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".next");
    name.into()
}

/// The key that waits next to a file, if the state is sealed for it.
pub(super) fn waiting(path: &Path, expected: Option<&str>) -> Option<Key> {
    let expected = expected?;
    let next = next(path);
    let key = if next.exists() { read_file(&next).ok()? } else { return None };
    (key.name == expected).then_some(key)
}
