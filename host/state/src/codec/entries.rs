//! Encodes deployments, environments, and who holds a lock.

use std::sync::Arc;

use super::wire::{
    Reader, TOO_LARGE, get_label, get_urn, put_label, put_number, put_optional, put_text, put_urn,
};
use super::{CodecError, KIND, rollouts};
use crate::{Deployment, Environment, Holder, Outcome, RejectedDocuments, Staleness, Vanished};

/// The operation of an intent.
pub(super) const CREATE: u8 = 1;
pub(super) const UPDATE: u8 = 2;
pub(super) const DELETE: u8 = 3;
/// The fault of any other one.
pub(super) const NO_OPERATION: CodecError = "it contains an operation of an unknown kind";
/// Combined with one of these: a deadline follows.
pub(super) const DEADLINE: u8 = 1 << 7;
/// Combined with one of these: an open deletion follows.
pub(super) const OPEN_DELETION: u8 = 1 << 6;

/// Combined with the outcome of a deployment: it is a rollback, and the number of the deployment
/// that provided the documents follows.
const ROLLBACK: u8 = 1 << 4;
/// Combined with that: newer documents are rejected, and these follow.
const REJECTED: u8 = 1 << 5;
/// Combined with that: what the environment says of roll-outs follows.
const ROLLOUTS: u8 = 1 << 6;

/// Encodes why records may be stale.
pub(super) fn put_staleness(out: &mut Vec<u8>, staleness: &Staleness) {
    out.push(match staleness {
        Staleness::Copied => 1,
        Staleness::Lost => 2,
        Staleness::Restarted => 3,
        Staleness::Imported => 4,
        Staleness::Restored => 5,
    });
}

/// Decodes why records may be stale.
pub(super) fn get_staleness(reader: &mut Reader<'_>) -> Result<Staleness, CodecError> {
    Ok(match reader.byte()? {
        1 => Staleness::Copied,
        2 => Staleness::Lost,
        3 => Staleness::Restarted,
        4 => Staleness::Imported,
        5 => Staleness::Restored,
        _ => return Err(KIND),
    })
}

/// Encodes a holder.
pub(super) fn put_holder(out: &mut Vec<u8>, holder: &Holder) {
    let Holder { user, host, pid, command, since } = holder;
    for text in [user, host, command] {
        put_text(out, text);
    }
    put_number(out, (*pid).into());
    put_number(out, *since);
}

/// Decodes a holder.
pub(super) fn get_holder(reader: &mut Reader<'_>) -> Result<Holder, CodecError> {
    let (user, host, command) = (reader.text()?.into(), reader.text()?.into(), reader.text()?.into());
    let pid = u32::try_from(reader.number()?).map_err(|_| TOO_LARGE)?;
    Ok(Holder { user, host, pid, command, since: reader.number()? })
}

/// Encodes objects that systems may still show although they are gone.
pub(super) fn put_vanished(out: &mut Vec<u8>, objects: &[Vanished]) {
    put_number(out, objects.len() as u64);
    for object in objects {
        put_label(out, &object.id);
        put_number(out, object.since);
    }
}

/// Decodes them.
pub(super) fn get_vanished(reader: &mut Reader<'_>) -> Result<Box<[Vanished]>, CodecError> {
    let count = reader.count()?;
    (0..count).map(|_| Ok(Vanished { id: get_label(reader)?, since: reader.number()? })).collect()
}

/// Encodes an environment.
pub(super) fn put_environment(out: &mut Vec<u8>, environment: &Environment) {
    for text in [&environment.org, &environment.app, &environment.env] {
        put_text(out, text);
    }
}

/// Decodes an environment.
pub(super) fn get_environment(reader: &mut Reader<'_>) -> Result<Environment, CodecError> {
    Ok(Environment { org: reader.text()?.into(), app: reader.text()?.into(), env: reader.text()?.into() })
}

/// Encodes a deployment without its number, which only a store knows.
pub(super) fn put_deployment(out: &mut Vec<u8>, deployment: &Deployment) -> Result<(), CodecError> {
    put_text(out, &deployment.id);
    put_holder(out, &deployment.holder);
    put_optional(out, deployment.ended.as_ref(), |out, ended| put_number(out, *ended));
    let outcome = match deployment.outcome {
        Outcome::Unfinished => 0,
        Outcome::Succeeded => 1,
        Outcome::Failed => 2,
        Outcome::Cancelled => 3,
    };
    let flag = |flag, set: bool| if set { flag } else { 0 };
    out.push(
        outcome
            | flag(ROLLBACK, deployment.rollback_of.is_some())
            | flag(REJECTED, deployment.rejected.is_some())
            | flag(ROLLOUTS, !deployment.rollouts.is_empty()),
    );
    if let Some(number) = deployment.rollback_of {
        put_number(out, number);
    }
    if let Some(rejected) = deployment.rejected.as_deref() {
        let RejectedDocuments { since, why, faults } = rejected;
        put_number(out, *since);
        put_text(out, why);
        put_number(out, *faults);
    }
    if !deployment.rollouts.is_empty() {
        rollouts::put_marks(out, &deployment.rollouts);
    }
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

/// Decodes a deployment.
pub(super) fn get_deployment(reader: &mut Reader<'_>, number: u64) -> Result<Deployment, CodecError> {
    let id = reader.text()?.into();
    let holder = get_holder(reader)?;
    let ended = reader.optional(Reader::number)?;
    let outcome = reader.byte()?;
    let rollback_of = if outcome & ROLLBACK == 0 { None } else { Some(reader.number()?) };
    let rejected = match outcome & REJECTED {
        0 => None,
        _ => {
            let (since, why, faults) = (reader.number()?, reader.text()?.into(), reader.number()?);
            Some(Box::new(RejectedDocuments { since, why, faults }))
        }
    };
    let rollouts = match outcome & ROLLOUTS {
        0 => Arc::default(),
        _ => rollouts::get_marks(reader)?,
    };
    let outcome = match outcome & !(ROLLBACK | REJECTED | ROLLOUTS) {
        0 => Outcome::Unfinished,
        1 => Outcome::Succeeded,
        2 => Outcome::Failed,
        3 => Outcome::Cancelled,
        _ => return Err("it contains an outcome of an unknown kind"),
    };
    let documents = reader.optional(Reader::array)?;
    let count = reader.count()?;
    let mut steps: Vec<(_, Arc<str>, _)> = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let urn =
            get_urn(reader, steps.last().map_or("", |(urn, ..): &(purlin_model::Urn, _, _)| urn.as_str()))?;
        let action = reader.text()?;
        // There are many steps but few different actions.
        let action = match steps.last() {
            Some((_, last, _)) if **last == *action => last.clone(),
            _ => action.into(),
        };
        steps.push((urn, action, reader.flag()?));
    }
    Ok(Deployment { id, number, holder, ended, outcome, steps, documents, rollback_of, rejected, rollouts })
}
