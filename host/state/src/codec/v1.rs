//! Version 1 of records. It remains readable and is no longer written.

use purlin_model::Urn;

use super::CodecError;
use super::v2::{get_inputs, get_state};
use super::v3::unfinished;
use super::value::{Part, Source};
use super::wire::{Reader, get_urn};
use crate::{DriverVersion, Record, Status};

const PROTECT: u8 = 1;
const RETAIN: u8 = 1 << 1;
const PARTIAL: u8 = 1 << 2;
const DEFINITION: u8 = 1 << 3;
const ACCOUNT: u8 = 1 << 4;
const COOKIE: u8 = 1 << 5;
/// The inputs contain secrets: their map `secrets` and their digest are sealed as a whole.
const SECRET_INPUTS: u8 = 1 << 6;
const ALL: u8 = (SECRET_INPUTS << 1) - 1;

/// Decodes only the first field.
pub(super) fn read_urn(clear: &mut Reader<'_>) -> Result<Urn, CodecError> {
    get_urn(clear, "")
}

/// Decodes a record from its clear part and its sealed part.
pub(super) fn read<'a>(clear: Reader<'a>, sealed: &'a [u8]) -> Result<Record, CodecError> {
    let mut source = Source::new(clear, sealed);
    let clear = &mut source.clear;
    let urn = get_urn(clear, "")?;
    let flags = clear.byte()?;
    if flags & !ALL != 0 {
        return Err("it has unknown flags");
    }
    let has = |flag| flags & flag != 0;
    let status = match has(PARTIAL) {
        true => Status::Partial(unfinished(clear)?),
        false => Status::Ready,
    };
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
    let inputs = get_inputs(&mut source, has(ACCOUNT))?;
    let state = get_state(&mut source, has(COOKIE))?;
    source.finish()?;
    Ok(Record {
        urn,
        superseded: None,
        status,
        driver: driver.into(),
        definition,
        name,
        inputs,
        state,
        dependencies: dependencies.into(),
        digest,
        protect: has(PROTECT),
        pinned: false,
        retain: has(RETAIN),
        external: false,
        tainted: false,
        deleted_with: None,
        perhaps_deleted_with: Box::default(),
        share: None,
        abandoned: false,
        named: None,
        holds_data: None,
        created,
        updated,
        deployment,
    })
}
