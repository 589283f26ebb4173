//! What stands beside records: intents, what drivers said meanwhile, deployments, documents, who
//! closed an environment, the data key.

use std::sync::Arc;

use super::value::{Parts, Source};
use super::wire::{Reader, get_urn, put_bytes, put_number, put_optional, put_text, put_urn};
use super::{Fault, v2};
use crate::{Deployment, Environment, Holder, Intent, Operation, Outcome};

const CREATE: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;

/// Writes an intent.
pub(super) fn put_intent(parts: &mut Parts, intent: &Intent) -> Result<(), Fault> {
    let out = &mut parts.clear;
    put_text(out, &intent.idempotency_key);
    put_optional(out, intent.checkpoint.as_deref(), put_text);
    put_number(out, intent.since);
    match &intent.operation {
        Operation::Create(record) => {
            out.push(CREATE);
            v2::put(parts, record)
        }
        Operation::Update(record) => {
            out.push(UPDATE);
            v2::put(parts, record)
        }
        Operation::Delete(id) => {
            out.push(DELETE);
            v2::put_id(out, id)
        }
    }
}

/// Reads an intent.
pub(super) fn get_intent(source: &mut Source<'_>) -> Result<Intent, Fault> {
    let clear = &mut source.clear;
    let idempotency_key = clear.text()?.into();
    let checkpoint = clear.optional(|clear| clear.text().map(Into::into))?;
    let since = clear.number()?;
    let operation = match clear.byte()? {
        CREATE => Operation::Create(Box::new(v2::get(source)?)),
        UPDATE => Operation::Update(Box::new(v2::get(source)?)),
        DELETE => Operation::Delete(v2::get_id(clear)?),
        _ => return Err("it holds an operation of an unknown kind"),
    };
    Ok(Intent { operation, idempotency_key, checkpoint, since })
}

/// Writes who holds something.
pub(super) fn put_holder(out: &mut Vec<u8>, holder: &Holder) {
    let Holder { user, host, pid, command, since } = holder;
    for text in [user, host, command] {
        put_text(out, text);
    }
    put_number(out, (*pid).into());
    put_number(out, *since);
}

/// Reads who holds something.
pub(super) fn get_holder(reader: &mut Reader<'_>) -> Result<Holder, Fault> {
    let (user, host, command) = (reader.text()?.into(), reader.text()?.into(), reader.text()?.into());
    let pid = u32::try_from(reader.number()?).map_err(|_| "it holds a number that is too large")?;
    Ok(Holder { user, host, pid, command, since: reader.number()? })
}

fn put_environment(out: &mut Vec<u8>, environment: &Environment) {
    for text in [&environment.org, &environment.app, &environment.env] {
        put_text(out, text);
    }
}

/// Reads where something is, which is the first field of a deployment.
pub(super) fn get_environment(reader: &mut Reader<'_>) -> Result<Environment, Fault> {
    Ok(Environment { org: reader.text()?.into(), app: reader.text()?.into(), env: reader.text()?.into() })
}

/// Writes a deployment without its number, which only a store knows.
pub(super) fn put_deployment(
    out: &mut Vec<u8>,
    environment: &Environment,
    deployment: &Deployment,
) -> Result<(), Fault> {
    put_environment(out, environment);
    put_text(out, &deployment.id);
    put_holder(out, &deployment.holder);
    put_optional(out, deployment.ended.as_ref(), |out, ended| put_number(out, *ended));
    out.push(match deployment.outcome {
        Outcome::Unfinished => 0,
        Outcome::Succeeded => 1,
        Outcome::Failed => 2,
        Outcome::Cancelled => 3,
    });
    put_optional(out, deployment.documents.as_ref(), |out, digest| out.extend_from_slice(digest));
    put_number(out, deployment.steps.len() as u64);
    let mut last = "";
    for (urn, action, succeeded) in &deployment.steps {
        put_urn(out, last, urn)?;
        put_text(out, action);
        out.push(u8::from(*succeeded));
        last = urn.as_str();
    }
    Ok(())
}

/// Reads a deployment.
pub(super) fn get_deployment(reader: &mut Reader<'_>, number: u64) -> Result<Deployment, Fault> {
    get_environment(reader)?;
    let id = reader.text()?.into();
    let holder = get_holder(reader)?;
    let ended = reader.optional(Reader::number)?;
    let outcome = match reader.byte()? {
        0 => Outcome::Unfinished,
        1 => Outcome::Succeeded,
        2 => Outcome::Failed,
        3 => Outcome::Cancelled,
        _ => return Err("it holds an outcome of an unknown kind"),
    };
    let documents = reader.optional(Reader::array)?;
    let count = reader.count()?;
    let mut steps: Vec<(_, Arc<str>, _)> = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let urn =
            get_urn(reader, steps.last().map_or("", |(urn, ..): &(purlin_model::Urn, _, _)| urn.as_str()))?;
        let action = reader.text()?;
        // Few different words, many steps.
        let action = match steps.last() {
            Some((_, last, _)) if **last == *action => last.clone(),
            _ => action.into(),
        };
        steps.push((urn, action, reader.flag()?));
    }
    Ok(Deployment { id, number, holder, ended, outcome, steps, documents })
}

/// The data key as it is stored: for whom it is sealed, and sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedKey {
    /// The public half of the key that it is sealed for.
    pub(crate) recipient: String,
    /// The sealed key; none where version 1 only noted the recipient.
    pub(crate) sealed: Option<Vec<u8>>,
}

/// Writes the data key.
pub(super) fn put_key(out: &mut Vec<u8>, key: &SealedKey) {
    put_text(out, &key.recipient);
    put_optional(out, key.sealed.as_deref(), put_bytes);
}

/// Reads the data key.
pub(super) fn get_key(reader: &mut Reader<'_>) -> Result<SealedKey, Fault> {
    let recipient = reader.text()?.into();
    Ok(SealedKey { recipient, sealed: reader.optional(|reader| reader.bytes().map(Into::into))? })
}
