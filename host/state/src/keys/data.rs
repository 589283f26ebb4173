//! The data key, which seals secrets. It is random, created once for each store, and kept next to
//! it, sealed for the age identity. Sealing each record with age itself would take a hundred times
//! as long.

use std::fmt;

use chacha20poly1305::aead::{Aead, AeadInPlace, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::identity::{Key, Owner};
use super::sealed::SealedKey;
use crate::Error;
use crate::error::NO_RANDOM;

/// The length of a nonce in bytes, long enough that random nonces never repeat.
const NONCE: usize = 24;
/// The length of the authentication tag in bytes.
const TAG: usize = 16;

/// The key that seals secrets. It is wiped from memory when it is dropped.
pub(crate) struct DataKey {
    bytes: Zeroizing<[u8; 32]>,
    cipher: XChaCha20Poly1305,
    /// Its stored form.
    pub(crate) stored: SealedKey,
}

impl DataKey {
    /// Creates a new key, sealed for `owner`.
    pub(super) fn generate(owner: &Owner) -> Result<Self, Error> {
        let unwritable = |detail| Error::Unwritable { name: "the data key".into(), detail };
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(bytes.as_mut_slice()).map_err(|_| unwritable(NO_RANDOM))?;
        Self::sealed_for(bytes, owner)
    }

    fn sealed_for(bytes: Zeroizing<[u8; 32]>, owner: &Owner) -> Result<Self, Error> {
        let detail = "it cannot be encrypted";
        let sealed = owner
            .seal(bytes.as_slice())
            .map_err(|_| Error::Unwritable { name: "the data key".into(), detail })?;
        let stored = SealedKey { recipient: owner.name.clone(), sealed };
        Ok(Self { cipher: XChaCha20Poly1305::new((&*bytes).into()), bytes, stored })
    }

    /// The same key, sealed for another owner.
    pub(super) fn for_another(&self, owner: &Owner) -> Result<Self, Error> {
        Self::sealed_for(self.bytes.clone(), owner)
    }

    /// Opens a stored key; `None` if it does not belong to `owner`.
    pub(super) fn open(stored: &SealedKey, owner: &Key) -> Option<Self> {
        let opened = owner.unseal(&stored.sealed)?;
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(opened.as_slice()).ok()?);
        Some(Self { cipher: XChaCha20Poly1305::new((&*bytes).into()), bytes, stored: stored.clone() })
    }

    /// Seals bytes. The result opens only with the same `context`.
    pub(crate) fn seal(&self, context: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = Vec::with_capacity(NONCE + plain.len() + TAG);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let body = sealed.get_mut(NONCE..)?;
        let tag = self.cipher.encrypt_in_place_detached(XNonce::from_slice(&nonce), context, body).ok()?;
        sealed.extend_from_slice(&tag);
        Some(sealed)
    }

    /// Opens sealed bytes; `None` if they were sealed with another key or context, or changed.
    pub(crate) fn unseal(&self, context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE)?;
        let payload = Payload { msg: sealed, aad: context };
        self.cipher.decrypt(XNonce::from_slice(nonce), payload).ok().map(Zeroizing::new)
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DataKey").field(&self.stored.recipient).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_bytes_open_only_with_their_key_and_context() {
        let owner = Key::generate();
        let key = DataKey::generate(&owner.owner()).expect("made");
        let mut sealed = key.seal(b"here", b"hidden").expect("sealed");
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_ne!(key.seal(b"here", b"hidden").expect("sealed"), sealed);
        let again = DataKey::open(&key.stored, &owner).expect("opens");
        assert_eq!(again.unseal(b"here", &sealed).expect("opens").as_slice(), b"hidden");
        assert!(again.unseal(b"there", &sealed).is_none());
        assert!(DataKey::generate(&owner.owner()).expect("made").unseal(b"here", &sealed).is_none());
        assert!(DataKey::open(&key.stored, &Key::generate()).is_none());
        *sealed.last_mut().expect("not empty") ^= 1;
        assert!(again.unseal(b"here", &sealed).is_none());
        assert!(again.unseal(b"here", b"short").is_none());
        assert!(!format!("{key:?}").contains("SECRET"));
    }
}
