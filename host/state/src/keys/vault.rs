//! The file with the data keys. The first key seals; the others are old keys that a rotation has
//! not replaced everywhere yet.

use std::io::ErrorKind;
use std::path::Path;

use super::SealedKey;
use crate::Error;
use crate::disk::files;
use crate::wire::{CodecError, Reader, put_bytes};

/// The maximum size of the file, in bytes.
const MOST: u64 = 1 << 20;

/// The data keys in the file; empty if there is no file.
pub(crate) fn read(path: &Path) -> Result<Vec<SealedKey>, Error> {
    let bytes = match purlin_files::read(path, MOST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut reader = Reader::new(&bytes);
    let mut parts = || -> Result<Vec<&[u8]>, CodecError> {
        let mut parts = Vec::new();
        while !reader.is_empty() {
            parts.push(reader.bytes()?);
        }
        Ok(parts)
    };
    let damaged = |detail: &str| Error::Damaged { name: "the data key".into(), detail: detail.into() };
    let keys: Vec<SealedKey> =
        parts().map_err(damaged)?.into_iter().map(SealedKey::decode).collect::<Result<_, _>>()?;
    match keys.first() {
        Some(first) if keys.iter().all(|key| key.recipient == first.recipient) => Ok(keys),
        _ => Err(damaged("the file is invalid")),
    }
}

fn bytes(keys: &[SealedKey]) -> Vec<u8> {
    let mut bytes = Vec::new();
    keys.iter().for_each(|key| put_bytes(&mut bytes, &key.encode()));
    bytes
}

/// Writes the file unless it exists. Returns whether it did.
pub(crate) fn create(path: &Path, key: &SealedKey) -> Result<bool, Error> {
    files::create_private(path, &bytes(std::slice::from_ref(key)))
}

/// Replaces the file.
pub(crate) fn replace(path: &Path, keys: &[SealedKey]) -> Result<(), Error> {
    files::replace_private(path, &bytes(keys))
}
