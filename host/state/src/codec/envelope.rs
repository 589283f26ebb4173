//! What every stored thing is wrapped in.
//!
//! ```text
//! version, 1 byte │ CRC-32 of the rest, 4 bytes │ sealed part: length, bytes │ clear part
//! ```

use super::value::Source;
use super::wire::{self, Reader};
use super::{Fault, damaged};
use crate::Error;
use crate::keys::Keyring;

/// The version that is written.
pub(super) const VERSION: u8 = 2;
/// Version and checksum.
const HEADER: usize = 5;

pub(super) const UNSEALED: Fault = "its secrets cannot be decrypted";
pub(super) const KIND: Fault = "it is something else than it should be";

/// Wraps a sealed part, which may be empty, and a clear one.
pub(super) fn assemble(sealed: &[u8], clear: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(HEADER + 5 + sealed.len() + clear.len());
    bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0]);
    wire::put_bytes(&mut bytes, sealed);
    bytes.extend_from_slice(clear);
    if u32::try_from(bytes.len()).is_err() {
        return Err("it is larger than 4 GiB");
    }
    let (header, rest) = bytes.split_at_mut(HEADER);
    if let [_, checksum @ ..] = header {
        checksum.copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
    }
    Ok(bytes)
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
        if crc32fast::hash(rest).to_le_bytes() != checksum {
            return Err(damaged(name, "its checksum is wrong"));
        }
        let mut reader = Reader::new(rest);
        let sealed = reader.bytes().map_err(|detail| damaged(name, detail))?;
        Ok(Self { version, sealed, clear: reader.rest() })
    }

    /// Reads a thing of a kind.
    pub(super) fn read<T>(
        &self,
        kind: u8,
        name: &str,
        keys: &Keyring,
        read: impl FnOnce(&mut Source<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let secret = match self.sealed {
            [] => None,
            sealed => Some(keys.data()?.unseal(self.clear, sealed).ok_or_else(|| damaged(name, UNSEALED))?),
        };
        let secret = secret.as_ref().map_or(&[][..], |secret| secret.as_slice());
        let mut source = Source::new(Reader::new(self.clear), secret);
        let all = || {
            if self.version != VERSION || source.clear.byte()? != kind {
                return Err(KIND);
            }
            let read = read(&mut source)?;
            source.finish()?;
            Ok(read)
        };
        all().map_err(|detail| damaged(name, detail))
    }

    /// Reads a thing of a kind that never has secrets.
    pub(super) fn read_clear<T>(
        &self,
        kind: u8,
        name: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let mut reader = Reader::new(self.clear);
        let all = || {
            if self.version != VERSION || !self.sealed.is_empty() || reader.byte()? != kind {
                return Err(KIND);
            }
            let read = read(&mut reader)?;
            if reader.is_empty() { Ok(read) } else { Err("it is longer than it should be") }
        };
        all().map_err(|detail| damaged(name, detail))
    }
}
