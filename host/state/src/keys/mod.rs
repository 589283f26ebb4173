//! The key that secrets are sealed with: its source, and the check that it is the right one.
//!
//! A key is an age X25519 identity. It seals the store's data key, which seals everything else. The
//! file with the data key names the public half, so that the error about a wrong key can name both.
//! Nothing here reveals a secret half.

mod data;
mod identity;
mod rotation;
mod sealed;
pub(crate) mod vault;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

pub(crate) use self::data::DataKey;
pub(crate) use self::identity::{Key, Owner};
use self::identity::{make_file, read_file};
pub(crate) use self::sealed::SealedKey;
use crate::Error;
use crate::disk::files;

/// The source of the key that encrypts secrets (SPEC §10).
#[derive(Clone, Debug)]
pub enum KeyProvider {
    /// A file with an age identity, which must exist.
    File(PathBuf),
    /// An age identity itself.
    Value(SecretString),
    /// An age identity that is asked for when the first sealed byte is read, or an environment is
    /// locked: whoever only looks at documents needs none.
    Asked(AskedKey),
    /// A file that is created with the first secret.
    Generate(PathBuf),
}

impl KeyProvider {
    /// The name of the key's source for messages.
    fn origin(&self) -> String {
        match self {
            Self::File(path) | Self::Generate(path) => format!("the key file `{}`", path.display()),
            Self::Value(_) => "the key given".to_owned(),
            Self::Asked(asked) => asked.origin.clone(),
        }
    }

    /// Creates a key in a new file that only its owner can read. Returns its public half.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or cannot be written.
    pub fn create(path: &Path) -> Result<String, Error> {
        let key = Key::generate();
        if files::create_private(path, key.to_file().as_bytes())? {
            return Ok(key.name.clone());
        }
        Err(Error::io("make the key file", path)(ErrorKind::AlreadyExists.into()))
    }
}

/// An age identity from elsewhere, such as an environment variable or a program. It is asked for at
/// most once.
#[derive(Clone)]
pub struct AskedKey {
    origin: String,
    ask: Arc<dyn Fn() -> Result<String, String> + Send + Sync>,
    answer: Arc<OnceLock<Result<SecretString, String>>>,
}

impl AskedKey {
    /// `origin` is the name of the source for messages, for example `the environment variable
    /// PURLIN_KEY`. `ask` returns the identity, or why there is none.
    pub fn new(origin: String, ask: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> Self {
        Self { origin, ask: Arc::new(ask), answer: Arc::default() }
    }

    fn get(&self) -> Result<Key, Error> {
        match self.answer.get_or_init(|| (self.ask)().map(SecretString::from)) {
            Ok(text) => Key::parse(text.expose_secret())
                .ok_or_else(|| Error::KeyInvalid { origin: self.origin.clone() }),
            Err(reason) => Err(Error::KeyUnavailable { reason: reason.clone() }),
        }
    }
}

impl fmt::Debug for AskedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedKey").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// The keys of one store, including a key that does not exist yet.
#[derive(Debug)]
pub(crate) struct Keyring {
    /// The source of the key; `None` for a store in memory.
    provider: Option<KeyProvider>,
    /// The file with the data keys; `None` for a store in memory.
    vault: Option<PathBuf>,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    key: Option<Arc<Key>>,
    made: bool,
    /// The data keys as stored in the state. The first one seals.
    stored: Vec<SealedKey>,
    /// The same keys, opened.
    data: Vec<Arc<DataKey>>,
}

impl Keyring {
    /// Prepares the key for a store whose data keys are in the file `vault`. The key is read now,
    /// unless it does not exist yet or is only asked for when it is needed.
    pub(crate) fn open(provider: &KeyProvider, vault: &Path) -> Result<Self, Error> {
        Self::with(provider, vault, vault::read(vault)?)
    }

    /// The same for known data keys.
    pub(crate) fn with(provider: &KeyProvider, vault: &Path, stored: Vec<SealedKey>) -> Result<Self, Error> {
        let key = find(provider, recipient(&stored))?;
        let slot = Slot { key: key.map(Arc::new), stored, ..Slot::default() };
        Ok(Self { provider: Some(provider.clone()), vault: Some(vault.to_owned()), slot: Mutex::new(slot) })
    }

    /// A key that exists only in memory, for a store in memory.
    pub(crate) fn in_memory() -> Self {
        let slot = Slot { key: Some(Arc::new(Key::generate())), ..Slot::default() };
        Self { provider: None, vault: None, slot: Mutex::new(slot) }
    }

    /// A new data key, sealed for an owner whose private key is not needed.
    pub(crate) fn for_owner(owner: &Owner) -> Result<Self, Error> {
        let data = DataKey::generate(owner)?;
        let stored = vec![data.stored.clone()];
        let slot = Slot { stored, data: vec![Arc::new(data)], ..Slot::default() };
        Ok(Self { provider: None, vault: None, slot: Mutex::new(slot) })
    }

    /// A keyring for data keys from elsewhere that are sealed with the key of this store.
    pub(crate) fn reading(&self, stored: Vec<SealedKey>) -> Result<Self, Error> {
        let Some(provider) = &self.provider else { return Err(Error::Closed) };
        let key = find(provider, recipient(&stored))?;
        let slot = Slot { key: key.map(Arc::new), stored, ..Slot::default() };
        Ok(Self { provider: Some(provider.clone()), vault: None, slot: Mutex::new(slot) })
    }

    /// The keys of a store whose data keys are not in a file. The key itself must exist.
    pub(crate) fn given(provider: &KeyProvider, stored: Vec<SealedKey>) -> Result<Self, Error> {
        let provider = match provider {
            KeyProvider::Generate(path) => KeyProvider::File(path.clone()),
            other => other.clone(),
        };
        let key = find(&provider, recipient(&stored))?;
        let slot = Slot { key: key.map(Arc::new), stored, ..Slot::default() };
        Ok(Self { provider: Some(provider), vault: None, slot: Mutex::new(slot) })
    }

    /// A new data key, sealed for the state's key.
    pub(crate) fn new_data_key(&self) -> Result<SealedKey, Error> {
        Ok(DataKey::generate(&self.key()?.owner())?.stored)
    }

    /// Switches to the current data keys of the store. Returns whether they changed.
    pub(crate) fn replace(&self, stored: Vec<SealedKey>) -> Result<bool, Error> {
        let Some(provider) = &self.provider else { return Ok(false) };
        let mut slot = self.slot();
        if stored == slot.stored {
            return Ok(false);
        }
        let key = find(provider, recipient(&stored))?;
        *slot = Slot { key: key.map(Arc::new), made: slot.made, stored, data: Vec::new() };
        Ok(true)
    }

    /// Checks whether another process changed the data keys. Returns whether it did.
    pub(crate) fn refresh(&self) -> Result<bool, Error> {
        match &self.vault {
            Some(vault) => self.replace(vault::read(vault)?),
            None => Ok(false),
        }
    }

    /// Asks for a key that is asked for when it is needed: a wrong one must be detected before a
    /// driver creates a resource that could then not be recorded.
    pub(crate) fn confirm(&self) -> Result<(), Error> {
        match &self.provider {
            Some(KeyProvider::Asked(_)) => self.key().map(drop),
            _ => Ok(()),
        }
    }

    /// The key, created now if there is none.
    pub(crate) fn key(&self) -> Result<Arc<Key>, Error> {
        self.slot().key(self.provider.as_ref())
    }

    /// The data key that seals, created now if there is none. It is in its file before anything is
    /// sealed with it.
    pub(crate) fn data(&self) -> Result<Arc<DataKey>, Error> {
        let mut slot = self.slot();
        if slot.stored.is_empty() {
            let key = slot.key(self.provider.as_ref())?;
            let data = DataKey::generate(&key.owner())?;
            match &self.vault {
                // Another process may have created one first.
                Some(vault) if !vault::create(vault, &data.stored)? => {
                    slot.stored = vault::read(vault)?;
                    slot.data.clear();
                }
                _ => {
                    slot.stored = vec![data.stored.clone()];
                    slot.data = vec![Arc::new(data)];
                }
            }
        }
        let opened = self.opened(&mut slot)?;
        opened.first().cloned().ok_or(Error::Closed)
    }

    /// The data key, if there is one or one should be created.
    pub(crate) fn data_if(&self, make: bool) -> Result<Option<Arc<DataKey>>, Error> {
        let there = !self.slot().stored.is_empty();
        if make || there { self.data().map(Some) } else { Ok(None) }
    }

    /// Opens bytes that one of the data keys sealed with a context; `None` if none of them did.
    pub(crate) fn unseal(&self, context: &[u8], sealed: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let data = self.opened(&mut self.slot())?;
        Ok(data.iter().find_map(|key| key.unseal(context, sealed)))
    }

    fn opened(&self, slot: &mut Slot) -> Result<Vec<Arc<DataKey>>, Error> {
        if slot.data.len() < slot.stored.len() {
            let key = slot.key(self.provider.as_ref())?;
            let open = |stored: &SealedKey| {
                DataKey::open(stored, &key).map(Arc::new).ok_or_else(|| Error::Damaged {
                    name: "the data key".into(),
                    detail: "it cannot be decrypted".into(),
                })
            };
            slot.data = slot.stored.iter().map(open).collect::<Result<_, _>>()?;
        }
        Ok(slot.data.clone())
    }

    /// The data keys as stored in the state.
    pub(crate) fn stored(&self) -> Vec<SealedKey> {
        self.slot().stored.clone()
    }

    /// The file in which a key was created.
    pub(crate) fn made(&self) -> Option<PathBuf> {
        if self.slot().made { self.file().cloned() } else { None }
    }

    /// The public half of the key, if there is one.
    pub(crate) fn recipient(&self) -> Option<String> {
        self.slot().key.as_ref().map(|key| key.name.clone())
    }

    /// The file of the key.
    fn file(&self) -> Option<&PathBuf> {
        match &self.provider {
            Some(KeyProvider::File(path) | KeyProvider::Generate(path)) => Some(path),
            _ => None,
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn key(&mut self, provider: Option<&KeyProvider>) -> Result<Arc<Key>, Error> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let key = match provider {
            Some(KeyProvider::Generate(path)) => {
                self.made = true;
                make_file(path)?
            }
            Some(provider @ KeyProvider::Asked(asked)) => {
                expected(asked.get()?, provider, recipient(&self.stored))?
            }
            _ => return Err(Error::Closed),
        };
        Ok(Arc::clone(self.key.insert(Arc::new(key))))
    }
}

/// For whom the data keys are sealed.
fn recipient(stored: &[SealedKey]) -> Option<&str> {
    stored.first().map(|stored| stored.recipient.as_str())
}

/// The key of a provider, which must be the expected one; `None` if it does not exist yet, or is
/// asked for later.
fn find(provider: &KeyProvider, wanted: Option<&str>) -> Result<Option<Key>, Error> {
    let key = match provider {
        KeyProvider::Asked(_) => return Ok(None),
        KeyProvider::Value(text) => {
            let key = Key::parse(text.expose_secret());
            key.ok_or_else(|| Error::KeyInvalid { origin: provider.origin() })?
        }
        KeyProvider::File(path) | KeyProvider::Generate(path) => {
            // A rotation may be interrupted or in progress. The state says which of the two keys
            // counts.
            match rotation::waiting(path, wanted) {
                Some(next) => return Ok(Some(next)),
                None if path.exists() => read_file(path)?,
                None => match (provider, wanted) {
                    (KeyProvider::Generate(_), None) => return Ok(None),
                    _ => return Err(missing(path, wanted)),
                },
            }
        }
    };
    expected(key, provider, wanted).map(Some)
}

/// The key, if it is the one that secrets are encrypted for.
fn expected(key: Key, provider: &KeyProvider, wanted: Option<&str>) -> Result<Key, Error> {
    match wanted {
        Some(wanted) if wanted != key.name => {
            Err(Error::WrongKey { origin: provider.origin(), expected: wanted.into(), given: key.name })
        }
        _ => Ok(key),
    }
}

/// The error for a key file that is not there. `expected` is the key that secrets are encrypted for.
fn missing(path: &Path, expected: Option<&str>) -> Error {
    match (path.metadata(), expected) {
        (Err(source), _) if source.kind() != ErrorKind::NotFound => {
            Error::KeyUnreadable { path: path.to_owned(), source }
        }
        (_, Some(recipient)) => Error::KeyMissing { path: path.to_owned(), recipient: recipient.to_owned() },
        (_, None) => Error::NoKey { path: path.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_private_and_created_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let vault = folder.path().join("data-key");
        let ring = Keyring::open(&KeyProvider::Generate(path.clone()), &vault).expect("opens");
        assert_eq!(ring.made(), None);
        assert!(!path.exists() && !vault.exists());
        let sealed = ring.data().expect("made").seal(b"here", b"hidden").expect("sealed");
        let name = ring.recipient().expect("made");
        assert_eq!(ring.made(), Some(path.clone()));
        let again = Keyring::open(&KeyProvider::Generate(path.clone()), &vault).expect("opens");
        assert_eq!((again.key().expect("there").name.clone(), again.made()), (name.clone(), None));
        assert_eq!(again.unseal(b"here", &sealed).expect("opens").expect("its key").as_slice(), b"hidden");
        assert!(!format!("{again:?}").contains("SECRET"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
            let error =
                Keyring::open(&KeyProvider::File(path.clone()), &vault).expect_err("others can read it");
            assert!(matches!(error, Error::KeyExposed { mode: 0o640, .. }), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
        for provider in [KeyProvider::Generate(path.clone()), KeyProvider::File(path.clone())] {
            let error = Keyring::open(&provider, &vault).expect_err("lost");
            assert!(matches!(&error, Error::KeyMissing { recipient, .. } if *recipient == name), "{error}");
        }
        let error = Keyring::open(&KeyProvider::File(path), &folder.path().join("none")).expect_err("none");
        assert!(matches!(&error, Error::NoKey { .. }) && error.is_input(), "{error}");
    }

    #[test]
    fn a_key_is_created_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let name = KeyProvider::create(&path).expect("made");
        let vault = folder.path().join("data-key");
        let ring = Keyring::open(&KeyProvider::File(path.clone()), &vault).expect("opens");
        assert_eq!(ring.recipient(), Some(name.clone()));
        let error = KeyProvider::create(&path).expect_err("there");
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(Keyring::open(&KeyProvider::File(path), &vault).expect("opens").recipient(), Some(name));
    }

    #[test]
    fn an_invalid_key_is_rejected_without_showing_it() {
        let error = Keyring::open(&KeyProvider::Value("AGE-SECRET-KEY-1NONSENSE".into()), Path::new("none"))
            .expect_err("none");
        assert!(matches!(error, Error::KeyInvalid { .. }));
        assert!(!format!("{error} {error:?}").contains("NONSENSE"));
    }
}
