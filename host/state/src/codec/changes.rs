//! Encodes changes, to be embedded in a larger text that is sealed as a whole. Nothing in here is
//! sealed.

use zeroize::Zeroizing;

use super::wire::{Reader, TOO_LONG, get_id, put_bytes, put_id, put_number, put_optional};
use super::{CodecError, audit, entries, obstacle, records, rollouts};
use crate::{Change, RecordId};

const PUT: u8 = 1;
const REMOVE: u8 = 2;
const INTEND: u8 = 3;
const CHECKPOINT: u8 = 4;
const SETTLE: u8 = 5;
const DEPLOYED: u8 = 6;
const CLOSED: u8 = 7;
const OBSTRUCT: u8 = 8;
const STALENESS: u8 = 9;
const VANISH: u8 = 10;
const REMOVE_COOKIES: u8 = 11;
const ROLL: u8 = 12;
const FORGET_ROLLOUT: u8 = 13;
const AUDITED: u8 = 14;

/// The version of this format.
const VERSION: u8 = 1;

/// Encodes changes.
pub(super) fn put(changes: &[Change]) -> Result<Zeroizing<Vec<u8>>, (usize, CodecError)> {
    let mut out = Zeroizing::new(vec![VERSION]);
    put_number(&mut out, changes.len() as u64);
    for (at, change) in changes.iter().enumerate() {
        let mut one = Zeroizing::new(Vec::with_capacity(super::ROOM));
        put_one(&mut one, change).map_err(|fault| (at, fault))?;
        // Reserves capacity first, since a buffer that grows leaves a copy of its content behind.
        let mut grown = Zeroizing::new(Vec::with_capacity((out.len() + one.len() + 10).next_power_of_two()));
        if out.capacity() < grown.capacity() {
            grown.extend_from_slice(&out);
            out = grown;
        }
        put_bytes(&mut out, &one);
    }
    Ok(out)
}

fn put_one(out: &mut Vec<u8>, change: &Change) -> Result<(), CodecError> {
    match change {
        Change::Put(record) => {
            out.push(PUT);
            put_id(out, &record.id())?;
            records::put(out, record)?;
        }
        Change::Remove(id) => {
            out.push(REMOVE);
            put_id(out, id)?;
        }
        Change::Intend(intent) => {
            out.push(INTEND);
            put_id(out, &intent.id())?;
            records::put_intent(out, intent)?;
        }
        Change::Checkpoint { id, checkpoint } => {
            out.push(CHECKPOINT);
            put_id(out, id)?;
            records::put_checkpoint(out, checkpoint);
        }
        Change::Settle(id) => {
            out.push(SETTLE);
            put_id(out, id)?;
        }
        Change::Deployed { deployment, documents } => {
            out.push(DEPLOYED);
            put_number(out, deployment.number);
            entries::put_deployment(out, deployment)?;
            put_optional(out, documents.as_deref(), put_bytes);
        }
        Change::Obstruct { urn, obstacle } => {
            out.push(OBSTRUCT);
            put_id(out, &RecordId::current(urn.clone()))?;
            out.push(u8::from(obstacle.is_some()));
            if let Some(obstacle) = obstacle {
                obstacle::put(out, obstacle)?;
            }
        }
        Change::Vanish { urn, objects } => {
            out.push(VANISH);
            put_id(out, &RecordId::current(urn.clone()))?;
            entries::put_vanished(out, objects);
        }
        Change::Roll { rollout, plan } => {
            out.push(ROLL);
            put_number(out, rollout.number);
            rollouts::put(out, rollout);
            put_optional(out, plan.as_deref(), put_bytes);
        }
        Change::ForgetRollout(rollout) => {
            out.push(FORGET_ROLLOUT);
            put_number(out, rollout.number);
            rollouts::put(out, rollout);
        }
        Change::Audited { entry, kept_since } => {
            out.push(AUDITED);
            audit::put(out, entry);
            put_number(out, *kept_since);
        }
        Change::RemoveCookies(ids) => {
            out.push(REMOVE_COOKIES);
            put_number(out, ids.len() as u64);
            ids.iter().for_each(|id| out.extend_from_slice(id));
        }
        Change::SetClosed(holder) => {
            out.push(CLOSED);
            put_optional(out, holder.as_ref(), entries::put_holder);
        }
        Change::SetStaleness(staleness) => {
            out.push(STALENESS);
            put_optional(out, staleness.as_ref(), entries::put_staleness);
        }
    }
    Ok(())
}

/// Decodes changes.
pub(super) fn get(bytes: &[u8]) -> Result<Vec<Change>, CodecError> {
    let mut reader = Reader::new(bytes);
    if reader.byte()? != VERSION {
        return Err("it has an unknown version");
    }
    let count = reader.count()?;
    let mut changes = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let mut one = Reader::new(reader.bytes()?);
        changes.push(get_one(&mut one)?);
        if !one.is_empty() {
            return Err(TOO_LONG);
        }
    }
    if reader.is_empty() { Ok(changes) } else { Err(TOO_LONG) }
}

fn get_one(reader: &mut Reader<'_>) -> Result<Change, CodecError> {
    Ok(match reader.byte()? {
        PUT => {
            let id = get_id(reader)?;
            Change::Put(Box::new(records::get(reader, id)?))
        }
        REMOVE => Change::Remove(get_id(reader)?),
        INTEND => {
            let id = get_id(reader)?;
            Change::Intend(Box::new(records::get_intent(reader, id, false)?))
        }
        CHECKPOINT => {
            Change::Checkpoint { id: get_id(reader)?, checkpoint: records::get_checkpoint(reader)? }
        }
        SETTLE => Change::Settle(get_id(reader)?),
        DEPLOYED => {
            let number = reader.number()?;
            let deployment = Box::new(entries::get_deployment(reader, number)?);
            let documents = reader.optional(|reader| reader.bytes().map(Into::into))?;
            Change::Deployed { deployment, documents }
        }
        OBSTRUCT => {
            let urn = get_id(reader)?.urn;
            let obstacle = match reader.flag()? {
                true => Some(Box::new(obstacle::get(reader, urn.clone())?)),
                false => None,
            };
            Change::Obstruct { urn, obstacle }
        }
        ROLL => {
            let number = reader.number()?;
            let rollout = Box::new(rollouts::get(reader, number)?);
            let plan = reader.optional(|reader| reader.bytes().map(<[u8]>::to_vec))?;
            Change::Roll { rollout, plan }
        }
        FORGET_ROLLOUT => {
            let number = reader.number()?;
            Change::ForgetRollout(Box::new(rollouts::get(reader, number)?))
        }
        AUDITED => {
            let entry = Box::new(audit::get(reader)?);
            Change::Audited { entry, kept_since: reader.number()? }
        }
        CLOSED => Change::SetClosed(reader.optional(entries::get_holder)?),
        REMOVE_COOKIES => {
            let count = reader.count()?;
            Change::RemoveCookies((0..count).map(|_| reader.array()).collect::<Result<_, _>>()?)
        }
        STALENESS => Change::SetStaleness(reader.optional(entries::get_staleness)?),
        VANISH => Change::Vanish { urn: get_id(reader)?.urn, objects: entries::get_vanished(reader)? },
        _ => return Err("it contains a change of an unknown kind"),
    })
}
