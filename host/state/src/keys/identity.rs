//! An age identity, which seals the data key.

use std::fmt;
use std::io::Read;
use std::path::Path;

use age::x25519::{Identity, Recipient};
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use crate::Error;
use crate::disk::files;

/// The public half of a key: the recipient of encryption.
#[derive(Clone)]
pub(crate) struct Owner {
    recipient: Recipient,
    /// The key as text.
    pub(crate) name: String,
}

impl Owner {
    /// Parses `age1…`.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`].
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |_| Error::KeyInvalid { origin: format!("the recipient `{text}`") };
        let recipient: Recipient = text.trim().parse().map_err(invalid)?;
        Ok(Self { name: recipient.to_string(), recipient })
    }

    /// Encrypts for this owner.
    pub(super) fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, age::EncryptError> {
        age::encrypt(&self.recipient, plain)
    }
}

/// A parsed key.
pub(crate) struct Key {
    identity: Identity,
    recipient: Recipient,
    /// The public half as text.
    pub(crate) name: String,
}

impl Key {
    pub(super) fn new(identity: Identity) -> Self {
        let recipient = identity.to_public();
        Self { name: recipient.to_string(), identity, recipient }
    }

    /// Creates a new key.
    pub(super) fn generate() -> Self {
        Self::new(Identity::generate())
    }

    /// Parses an identity in the form of `age-keygen`: comments, and one line with the key.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let identity = lines.next()?.parse().ok()?;
        lines.next().is_none().then(|| Self::new(identity))
    }

    /// The content of a file with this key.
    pub(super) fn to_file(&self) -> Zeroizing<String> {
        let secret = self.identity.to_string();
        Zeroizing::new(format!(
            "# Purlin encrypts the secrets of its state with this key. Without it they are lost: back it up.\n\
             # public key: {}\n{}\n",
            self.name,
            secret.expose_secret()
        ))
    }

    /// The public half.
    pub(crate) fn owner(&self) -> Owner {
        Owner { recipient: self.recipient.clone(), name: self.name.clone() }
    }

    /// Decrypts bytes; `None` if they were not encrypted for this key, or changed.
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

/// Reads a key file, which other users must not be able to read.
pub(super) fn read_file(path: &Path) -> Result<Key, Error> {
    let unreadable = |source| Error::KeyUnreadable { path: path.into(), source };
    let mut file = purlin_files::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(unreadable)?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(Error::KeyExposed { path: path.into(), mode });
        }
    }
    let mut text = Zeroizing::new(String::with_capacity(1024));
    let read = file.by_ref().take(1 << 16).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() != std::io::ErrorKind::InvalidData => Err(unreadable(error)),
        _ => Key::parse(&text)
            .ok_or_else(|| Error::KeyInvalid { origin: format!("the key file `{}`", path.display()) }),
    }
}

/// Atomically creates a key file that is durable before anything is encrypted with its key.
pub(super) fn make_file(path: &Path) -> Result<Key, Error> {
    let key = Key::generate();
    let text = key.to_file();
    if files::create_private(path, text.as_bytes())? { Ok(key) } else { read_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_bytes_open_only_with_their_key() {
        let (one, other) = (Key::generate(), Key::generate());
        let mut sealed = one.owner().seal(b"hidden").expect("sealed");
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_eq!(one.unseal(&sealed).expect("opens").as_slice(), b"hidden");
        assert!(other.unseal(&sealed).is_none());
        *sealed.last_mut().expect("not empty") ^= 1;
        assert!(one.unseal(&sealed).is_none());
    }
}
