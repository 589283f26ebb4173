//! The key that secrets are sealed with: where it comes from, and that it is the right one.
//!
//! A key is an age X25519 identity. The state keeps its public half, so that a wrong key is
//! refused by name. Nothing here shows a secret half.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use age::x25519::{Identity, Recipient};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::Error;
use crate::disk::files;

/// Where the key comes from that secrets are encrypted with (SPEC §10).
#[derive(Clone, Debug)]
pub enum KeyProvider {
    /// A file with an age identity, which must be there.
    File(PathBuf),
    /// An age identity itself, from an environment variable or a command that the caller ran.
    Value(SecretString),
    /// A file that is made when the first secret is recorded.
    Generate(PathBuf),
}

/// A key, parsed once.
pub(crate) struct Key {
    identity: Identity,
    recipient: Recipient,
    /// The public half as text.
    pub(crate) name: String,
}

impl Key {
    fn new(identity: Identity) -> Self {
        let recipient = identity.to_public();
        Self { name: recipient.to_string(), identity, recipient }
    }

    /// Reads an identity in the form of `age-keygen`: comments, and one line with the key.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let identity = lines.next()?.parse().ok()?;
        lines.next().is_none().then(|| Self::new(identity))
    }

    /// Encrypts for this key.
    pub(crate) fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, age::EncryptError> {
        age::encrypt(&self.recipient, plain)
    }

    /// Decrypts; `None` when it was not encrypted for this key, or was changed.
    pub(crate) fn unseal(&self, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let decryptor = age::Decryptor::new_buffered(sealed).ok()?;
        let mut reader = decryptor.decrypt(std::iter::once(&self.identity as &dyn age::Identity)).ok()?;
        // The plain text is shorter, so the buffer never grows and leaves no copy behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(sealed.len()));
        reader.read_to_end(&mut plain).ok()?;
        Some(plain)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.name).finish()
    }
}

/// The key of one store, had or still to be made.
#[derive(Debug)]
pub(crate) struct Keyring {
    /// Where to make the key.
    make_at: Option<PathBuf>,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    key: Option<Arc<Key>>,
    made: bool,
}

impl Keyring {
    /// Gets the key ready. All but a key that is still to be made are read now: a wrong one has to
    /// be known before a driver makes something that then cannot be recorded.
    ///
    /// `expected` is the public half that the state's secrets are encrypted for.
    pub(crate) fn open(provider: &KeyProvider, expected: Option<&str>) -> Result<Self, Error> {
        let (key, make_at) = match provider {
            KeyProvider::Value(text) => {
                let key = Key::parse(text.expose_secret());
                (Some(key.ok_or_else(|| Error::KeyInvalid { origin: "the key given".into() })?), None)
            }
            KeyProvider::File(path) => (Some(read_file(path)?), None),
            KeyProvider::Generate(path) if path.exists() => (Some(read_file(path)?), None),
            KeyProvider::Generate(path) => match expected {
                Some(recipient) => {
                    return Err(Error::KeyMissing { path: path.clone(), recipient: recipient.into() });
                }
                None => (None, Some(path.clone())),
            },
        };
        if let (Some(expected), Some(given)) = (expected, &key)
            && expected != given.name
        {
            return Err(Error::WrongKey { expected: expected.into(), given: given.name.clone() });
        }
        Ok(Self { make_at, slot: Mutex::new(Slot { key: key.map(Arc::new), made: false }) })
    }

    /// A key that lives as long as this, for a store in memory.
    pub(crate) fn in_memory() -> Self {
        let key = Key::new(Identity::generate());
        Self { make_at: None, slot: Mutex::new(Slot { key: Some(Arc::new(key)), made: false }) }
    }

    /// The key, made now where there is none.
    pub(crate) fn key(&self) -> Result<Arc<Key>, Error> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &slot.key {
            return Ok(key.clone());
        }
        let path = self.make_at.as_ref().ok_or(Error::Closed)?;
        let key = Arc::new(make_file(path)?);
        slot.key = Some(key.clone());
        slot.made = true;
        Ok(key)
    }

    /// Where a key was made.
    pub(crate) fn made(&self) -> Option<PathBuf> {
        let slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.made { self.make_at.clone() } else { None }
    }
}

fn read_file(path: &Path) -> Result<Key, Error> {
    let mut file = std::fs::File::open(path).map_err(Error::io("read the key file", path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(Error::io("read the key file", path))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(Error::KeyExposed { path: path.into(), mode });
        }
    }
    let mut text = Zeroizing::new(String::with_capacity(1024));
    let read = file.by_ref().take(1 << 16).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() != std::io::ErrorKind::InvalidData => {
            Err(Error::io("read the key file", path)(error))
        }
        _ => Key::parse(&text)
            .ok_or_else(|| Error::KeyInvalid { origin: format!("the key file `{}`", path.display()) }),
    }
}

/// Makes a key file that is whole or not there, and durable before anything is encrypted with it.
fn make_file(path: &Path) -> Result<Key, Error> {
    let key = Key::new(Identity::generate());
    let secret = key.identity.to_string();
    let text = Zeroizing::new(format!(
        "# Purlin encrypts the secrets of its state with this key. Without it they are lost: back it up.\n\
         # public key: {}\n{}\n",
        key.name,
        secret.expose_secret()
    ));
    if files::create_private(path, text.as_bytes())? { Ok(key) } else { read_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_only() {
        let (one, other) = (Key::new(Identity::generate()), Key::new(Identity::generate()));
        let mut sealed = one.seal(b"hidden").expect("sealed");
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_eq!(one.unseal(&sealed).expect("opens").as_slice(), b"hidden");
        assert!(other.unseal(&sealed).is_none());
        *sealed.last_mut().expect("not empty") ^= 1;
        assert!(one.unseal(&sealed).is_none());
    }

    #[test]
    fn a_key_file_is_made_private_and_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let ring = Keyring::open(&KeyProvider::Generate(path.clone()), None).expect("opens");
        assert_eq!(ring.made(), None);
        assert!(!path.exists());
        let name = ring.key().expect("made").name.clone();
        assert_eq!(ring.made(), Some(path.clone()));
        let again = Keyring::open(&KeyProvider::Generate(path.clone()), Some(&name)).expect("opens");
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
        let error = Keyring::open(&KeyProvider::Generate(path), Some(&name)).expect_err("lost");
        assert!(matches!(&error, Error::KeyMissing { recipient, .. } if *recipient == name), "{error}");
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let error =
            Keyring::open(&KeyProvider::Value("AGE-SECRET-KEY-1NONSENSE".into()), None).expect_err("none");
        assert!(matches!(error, Error::KeyInvalid { .. }));
        assert!(!format!("{error} {error:?}").contains("NONSENSE"));
    }
}
