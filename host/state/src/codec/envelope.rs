//! What every stored thing is wrapped in.
//!
//! ```text
//! version, 1 byte │ CRC-32, 4 bytes │ sealed part: length, bytes │ clear part
//! clear part, since version 3: kind, 1 byte │ what it is found by: length, bytes [│ body]
//! ```
//!
//! The checksum is of what follows it, and since version 5 of the version too: a changed bit must not
//! turn an entry into one of another version.
//!
//! The body is the sealed part, or in a store that has no key, where nothing is secret, the end of
//! the clear one.

use zeroize::Zeroizing;

use super::value::Source;
use super::wire::{self, Reader};
use super::{Fault, damaged};
use crate::Error;
use crate::keys::Keyring;

/// The version that is written. The fifth differs from the fourth in documents, which are compressed,
/// and in the checksum.
pub(super) const VERSION: u8 = 5;
/// Version and checksum.
const HEADER: usize = 5;

pub(super) const UNSEALED: Fault = "its secrets cannot be decrypted";
pub(super) const KIND: Fault = "it is something else than it should be";
const LONG: Fault = "it is longer than it should be";

/// Wraps a sealed part, which may be empty, and what stands in clear: the head, and a body that is
/// not sealed.
pub(super) fn assemble(sealed: &[u8], head: &[u8], body: &[u8]) -> Result<Vec<u8>, Fault> {
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

/// The checksum of an entry of this version, of which this is the rest.
fn checksum(version: u8, rest: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    if version >= 5 {
        hasher.update(&[version]);
    }
    hasher.update(rest);
    hasher.finalize().to_le_bytes()
}

/// Bytes taken apart.
pub(super) struct Stored<'a> {
    pub(super) version: u8,
    pub(super) sealed: &'a [u8],
    pub(super) clear: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Checks version and checksum, and takes the parts apart.
    pub(super) fn open(bytes: &'a [u8], name: &str) -> Result<Self, Error> {
        let version = match bytes.first() {
            None => return Err(damaged(name, "it is empty")),
            Some(0) => return Err(damaged(name, "it has no version")),
            Some(&version) if version <= VERSION => version,
            Some(&newer) => {
                let what = format!("the record of `{name}`");
                return Err(Error::Newer { what, found: newer.into(), supported: VERSION.into() });
            }
        };
        let (Some(checksum), Some(rest)) = (bytes.get(1..HEADER), bytes.get(HEADER..)) else {
            return Err(damaged(name, "it is cut short"));
        };
        if self::checksum(version, rest) != checksum {
            return Err(damaged(name, "its checksum is wrong"));
        }
        let mut reader = Reader::new(rest);
        let sealed = reader.bytes().map_err(|detail| damaged(name, detail))?;
        Ok(Self { version, sealed, clear: reader.rest() })
    }

    /// What is sealed, opened; none where nothing is.
    pub(super) fn unsealed(&self, name: &str, keys: &Keyring) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        match self.sealed {
            [] => Ok(None),
            sealed => {
                let opened = keys.unseal(self.clear, sealed)?;
                opened.map(Some).ok_or_else(|| damaged(name, UNSEALED))
            }
        }
    }

    /// Reads a thing of a kind: from what it is found by, and from its body.
    pub(super) fn read<T>(
        &self,
        kind: u8,
        name: &str,
        keys: &Keyring,
        read: impl FnOnce(&mut Reader<'_>, &mut Source<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let opened = self.unsealed(name, keys)?;
        let all = || {
            let Head { kind: found, mut place, body } = self.head()?;
            if found != kind {
                return Err(KIND);
            }
            let mut source = Source::whole(opened.as_ref().map_or(body, |opened| opened.as_slice()));
            let read = read(&mut place, &mut source)?;
            source.finish()?;
            // What is sealed whole leaves nothing beside it.
            if place.is_empty() && (opened.is_none() || body.is_empty()) { Ok(read) } else { Err(LONG) }
        };
        all().map_err(|detail| damaged(name, detail))
    }

    /// The clear part since version 3, taken apart.
    pub(super) fn head(&self) -> Result<Head<'a>, Fault> {
        let mut clear = Reader::new(self.clear);
        let kind = clear.byte()?;
        let place = Reader::new(clear.bytes()?);
        Ok(Head { kind, place, body: clear.rest() })
    }

    /// Reads a thing of a kind as version 2 wrote it: a clear part, and a sealed one for what was
    /// secret in it.
    pub(super) fn read_2<T>(
        &self,
        kind: u8,
        name: &str,
        keys: &Keyring,
        read: impl FnOnce(&mut Source<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let opened = self.unsealed(name, keys)?;
        let secret = opened.as_ref().map_or(&[][..], |secret| secret.as_slice());
        let mut source = Source::new(Reader::new(self.clear), secret);
        let all = || {
            if self.version != 2 || source.clear.byte()? != kind {
                return Err(KIND);
            }
            let read = read(&mut source)?;
            source.finish()?;
            Ok(read)
        };
        all().map_err(|detail| damaged(name, detail))
    }
}

/// The clear part of a thing.
pub(super) struct Head<'a> {
    pub(super) kind: u8,
    /// What it is found by.
    pub(super) place: Reader<'a>,
    /// All of the rest, where that is not sealed.
    pub(super) body: &'a [u8],
}
