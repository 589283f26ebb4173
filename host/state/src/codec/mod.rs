//! What is stored as bytes and back.
//!
//! A record, and whatever else is stored, has a clear part with a hole wherever something secret
//! stands. What belongs into the holes lies in the sealed part, in the order of the holes; what has
//! no secrets has no sealed part. Since version 2 the clear part begins with what kind of thing it
//! is, and the sealed part opens only beside the clear part that it was made with. This module
//! knows bytes only: neither where they are kept nor where keys come from. A later format gets the
//! next version and a reader of its own beside `v1` and `v2`; these stay.

mod changes;
mod entries;
mod envelope;
mod v1;
mod v2;
mod value;
pub(crate) mod wire;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

pub(crate) use self::entries::SealedKey;
use self::envelope::{KIND, Stored, UNSEALED, assemble};
use self::value::{Parts, Source};
use self::wire::Reader;
use crate::keys::{DataKey, Keyring};
use crate::{Change, Deployment, Environment, Error, Holder, Intent, Record};

const RECORD: u8 = b'r';
const INTENT: u8 = b'i';
const CHECKPOINT: u8 = b'k';
const DEPLOYMENT: u8 = b'h';
const DOCUMENTS: u8 = b'd';
const HOLD: u8 = b'l';
const KEY: u8 = b'm';
const BLOB: u8 = b'b';

/// Why bytes are nothing of ours, or something cannot become bytes.
pub(crate) type Fault = &'static str;

/// Something as bytes.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// The key that something in it was sealed with.
    pub(crate) key: Option<Arc<DataKey>>,
}

/// Writes a record, sealing what is secret; the key is asked for only where something is.
pub(crate) fn encode(record: &Record, keys: &Keyring) -> Result<Encoded, Error> {
    pack(RECORD, record.urn.as_str(), keys, |parts| v2::put(parts, record))
}

/// Writes an intent.
pub(crate) fn encode_intent(intent: &Intent, keys: &Keyring) -> Result<Encoded, Error> {
    pack(INTENT, intent.id().urn.as_str(), keys, |parts| entries::put_intent(parts, intent))
}

/// Writes what a driver said meanwhile.
pub(crate) fn encode_checkpoint(provider_id: &str) -> Vec<u8> {
    framed(CHECKPOINT, |out| wire::put_text(out, provider_id))
}

/// Writes a deployment, without its number.
pub(crate) fn encode_deployment(
    environment: &Environment,
    deployment: &Deployment,
) -> Result<Vec<u8>, Error> {
    let mut clear = vec![DEPLOYMENT];
    let name = &deployment.id;
    entries::put_deployment(&mut clear, environment, deployment)
        .map_err(|detail| unwritable(name, detail))?;
    assemble(&[], &clear).map_err(|detail| unwritable(name, detail))
}

/// Writes documents; their digest stays in clear.
pub(crate) fn encode_documents(documents: &[u8], keys: &Keyring) -> Result<Encoded, Error> {
    pack(DOCUMENTS, "the documents", keys, |parts| {
        parts.clear.extend_from_slice(&Sha256::digest(documents));
        parts.secret.extend_from_slice(documents);
        // So that there is something to seal.
        parts.secret.push(0);
        Ok(())
    })
}

/// Writes who closed an environment.
pub(crate) fn encode_hold(holder: &Holder) -> Vec<u8> {
    framed(HOLD, |out| entries::put_holder(out, holder))
}

/// Writes the data key.
pub(crate) fn encode_key(key: &SealedKey) -> Vec<u8> {
    framed(KEY, |out| entries::put_key(out, key))
}

/// Seals bytes that are kept elsewhere.
pub(crate) fn encode_blob(bytes: &[u8], keys: &Keyring) -> Result<Encoded, Error> {
    pack(BLOB, "what was to be sealed", keys, |parts| {
        parts.secret.extend_from_slice(bytes);
        parts.secret.push(0);
        Ok(())
    })
}

/// Writes changes without sealing anything: the whole is to be sealed by [`crate::Store::seal`]
/// before it leaves the memory.
///
/// # Errors
/// [`Error::Unwritable`], by name, when a change does not read back.
pub fn encode_changes(changes: &[Change]) -> Result<Zeroizing<Vec<u8>>, Error> {
    changes::put(changes).map_err(|(at, detail)| {
        let name = changes.get(at).map_or_else(String::new, |change| change.subject());
        Error::Unwritable { name, detail }
    })
}

/// Reads changes.
///
/// # Errors
/// [`Error::Damaged`] when these are not the bytes of changes.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<Change>, Error> {
    changes::get(bytes).map_err(|detail| damaged("the changes", detail))
}

fn framed(kind: u8, put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut clear = vec![kind];
    put(&mut clear);
    // Larger than 4 GiB it cannot be: it holds a few short texts.
    assemble(&[], &clear).unwrap_or_default()
}

fn pack(
    kind: u8,
    name: &str,
    keys: &Keyring,
    put: impl FnOnce(&mut Parts) -> Result<(), Fault>,
) -> Result<Encoded, Error> {
    let mut parts = Parts::default();
    parts.clear.reserve(512);
    parts.clear.push(kind);
    put(&mut parts).map_err(|detail| unwritable(name, detail))?;
    let key = if parts.secret.is_empty() { None } else { Some(keys.data()?) };
    let sealed = match &key {
        Some(key) => key
            .seal(&parts.clear, &parts.secret)
            .ok_or_else(|| unwritable(name, "its secrets cannot be encrypted"))?,
        None => Vec::new(),
    };
    let bytes = assemble(&sealed, &parts.clear).map_err(|detail| unwritable(name, detail))?;
    Ok(Encoded { bytes, key })
}

fn unwritable(name: &str, detail: Fault) -> Error {
    Error::Unwritable { name: name.to_owned(), detail }
}

/// Reads a record. `name` is what to call it where its own name cannot be read.
pub(crate) fn decode(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Record, Error> {
    let stored = Stored::open(bytes, name)?;
    if stored.version == 1 {
        let secret = match stored.sealed {
            [] => None,
            sealed => Some(keys.key()?.unseal(sealed).ok_or_else(|| damaged(name, UNSEALED))?),
        };
        let secret = secret.as_ref().map_or(&[][..], |secret| secret.as_slice());
        return v1::read(Reader::new(stored.clear), secret).map_err(|detail| damaged(name, detail));
    }
    stored.read(RECORD, name, keys, v2::get)
}

/// Reads the environment of a record alone; needs no key.
pub(crate) fn decode_environment(bytes: &[u8], name: &str) -> Result<Option<Environment>, Error> {
    let stored = Stored::open(bytes, name)?;
    let mut clear = Reader::new(stored.clear);
    if stored.version == 1 {
        let urn = v1::read_urn(&mut clear).map_err(|detail| damaged(name, detail))?;
        return Ok(Environment::of_urn(&urn));
    }
    let environment = match clear.byte() {
        Ok(RECORD) => v2::get_id(&mut clear).map(|id| Environment::of_urn(&id.urn)),
        Ok(DEPLOYMENT) => entries::get_environment(&mut clear).map(Some),
        Ok(_) => Err(KIND),
        Err(fault) => Err(fault),
    };
    environment.map_err(|detail| damaged(name, detail))
}

/// Reads an intent.
pub(crate) fn decode_intent(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Intent, Error> {
    Stored::open(bytes, name)?.read(INTENT, name, keys, entries::get_intent)
}

/// Reads what a driver said meanwhile.
pub(crate) fn decode_checkpoint(bytes: &[u8], name: &str) -> Result<String, Error> {
    Stored::open(bytes, name)?.read_clear(CHECKPOINT, name, |reader| reader.text().map(Into::into))
}

/// Reads a deployment.
pub(crate) fn decode_deployment(bytes: &[u8], number: u64, name: &str) -> Result<Deployment, Error> {
    Stored::open(bytes, name)?.read_clear(DEPLOYMENT, name, |reader| entries::get_deployment(reader, number))
}

/// Reads documents, which must have this digest.
pub(crate) fn decode_documents(bytes: &[u8], digest: &[u8; 32], keys: &Keyring) -> Result<Vec<u8>, Error> {
    let name = "the documents of a deployment";
    let found = Stored::open(bytes, name)?.read(DOCUMENTS, name, keys, |source| {
        let stored: [u8; 32] = source.clear.array()?;
        Ok((stored, sealed_bytes(source)?))
    });
    let (stored, documents) = found?;
    if stored != *digest || Sha256::digest(&documents)[..] != digest[..] {
        return Err(damaged(name, "they do not have their digest"));
    }
    Ok(documents)
}

/// Reads who closed an environment.
pub(crate) fn decode_hold(bytes: &[u8], name: &str) -> Result<Holder, Error> {
    Stored::open(bytes, name)?.read_clear(HOLD, name, entries::get_holder)
}

/// Reads the data key.
pub(crate) fn decode_key(bytes: &[u8]) -> Result<SealedKey, Error> {
    let name = "the data key";
    Stored::open(bytes, name)?.read_clear(KEY, name, entries::get_key)
}

/// Opens what [`encode_blob`] sealed.
pub(crate) fn decode_blob(bytes: &[u8], keys: &Keyring) -> Result<Zeroizing<Vec<u8>>, Error> {
    let name = "what was sealed";
    Stored::open(bytes, name)?.read(BLOB, name, keys, |source| sealed_bytes(source).map(Zeroizing::new))
}

fn sealed_bytes(source: &mut Source<'_>) -> Result<Vec<u8>, Fault> {
    let all = source.sealed.rest();
    match all.split_last() {
        Some((0, bytes)) => Ok(bytes.to_vec()),
        _ => Err("it is cut short"),
    }
}

/// Seals anew, for other keys, what is sealed in something stored.
pub(crate) fn reseal(
    bytes: &[u8],
    name: &str,
    from: &Keyring,
    to: &Keyring,
) -> Result<Option<Vec<u8>>, Error> {
    let stored = Stored::open(bytes, name)?;
    if stored.sealed.is_empty() {
        return Ok(None);
    }
    if stored.version == 1 {
        return Ok(Some(encode(&decode(bytes, name, from)?, to)?.bytes));
    }
    let secret = from.data()?.unseal(stored.clear, stored.sealed).ok_or_else(|| damaged(name, UNSEALED))?;
    let sealed = to.data()?.seal(stored.clear, &secret).ok_or("its secrets cannot be encrypted");
    let bytes = sealed.and_then(|sealed| assemble(&sealed, stored.clear));
    bytes.map(Some).map_err(|detail| unwritable(name, detail))
}

/// Checks what can be checked without a key.
pub(crate) fn check(bytes: &[u8], name: &str) -> Result<(), Error> {
    Stored::open(bytes, name).map(|_| ())
}

fn damaged(name: &str, detail: &str) -> Error {
    Error::Damaged { name: name.into(), detail: detail.into() }
}

#[cfg(test)]
mod tests;
