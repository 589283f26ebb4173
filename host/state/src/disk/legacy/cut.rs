//! How large values were cut to pieces in sled.
//!
//! ```text
//! key                                                  a value, or how long it is
//! c │ digest of that key, 16 bytes │ number, 4 bytes    a piece of a long value
//! p                                                    how much of the journal is in here
//! ```

use sha2::{Digest, Sha256};

/// Where it says how much of the journal is in the index.
pub(super) const POSITION: u8 = b'p';
/// What the keys of pieces begin with.
pub(super) const PIECES: u8 = b'c';

/// A value that is the record itself.
const WHOLE: u8 = 0;
/// A value that says how long the record is, which lies in pieces.
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

/// How a record is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    Whole(&'a [u8]),
    /// In pieces, this many bytes.
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
