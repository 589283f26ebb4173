//! Encodes the listing of an environment for other environments. Values that many installations
//! share are written once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use purlin_model::{InstallationShare, Setting, SettingDigest, Settings, Urn};

use super::CodecError;
use super::wire::{NOT_UTF_8, Reader, get_urn, put_bytes, put_number, put_optional, put_text, put_urn};
use crate::{Environment, Listed, Listing};

const READY: u8 = 1;
const ABANDONED: u8 = 1 << 1;
pub(super) const NO_JSON: CodecError = "its public part cannot be written as JSON";
const NONE_SUCH: CodecError = "it names something that it does not hold";

/// Values that are written once, by their bytes.
#[derive(Default)]
struct Table {
    known: HashMap<Vec<u8>, u64>,
    out: Vec<u8>,
}

impl Table {
    fn place(&mut self, bytes: Vec<u8>) -> u64 {
        let next = self.known.len() as u64;
        match self.known.get(&bytes) {
            Some(place) => *place,
            None => {
                put_bytes(&mut self.out, &bytes);
                self.known.insert(bytes, next);
                next
            }
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.known.len() as u64);
        out.extend_from_slice(&self.out);
    }
}

/// Encodes a listing without the name of its environment.
pub(super) fn put(out: &mut Vec<u8>, listing: &Listing) -> Result<(), CodecError> {
    let (mut shares, mut outputs, mut bundles) = (Table::default(), Table::default(), Table::default());
    let mut settings = Table::default();
    let mut all = Vec::new();
    let mut last = "";
    for one in &listing.installations {
        put_urn(&mut all, last, &one.urn)?;
        last = one.urn.as_str();
        let bundle = one.definition.as_ref().map(|bundle| bundles.place(bundle.as_bytes().to_vec()));
        put_optional(&mut all, bundle.as_ref(), |out, place| put_number(out, *place));
        put_number(&mut all, shares.place(serde_json::to_vec(&*one.share).map_err(|_| NO_JSON)?));
        let mut names = Vec::new();
        one.outputs.iter().for_each(|name| put_text(&mut names, name));
        put_number(&mut all, outputs.place(names));
        put_number(&mut all, settings.place(written(&one.settings)));
        put_number(&mut all, one.created);
        all.push(if one.is_ready { READY } else { 0 } | if one.abandoned { ABANDONED } else { 0 });
    }
    [&bundles, &shares, &outputs, &settings].into_iter().for_each(|table| table.put(out));
    put_number(out, listing.installations.len() as u64);
    out.extend_from_slice(&all);
    put_number(out, listing.uses.len() as u64);
    for (urn, needs) in &listing.uses {
        put_urn(out, "", urn)?;
        put_bytes(out, &serde_json::to_vec(needs).map_err(|_| NO_JSON)?);
    }
    Ok(())
}

/// Decodes a listing.
pub(super) fn get(reader: &mut Reader<'_>, environment: Environment) -> Result<Listing, CodecError> {
    let bundles: Vec<Arc<str>> =
        table(reader, |reader| std::str::from_utf8(reader.rest()).map(Into::into).map_err(|_| NOT_UTF_8))?;
    let shares: Vec<Arc<InstallationShare>> =
        table(reader, |reader| serde_json::from_slice(reader.rest()).map(Arc::new).map_err(|_| NO_JSON))?;
    let outputs: Vec<Arc<BTreeSet<Arc<str>>>> = table(reader, |reader| {
        let mut names = BTreeSet::new();
        while !reader.is_empty() {
            names.insert(reader.text()?.into());
        }
        Ok(Arc::new(names))
    })?;
    let settings = table(reader, read_settings)?;
    let count = reader.count()?;
    let mut installations: Vec<Listed> = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let urn: Urn = get_urn(reader, installations.last().map_or("", |last| last.urn.as_str()))?;
        let definition = reader.optional(|reader| entry(reader, &bundles))?;
        let (share, outputs) = (entry(reader, &shares)?, entry(reader, &outputs)?);
        let settings: Arc<Settings> = entry(reader, &settings)?;
        let created = reader.number()?;
        let flags = reader.byte()?;
        if flags & !(READY | ABANDONED) != 0 {
            return Err("it has unknown flags");
        }
        let (is_ready, abandoned) = (flags & READY != 0, flags & ABANDONED != 0);
        installations.push(Listed {
            urn,
            definition,
            share,
            outputs,
            settings,
            created,
            is_ready,
            abandoned,
        });
    }
    let count = reader.count()?;
    let mut uses = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let urn = get_urn(reader, "")?;
        uses.push((urn, serde_json::from_slice(reader.bytes()?).map_err(|_| NO_JSON)?));
    }
    Ok(Listing { environment, installations, uses })
}

fn written(settings: &Settings) -> Vec<u8> {
    let mut out = Vec::new();
    let put = |out: &mut Vec<u8>, (part, name): &(Setting, Arc<str>)| {
        out.push(u8::from(*part == Setting::Credential));
        put_text(out, name);
    };
    put_number(&mut out, settings.secret.len() as u64);
    settings.secret.iter().for_each(|setting| put(&mut out, setting));
    for (setting, digest) in &settings.digests {
        put(&mut out, setting);
        out.extend_from_slice(&digest.0);
    }
    out
}

fn read_settings(reader: &mut Reader<'_>) -> Result<Arc<Settings>, CodecError> {
    let setting = |reader: &mut Reader<'_>| -> Result<(Setting, Arc<str>), CodecError> {
        let part = if flag(reader)? { Setting::Credential } else { Setting::Parameter };
        Ok((part, reader.text()?.into()))
    };
    let mut settings = Settings::default();
    for _ in 0..reader.count()? {
        settings.secret.insert(setting(reader)?);
    }
    while !reader.is_empty() {
        let setting = setting(reader)?;
        let mut digest = [0; 16];
        for byte in &mut digest {
            *byte = reader.byte()?;
        }
        settings.digests.insert(setting, SettingDigest(digest));
    }
    Ok(Arc::new(settings))
}

fn flag(reader: &mut Reader<'_>) -> Result<bool, CodecError> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err("it has unknown flags"),
    }
}

fn table<T>(
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, CodecError>,
) -> Result<Vec<T>, CodecError> {
    let count = reader.count()?;
    (0..count).map(|_| read(&mut Reader::new(reader.bytes()?))).collect()
}

fn entry<T: Clone>(reader: &mut Reader<'_>, table: &[T]) -> Result<T, CodecError> {
    let place = usize::try_from(reader.number()?).map_err(|_| NONE_SUCH)?;
    table.get(place).cloned().ok_or(NONE_SUCH)
}
