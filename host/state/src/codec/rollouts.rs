//! Encodes roll-outs, and what environments say of them.

use std::sync::Arc;

use super::CodecError;
use super::entries::{get_environment, get_holder, put_environment, put_holder};
use super::wire::{Reader, TOO_LARGE, put_number, put_optional, put_text};
use crate::{Environment, MarkState, MayLose, Rollout, RolloutMark, RolloutStatus};

/// Encodes a roll-out without its number, which is in its key.
pub(super) fn put(out: &mut Vec<u8>, rollout: &Rollout) {
    let Rollout {
        number: _,
        holder,
        reason,
        plan,
        status,
        changed,
        why,
        waves,
        opened,
        pause_after,
        max_failures,
        excused,
        may_lose,
        supersedes,
    } = rollout;
    put_holder(out, holder);
    put_optional(out, reason.as_deref(), put_text);
    out.extend_from_slice(plan);
    out.push(match status {
        RolloutStatus::Running => 1,
        RolloutStatus::Paused => 2,
        RolloutStatus::Stopped => 3,
        RolloutStatus::Done => 4,
        RolloutStatus::Undoing => 5,
        RolloutStatus::Undone => 6,
    });
    put_holder(out, changed);
    put_optional(out, why.as_deref(), put_text);
    for number in [waves, opened, max_failures] {
        put_number(out, (*number).into());
    }
    put_optional(out, pause_after.as_ref(), |out, waves| put_number(out, (*waves).into()));
    put_environments(out, excused);
    match may_lose {
        MayLose::Nowhere => out.push(1),
        MayLose::Everywhere => out.push(2),
        MayLose::In(environments) => {
            out.push(3);
            put_environments(out, environments);
        }
    }
    put_number(out, supersedes.len() as u64);
    supersedes.iter().for_each(|number| put_number(out, *number));
}

/// Decodes it.
pub(super) fn get(reader: &mut Reader<'_>, number: u64) -> Result<Rollout, CodecError> {
    let holder = get_holder(reader)?;
    let reason = reader.optional(|reader| reader.text().map(Arc::from))?;
    let plan = reader.array()?;
    let status = match reader.byte()? {
        1 => RolloutStatus::Running,
        2 => RolloutStatus::Paused,
        3 => RolloutStatus::Stopped,
        4 => RolloutStatus::Done,
        5 => RolloutStatus::Undoing,
        6 => RolloutStatus::Undone,
        _ => return Err("it contains a status of an unknown kind"),
    };
    let changed = get_holder(reader)?;
    let why = reader.optional(|reader| reader.text().map(Arc::from))?;
    let (waves, opened, max_failures) = (small(reader)?, small(reader)?, small(reader)?);
    let pause_after = reader.optional(small)?;
    let excused = environments(reader)?;
    let may_lose = match reader.byte()? {
        1 => MayLose::Nowhere,
        2 => MayLose::Everywhere,
        3 => MayLose::In(environments(reader)?),
        _ => return Err("it contains a permission of an unknown kind"),
    };
    let supersedes = (0..reader.count()?).map(|_| reader.number()).collect::<Result<_, _>>()?;
    Ok(Rollout {
        number,
        holder,
        reason,
        plan,
        status,
        changed,
        why,
        waves,
        opened,
        pause_after,
        max_failures,
        excused,
        may_lose,
        supersedes,
    })
}

fn put_environments(out: &mut Vec<u8>, environments: &[Environment]) {
    put_number(out, environments.len() as u64);
    environments.iter().for_each(|one| put_environment(out, one));
}

fn environments(reader: &mut Reader<'_>) -> Result<Vec<Environment>, CodecError> {
    (0..reader.count()?).map(|_| get_environment(reader)).collect()
}

fn small(reader: &mut Reader<'_>) -> Result<u32, CodecError> {
    u32::try_from(reader.number()?).map_err(|_| TOO_LARGE)
}

/// Encodes what an environment says of roll-outs.
pub(super) fn put_marks(out: &mut Vec<u8>, marks: &[RolloutMark]) {
    put_number(out, marks.len() as u64);
    for RolloutMark { number, state } in marks {
        put_number(out, *number);
        match state {
            MarkState::Applied => out.push(1),
            MarkState::Left => out.push(2),
            MarkState::Undone => out.push(3),
            MarkState::Refused(why) => {
                out.push(4);
                put_text(out, why);
            }
        }
    }
}

/// Decodes it.
pub(super) fn get_marks(reader: &mut Reader<'_>) -> Result<Arc<[RolloutMark]>, CodecError> {
    let count = reader.count()?;
    let mut marks = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let number = reader.number()?;
        let state = match reader.byte()? {
            1 => MarkState::Applied,
            2 => MarkState::Left,
            3 => MarkState::Undone,
            4 => MarkState::Refused(reader.text()?.into()),
            _ => return Err("it contains a mark of an unknown kind"),
        };
        marks.push(RolloutMark { number, state });
    }
    Ok(marks.into())
}
