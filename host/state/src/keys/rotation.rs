//! A new key in place of the old one.
//!
//! The file with the data keys says for whom the state is sealed, and changes that in one step. A key
//! file follows it: the new key lies beside the old one as `<file>.next` before that step, and takes its
//! place after it. From then on the new data key seals; what the old one sealed is sealed again, one
//! environment after the other, and then the old one goes. Whoever is cut off in between leaves a state
//! that one key opens as a whole, and the next to write goes on from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::identity::{Key, read_file};
use super::{DataKey, Keyring, vault};
use crate::Error;
use crate::codec::SealedKey;
use crate::disk::files;
use crate::probe::Probed;

impl Keyring {
    /// Makes a new key that of the state: the one given, or one that is made where the old one is in a
    /// file. The caller has the store alone, and seals everything again after this. Gives its public half.
    pub(crate) fn rotate(&self, given: Option<&SecretString>, probe: &Probed) -> Result<String, Error> {
        let invalid = || Error::KeyInvalid { origin: "what was given as the new key".into() };
        let Some(vault) = &self.vault else { return Err(Error::Closed) };
        let key = match (given, self.file()) {
            (Some(given), _) => Key::parse(given.expose_secret()).ok_or_else(invalid)?,
            (None, Some(_)) => Key::generate(),
            (None, None) => return Err(invalid()),
        };
        let mut slot = self.slot();
        let mut data = vec![Arc::new(DataKey::generate(&key.owner())?)];
        for old in self.opened(&mut slot)? {
            data.push(Arc::new(old.for_another(&key.owner())?));
        }
        if let Some(path) = self.file() {
            probe.at("rotation: before the new key is written");
            files::replace_private(&next(path), key.to_file().as_bytes())?;
            probe.at("rotation: after the new key is written");
        }
        let stored: Vec<SealedKey> = data.iter().map(|data| data.stored.clone()).collect();
        probe.at("rotation: before the new key counts");
        if let Err(error) = vault::replace(vault, &stored) {
            // Whether it counts is what the file says now.
            if !vault::read(vault).is_ok_and(|now| now == stored)
                && let Some(path) = self.file()
            {
                let _ = fs::remove_file(next(path));
            }
            return Err(error);
        }
        probe.at("rotation: after the new key counts");
        let name = key.name.clone();
        (slot.key, slot.stored, slot.data) = (Some(Arc::new(key)), stored, data);
        drop(slot);
        self.take_place(probe)?;
        Ok(name)
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
