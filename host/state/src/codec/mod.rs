//! Encodes and decodes the stored entries.
//!
//! Only the lookup key of a sealed entry is in plain text: its kind, and its resource or
//! environment. Everything else is sealed, and can only be opened together with the clear part that
//! it was sealed with. A store gets a key with its first secret; from then on every entry is
//! sealed, and before that none is. This module knows only bytes: neither where they are kept nor
//! where keys come from.
//!
//! It is written by hand: `postcard` over serde types in a private module was measured, and is not
//! better. With 10,000 and with 100,000 records of 500 bytes, encoding a body took 14 to 24 % longer,
//! decoding it 10 to 18 %, and a body was 2 % larger; a whole sealed entry, mostly encryption, took
//! 4 to 9 % longer. Records, values and obstacles needed 512 lines of code instead of 473: values and
//! labels must not be serialisable, so each type has a mirror and two conversions, and values need a
//! limit of depth. Mirrors without conversions write whole URNs, which makes a body 24 % larger.

mod audit;
mod changes;
mod entries;
mod listing;
mod obstacle;
mod opening;
mod records;
mod rollouts;
mod value;

use std::collections::BTreeMap;

use purlin_model::driver::{Checkpoint, Cookie};
use purlin_model::{ResourceStatus, Urn};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::change::{CLOSED_NOTE, STALENESS_NOTE};
use crate::envelope::{Head, KIND, Stored, assemble, damaged};
use crate::keys::{DataKey, Keyring};
use crate::keyspace::EntryKind;
use crate::packed;
use crate::table::Tally;
use crate::wire::{self, CodecError};
use crate::{
    AuditEntry, Change, Deployment, Environment, EnvironmentSummary, Error, Holder, Intent, Listing,
    ObstacleRecord, Record, RecordId, Rollout, Staleness, Vanished,
};

const RECORD: u8 = b'r';
const INTENT: u8 = b'i';
const CHECKPOINT: u8 = b'k';
const DEPLOYMENT: u8 = b'h';
const DOCUMENTS: u8 = b'd';
const COOKIE: u8 = b'p';
const OBSTACLE: u8 = b'u';
const VANISHED: u8 = b'v';
const CLOSED: u8 = b'l';
const ROLLOUT: u8 = b'o';
const AUDIT: u8 = b't';
const STALENESS: u8 = b'q';
const KNOWN: u8 = b'e';
const NAME: u8 = b'n';
const BLOB: u8 = b'b';
const LISTING: u8 = b's';
const HEAD: u8 = b't';

const OPEN: CodecError = "it is not sealed";

/// The name of a cookie that is stored apart, in messages.
const THE_COOKIE: &str = "the private state of a driver";

/// A capacity that suffices for most bodies, since a buffer that grows leaves copies behind.
const ROOM: usize = 2048;

/// Encodes a record.
pub(crate) fn encode(record: &Record, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let id = record.id();
    let place = |out: &mut Vec<u8>| wire::put_id(out, &id);
    pack(RECORD, record.urn.as_str(), keys, record.has_secret(), place, |body| records::put(body, record))
}

/// Encodes an intent.
pub(crate) fn encode_intent(intent: &Intent, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let id = intent.id();
    let place = |out: &mut Vec<u8>| wire::put_id(out, &id);
    pack(INTENT, id.urn.as_str(), keys, intent.has_secret(), place, |body| records::put_intent(body, intent))
}

/// Encodes what a driver reported during a call.
pub(crate) fn encode_checkpoint(checkpoint: &Checkpoint, keys: &Keyring) -> Result<Vec<u8>, Error> {
    pack(CHECKPOINT, "a checkpoint", keys, checkpoint.has_secret(), nowhere, |body| {
        records::put_checkpoint(body, checkpoint);
        Ok(())
    })
}

/// Encodes a deployment, without its number.
pub(crate) fn encode_deployment(
    environment: &Environment,
    deployment: &Deployment,
    keys: &Keyring,
) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, environment);
        Ok(())
    };
    pack(DEPLOYMENT, &deployment.id, keys, false, place, |body| entries::put_deployment(body, deployment))
}

/// Encodes documents. Their digest stays in plain text.
pub(crate) fn encode_documents(documents: &[u8], keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        out.extend_from_slice(&Sha256::digest(documents));
        Ok(())
    };
    seal(DOCUMENTS, "the documents", &*keys.data()?, place, &packed::pack(documents))
}

/// Encodes a cookie that is stored apart.
pub(crate) fn encode_cookie(id: &[u8; 16], bytes: &[u8], keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        out.extend_from_slice(id);
        Ok(())
    };
    seal(COOKIE, THE_COOKIE, &*keys.data()?, place, &packed::pack(bytes))
}

/// Encodes the obstacle of a resource.
pub(crate) fn encode_obstacle(obstacle: &ObstacleRecord, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| wire::put_id(out, &RecordId::current(obstacle.urn.clone()));
    pack(OBSTACLE, obstacle.urn.as_str(), keys, false, place, |body| obstacle::put(body, obstacle))
}

/// Encodes the objects of a resource that its system may still show although they are gone.
pub(crate) fn encode_vanished(urn: &Urn, objects: &[Vanished], keys: &Keyring) -> Result<Vec<u8>, Error> {
    let is_secret = objects.iter().any(|object| object.id.is_secret());
    let place = |out: &mut Vec<u8>| wire::put_id(out, &RecordId::current(urn.clone()));
    pack(VANISHED, urn.as_str(), keys, is_secret, place, |body| {
        entries::put_vanished(body, objects);
        Ok(())
    })
}

/// Encodes the note on who closed an environment.
pub(crate) fn encode_closed(holder: &Holder, keys: &Keyring) -> Result<Vec<u8>, Error> {
    pack(CLOSED, CLOSED_NOTE, keys, false, nowhere, |body| {
        entries::put_holder(body, holder);
        Ok(())
    })
}

/// Encodes why the records may be older than the real state.
pub(crate) fn encode_staleness(staleness: Staleness, keys: &Keyring) -> Result<Vec<u8>, Error> {
    pack(STALENESS, STALENESS_NOTE, keys, false, nowhere, |body| {
        entries::put_staleness(body, &staleness);
        Ok(())
    })
}

/// Encodes a roll-out, without its number.
pub(crate) fn encode_rollout(
    environment: &Environment,
    rollout: &Rollout,
    keys: &Keyring,
) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, environment);
        Ok(())
    };
    pack(ROLLOUT, "a roll-out", keys, false, place, |body| {
        rollouts::put(body, rollout);
        Ok(())
    })
}

/// Encodes an entry of the audit, without its number and digests. Returns the digest of its content, too.
pub(crate) fn encode_audit(
    environment: &Environment,
    entry: &AuditEntry,
    keys: &Keyring,
) -> Result<([u8; 32], Vec<u8>), Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, environment);
        Ok(())
    };
    let mut content = [0; 32];
    let value = pack(AUDIT, "an entry of the audit", keys, false, place, |body| {
        audit::put(body, entry);
        content = Sha256::digest(&*body).into();
        Ok(())
    })?;
    Ok((content, value))
}

/// Encodes the summary of an environment for lists.
pub(crate) fn encode_known(known: &EnvironmentSummary, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, &known.environment);
        Ok(())
    };
    pack(KNOWN, "an environment", keys, false, place, |body| {
        wire::put_number(body, known.records as u64);
        body.push(u8::from(known.last.is_some()));
        if let Some(last) = &known.last {
            wire::put_number(body, last.number);
            entries::put_deployment(body, &Deployment { steps: Vec::new(), ..last.clone() })?;
        }
        wire::put_optional(body, known.closed_by.as_ref(), entries::put_holder);
        wire::put_number(body, known.installations as u64);
        wire::put_number(body, known.unready.len() as u64);
        for (status, count) in &known.unready {
            wire::put_text(body, status.as_str());
            wire::put_number(body, *count as u64);
        }
        Ok(())
    })
}

/// Encodes the listing of an environment for other environments.
pub(crate) fn encode_listing(listing: &Listing, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, &listing.environment);
        Ok(())
    };
    let name = "the installations";
    pack(LISTING, name, keys, listing.has_secrets(), place, |body| listing::put(body, listing))
}

/// Encodes the sequence number of an environment's last commit and the tally of its entries.
pub(crate) fn encode_head(
    seq: i64,
    tally: Tally,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, environment);
        Ok(())
    };
    let mut body = Vec::with_capacity(32);
    body.extend_from_slice(&seq.to_le_bytes());
    for number in [tally.count, tally.bytes, tally.digest] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    seal(HEAD, "the head of the state", &*keys.data()?, place, &body)
}

/// Decodes the sequence number of an environment's last commit and the tally of its entries.
pub(crate) fn decode_head(
    bytes: &[u8],
    environment: &Environment,
    keys: &Keyring,
) -> Result<(i64, Tally), Error> {
    let name = environment.to_string();
    let stored = Stored::open(bytes, &name)?;
    if stored.sealed.is_empty() {
        return Err(damaged(&name, OPEN));
    }
    stored.read(HEAD, &name, keys, |place, body| {
        if entries::get_environment(place)? != *environment {
            return Err(KIND);
        }
        let mut number = || body.array().map(u64::from_le_bytes);
        let seq = number()?.cast_signed();
        Ok((seq, Tally { count: number()?, bytes: number()?, digest: number()? }))
    })
}

/// Encodes the environment to which the neighbouring entries belong.
pub(crate) fn encode_name(environment: &Environment, keys: &Keyring) -> Result<Vec<u8>, Error> {
    let place = |out: &mut Vec<u8>| {
        entries::put_environment(out, environment);
        Ok(())
    };
    pack(NAME, "the name of the environment", keys, false, place, |_| Ok(()))
}

/// Decodes the environment to which the neighbouring entries belong.
pub(crate) fn decode_name(bytes: &[u8]) -> Result<Environment, Error> {
    let name = "the name of the environment";
    decode_environment(bytes, name)?.ok_or_else(|| damaged(name, KIND))
}

/// Seals bytes that are kept elsewhere.
pub(crate) fn encode_blob(bytes: &[u8], keys: &Keyring) -> Result<Vec<u8>, Error> {
    seal(BLOB, "the content to seal", &*keys.data()?, nowhere, bytes)
}

/// The lookup key of an entry that needs none.
fn nowhere(_: &mut Vec<u8>) -> Result<(), CodecError> {
    Ok(())
}

/// Encodes changes without sealing them: the caller must seal the result with
/// [`crate::Store::seal`] before it leaves the memory.
///
/// # Errors
/// [`Error::Unwritable`], with the name, if a change would not decode again.
pub fn encode_changes(changes: &[Change]) -> Result<Zeroizing<Vec<u8>>, Error> {
    changes::put(changes).map_err(|(at, detail)| {
        let name = changes.get(at).map_or_else(String::new, |change| change.subject());
        Error::Unwritable { name, detail }
    })
}

/// Decodes changes.
///
/// # Errors
/// [`Error::Damaged`] if the bytes are not encoded changes.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<Change>, Error> {
    changes::get(bytes).map_err(|detail| damaged("the changes", detail))
}

/// Encodes an entry from its lookup key and its body. If the body contains a `secret`, a key is
/// created if there is none.
fn pack(
    kind: u8,
    name: &str,
    keys: &Keyring,
    secret: bool,
    place: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    put: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
) -> Result<Vec<u8>, Error> {
    let unwritable = |detail| unwritable(name, detail);
    let mut body = Zeroizing::new(Vec::with_capacity(ROOM));
    put(&mut body).map_err(unwritable)?;
    match keys.data_if(secret)? {
        Some(key) => seal(kind, name, &key, place, &body),
        None => {
            let head = head(kind, place).map_err(unwritable)?;
            assemble(&[], &head, &body).map_err(unwritable)
        }
    }
}

/// The beginning of the clear part.
fn head(kind: u8, place: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>) -> Result<Vec<u8>, CodecError> {
    let mut found_by = Vec::with_capacity(128);
    place(&mut found_by)?;
    let mut head = Vec::with_capacity(found_by.len() + 4);
    head.push(kind);
    wire::put_bytes(&mut head, &found_by);
    Ok(head)
}

/// Seals the complete body of an entry.
fn seal(
    kind: u8,
    name: &str,
    key: &DataKey,
    place: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    body: &[u8],
) -> Result<Vec<u8>, Error> {
    let head = head(kind, place).map_err(|detail| unwritable(name, detail))?;
    seal_beside(key, &head, body).map_err(|detail| unwritable(name, detail))
}

fn seal_beside(key: &DataKey, head: &[u8], body: &[u8]) -> Result<Vec<u8>, CodecError> {
    let sealed = key.seal(head, body).ok_or("it cannot be encrypted")?;
    assemble(&sealed, head, &[])
}

fn unwritable(name: &str, detail: CodecError) -> Error {
    Error::Unwritable { name: name.to_owned(), detail }
}

/// Decodes a record. `name` is used in errors if the record's own name cannot be read.
pub(crate) fn decode(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Record, Error> {
    let stored = Stored::open(bytes, name)?;
    stored.read(RECORD, name, keys, |place, body| records::get(body, wire::get_id(place)?))
}

/// Decodes the environment of an entry. Needs no key.
pub(crate) fn decode_environment(bytes: &[u8], name: &str) -> Result<Option<Environment>, Error> {
    let stored = Stored::open(bytes, name)?;
    let environment = || {
        let Head { kind, mut place, .. } = stored.head()?;
        match kind {
            RECORD | INTENT | OBSTACLE => wire::get_id(&mut place).map(|id| Environment::of_urn(&id.urn)),
            DEPLOYMENT | NAME | ROLLOUT | AUDIT => entries::get_environment(&mut place).map(Some),
            _ => Err(KIND),
        }
    };
    environment().map_err(|detail| damaged(name, detail))
}

/// Decodes an intent.
pub(crate) fn decode_intent(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Intent, Error> {
    let stored = Stored::open(bytes, name)?;
    stored.read(INTENT, name, keys, |place, body| records::get_intent(body, wire::get_id(place)?, false))
}

/// Decodes what a driver reported during a call.
pub(crate) fn decode_checkpoint(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Checkpoint, Error> {
    Stored::open(bytes, name)?.read(CHECKPOINT, name, keys, |_, body| records::get_checkpoint(body))
}

/// Decodes a deployment.
pub(crate) fn decode_deployment(
    bytes: &[u8],
    number: u64,
    name: &str,
    keys: &Keyring,
) -> Result<Deployment, Error> {
    Stored::open(bytes, name)?.read(DEPLOYMENT, name, keys, |place, body| {
        entries::get_environment(place)?;
        entries::get_deployment(body, number)
    })
}

/// Decodes a cookie that is stored apart, under this id.
pub(crate) fn decode_cookie(
    bytes: &[u8],
    id: &[u8; 16],
    keys: &Keyring,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let stored = Stored::open(bytes, THE_COOKIE)?;
    if stored.sealed.is_empty() {
        return Err(damaged(THE_COOKIE, OPEN));
    }
    stored.read(COOKIE, THE_COOKIE, keys, |place, body| {
        if place.array()? != *id {
            return Err("it is that of another resource");
        }
        let cookie = packed::unpack(body.rest(), usize::MAX);
        cookie.map(Zeroizing::new).ok_or("the compressed content is invalid")
    })
}

/// Decodes documents, which must have this digest.
pub(crate) fn decode_documents(bytes: &[u8], digest: &[u8; 32], keys: &Keyring) -> Result<Vec<u8>, Error> {
    let name = "the documents of a deployment";
    let stored = Stored::open(bytes, name)?;
    if stored.sealed.is_empty() {
        return Err(damaged(name, OPEN));
    }
    let (stored, documents): ([u8; 32], _) = stored.read(DOCUMENTS, name, keys, |place, body| {
        let documents = packed::unpack(body.rest(), usize::MAX);
        Ok((place.array()?, documents.ok_or("the compressed content is invalid")?))
    })?;
    if stored != *digest || Sha256::digest(&documents)[..] != digest[..] {
        return Err(damaged(name, "they do not have their digest"));
    }
    Ok(documents)
}

/// Decodes the obstacle of a resource.
pub(crate) fn decode_obstacle(bytes: &[u8], name: &str, keys: &Keyring) -> Result<ObstacleRecord, Error> {
    Stored::open(bytes, name)?.read(OBSTACLE, name, keys, |place, body| {
        let id = wire::get_id(place)?;
        obstacle::get(body, id.urn)
    })
}

/// Decodes the objects of a resource that its system may still show although they are gone.
pub(crate) fn decode_vanished(
    bytes: &[u8],
    name: &str,
    keys: &Keyring,
) -> Result<(Urn, Box<[Vanished]>), Error> {
    Stored::open(bytes, name)?.read(VANISHED, name, keys, |place, body| {
        Ok((wire::get_id(place)?.urn, entries::get_vanished(body)?))
    })
}

/// Decodes the note on who closed an environment.
pub(crate) fn decode_closed(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Holder, Error> {
    Stored::open(bytes, name)?.read(CLOSED, name, keys, |_, body| entries::get_holder(body))
}

/// Decodes why the records may be older than the real state.
pub(crate) fn decode_staleness(bytes: &[u8], name: &str, keys: &Keyring) -> Result<Staleness, Error> {
    Stored::open(bytes, name)?.read(STALENESS, name, keys, |_, body| entries::get_staleness(body))
}

/// Decodes a roll-out.
pub(crate) fn decode_rollout(
    bytes: &[u8],
    number: u64,
    name: &str,
    keys: &Keyring,
) -> Result<Rollout, Error> {
    Stored::open(bytes, name)?.read(ROLLOUT, name, keys, |place, body| {
        entries::get_environment(place)?;
        rollouts::get(body, number)
    })
}

/// Decodes an entry of the audit, and returns the digest of its content, too.
pub(crate) fn decode_audit(
    bytes: &[u8],
    name: &str,
    keys: &Keyring,
) -> Result<([u8; 32], AuditEntry), Error> {
    Stored::open(bytes, name)?.read(AUDIT, name, keys, |place, body| {
        entries::get_environment(place)?;
        let content = Sha256::digest(body.clone().rest()).into();
        Ok((content, audit::get(body)?))
    })
}

/// Decodes the summary of an environment for lists.
pub(crate) fn decode_known(bytes: &[u8], keys: &Keyring) -> Result<EnvironmentSummary, Error> {
    let name = "an environment";
    Stored::open(bytes, name)?.read(KNOWN, name, keys, |place, body| {
        let environment = entries::get_environment(place)?;
        let records = usize::try_from(body.number()?).map_err(|_| KIND)?;
        let last = match body.flag()? {
            true => {
                let number = body.number()?;
                Some(entries::get_deployment(body, number)?)
            }
            false => None,
        };
        let closed_by = body.optional(entries::get_holder)?;
        let installations = usize::try_from(body.number()?).map_err(|_| KIND)?;
        let mut unready = BTreeMap::new();
        for _ in 0..body.count()? {
            let status = ResourceStatus::parse(body.text()?).ok_or(KIND)?;
            unready.insert(status, usize::try_from(body.number()?).map_err(|_| KIND)?);
        }
        Ok(EnvironmentSummary { environment, records, installations, last, unready, closed_by, holder: None })
    })
}

/// Decodes the listing of an environment for other environments.
pub(crate) fn decode_listing(bytes: &[u8], keys: &Keyring) -> Result<Listing, Error> {
    let name = "the installations";
    Stored::open(bytes, name)?.read(LISTING, name, keys, |place, body| {
        let environment = entries::get_environment(place)?;
        listing::get(body, environment)
    })
}

/// Decrypts bytes that [`encode_blob`] sealed.
pub(crate) fn decode_blob(bytes: &[u8], keys: &Keyring) -> Result<Zeroizing<Vec<u8>>, Error> {
    let name = "the sealed content";
    let stored = Stored::open(bytes, name)?;
    // Bytes that are not sealed may come from anywhere.
    match stored.sealed {
        [] => Err(damaged(name, OPEN)),
        _ => stored.read(BLOB, name, keys, |_, body| Ok(Zeroizing::new(body.rest().to_vec()))),
    }
}

/// Seals an entry with other keys, even if it was not sealed.
pub(crate) fn reseal(bytes: &[u8], name: &str, from: &Keyring, to: &Keyring) -> Result<Vec<u8>, Error> {
    let stored = Stored::open(bytes, name)?;
    let (key, opened) = (to.data()?, stored.unsealed(name, from)?);
    let whole = || {
        let body = stored.head()?.body;
        let head = stored.clear.get(..stored.clear.len() - body.len()).ok_or(KIND)?;
        seal_beside(&key, head, opened.as_ref().map_or(body, |opened| opened.as_slice()))
    };
    whole().map_err(|detail| unwritable(name, detail))
}

/// An entry of a kind without the cookies that are missing, encoded; `None` if none is.
pub(crate) fn without_cookies(
    kind: EntryKind,
    bytes: &[u8],
    name: &str,
    keys: &Keyring,
    is_missing: impl Fn(&Cookie) -> bool,
) -> Result<Option<Vec<u8>>, Error> {
    match kind {
        EntryKind::Record => {
            let mut record = decode(bytes, name, keys)?;
            if !is_missing(&record.state.cookie) {
                return Ok(None);
            }
            record.state.cookie = Cookie::default();
            encode(&record, keys).map(Some)
        }
        EntryKind::Intent => {
            let mut intent = decode_intent(bytes, name, keys)?;
            let mut missing = intent.cookies_mut().into_iter().filter(|cookie| is_missing(cookie)).peekable();
            if missing.peek().is_none() {
                return Ok(None);
            }
            missing.for_each(|cookie| *cookie = Cookie::default());
            encode_intent(&intent, keys).map(Some)
        }
        EntryKind::Checkpoint => {
            let mut checkpoint = decode_checkpoint(bytes, name, keys)?;
            if checkpoint.cookie.take_if(|cookie| is_missing(cookie)).is_none() {
                return Ok(None);
            }
            encode_checkpoint(&checkpoint, keys).map(Some)
        }
        _ => Ok(None),
    }
}

/// Checks what can be checked without a key.
pub(crate) fn check(bytes: &[u8], name: &str) -> Result<(), Error> {
    Stored::open(bytes, name).map(|_| ())
}

#[cfg(test)]
pub(crate) mod tests;
