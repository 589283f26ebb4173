//! How large values are cut to pieces in sled.
//!
//! ```text
//! key                                                  a value, or how long it is
//! c │ digest of that key, 16 bytes │ number, 4 bytes    a piece of a long value
//! p                                                    how much of the journal is in here
//! ```
//!
//! sled writes a value that is over a quarter of a segment (128 KiB) to a file of its own, which it
//! does not sync. The same goes for a whole leaf, which it rewrites now and then: up to some
//! twenty entries together. So each entry has to stay well under a twentieth of that.

use sha2::{Digest, Sha256};

/// The longest value of an entry.
pub(super) const PIECE: usize = 4096;
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
    /// Records are at most 4 GiB, as the codec sees to.
    pub(super) fn of(record: &'a [u8]) -> Self {
        if record.len() < PIECE {
            Self::Whole(record)
        } else {
            Self::Cut(record.len().try_into().unwrap_or(u32::MAX))
        }
    }

    pub(super) fn to_value(&self) -> Vec<u8> {
        match self {
            Self::Whole(record) => [&[WHOLE], *record].concat(),
            Self::Cut(length) => [&[CUT][..], &length.to_le_bytes()].concat(),
        }
    }

    pub(super) fn from_value(value: &'a [u8]) -> Option<Self> {
        match value.split_first()? {
            (&WHOLE, record) => Some(Self::Whole(record)),
            (&CUT, length) => Some(Self::Cut(u32::from_le_bytes(length.try_into().ok()?))),
            _ => None,
        }
    }

    /// How many pieces there are.
    pub(super) fn pieces(&self) -> u32 {
        match self {
            Self::Whole(_) => 0,
            Self::Cut(length) => length.div_ceil(PIECE as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE * 3, PIECE * 3 + 1] {
            let record = vec![7; length];
            let stored = Stored::of(&record);
            let value = stored.to_value();
            assert!(value.len() <= PIECE);
            assert_eq!(Stored::from_value(&value), Some(stored));
        }
        assert_eq!(Stored::of(&vec![7; PIECE * 3 + 1]).pieces(), 4);
        assert_eq!(Stored::from_value(&[]), None);
        assert_eq!(Stored::from_value(&[9, 9]), None);
    }
}
