//! A new key in place of the old one.
//!
//! The file with the data keys says for whom the state is sealed, and changes that in one step. A key
//! file follows it: the new key lies beside the old one as `<file>.next` before that step, and takes its
//! place after it. From then on the new data key seals; what the old one sealed is sealed again, one
//! environment after the other, and then the old one goes. Whoever is cut off in between leaves a state
//! that one key opens as a whole, and the next to write goes on from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use secrecy::{ExposeSecret, SecretString};

use super::identity::{Key, read_file};
use super::{DataKey, Keyring, Slot, vault};
use crate::Error;
use crate::codec::SealedKey;
use crate::disk::files;
use crate::probe::Probed;

/// A new key, before it is that of the state.
pub(crate) struct Rotation {
    key: Key,
    data: Vec<Arc<DataKey>>,
    /// The data keys as the state is to have them: a new one, then the old ones, all sealed for the new key.
    pub(crate) stored: Vec<SealedKey>,
}

impl Keyring {
    /// Prepares a new key: the one given, or one that is made where the old one is in a file, where the new one
    /// then waits beside it.
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

    /// Makes a new key that of the state, once the state has its data keys. The caller seals everything again after
    /// this. Gives its public half.
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

    /// Takes back a key that is not that of the state.
    pub(crate) fn withdraw_rotation(&self) {
        if let Some(path) = self.file() {
            let _ = fs::remove_file(next(path));
        }
    }

    /// The same for a state whose data keys are in a file, which names the new key in one step.
    pub(crate) fn rotate(&self, given: Option<&SecretString>, probe: &Probed) -> Result<String, Error> {
        let Some(vault) = &self.vault else { return Err(Error::Closed) };
        let rotation = self.begin_rotation(given, probe)?;
        probe.at("rotation: before the new key counts");
        if let Err(error) = vault::replace(vault, &rotation.stored) {
            // Whether it counts is what the file says now.
            if !vault::read(vault).is_ok_and(|now| now == rotation.stored) {
                self.withdraw_rotation();
            }
            return Err(error);
        }
        probe.at("rotation: after the new key counts");
        self.rotated(rotation, probe)
    }

    /// The newest data key alone, with the key that opens it.
    pub(crate) fn newest(&self) -> Result<Self, Error> {
        let mut slot = self.slot();
        let data = self.opened(&mut slot)?.into_iter().take(1).collect();
        let stored = slot.stored.iter().take(1).cloned().collect();
        let slot = Slot { key: slot.key.clone(), stored, data, ..Slot::default() };
        Ok(Self { provider: None, vault: None, slot: Mutex::new(slot) })
    }

    /// Forgets the old data keys, which the state does not have any more.
    pub(crate) fn forget_old(&self) {
        let mut slot = self.slot();
        slot.stored.truncate(1);
        slot.data.truncate(1);
    }

    /// Whether what is given is the key of the state already.
    pub(crate) fn is_current(&self, given: &SecretString) -> bool {
        let given = Key::parse(given.expose_secret()).map(|key| key.name);
        given.is_some() && given == self.recipient()
    }

    /// Whether a rotation was begun and is not finished.
    pub(crate) fn is_rotating(&self) -> bool {
        self.slot().stored.len() > 1 || self.file().is_some_and(|path| next(path).exists())
    }

    /// Puts the key that waits beside the file in its place where the state is sealed for it; else it is
    /// of a rotation that never happened.
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
        // Files and copies of the state that were made before open with it.
        if let Ok(old) = read_file(path) {
            files::replace_private(&beside(path, &old), old.to_file().as_bytes())?;
        }
        probe.at("rotation: before the new key takes its place");
        fs::rename(&next, path).map_err(Error::io("write", path))?;
        files::sync_folder(files::folder_of(path))?;
        probe.at("rotation: after the new key took its place");
        Ok(())
    }

    /// Forgets the old data keys: nothing is sealed with them any more.
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

/// Where an old key stays: its file is named after its public half.
fn beside(path: &Path, old: &Key) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", old.name.get(..12).unwrap_or(&old.name)));
    name.into()
}

/// Where a new key waits.
fn next(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".next");
    name.into()
}

/// The key that waits beside a file, where it is the one that the state is sealed for.
pub(super) fn waiting(path: &Path, expected: Option<&str>) -> Option<Key> {
    let expected = expected?;
    let next = next(path);
    let key = if next.exists() { read_file(&next).ok()? } else { return None };
    (key.name == expected).then_some(key)
}
