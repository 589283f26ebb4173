//! The envelope of every stored entry.
//!
//! ```text
//! version, 1 byte │ CRC-32, 4 bytes │ sealed part: length, bytes │ clear part
//! clear part: kind, 1 byte │ lookup key: length, bytes [│ body]
//! ```
//!
//! The checksum covers the version and everything after the checksum, so that a flipped bit cannot turn
//! an entry into one of another version. Every version begins with these two, so that an entry of a
//! newer one is not mistaken for a damaged one.
//!
//! The body is the sealed part. In a store without a key, which contains no secrets, it is the end
//! of the clear part. This module knows no keys: `codec` seals and opens the sealed part.

use crate::Error;
use crate::wire::{self, CodecError, Reader};

/// The version of entries. A newer one is rejected.
pub(crate) const VERSION: u8 = 1;
/// The length of version and checksum.
const HEADER: usize = 5;

pub(crate) const KIND: CodecError = "it is something else than it should be";

/// Builds an entry from a sealed part, which may be empty, and a clear part: the head, and a body
/// that is not sealed.
pub(crate) fn assemble(sealed: &[u8], head: &[u8], body: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::with_capacity(HEADER + 5 + sealed.len() + head.len() + body.len());
    bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0]);
    wire::put_bytes(&mut bytes, sealed);
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(body);
    if u32::try_from(bytes.len()).is_err() {
        return Err("it is larger than 4 GiB");
    }
    let (header, rest) = bytes.split_at_mut(HEADER);
    if let [_, checksum @ ..] = header {
        checksum.copy_from_slice(&self::checksum(VERSION, rest));
    }
    Ok(bytes)
}

/// The checksum of an entry with this version and this remainder.
fn checksum(version: u8, rest: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[version]);
    hasher.update(rest);
    hasher.finalize().to_le_bytes()
}

/// The parts of an entry.
pub(crate) struct Stored<'a> {
    pub(crate) sealed: &'a [u8],
    pub(crate) clear: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Checks version and checksum, and splits the entry.
    pub(crate) fn open(bytes: &'a [u8], name: &str) -> Result<Self, Error> {
        let version = match bytes.first() {
            None => return Err(damaged(name, "it is empty")),
            Some(0) => return Err(damaged(name, "it has no version")),
            Some(&version) => version,
        };
        let (Some(checksum), Some(rest)) = (bytes.get(1..HEADER), bytes.get(HEADER..)) else {
            return Err(damaged(name, "it is cut short"));
        };
        if self::checksum(version, rest) != checksum {
            return Err(damaged(name, "its checksum is wrong"));
        }
        if version > VERSION {
            let what = format!("the record of `{name}`");
            return Err(Error::Newer { what, found: version.into(), supported: VERSION.into() });
        }
        let mut reader = Reader::new(rest);
        let sealed = reader.bytes().map_err(|detail| damaged(name, detail))?;
        Ok(Self { sealed, clear: reader.rest() })
    }

    /// Splits the clear part.
    pub(crate) fn head(&self) -> Result<Head<'a>, CodecError> {
        let mut clear = Reader::new(self.clear);
        let kind = clear.byte()?;
        let place = Reader::new(clear.bytes()?);
        Ok(Head { kind, place, body: clear.rest() })
    }
}

/// The clear part of an entry.
pub(crate) struct Head<'a> {
    pub(crate) kind: u8,
    /// The lookup key.
    pub(crate) place: Reader<'a>,
    /// The remainder, if it is not sealed.
    pub(crate) body: &'a [u8],
}

/// The error for an entry that cannot be decoded.
pub(crate) fn damaged(name: &str, detail: &str) -> Error {
    Error::Damaged { name: name.into(), detail: detail.into() }
}
