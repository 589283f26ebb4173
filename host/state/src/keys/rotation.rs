//! A new key in place of the old one.
//!
//! The state says for whom it is sealed, and changes that in one step. A key file follows it: the
//! new key lies beside the old one as `<file>.next` before that step, and takes its place after it.
//! Whoever opens the state next, after a crash in between, finds out which of the two is right.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLockWriteGuard};

use secrecy::{ExposeSecret, SecretString};

use super::identity::{Key, read_file};
use super::{DataKey, Keyring, Slot};
use crate::Error;
use crate::disk::files;
use crate::probe::Probed;

/// A new key that is ready. While this lives nothing is sealed.
pub(crate) struct Rotation<'k> {
    keys: &'k Keyring,
    key: Arc<Key>,
    data: Arc<DataKey>,
    _gate: RwLockWriteGuard<'k, ()>,
}

impl<'k> Rotation<'k> {
    /// Gets a new key ready: the one given, or one that is made where the old one is in a file.
    pub(crate) fn prepare(
        keys: &'k Keyring,
        given: Option<&SecretString>,
        probe: &Probed,
    ) -> Result<Self, Error> {
        let gate = keys.gate.write().unwrap_or_else(PoisonError::into_inner);
        let invalid = || Error::KeyInvalid { origin: "what was given as the new key".into() };
        let key = match (given, &keys.file) {
            (Some(given), _) => Key::parse(given.expose_secret()).ok_or_else(invalid)?,
            (None, Some(_)) => Key::generate(),
            (None, None) => return Err(invalid()),
        };
        let data = Arc::new(DataKey::generate(&key)?);
        if let Some(path) = &keys.file {
            probe.at("rotation: before the new key is written");
            files::replace_private(&next(path), key.to_file().as_bytes())?;
            probe.at("rotation: after the new key is written");
        }
        Ok(Self { keys, key: Arc::new(key), data, _gate: gate })
    }

    /// The keys as they will be.
    pub(crate) fn keyring(&self) -> Keyring {
        let slot = Slot { key: Some(self.key.clone()), data: Some(self.data.clone()), ..Slot::default() };
        Keyring { slot: slot.into(), file: None, make: false, gate: Default::default() }
    }

    /// The data key as it will be stored.
    pub(crate) fn data(&self) -> &DataKey {
        &self.data
    }

    /// Takes it all back: the state was not changed.
    pub(crate) fn abandon(self) {
        if let Some(path) = &self.keys.file {
            let _ = fs::remove_file(next(path));
        }
    }

    /// Puts the new key in place of the old one: the state is sealed with it. Gives its public half.
    pub(crate) fn complete(self, probe: &Probed) -> Result<String, Error> {
        let name = self.key.name.clone();
        {
            let mut slot = self.keys.slot();
            slot.key = Some(self.key);
            slot.data = Some(self.data);
        }
        if let Some(path) = &self.keys.file {
            probe.at("rotation: before the new key takes its place");
            take_place(path)?;
            probe.at("rotation: after the new key took its place");
        }
        Ok(name)
    }
}

/// Where a new key waits.
fn next(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".next");
    name.into()
}

fn take_place(path: &Path) -> Result<(), Error> {
    fs::rename(next(path), path).map_err(Error::io("write", path))?;
    files::sync_folder(files::folder_of(path))
}

/// Ends a rotation that a crash interrupted: `expected` is whom the state is sealed for.
pub(super) fn settle(path: &Path, expected: Option<&str>) -> Result<(), Error> {
    let next = next(path);
    if !next.exists() {
        return Ok(());
    }
    let Ok(new) = read_file(&next) else { return Ok(()) };
    if expected == Some(new.name.as_str()) {
        return take_place(path);
    }
    let old = read_file(path).ok();
    if expected.is_none() || expected == old.as_ref().map(|old| old.name.as_str()) {
        fs::remove_file(&next).map_err(Error::io("remove", &next))?;
    }
    Ok(())
}
