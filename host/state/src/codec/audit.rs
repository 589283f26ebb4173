//! Encodes the entries of an audit.

use strum::VariantArray as _;

use super::CodecError;
use super::entries::{get_holder, put_holder};
use super::wire::{Reader, put_number, put_optional, put_text};
use crate::{AuditAction, AuditEntry, DatabaseUser};

/// Encodes an entry without its number and digests, which are in its key.
pub(super) fn put(out: &mut Vec<u8>, entry: &AuditEntry) {
    let AuditEntry {
        number: _,
        by,
        database_user,
        action,
        subjects,
        deployment,
        resources,
        reason,
        before: _,
        digest: _,
    } = entry;
    put_holder(out, by);
    put_optional(out, database_user.as_ref(), |out, DatabaseUser { role, address }| {
        put_text(out, role);
        put_optional(out, address.as_deref(), put_text);
    });
    out.push(byte(*action));
    put_number(out, subjects.len() as u64);
    subjects.iter().for_each(|subject| put_text(out, subject));
    put_optional(out, deployment.as_deref(), put_text);
    put_number(out, *resources);
    put_optional(out, reason.as_deref(), put_text);
}

/// Decodes an entry without its number and digests.
pub(super) fn get(reader: &mut Reader<'_>) -> Result<AuditEntry, CodecError> {
    let by = get_holder(reader)?;
    let database_user = reader.optional(|reader| {
        let role = reader.text()?.to_owned();
        Ok(DatabaseUser { role, address: reader.optional(|reader| reader.text().map(str::to_owned))? })
    })?;
    let action = reader.byte()?;
    let action = AuditAction::VARIANTS.iter().find(|known| byte(**known) == action);
    let action = *action.ok_or("it contains an action of an unknown kind")?;
    let subjects = (0..reader.count()?).map(|_| reader.text().map(Into::into)).collect::<Result<_, _>>()?;
    let deployment = reader.optional(|reader| reader.text().map(Into::into))?;
    let resources = reader.number()?;
    let reason = reader.optional(|reader| reader.text().map(Into::into))?;
    Ok(AuditEntry { database_user, subjects, deployment, resources, reason, ..AuditEntry::new(by, action) })
}

fn byte(action: AuditAction) -> u8 {
    match action {
        AuditAction::Run => 1,
        AuditAction::Forget => 2,
        AuditAction::Settle => 3,
        AuditAction::Protect => 4,
        AuditAction::Unprotect => 5,
        AuditAction::Taint => 6,
        AuditAction::Untaint => 7,
        AuditAction::Rename => 8,
        AuditAction::Move => 9,
        AuditAction::Share => 10,
        AuditAction::Unshare => 11,
        AuditAction::Lock => 12,
        AuditAction::Unlock => 13,
        AuditAction::Copy => 14,
        AuditAction::Import => 15,
        AuditAction::Repair => 16,
        AuditAction::RotateKey => 17,
        AuditAction::StartRollout => 18,
        AuditAction::PauseRollout => 19,
        AuditAction::ResumeRollout => 20,
        AuditAction::UndoRollout => 21,
        AuditAction::AdvanceRollout => 22,
    }
}
