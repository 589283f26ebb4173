//! Encodes the obstacles of resources.

use purlin_model::{Awaited, Key, Obstacle, Urn, Wait};

use super::CodecError;
use super::wire::{Reader, TOO_LARGE, put_number, put_optional, put_text};
use crate::ObstacleRecord;

const FAILED: u8 = 1;
const WAITS: u8 = 2;
const NEEDS_CONSENT: u8 = 3;
const PAUSED: u8 = 4;
const BESIDE: u8 = 5;
const DRIFTED: u8 = 6;

const MISSING: u8 = 1;
const AWAITS_PAUSED: u8 = 2;
const AWAITS_FAILED: u8 = 3;
const AWAITS_CONSENT: u8 = 4;
const AWAITS_VALUE: u8 = 5;
const AWAITS_DEPENDENT: u8 = 6;
const AMBIGUOUS: u8 = 7;

const UNKNOWN: CodecError = "it contains an obstacle of an unknown kind";

/// Encodes an obstacle without its resource.
pub(super) fn put(out: &mut Vec<u8>, obstacle: &ObstacleRecord) -> Result<(), CodecError> {
    put_number(out, obstacle.since);
    match &obstacle.obstacle {
        Obstacle::Failed { action, code, message } => {
            out.push(FAILED);
            [action, code, message].into_iter().for_each(|text| put_text(out, text));
        }
        Obstacle::Waits { waits } => {
            out.push(WAITS);
            put_waits(out, waits)?;
        }
        Obstacle::NeedsConsent { action } => {
            out.push(NEEDS_CONSENT);
            put_text(out, action);
        }
        Obstacle::Paused => out.push(PAUSED),
        Obstacle::Drifted => out.push(DRIFTED),
        Obstacle::Beside { waits } => {
            out.push(BESIDE);
            put_waits(out, waits)?;
        }
        _ => return Err(UNKNOWN),
    }
    Ok(())
}

/// Decodes an obstacle.
pub(super) fn get(reader: &mut Reader<'_>, urn: Urn) -> Result<ObstacleRecord, CodecError> {
    let since = reader.number()?;
    let obstacle = match reader.byte()? {
        FAILED => Obstacle::Failed {
            action: reader.text()?.into(),
            code: reader.text()?.into(),
            message: reader.text()?.into(),
        },
        WAITS => Obstacle::Waits { waits: get_waits(reader)? },
        NEEDS_CONSENT => Obstacle::NeedsConsent { action: reader.text()?.into() },
        PAUSED => Obstacle::Paused,
        DRIFTED => Obstacle::Drifted,
        BESIDE => Obstacle::Beside { waits: get_waits(reader)? },
        _ => return Err(UNKNOWN),
    };
    Ok(ObstacleRecord { urn, obstacle, since })
}

fn put_waits(out: &mut Vec<u8>, waits: &[Wait]) -> Result<(), CodecError> {
    put_number(out, waits.len() as u64);
    for Wait { through, left_out, what } in waits {
        put_number(out, through.len() as u64);
        through.iter().for_each(|key| put_text(out, key.as_str()));
        put_number(out, *left_out as u64);
        match what {
            Awaited::Missing { target, field, at, near } => {
                out.push(MISSING);
                [target, field, at].into_iter().for_each(|text| put_text(out, text));
                put_optional(out, near.as_ref().map(Key::as_str), put_text);
            }
            Awaited::Ambiguous { field, at, candidates } => {
                out.push(AMBIGUOUS);
                [field, at].into_iter().for_each(|text| put_text(out, text));
                put_number(out, candidates.len() as u64);
                candidates.iter().for_each(|key| put_text(out, key.as_str()));
            }
            Awaited::Paused { key } => {
                out.push(AWAITS_PAUSED);
                put_text(out, key.as_str());
            }
            Awaited::Failed { key, message } => {
                out.push(AWAITS_FAILED);
                put_text(out, key.as_str());
                put_text(out, message);
            }
            Awaited::NeedsConsent { key } => {
                out.push(AWAITS_CONSENT);
                put_text(out, key.as_str());
            }
            Awaited::Dependent { key } => {
                out.push(AWAITS_DEPENDENT);
                put_text(out, key.as_str());
            }
            Awaited::Empty { key, path, at } => {
                out.push(AWAITS_VALUE);
                [key.as_str(), path, at].into_iter().for_each(|text| put_text(out, text));
            }
            _ => return Err(UNKNOWN),
        }
    }
    Ok(())
}

fn get_waits(reader: &mut Reader<'_>) -> Result<Vec<Wait>, CodecError> {
    let count = reader.count()?;
    let mut waits = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let length = reader.count()?;
        let mut through = Vec::with_capacity(length.min(64));
        for _ in 0..length {
            through.push(key(reader)?);
        }
        let left_out = usize::try_from(reader.number()?).map_err(|_| TOO_LARGE)?;
        let what = match reader.byte()? {
            MISSING => Awaited::Missing {
                target: reader.text()?.into(),
                field: reader.text()?.into(),
                at: reader.text()?.into(),
                near: reader.optional(key)?,
            },
            AMBIGUOUS => {
                let (field, at) = (reader.text()?.into(), reader.text()?.into());
                let count = reader.count()?;
                let mut candidates = Vec::with_capacity(count.min(64));
                for _ in 0..count {
                    candidates.push(key(reader)?);
                }
                Awaited::Ambiguous { field, at, candidates }
            }
            AWAITS_PAUSED => Awaited::Paused { key: key(reader)? },
            AWAITS_FAILED => Awaited::Failed { key: key(reader)?, message: reader.text()?.into() },
            AWAITS_CONSENT => Awaited::NeedsConsent { key: key(reader)? },
            AWAITS_DEPENDENT => Awaited::Dependent { key: key(reader)? },
            AWAITS_VALUE => {
                Awaited::Empty { key: key(reader)?, path: reader.text()?.into(), at: reader.text()?.into() }
            }
            _ => return Err(UNKNOWN),
        };
        waits.push(Wait { through, left_out, what });
    }
    Ok(waits)
}

fn key(reader: &mut Reader<'_>) -> Result<Key, CodecError> {
    Key::parse(reader.text()?).map_err(|_| "it contains an invalid key")
}
