//! Changes as bytes, to be embedded where a whole is sealed later: nothing in here is.

use zeroize::Zeroizing;

use super::value::{Parts, Source};
use super::wire::{Reader, put_bytes, put_number, put_optional, put_text};
use super::{Fault, entries, v2};
use crate::{Change, Environment};

const PUT: u8 = 1;
const REMOVE: u8 = 2;
const INTEND: u8 = 3;
const CHECKPOINT: u8 = 4;
const SETTLE: u8 = 5;
const DEPLOYED: u8 = 6;
const HOLD: u8 = 7;

/// The version of this format.
const VERSION: u8 = 1;

/// Writes changes.
pub(super) fn put(changes: &[Change]) -> Result<Zeroizing<Vec<u8>>, (usize, Fault)> {
    let mut out = Zeroizing::new(vec![VERSION]);
    put_number(&mut out, changes.len() as u64);
    for (at, change) in changes.iter().enumerate() {
        let mut parts = Parts::default();
        put_one(&mut parts, change).map_err(|fault| (at, fault))?;
        // In advance, so that no copy is left behind when it grows.
        let mut grown = Zeroizing::new(Vec::with_capacity(
            (out.len() + parts.clear.len() + parts.secret.len() + 20).next_power_of_two(),
        ));
        if out.capacity() < grown.capacity() {
            grown.extend_from_slice(&out);
            out = grown;
        }
        put_bytes(&mut out, &parts.clear);
        put_bytes(&mut out, &parts.secret);
    }
    Ok(out)
}

fn put_one(parts: &mut Parts, change: &Change) -> Result<(), Fault> {
    let out = &mut parts.clear;
    match change {
        Change::Put(record) => {
            out.push(PUT);
            v2::put(parts, record)?;
        }
        Change::Remove(id) => {
            out.push(REMOVE);
            v2::put_id(out, id)?;
        }
        Change::Intend(intent) => {
            out.push(INTEND);
            entries::put_intent(parts, intent)?;
        }
        Change::Checkpoint { id, provider_id } => {
            out.push(CHECKPOINT);
            v2::put_id(out, id)?;
            put_text(out, provider_id);
        }
        Change::Settle(id) => {
            out.push(SETTLE);
            v2::put_id(out, id)?;
        }
        Change::Deployed { environment, deployment, documents } => {
            out.push(DEPLOYED);
            put_number(out, deployment.number);
            entries::put_deployment(out, environment, deployment)?;
            put_optional(&mut parts.secret, documents.as_deref(), put_bytes);
        }
        Change::Hold { environment: Environment { org, app, env }, holder } => {
            out.push(HOLD);
            for text in [org, app, env] {
                put_text(out, text);
            }
            put_optional(out, holder.as_ref(), entries::put_holder);
        }
    }
    Ok(())
}

/// Reads changes.
pub(super) fn get(bytes: &[u8]) -> Result<Vec<Change>, Fault> {
    let mut reader = Reader::new(bytes);
    if reader.byte()? != VERSION {
        return Err("it is of a version that is not known");
    }
    let count = reader.count()?;
    let mut changes = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let clear = Reader::new(reader.bytes()?);
        let mut source = Source::new(clear, reader.bytes()?);
        changes.push(get_one(&mut source)?);
        source.finish()?;
    }
    if reader.is_empty() { Ok(changes) } else { Err("it is longer than it should be") }
}

fn get_one(source: &mut Source<'_>) -> Result<Change, Fault> {
    let clear = &mut source.clear;
    Ok(match clear.byte()? {
        PUT => Change::Put(Box::new(v2::get(source)?)),
        REMOVE => Change::Remove(v2::get_id(clear)?),
        INTEND => Change::Intend(Box::new(entries::get_intent(source)?)),
        CHECKPOINT => Change::Checkpoint { id: v2::get_id(clear)?, provider_id: clear.text()?.into() },
        SETTLE => Change::Settle(v2::get_id(clear)?),
        DEPLOYED => {
            let number = clear.number()?;
            let environment = entries::get_environment(&mut clear.clone())?;
            let deployment = Box::new(entries::get_deployment(clear, number)?);
            let documents = source.sealed.optional(|sealed| sealed.bytes().map(Into::into))?;
            Change::Deployed { environment, deployment, documents }
        }
        HOLD => Change::Hold {
            environment: entries::get_environment(clear)?,
            holder: clear.optional(entries::get_holder)?,
        },
        _ => return Err("it holds a change of an unknown kind"),
    })
}
