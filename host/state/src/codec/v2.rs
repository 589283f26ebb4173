//! Version 2 of a record: what can be said about the life of a resource, too.

use purlin_model::driver::{Inputs, ManifestFile, ResourceState};

use super::Fault;
use super::value::{self, Part, Parts, Source};
use super::wire::{Reader, get_urn, put_bytes, put_number, put_text, put_urn};
use crate::record::is_something;
use crate::{DriverVersion, Record, RecordId, Status};

const PROTECT: u64 = 1;
const RETAIN: u64 = 1 << 1;
const PARTIAL: u64 = 1 << 2;
const DEFINITION: u64 = 1 << 3;
const ACCOUNT: u64 = 1 << 4;
const COOKIE: u64 = 1 << 5;
/// The inputs hold secrets: their map `secrets` and their digest are sealed as a whole.
const SECRET_INPUTS: u64 = 1 << 6;
const ABSENT: u64 = 1 << 7;
const EXTERNAL: u64 = 1 << 8;
const TAINTED: u64 = 1 << 9;
const DELETED_WITH: u64 = 1 << 10;
const PINNED: u64 = 1 << 11;
const HOLDS_DATA: u64 = 1 << 12;
const ALL: u64 = (HOLDS_DATA << 1) - 1;

/// Writes which record it is.
pub(super) fn put_id(out: &mut Vec<u8>, id: &RecordId) -> Result<(), Fault> {
    put_urn(out, "", &id.urn)?;
    put_number(out, id.superseded.map_or(0, |copy| u64::from(copy) + 1));
    Ok(())
}

/// Reads which record it is.
pub(super) fn get_id(reader: &mut Reader<'_>) -> Result<RecordId, Fault> {
    let urn = get_urn(reader, "")?;
    let copy = reader.number()?.checked_sub(1).map(u32::try_from).transpose();
    Ok(RecordId { urn, superseded: copy.map_err(|_| "it holds a number that is too large")? })
}

/// Writes a record.
pub(super) fn put(parts: &mut Parts, record: &Record) -> Result<(), Fault> {
    let secret_inputs = record.has_secret_inputs();
    let flag = |flag, set: bool| if set { flag } else { 0 };
    let out = &mut parts.clear;
    put_id(out, &record.id())?;
    let status = match record.status {
        Status::Ready => 0,
        Status::Partial { .. } => PARTIAL,
        Status::Absent => ABSENT,
    };
    put_number(
        out,
        status
            | flag(PROTECT, record.protect)
            | flag(RETAIN, record.retain)
            | flag(DEFINITION, record.definition.is_some())
            | flag(ACCOUNT, record.inputs.account.is_some())
            | flag(COOKIE, !record.state.cookie.is_empty())
            | flag(SECRET_INPUTS, secret_inputs)
            | flag(EXTERNAL, record.external)
            | flag(TAINTED, record.tainted)
            | flag(DELETED_WITH, record.deleted_with.is_some())
            | flag(PINNED, record.pinned)
            | flag(HOLDS_DATA, record.holds_data.is_some()),
    );
    if let Status::Partial { message } = &record.status {
        put_text(out, message);
    }
    if let Some(urn) = &record.deleted_with {
        put_urn(out, record.urn.as_str(), urn)?;
    }
    if let Some(what) = &record.holds_data {
        put_text(out, what);
    }
    for text in [&record.driver.name, &record.driver.version, &record.driver.digest] {
        put_text(out, text);
    }
    if let Some(definition) = &record.definition {
        put_text(out, definition);
    }
    put_text(out, &record.name);
    put_number(out, record.created);
    // Small, whichever clock was behind.
    put_number(out, record.updated.wrapping_sub(record.created));
    put_text(out, &record.deployment);
    put_number(out, record.dependencies.len() as u64);
    for dependency in &record.dependencies {
        put_urn(out, record.urn.as_str(), dependency)?;
    }
    let inputs_part = if secret_inputs { Part::Sealed } else { Part::Clear };
    parts.of(inputs_part).extend_from_slice(&record.digest);
    put_inputs(parts, inputs_part, &record.inputs)?;
    put_state(parts, &record.state)
}

fn put_inputs(parts: &mut Parts, secrets: Part, inputs: &Inputs) -> Result<(), Fault> {
    value::put(parts, Part::Clear, &inputs.values)?;
    value::put(parts, Part::Clear, &inputs.params)?;
    // What stands under `secrets` is secret, whether or not each leaf says so.
    let part = if is_something(&inputs.secrets) { secrets } else { Part::Clear };
    parts.clear.push(u8::from(part == Part::Sealed));
    value::put(parts, part, &inputs.secrets)?;
    if let Some(account) = &inputs.account {
        put_text(&mut parts.clear, account);
    }
    Ok(())
}

fn put_state(parts: &mut Parts, state: &ResourceState) -> Result<(), Fault> {
    put_text(&mut parts.clear, &state.id);
    value::put(parts, Part::Clear, &state.outputs)?;
    if !state.cookie.is_empty() {
        put_bytes(&mut parts.secret, &state.cookie);
    }
    put_number(&mut parts.clear, state.manifests.len() as u64);
    for manifest in &state.manifests {
        put_text(&mut parts.clear, &manifest.name);
        put_text(&mut parts.clear, &manifest.location);
        value::put(parts, Part::Clear, &manifest.data)?;
    }
    Ok(())
}

/// Reads a record.
pub(super) fn get(source: &mut Source<'_>) -> Result<Record, Fault> {
    let clear = &mut source.clear;
    let RecordId { urn, superseded } = get_id(clear)?;
    let flags = clear.number()?;
    if flags & !ALL != 0 {
        return Err("it holds flags that are not known");
    }
    let has = |flag| flags & flag != 0;
    let status = match (has(PARTIAL), has(ABSENT)) {
        (false, false) => Status::Ready,
        (true, false) => Status::Partial { message: clear.text()?.into() },
        (false, true) => Status::Absent,
        (true, true) => return Err("it holds flags that are not known"),
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
        driver,
        definition,
        name,
        inputs,
        state,
        dependencies,
        digest,
        protect: has(PROTECT),
        pinned: has(PINNED),
        retain: has(RETAIN),
        external: has(EXTERNAL),
        tainted: has(TAINTED),
        deleted_with,
        holds_data,
        created,
        updated,
        deployment,
    })
}

/// Reads inputs, which are the same since version 1.
pub(super) fn get_inputs(source: &mut Source<'_>, account: bool) -> Result<Inputs, Fault> {
    let values = source.value(Part::Clear)?;
    let params = source.value(Part::Clear)?;
    let part = if source.clear.flag()? { Part::Sealed } else { Part::Clear };
    let secrets = source.value(part)?;
    let account = if account { Some(source.clear.text()?.into()) } else { None };
    Ok(Inputs { values, secrets, params, account })
}

/// Reads what a driver said, which is the same since version 1.
pub(super) fn get_state(source: &mut Source<'_>, cookie: bool) -> Result<ResourceState, Fault> {
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
    Ok(ResourceState { id, outputs, cookie, manifests })
}
