//! Version 2 of records and intents. It remains readable and is no longer written.
//!
//! Only secrets were sealed: the clear part had a gap in their place.

use purlin_model::driver::{Inputs, ManifestFile, ResourceState};

use super::CodecError;
use super::entries::{CREATE, DELETE, NO_OPERATION, UPDATE};
use super::v3::unfinished;
use super::value::{Part, Source};
use super::wire::{get_id, get_urn};
use crate::{DriverVersion, Intent, Operation, Record, RecordId, Status};

const PROTECT: u64 = 1;
const RETAIN: u64 = 1 << 1;
const PARTIAL: u64 = 1 << 2;
const DEFINITION: u64 = 1 << 3;
const ACCOUNT: u64 = 1 << 4;
const COOKIE: u64 = 1 << 5;
/// The inputs contain secrets: their map `secrets` and their digest are sealed as a whole.
const SECRET_INPUTS: u64 = 1 << 6;
const ABSENT: u64 = 1 << 7;
const EXTERNAL: u64 = 1 << 8;
const TAINTED: u64 = 1 << 9;
const DELETED_WITH: u64 = 1 << 10;
const PINNED: u64 = 1 << 11;
const HOLDS_DATA: u64 = 1 << 12;
const ALL: u64 = (HOLDS_DATA << 1) - 1;

/// Decodes a record.
pub(super) fn get(source: &mut Source<'_>) -> Result<Record, CodecError> {
    let clear = &mut source.clear;
    let RecordId { urn, superseded } = get_id(clear)?;
    let flags = clear.number()?;
    if flags & !ALL != 0 {
        return Err("it has unknown flags");
    }
    let has = |flag| flags & flag != 0;
    let status = match (has(PARTIAL), has(ABSENT)) {
        (false, false) => Status::Ready,
        (true, false) => Status::Partial(unfinished(clear)?),
        (false, true) => Status::Absent,
        (true, true) => return Err("it has unknown flags"),
    };
    let deleted_with = if has(DELETED_WITH) { Some(get_urn(clear, urn.as_str())?) } else { None };
    let holds_data = if has(HOLDS_DATA) { Some(clear.text()?.into()) } else { None };
    let driver = DriverVersion {
        name: clear.text()?.into(),
        version: clear.text()?.into(),
        digest: clear.text()?.into(),
    };
    let definition = if has(DEFINITION) { Some(clear.text()?.into()) } else { None };
    let name = clear.text()?.into();
    let created = clear.number()?;
    let updated = created.wrapping_add(clear.number()?);
    let deployment = clear.text()?.into();
    let count = clear.count()?;
    let mut dependencies = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        dependencies.push(get_urn(clear, urn.as_str())?);
    }
    let digest = source.of(if has(SECRET_INPUTS) { Part::Sealed } else { Part::Clear }).array()?;
    let inputs = get_inputs(source, has(ACCOUNT))?;
    let state = get_state(source, has(COOKIE))?;
    Ok(Record {
        urn,
        superseded,
        status,
        driver: driver.into(),
        definition,
        name,
        inputs,
        state,
        dependencies: dependencies.into(),
        digest,
        protect: has(PROTECT),
        pinned: has(PINNED),
        retain: has(RETAIN),
        external: has(EXTERNAL),
        named: None,
        tainted: has(TAINTED),
        deleted_with,
        perhaps_deleted_with: Box::default(),
        share: None,
        abandoned: false,
        holds_data,
        created,
        updated,
        deployment,
    })
}

/// Decodes inputs, unchanged since version 1.
pub(super) fn get_inputs(source: &mut Source<'_>, account: bool) -> Result<Inputs, CodecError> {
    let values = source.value(Part::Clear)?;
    let params = source.value(Part::Clear)?;
    let part = if source.clear.flag()? { Part::Sealed } else { Part::Clear };
    let secrets = source.value(part)?;
    let account = if account { Some(source.clear.text()?.into()) } else { None };
    Ok(Inputs { values, secrets, params, account, ..Inputs::default() })
}

/// Decodes the state that a driver returned, unchanged since version 1.
pub(super) fn get_state(source: &mut Source<'_>, cookie: bool) -> Result<ResourceState, CodecError> {
    let id = source.clear.text()?.into();
    let outputs = source.value(Part::Clear)?;
    let cookie = if cookie { source.sealed.bytes()?.to_vec() } else { Vec::new() };
    let count = source.clear.count()?;
    let mut manifests = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        manifests.push(ManifestFile {
            name: source.clear.text()?.into(),
            location: source.clear.text()?.into(),
            data: source.value(Part::Clear)?,
        });
    }
    Ok(ResourceState { id, outputs, cookie: cookie.into(), manifests })
}

/// Decodes an intent.
pub(super) fn get_intent(source: &mut Source<'_>) -> Result<Intent, CodecError> {
    let clear = &mut source.clear;
    let idempotency_key = clear.text()?.into();
    let checkpoint = clear.optional(|clear| clear.text().map(Into::into))?;
    let since = clear.number()?;
    let operation = match clear.byte()? {
        CREATE => Operation::Create(Box::new(get(source)?)),
        UPDATE => Operation::Update(Box::new(get(source)?)),
        DELETE => Operation::Delete(get_id(clear)?),
        _ => return Err(NO_OPERATION),
    };
    Ok(Intent { operation, idempotency_key, checkpoint, since, deadline: None })
}
