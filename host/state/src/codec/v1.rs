//! Version 1 of a record.

use purlin_model::Urn;
use purlin_model::driver::{Inputs, ManifestFile, ResourceState};
use zeroize::Zeroizing;

use super::Fault;
use super::value::{self, Part, Source};
use super::wire::{Reader, put_bytes, put_number, put_text};
use crate::record::is_something;
use crate::{DriverVersion, Record, Status};

const PROTECT: u8 = 1;
const RETAIN: u8 = 1 << 1;
const PARTIAL: u8 = 1 << 2;
const DEFINITION: u8 = 1 << 3;
const ACCOUNT: u8 = 1 << 4;
const COOKIE: u8 = 1 << 5;
/// The inputs hold secrets: their map `secrets` and their digest are sealed as a whole.
const SECRET_INPUTS: u8 = 1 << 6;
const ALL: u8 = (SECRET_INPUTS << 1) - 1;

/// What a record falls into.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) clear: Vec<u8>,
    pub(super) secret: Zeroizing<Vec<u8>>,
}

impl Parts {
    pub(super) fn of(&mut self, part: Part) -> &mut Vec<u8> {
        match part {
            Part::Clear => &mut self.clear,
            Part::Sealed => &mut self.secret,
        }
    }
}

pub(super) fn write(record: &Record) -> Result<Parts, Fault> {
    let mut parts = Parts::default();
    let secret_inputs = record.has_secret_inputs();
    let flag = |flag, set: bool| if set { flag } else { 0 };
    put_urn(&mut parts.clear, "", &record.urn)?;
    parts.clear.push(
        flag(PROTECT, record.protect)
            | flag(RETAIN, record.retain)
            | flag(PARTIAL, record.status != Status::Ready)
            | flag(DEFINITION, record.definition.is_some())
            | flag(ACCOUNT, record.inputs.account.is_some())
            | flag(COOKIE, !record.state.cookie.is_empty())
            | flag(SECRET_INPUTS, secret_inputs),
    );
    let out = &mut parts.clear;
    if let Status::Partial { message } = &record.status {
        put_text(out, message);
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
    write_inputs(&mut parts, inputs_part, &record.inputs)?;
    write_state(&mut parts, &record.state)?;
    Ok(parts)
}

fn write_inputs(parts: &mut Parts, secrets: Part, inputs: &Inputs) -> Result<(), Fault> {
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

fn write_state(parts: &mut Parts, state: &ResourceState) -> Result<(), Fault> {
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

/// Appends a URN as what differs from `base`: dependencies mostly live next door.
fn put_urn(out: &mut Vec<u8>, base: &str, urn: &Urn) -> Result<(), Fault> {
    if Urn::parse(urn.as_str()).is_err() {
        return Err(
            "a URN in it does not read back, because the application or environment has `::` in its name",
        );
    }
    let shared = base.bytes().zip(urn.as_str().bytes()).take_while(|(a, b)| a == b).count();
    put_number(out, shared as u64);
    put_bytes(out, &urn.as_str().as_bytes()[shared..]);
    Ok(())
}

fn get_urn(reader: &mut Reader<'_>, base: &str) -> Result<Urn, Fault> {
    const WRONG: Fault = "it holds a URN that is none";
    let shared = usize::try_from(reader.number()?).map_err(|_| WRONG)?;
    let rest = reader.bytes()?;
    let mut bytes = base.as_bytes().get(..shared).ok_or(WRONG)?.to_vec();
    bytes.extend_from_slice(rest);
    Urn::parse(std::str::from_utf8(&bytes).map_err(|_| WRONG)?).map_err(|_| WRONG)
}

/// Reads the first field alone.
pub(super) fn read_urn(clear: &mut Reader<'_>) -> Result<Urn, Fault> {
    get_urn(clear, "")
}

/// Reads a record from its clear part and what was sealed.
pub(super) fn read<'a>(clear: Reader<'a>, sealed: &'a [u8]) -> Result<Record, Fault> {
    let mut source = Source { clear, sealed: Reader::new(sealed) };
    let clear = &mut source.clear;
    let urn = get_urn(clear, "")?;
    let flags = clear.byte()?;
    if flags & !ALL != 0 {
        return Err("it holds flags that are not known");
    }
    let has = |flag| flags & flag != 0;
    let status = match has(PARTIAL) {
        true => Status::Partial { message: clear.text()?.into() },
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
    let inputs = read_inputs(&mut source, has(ACCOUNT))?;
    let state = read_state(&mut source, has(COOKIE))?;
    if !source.clear.is_empty() || !source.sealed.is_empty() {
        return Err("it is longer than it should be");
    }
    Ok(Record {
        urn,
        status,
        driver,
        definition,
        name,
        inputs,
        state,
        dependencies,
        digest,
        protect: has(PROTECT),
        retain: has(RETAIN),
        created,
        updated,
        deployment,
    })
}

fn read_inputs(source: &mut Source<'_>, account: bool) -> Result<Inputs, Fault> {
    let values = source.value(Part::Clear)?;
    let params = source.value(Part::Clear)?;
    let secrets = match source.clear.byte()? {
        0 => source.value(Part::Clear)?,
        1 => source.value(Part::Sealed)?,
        _ => return Err("it holds flags that are not known"),
    };
    let account = if account { Some(source.clear.text()?.into()) } else { None };
    Ok(Inputs { values, secrets, params, account })
}

fn read_state(source: &mut Source<'_>, cookie: bool) -> Result<ResourceState, Fault> {
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
