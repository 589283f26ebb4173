//! Encodes records and intents.

use purlin_model::driver::{
    Checkpoint, Cookie, Inputs, ManifestFile, RecordedPart, ResourceState, StoredCookie,
};
use purlin_model::{Map, Unfinished, Urn, Value};

use super::CodecError;
use super::entries::{CREATE, DEADLINE, DELETE, NO_OPERATION, OPEN_DELETION, UPDATE};
use super::listing::NO_JSON;
use super::value;
use super::wire::{
    Reader, get_label, get_urn, put_bytes, put_label, put_number, put_optional, put_text, put_urn,
};
use crate::{DriverVersion, Intent, Operation, Record, RecordId, Status};

const PROTECT: u64 = 1;
const RETAIN: u64 = 1 << 1;
const PARTIAL: u64 = 1 << 2;
const ABSENT: u64 = 1 << 3;
const EXTERNAL: u64 = 1 << 4;
const TAINTED: u64 = 1 << 5;
const PINNED: u64 = 1 << 6;
const NAMED: u64 = 1 << 7;
const PERHAPS: u64 = 1 << 8;
const SHARE: u64 = 1 << 9;
const ABANDONED: u64 = 1 << 10;
const CONNECTION: u64 = 1 << 11;
const PARTS: u64 = 1 << 12;
const ALL: u64 = (PARTS << 1) - 1;

/// Where the bytes of a cookie are.
const HERE: u8 = 0;
const STORED: u8 = 1;

const DRIFTED: u8 = 1;
const INTERRUPTED_UPDATE: u8 = 2;
const INTERRUPTED_CREATE: u8 = 3;
const FAILED: u8 = 4;
const UNCONFIRMED: u8 = 5;
const IN_PROGRESS: u8 = 6;
const GOING: u8 = 7;
const IN_PROGRESS_IN_DOUBT: u8 = 8;

/// Encodes a record without its id.
pub(super) fn put(out: &mut Vec<u8>, record: &Record) -> Result<(), CodecError> {
    let flag = |flag, set: bool| if set { flag } else { 0 };
    let status = match record.status {
        Status::Ready => 0,
        Status::Partial(_) => PARTIAL,
        Status::Absent => ABSENT,
    };
    put_number(
        out,
        status
            | flag(PROTECT, record.protect)
            | flag(RETAIN, record.retain)
            | flag(EXTERNAL, record.external)
            | flag(TAINTED, record.tainted)
            | flag(PINNED, record.pinned)
            | flag(NAMED, record.named.is_some())
            | flag(PERHAPS, !record.perhaps_deleted_with.is_empty())
            | flag(SHARE, record.share.is_some())
            | flag(ABANDONED, record.abandoned)
            | flag(CONNECTION, has_connection(&record.inputs))
            | flag(PARTS, !record.parts.is_empty()),
    );
    if let Status::Partial(unfinished) = &record.status {
        put_unfinished(out, unfinished);
    }
    out.push(u8::from(record.deleted_with.is_some()));
    if let Some(urn) = &record.deleted_with {
        put_urn(out, record.urn.as_str(), urn)?;
    }
    if !record.perhaps_deleted_with.is_empty() {
        put_urns(out, record, &record.perhaps_deleted_with)?;
    }
    if let Some(share) = &record.share {
        let json = serde_json::to_string(share).map_err(|_| NO_JSON)?;
        put_text(out, &json);
    }
    put_optional(out, record.holds_data.as_deref(), put_text);
    if let Some(named) = &record.named {
        put_text(out, named);
    }
    for text in [&record.driver.name, &record.driver.version, &record.driver.digest] {
        put_text(out, text);
    }
    put_optional(out, record.definition.as_deref(), put_text);
    put_label(out, &record.name);
    put_number(out, record.created);
    // The difference is small, whichever clock was slow.
    put_number(out, record.updated.wrapping_sub(record.created));
    put_text(out, &record.deployment);
    put_urns(out, record, &record.dependencies)?;
    out.extend_from_slice(&record.digest);
    put_inputs(out, &record.inputs)?;
    if !record.parts.is_empty() {
        put_number(out, record.parts.len() as u64);
        for part in &*record.parts {
            put_text(out, &part.address);
            put_text(out, &part.type_name);
            put_optional(out, part.holds_data.as_deref(), put_text);
        }
    }
    put_state(out, &record.state)
}

fn put_urns(out: &mut Vec<u8>, record: &Record, urns: &[Urn]) -> Result<(), CodecError> {
    put_number(out, urns.len() as u64);
    urns.iter().try_for_each(|urn| put_urn(out, record.urn.as_str(), urn))
}

fn put_inputs(out: &mut Vec<u8>, inputs: &Inputs) -> Result<(), CodecError> {
    for part in [&inputs.values, &inputs.params, &inputs.secrets] {
        value::put(out, part)?;
    }
    put_optional(out, inputs.account.as_deref(), put_text);
    if has_connection(inputs) { value::put(out, &inputs.connection) } else { Ok(()) }
}

fn has_connection(inputs: &Inputs) -> bool {
    !matches!(inputs.connection, Value::Null)
}

fn put_state(out: &mut Vec<u8>, state: &ResourceState) -> Result<(), CodecError> {
    put_label(out, &state.id);
    value::put(out, &state.outputs)?;
    put_cookie(out, &state.cookie);
    put_number(out, state.manifests.len() as u64);
    for manifest in &state.manifests {
        put_label(out, &manifest.name);
        put_label(out, &manifest.location);
        value::put(out, &manifest.data)?;
    }
    put_number(out, u64::from(state.version));
    put_number(out, state.notes.len() as u64);
    for (name, note) in &state.notes {
        put_text(out, name);
        value::put(out, note)?;
    }
    Ok(())
}

pub(super) fn put_checkpoint(out: &mut Vec<u8>, checkpoint: &Checkpoint) {
    put_label(out, &checkpoint.id);
    put_optional(out, checkpoint.cookie.as_ref(), put_cookie);
}

fn put_cookie(out: &mut Vec<u8>, cookie: &Cookie) {
    match (cookie.bytes(), cookie.stored()) {
        (_, Some(StoredCookie { id, digest, length })) => {
            out.push(STORED);
            out.extend_from_slice(id);
            out.extend_from_slice(digest);
            put_number(out, *length);
        }
        (bytes, None) => {
            out.push(HERE);
            put_bytes(out, bytes.unwrap_or_default());
        }
    }
}

fn get_cookie(reader: &mut Reader<'_>) -> Result<Cookie, CodecError> {
    match reader.byte()? {
        HERE => Ok(reader.bytes()?.to_vec().into()),
        STORED => {
            let (id, digest) = (reader.array()?, reader.array()?);
            Ok(StoredCookie { id, digest, length: reader.number()? }.into())
        }
        _ => Err("it contains a cookie of an unknown kind"),
    }
}

pub(super) fn get_checkpoint(reader: &mut Reader<'_>) -> Result<Checkpoint, CodecError> {
    let id = get_label(reader)?;
    let cookie = reader.optional(get_cookie)?;
    Ok(Checkpoint { id, cookie })
}

fn put_unfinished(out: &mut Vec<u8>, unfinished: &Unfinished) {
    out.push(match unfinished {
        Unfinished::Drifted => DRIFTED,
        Unfinished::InterruptedUpdate => INTERRUPTED_UPDATE,
        Unfinished::InterruptedCreate => INTERRUPTED_CREATE,
        Unfinished::Unconfirmed => UNCONFIRMED,
        Unfinished::Failed { .. } => FAILED,
        Unfinished::InProgress { deletes: false, in_doubt: false, .. } => IN_PROGRESS,
        Unfinished::InProgress { deletes: false, in_doubt: true, .. } => IN_PROGRESS_IN_DOUBT,
        Unfinished::InProgress { deletes: true, .. } => GOING,
    });
    match unfinished {
        Unfinished::Failed { message } | Unfinished::InProgress { message, .. } => {
            put_text(out, message);
        }
        Unfinished::Drifted
        | Unfinished::InterruptedUpdate
        | Unfinished::InterruptedCreate
        | Unfinished::Unconfirmed => {}
    }
}

fn get_unfinished(reader: &mut Reader<'_>) -> Result<Unfinished, CodecError> {
    Ok(match reader.byte()? {
        DRIFTED => Unfinished::Drifted,
        INTERRUPTED_UPDATE => Unfinished::InterruptedUpdate,
        INTERRUPTED_CREATE => Unfinished::InterruptedCreate,
        UNCONFIRMED => Unfinished::Unconfirmed,
        FAILED => Unfinished::Failed { message: reader.text()?.into() },
        kind @ (IN_PROGRESS | IN_PROGRESS_IN_DOUBT | GOING) => Unfinished::InProgress {
            message: reader.text()?.into(),
            deletes: kind == GOING,
            in_doubt: kind == IN_PROGRESS_IN_DOUBT,
        },
        _ => return Err("it is unfinished for an unknown reason"),
    })
}

/// Decodes a record.
pub(super) fn get(reader: &mut Reader<'_>, id: RecordId) -> Result<Record, CodecError> {
    let RecordId { urn, superseded } = id;
    let flags = reader.number()?;
    if flags & !ALL != 0 {
        return Err("it has unknown flags");
    }
    let has = |flag| flags & flag != 0;
    let status = match (has(PARTIAL), has(ABSENT)) {
        (false, false) => Status::Ready,
        (true, false) => Status::Partial(get_unfinished(reader)?),
        (false, true) => Status::Absent,
        (true, true) => return Err("it has unknown flags"),
    };
    let deleted_with = reader.optional(|reader| get_urn(reader, urn.as_str()))?;
    let perhaps_deleted_with = if has(PERHAPS) { get_urns(reader, &urn)? } else { Vec::new() };
    let share = match has(SHARE) {
        true => {
            let json = reader.text()?;
            Some(serde_json::from_str(json).map_err(|_| "its public part is damaged")?)
        }
        false => None,
    };
    let holds_data = reader.optional(|reader| reader.text().map(Into::into))?;
    let named = if has(NAMED) { Some(reader.text()?.into()) } else { None };
    let driver = DriverVersion {
        name: reader.text()?.into(),
        version: reader.text()?.into(),
        digest: reader.text()?.into(),
    };
    let definition = reader.optional(|reader| reader.text().map(Into::into))?;
    let name = get_label(reader)?;
    let created = reader.number()?;
    let updated = created.wrapping_add(reader.number()?);
    let deployment = reader.text()?.into();
    let dependencies = get_urns(reader, &urn)?;
    let digest = reader.array()?;
    let inputs = get_inputs(reader, has(CONNECTION))?;
    let parts = if has(PARTS) { get_parts(reader)? } else { Vec::new() };
    let state = get_state(reader)?;
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
        tainted: has(TAINTED),
        named,
        deleted_with,
        perhaps_deleted_with: perhaps_deleted_with.into(),
        share,
        abandoned: has(ABANDONED),
        holds_data,
        parts: parts.into(),
        created,
        updated,
        deployment,
    })
}

fn get_parts(reader: &mut Reader<'_>) -> Result<Vec<RecordedPart>, CodecError> {
    let count = reader.count()?;
    let mut parts = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        parts.push(RecordedPart {
            address: reader.text()?.into(),
            type_name: reader.text()?.into(),
            holds_data: reader.optional(|reader| reader.text().map(Into::into))?,
        });
    }
    Ok(parts)
}

fn get_urns(reader: &mut Reader<'_>, near: &Urn) -> Result<Vec<Urn>, CodecError> {
    let count = reader.count()?;
    let mut urns = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        urns.push(get_urn(reader, near.as_str())?);
    }
    Ok(urns)
}

fn get_inputs(reader: &mut Reader<'_>, connection: bool) -> Result<Inputs, CodecError> {
    let values = value::get(reader)?;
    let params = value::get(reader)?;
    let secrets = value::get(reader)?;
    let account = reader.optional(|reader| reader.text().map(Into::into))?;
    let connection = if connection { value::get(reader)? } else { Value::Null };
    Ok(Inputs { values, secrets, params, connection, account, account_fields: Value::Null })
}

fn get_state(reader: &mut Reader<'_>) -> Result<ResourceState, CodecError> {
    let id = get_label(reader)?;
    let outputs = value::get(reader)?;
    let cookie = get_cookie(reader)?;
    let count = reader.count()?;
    let mut manifests = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        manifests.push(ManifestFile {
            name: get_label(reader)?,
            location: get_label(reader)?,
            data: value::get(reader)?,
        });
    }
    let version = u32::try_from(reader.number()?).map_err(|_| "a version is too large")?;
    let count = reader.count()?;
    let mut notes = Map::default();
    for _ in 0..count {
        notes.insert(reader.text()?.into(), value::get(reader)?);
    }
    Ok(ResourceState { id, outputs, cookie, manifests, version, notes })
}

/// Encodes an intent without the id of its record.
pub(super) fn put_intent(out: &mut Vec<u8>, intent: &Intent) -> Result<(), CodecError> {
    put_text(out, &intent.idempotency_key);
    put_optional(out, intent.checkpoint.as_ref(), put_checkpoint);
    put_number(out, intent.since);
    let kind = match &intent.operation {
        Operation::Create(_) => CREATE,
        Operation::Update(_) => UPDATE,
        Operation::Delete(_) => DELETE,
    };
    let flag = |flag, set: bool| if set { flag } else { 0 };
    out.push(
        kind | flag(DEADLINE, intent.deadline.is_some())
            | flag(OPEN_DELETION, intent.open_deletion.is_some()),
    );
    if let Some(deadline) = intent.deadline {
        put_number(out, deadline.wrapping_sub(intent.since));
    }
    if let Some(deletion) = &intent.open_deletion {
        put_intent(out, deletion)?;
    }
    match &intent.operation {
        Operation::Create(record) | Operation::Update(record) => put(out, record),
        Operation::Delete(_) => Ok(()),
    }
}

/// Decodes an intent, or the deletion inside of one.
pub(super) fn get_intent(
    reader: &mut Reader<'_>,
    id: RecordId,
    is_inner: bool,
) -> Result<Intent, CodecError> {
    let idempotency_key = reader.text()?.into();
    let checkpoint = reader.optional(get_checkpoint)?;
    let since = reader.number()?;
    let kind = reader.byte()?;
    let has_deadline = kind & DEADLINE != 0;
    let deadline = if has_deadline { Some(since.wrapping_add(reader.number()?)) } else { None };
    let open_deletion = match kind & OPEN_DELETION != 0 {
        true if is_inner => return Err(NO_OPERATION),
        true => Some(Box::new(get_intent(reader, id.clone(), true)?)),
        false => None,
    };
    let operation = match kind & !(DEADLINE | OPEN_DELETION) {
        DELETE => Operation::Delete(id),
        _ if is_inner => return Err(NO_OPERATION),
        CREATE => Operation::Create(Box::new(get(reader, id)?)),
        UPDATE => Operation::Update(Box::new(get(reader, id)?)),
        _ => return Err(NO_OPERATION),
    };
    Ok(Intent { operation, idempotency_key, checkpoint, since, deadline, open_deletion })
}
