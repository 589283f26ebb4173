//! Which key a record has in sled, and how large values are cut.
//!
//! ```text
//! m │ recipient                                      public half of the key
//! r │ environment, 16 bytes │ rest of the URN          a record, or how long it is
//! c │ digest of that key, 16 bytes │ number, 4 bytes    a piece of a long record
//! ```
//!
//! sled writes a value that is over a quarter of a segment (128 KiB) to a file of its own, which it
//! does not sync. The same goes for a whole leaf, which it rewrites now and then: up to some
//! twenty entries together. So each entry has to stay well under a twentieth of that.

use purlin_model::Urn;
use sha2::{Digest, Sha256};

use crate::Environment;

/// The longest value of an entry.
pub(super) const PIECE: usize = 4096;
/// The longest rest of a URN that stands in a key as it is.
const NAME: usize = 160;
/// How much of a longer one does.
const NAME_START: usize = 112;

pub(super) const RECIPIENT: &[u8] = b"mrecipient";
pub(super) const RECORDS: u8 = b'r';
const PIECES: u8 = b'c';

/// A value that is the record itself.
const WHOLE: u8 = 0;
/// A value that says how long the record is, which lies in pieces.
const CUT: u8 = 1;

/// What the keys of an environment's records begin with.
pub(super) fn environment_prefix(environment: &Environment) -> Vec<u8> {
    let digest = Sha256::digest(environment.urn_prefix());
    let mut key = Vec::with_capacity(1 + 16 + NAME);
    key.push(RECORDS);
    key.extend_from_slice(digest.get(..16).unwrap_or_default());
    key
}

/// The key of a record; `None` for a URN that lies in no environment.
pub(super) fn record(urn: &Urn) -> Option<Vec<u8>> {
    let environment = Environment::of_urn(urn)?;
    let mut key = environment_prefix(&environment);
    let name = urn.as_str().get(environment.urn_prefix().len()..)?.as_bytes();
    if name.len() <= NAME {
        key.extend_from_slice(name);
    } else {
        key.extend_from_slice(name.get(..NAME_START)?);
        // No text has this byte, so no short name looks like a long one.
        key.push(0xff);
        key.extend_from_slice(urn.guresid().as_str().as_bytes());
    }
    Some(key)
}

/// The key after every record that shares an environment with this one.
pub(super) fn after_environment(record: &[u8]) -> Vec<u8> {
    let mut key = record.get(..17).unwrap_or(record).to_vec();
    // Above every first byte of text.
    key.push(0xff);
    key
}

/// The key of a piece of the record under a key.
pub(super) fn piece(record: &[u8], number: u32) -> Vec<u8> {
    let digest = Sha256::digest(record);
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
    fn keys_are_short_and_tell_long_names_apart() {
        let urn =
            |id: &str| Urn::parse(&format!("urn:purlin:dev/o::a::shared::dns.default::{id}")).expect("a URN");
        let long = "é".repeat(500);
        let (one, other) = (urn(&format!("{long}1")), urn(&format!("{long}2")));
        let (one, other) = (record(&one).expect("a key"), record(&other).expect("a key"));
        assert_ne!(one, other);
        assert!(one.len() <= 1 + 16 + NAME);
        let short = record(&urn("shared.api")).expect("a key");
        assert!(short.ends_with(b"shared::dns.default::shared.api"));
        let environment = Environment { org: "o".into(), app: "a".into(), env: "dev".into() };
        let prefix = environment_prefix(&environment);
        assert!(short.starts_with(&prefix) && one.starts_with(&prefix));
        assert!(after_environment(&one) > one);
    }

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
