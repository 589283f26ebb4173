//! How earlier formats split large values in sled.
//!
//! ```text
//! key                                                  a value, or its length
//! c │ digest of that key, 16 bytes │ number, 4 bytes    a piece of a long value
//! p                                                    the journal position that the index contains
//! ```

use sha2::{Digest, Sha256};

/// The key of the journal position that the index contains.
pub(super) const POSITION: u8 = b'p';
/// The prefix of the keys of pieces.
pub(super) const PIECES: u8 = b'c';

/// The tag of a complete value.
const WHOLE: u8 = 0;
/// The tag of a length, whose value is stored in pieces.
const CUT: u8 = 1;

/// The key of a piece of the value under a key.
pub(super) fn piece(key: &[u8], number: u32) -> Vec<u8> {
    let digest = Sha256::digest(key);
    let mut key = Vec::with_capacity(1 + 16 + 4);
    key.push(PIECES);
    key.extend_from_slice(digest.get(..16).unwrap_or_default());
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// How a value is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    Whole(&'a [u8]),
    /// In pieces, with this total length in bytes.
    Cut(u32),
}

impl<'a> Stored<'a> {
    pub(super) fn from_value(value: &'a [u8]) -> Option<Self> {
        match value.split_first()? {
            (&WHOLE, record) => Some(Self::Whole(record)),
            (&CUT, length) => Some(Self::Cut(u32::from_le_bytes(length.try_into().ok()?))),
            _ => None,
        }
    }
}
