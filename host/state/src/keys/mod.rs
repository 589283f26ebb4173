//! The key that secrets are sealed with: where it comes from, and that it is the right one.
//!
//! A key is an age X25519 identity. It seals the store's data key, which seals the rest. The state
//! keeps its public half, so that a wrong key is refused by name. Nothing here shows a secret half.

mod data;
mod identity;
mod rotation;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use secrecy::{ExposeSecret, SecretString};

pub(crate) use self::data::DataKey;
pub(crate) use self::identity::Key;
use self::identity::{make_file, read_file};
pub(crate) use self::rotation::Rotation;
use crate::Error;
use crate::codec::SealedKey;
use crate::disk::files;

/// Where the key comes from that secrets are encrypted with (SPEC §10).
#[derive(Clone, Debug)]
pub enum KeyProvider {
    /// A file with an age identity, which must be there.
    File(PathBuf),
    /// An age identity itself, from an environment variable or a command that the caller ran.
    Value(SecretString),
    /// The same, with what messages call the place that it came from.
    Named {
        /// Such as `the environment variable PURLIN_KEY`.
        origin: String,
        /// The identity.
        key: SecretString,
    },
    /// A file that is made when the first secret is recorded.
    Generate(PathBuf),
}

impl KeyProvider {
    /// What messages call the place that the key comes from.
    fn origin(&self) -> String {
        match self {
            Self::File(path) | Self::Generate(path) => format!("the key file `{}`", path.display()),
            Self::Value(_) => "the key given".to_owned(),
            Self::Named { origin, .. } => origin.clone(),
        }
    }

    /// Makes a key in a file that is not there yet and that only its owner can read. Gives its public
    /// half.
    ///
    /// # Errors
    /// [`Error::Io`] when the file is there already, or cannot be written.
    pub fn create(path: &Path) -> Result<String, Error> {
        let key = Key::generate();
        if files::create_private(path, key.to_file().as_bytes())? {
            return Ok(key.name.clone());
        }
        Err(Error::io("make the key file", path)(ErrorKind::AlreadyExists.into()))
    }
}

/// The key of one store, had or still to be made.
#[derive(Debug)]
pub(crate) struct Keyring {
    /// The file with the key.
    file: Option<PathBuf>,
    /// Whether it may be made.
    make: bool,
    slot: Mutex<Slot>,
    /// Held while something is sealed and handed over, so that nothing sealed with an old key comes
    /// behind the new one.
    gate: RwLock<()>,
}

#[derive(Debug, Default)]
struct Slot {
    key: Option<Arc<Key>>,
    made: bool,
    /// The data key as the state has it.
    stored: Option<SealedKey>,
    data: Option<Arc<DataKey>>,
}

impl Keyring {
    /// Gets the key ready. All but a key that is still to be made are read now: a wrong one has to
    /// be known before a driver makes something that then cannot be recorded.
    ///
    /// `stored` is what the state says about its key.
    pub(crate) fn open(provider: &KeyProvider, stored: Option<SealedKey>) -> Result<Self, Error> {
        let expected = stored.as_ref().map(|stored| stored.recipient.as_str());
        let (file, make) = match provider {
            KeyProvider::Value(_) | KeyProvider::Named { .. } => (None, false),
            KeyProvider::File(path) => (Some(path), false),
            KeyProvider::Generate(path) => (Some(path), true),
        };
        if let Some(path) = file {
            rotation::settle(path, expected)?;
        }
        let key = match (provider, expected) {
            (KeyProvider::Value(text) | KeyProvider::Named { key: text, .. }, _) => {
                let key = Key::parse(text.expose_secret());
                Some(key.ok_or_else(|| Error::KeyInvalid { origin: provider.origin() })?)
            }
            (KeyProvider::Generate(path), None) if !path.exists() => None,
            (KeyProvider::Generate(path), Some(recipient)) if !path.exists() => {
                return Err(Error::KeyMissing { path: path.clone(), recipient: recipient.into() });
            }
            (KeyProvider::File(path) | KeyProvider::Generate(path), _) => Some(read_file(path)?),
        };
        if let (Some(expected), Some(given)) = (expected, &key)
            && expected != given.name
        {
            return Err(Error::WrongKey {
                origin: provider.origin(),
                expected: expected.into(),
                given: given.name.clone(),
            });
        }
        let stored = stored.filter(|stored| stored.sealed.is_some());
        let slot = Slot { key: key.map(Arc::new), made: false, stored, data: None };
        Ok(Self { file: file.cloned(), make, slot: Mutex::new(slot), gate: RwLock::default() })
    }

    /// A key that lives as long as this, for a store in memory.
    pub(crate) fn in_memory() -> Self {
        let slot = Slot { key: Some(Arc::new(Key::generate())), ..Slot::default() };
        Self { file: None, make: false, slot: Mutex::new(slot), gate: RwLock::default() }
    }

    /// The key, made now where there is none.
    pub(crate) fn key(&self) -> Result<Arc<Key>, Error> {
        self.slot().key(self.make_at())
    }

    /// The data key, made now where there is none. Whoever seals with it has to see to it that it
    /// is stored no later than what it sealed.
    pub(crate) fn data(&self) -> Result<Arc<DataKey>, Error> {
        self.data_of(&mut self.slot())
    }

    /// The data key if there is one, or if one is to be made.
    pub(crate) fn data_if(&self, make: bool) -> Result<Option<Arc<DataKey>>, Error> {
        let mut slot = self.slot();
        let wanted = make || slot.data.is_some() || slot.stored.is_some();
        if wanted { self.data_of(&mut slot).map(Some) } else { Ok(None) }
    }

    fn data_of(&self, slot: &mut Slot) -> Result<Arc<DataKey>, Error> {
        if let Some(data) = &slot.data {
            return Ok(data.clone());
        }
        let key = slot.key(self.make_at())?;
        let data = match &slot.stored {
            Some(stored) => DataKey::open(stored, &key).ok_or_else(|| Error::Damaged {
                name: "the data key".into(),
                detail: "it cannot be decrypted".into(),
            })?,
            None => DataKey::generate(&key)?,
        };
        let data = Arc::new(data);
        slot.data = Some(data.clone());
        Ok(data)
    }

    /// Where a key was made.
    pub(crate) fn made(&self) -> Option<PathBuf> {
        if self.slot().made { self.file.clone() } else { None }
    }

    /// The public half of the key, if there is one.
    pub(crate) fn recipient(&self) -> Option<String> {
        self.slot().key.as_ref().map(|key| key.name.clone())
    }

    /// To be held while something is sealed and handed over.
    pub(crate) fn sealing(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_at(&self) -> Option<&PathBuf> {
        self.file.as_ref().filter(|_| self.make)
    }
}

impl Slot {
    fn key(&mut self, make_at: Option<&PathBuf>) -> Result<Arc<Key>, Error> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let key = Arc::new(make_file(make_at.ok_or(Error::Closed)?)?);
        self.key = Some(key.clone());
        self.made = true;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_made_private_and_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let ring = Keyring::open(&KeyProvider::Generate(path.clone()), None).expect("opens");
        assert_eq!(ring.made(), None);
        assert!(!path.exists());
        let name = ring.key().expect("made").name.clone();
        assert_eq!(ring.made(), Some(path.clone()));
        let noted = || Some(SealedKey { recipient: name.clone(), sealed: None });
        let again = Keyring::open(&KeyProvider::Generate(path.clone()), noted()).expect("opens");
        assert_eq!((again.key().expect("there").name.clone(), again.made()), (name.clone(), None));
        assert!(!format!("{again:?}").contains("SECRET"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
            let error =
                Keyring::open(&KeyProvider::File(path.clone()), None).expect_err("others can read it");
            assert!(matches!(error, Error::KeyExposed { mode: 0o640, .. }), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
        let error = Keyring::open(&KeyProvider::Generate(path), noted()).expect_err("lost");
        assert!(matches!(&error, Error::KeyMissing { recipient, .. } if *recipient == name), "{error}");
    }

    #[test]
    fn a_key_is_made_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let name = KeyProvider::create(&path).expect("made");
        let ring = Keyring::open(&KeyProvider::File(path.clone()), None).expect("opens");
        assert_eq!(ring.recipient(), Some(name.clone()));
        let error = KeyProvider::create(&path).expect_err("there");
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(Keyring::open(&KeyProvider::File(path), None).expect("opens").recipient(), Some(name));
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let error =
            Keyring::open(&KeyProvider::Value("AGE-SECRET-KEY-1NONSENSE".into()), None).expect_err("none");
        assert!(matches!(error, Error::KeyInvalid { .. }));
        assert!(!format!("{error} {error:?}").contains("NONSENSE"));
    }
}
