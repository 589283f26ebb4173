//! What a driver keeps privately for a resource (the cookie of the contract).

use std::fmt;
use std::sync::{Arc, OnceLock};

use sha2::{Digest as _, Sha256};

/// What a driver keeps privately for a resource. Only its driver reads it, so a large one stays in the state
/// until a call needs it.
///
/// Equal ones have equal bytes, wherever these are.
#[derive(Clone, Default)]
pub struct Cookie(Place);

#[derive(Clone, Default)]
enum Place {
    /// There is none: most drivers keep nothing, so this costs no memory of its own.
    #[default]
    Nowhere,
    Here(Arc<Bytes>),
    Stored(Arc<StoredCookie>),
}

struct Bytes {
    bytes: Box<[u8]>,
    /// By which the state finds them, once it has them.
    id: OnceLock<[u8; 16]>,
}

/// A cookie whose bytes are in the state, apart from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCookie {
    /// By this, the state finds the bytes. It is random, and of no other cookie.
    pub id: [u8; 16],
    /// The SHA-256 digest of the bytes, as secret as they are.
    pub digest: [u8; 32],
    /// Their number.
    pub length: u64,
}

impl Cookie {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Place::Nowhere => 0,
            Place::Here(here) => here.bytes.len() as u64,
            Place::Stored(stored) => stored.length,
        }
    }

    /// The bytes; `None` if they are in the state.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Place::Nowhere => Some(&[]),
            Place::Here(here) => Some(&here.bytes),
            Place::Stored(_) => None,
        }
    }

    /// Where the state has the bytes; `None` if they are here.
    pub fn stored(&self) -> Option<&StoredCookie> {
        match &self.0 {
            Place::Nowhere | Place::Here(_) => None,
            Place::Stored(stored) => Some(stored),
        }
    }

    /// What a record says of it once the state has the bytes. The first call draws its id.
    ///
    /// # Errors
    /// Those of `draw`.
    pub fn to_stored<E>(&self, draw: impl FnOnce() -> Result<[u8; 16], E>) -> Result<StoredCookie, E> {
        let id = match &self.0 {
            Place::Nowhere => draw()?,
            Place::Stored(stored) => return Ok(**stored),
            Place::Here(here) => match here.id.get() {
                Some(id) => *id,
                None => {
                    let drawn = draw()?;
                    *here.id.get_or_init(|| drawn)
                }
            },
        };
        Ok(StoredCookie { id, digest: self.digest(), length: self.len() })
    }

    /// The SHA-256 digest of the bytes.
    pub fn digest(&self) -> [u8; 32] {
        match &self.0 {
            Place::Nowhere => Sha256::digest([]).into(),
            Place::Here(here) => Sha256::digest(&here.bytes).into(),
            Place::Stored(stored) => stored.digest,
        }
    }
}

impl PartialEq for Cookie {
    fn eq(&self, other: &Self) -> bool {
        match (self.bytes(), other.bytes()) {
            (Some(one), Some(other)) => one == other,
            _ => self.len() == other.len() && self.digest() == other.digest(),
        }
    }
}

impl From<Vec<u8>> for Cookie {
    fn from(bytes: Vec<u8>) -> Self {
        match bytes.is_empty() {
            true => Self::default(),
            false => Self(Place::Here(Arc::new(Bytes { bytes: bytes.into(), id: OnceLock::new() }))),
        }
    }
}

impl From<StoredCookie> for Cookie {
    fn from(stored: StoredCookie) -> Self {
        Self(Place::Stored(Arc::new(stored)))
    }
}

/// Its bytes are nobody else's business.
impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[cookie of {} bytes]", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_equals_the_same_bytes_wherever_they_are() {
        let bytes = b"a token".to_vec();
        let here = Cookie::from(bytes.clone());
        let stored = |bytes: &[u8], id: u8| {
            Cookie::from(StoredCookie {
                id: [id; 16],
                digest: Sha256::digest(bytes).into(),
                length: bytes.len() as u64,
            })
        };
        assert_eq!(here, stored(&bytes, 1));
        assert_eq!(stored(&bytes, 1), stored(&bytes, 2));
        assert_ne!(here, stored(b"a tokem", 1));
        assert_ne!(stored(&bytes, 1), Cookie::default());
        assert_eq!(here.bytes(), Some(&*bytes));
        assert_eq!(stored(&bytes, 1).bytes(), None);
    }

    #[test]
    fn the_id_of_a_cookie_is_drawn_once() {
        let cookie = Cookie::from(b"a token".to_vec());
        let copy = cookie.clone();
        let stored = cookie.to_stored(|| Ok::<_, ()>([7; 16])).expect("drawn");
        assert_eq!(copy.to_stored(|| Err(())), Ok(stored));
        assert_eq!(Cookie::from(stored).to_stored(|| Err(())), Ok(stored));
        assert_eq!(Cookie::from(stored), cookie);
        assert_eq!(Cookie::default().to_stored(|| Err("no number")), Err("no number"));
    }

    #[test]
    fn a_cookie_shows_only_its_length() {
        assert_eq!(format!("{:?}", Cookie::from(b"hunter2".to_vec())), "[cookie of 7 bytes]");
    }
}
