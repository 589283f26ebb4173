//! Records as bytes and back.
//!
//! ```text
//! version, 1 byte │ CRC-32 of the rest, 4 bytes │ sealed part: length, age file │ clear part
//! ```
//!
//! The clear part has a hole wherever something secret stands; what belongs into the holes lies in
//! the sealed part, in the order of the holes. A record without secrets has no sealed part. This
//! module knows bytes only: neither where they are kept nor where keys come from. A later format
//! gets the next version and a reader of its own beside `v1`; this one stays.

mod v1;
mod value;
mod wire;

use std::sync::Arc;

use purlin_model::Urn;

use crate::keys::{Key, Keyring};
use crate::{Error, Record};

/// The version of records that is written.
const VERSION: u8 = 1;
/// Version and checksum.
const HEADER: usize = 5;

/// Why bytes are no record, or a record cannot become bytes.
pub(crate) type Fault = &'static str;

/// A record as bytes.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// The key that something in it was sealed with.
    pub(crate) key: Option<Arc<Key>>,
}

/// Writes a record, sealing what is secret; the key is asked for only where something is.
pub(crate) fn encode(record: &Record, keys: &Keyring) -> Result<Encoded, Error> {
    let parts = v1::write(record).map_err(|detail| unwritable(record, detail))?;
    let key = if parts.secret.is_empty() { None } else { Some(keys.key()?) };
    let sealed = key.as_ref().map(|key| key.seal(&parts.secret)).transpose();
    let sealed =
        sealed.map_err(|_| unwritable(record, "its secrets cannot be encrypted"))?.unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER + 5 + sealed.len() + parts.clear.len());
    bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0]);
    wire::put_bytes(&mut bytes, &sealed);
    bytes.extend_from_slice(&parts.clear);
    if u32::try_from(bytes.len()).is_err() {
        return Err(unwritable(record, "it is larger than 4 GiB"));
    }
    let checksum = crc32fast::hash(&bytes[HEADER..]);
    bytes[1..HEADER].copy_from_slice(&checksum.to_le_bytes());
    Ok(Encoded { bytes, key })
}

fn unwritable(record: &Record, detail: Fault) -> Error {
    Error::Unwritable { urn: record.urn.to_string(), detail }
}

/// Reads a record. `name` is what to call it where its own name cannot be read.
pub(crate) fn decode(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Record, Error> {
    let (sealed, clear) = open(bytes, name)?;
    let secret = match sealed {
        [] => None,
        sealed => {
            Some(keys.key()?.unseal(sealed).ok_or_else(|| damaged(name, "its secrets cannot be decrypted"))?)
        }
    };
    v1::read(clear, secret.as_ref().map_or(&[], |secret| secret.as_slice()))
        .map_err(|detail| damaged(name, detail))
}

/// Reads the URN of a record alone; needs no key.
pub(crate) fn decode_urn(bytes: &[u8], name: &str) -> Result<Urn, Error> {
    let (_, mut clear) = open(bytes, name)?;
    v1::read_urn(&mut clear).map_err(|detail| damaged(name, detail))
}

/// Checks version and checksum, and takes the parts apart.
fn open<'a>(bytes: &'a [u8], name: &str) -> Result<(&'a [u8], wire::Reader<'a>), Error> {
    match bytes.first() {
        None => return Err(damaged(name, "it is empty")),
        Some(&VERSION) => {}
        Some(0) => return Err(damaged(name, "it has no version")),
        Some(&newer) => {
            let what = format!("the record of `{name}`");
            return Err(Error::Newer { what, found: newer.into(), supported: VERSION.into() });
        }
    }
    let (Some(checksum), Some(rest)) = (bytes.get(1..HEADER), bytes.get(HEADER..)) else {
        return Err(damaged(name, "it is cut short"));
    };
    if crc32fast::hash(rest).to_le_bytes() != checksum {
        return Err(damaged(name, "its checksum is wrong"));
    }
    let mut reader = wire::Reader::new(rest);
    let sealed = reader.bytes().map_err(|detail| damaged(name, detail))?;
    Ok((sealed, reader))
}

fn damaged(name: &str, detail: &str) -> Error {
    Error::Damaged { name: name.into(), detail: detail.into() }
}

#[cfg(test)]
mod tests;
