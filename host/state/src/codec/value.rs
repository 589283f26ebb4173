//! Encodes values.
//!
//! A value is a tag followed by the tag's data. A secret is its tag followed by the value.

use purlin_model::{Map, Unknown, Value};
use serde_json::Number;

use super::CodecError;
use super::wire::{Reader, TOO_LARGE, put_number, put_text};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const POSITIVE: u8 = 3;
const NEGATIVE: u8 = 4;
const FLOAT: u8 = 5;
const NUMBER: u8 = 6;
const STRING: u8 = 7;
const LIST: u8 = 8;
const MAP: u8 = 9;
const SECRET: u8 = 10;
const UNKNOWN: u8 = 11;
const UNKNOWN_SECRET: u8 = 12;

/// Values nested deeper than this are rejected in both directions, so that no input can exhaust the
/// stack. Documents and the values that drivers return are nested at most 128 levels deep.
const DEEPEST: usize = 256;

/// Appends a value.
pub(super) fn put(out: &mut Vec<u8>, value: &Value) -> Result<(), CodecError> {
    put_at(out, value, 0)
}

fn put_at(out: &mut Vec<u8>, value: &Value, depth: usize) -> Result<(), CodecError> {
    if depth > DEEPEST {
        return Err("a value in it is nested too deep");
    }
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Value::Number(number) => put_json_number(out, number),
        Value::String(text) => {
            out.push(STRING);
            put_text(out, text);
        }
        Value::List(items) => {
            out.push(LIST);
            put_number(out, items.len() as u64);
            for item in items {
                put_at(out, item, depth + 1)?;
            }
        }
        Value::Map(map) => {
            out.push(MAP);
            put_number(out, map.len() as u64);
            for (key, item) in map {
                put_text(out, key);
                put_at(out, item, depth + 1)?;
            }
        }
        Value::Secret(secret) => {
            out.push(SECRET);
            put_at(out, secret.expose(), depth + 1)?;
        }
        Value::Unknown(Unknown { secret }) => out.push(if *secret { UNKNOWN_SECRET } else { UNKNOWN }),
    }
    Ok(())
}

fn put_json_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(value) = number.as_u64() {
        out.push(POSITIVE);
        put_number(out, value);
    } else if let Some(value) = number.as_i64() {
        out.push(NEGATIVE);
        put_number(out, !value as u64);
    } else if let Some(value) = number.as_f64().filter(|v| Number::from_f64(*v).as_ref() == Some(number)) {
        out.push(FLOAT);
        out.extend_from_slice(&value.to_le_bytes());
    } else {
        // Only a build of `serde_json` that preserves every digit has such numbers.
        out.push(NUMBER);
        put_text(out, &number.to_string());
    }
}

/// Reads a value.
pub(super) fn get(reader: &mut Reader<'_>) -> Result<Value, CodecError> {
    get_at(reader, 0)
}

fn get_at(reader: &mut Reader<'_>, depth: usize) -> Result<Value, CodecError> {
    if depth > DEEPEST {
        return Err("a value in it is nested too deep");
    }
    Ok(match reader.byte()? {
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        POSITIVE => Value::Number(reader.number()?.into()),
        NEGATIVE => {
            let value = i64::try_from(reader.number()?).map_err(|_| TOO_LARGE)?;
            Value::Number((!value).into())
        }
        FLOAT => {
            let value = f64::from_le_bytes(reader.array()?);
            Value::Number(Number::from_f64(value).ok_or("it contains an invalid number")?)
        }
        NUMBER => Value::Number(reader.text()?.parse().map_err(|_| "it contains an invalid number")?),
        STRING => Value::String(reader.text()?.into()),
        LIST => {
            let count = reader.count()?;
            let mut items = Vec::with_capacity(count.min(1024));
            for _ in 0..count {
                items.push(get_at(reader, depth + 1)?);
            }
            Value::List(items)
        }
        MAP => {
            let count = reader.count()?;
            let mut map = Map::with_capacity(count.min(1024));
            for _ in 0..count {
                let key = reader.text()?.into();
                let item = get_at(reader, depth + 1)?;
                if map.insert(key, item).is_some() {
                    return Err("a map in it has a key twice");
                }
            }
            Value::Map(map)
        }
        SECRET => get_at(reader, depth + 1)?.into_secret(),
        UNKNOWN => Value::unknown(),
        UNKNOWN_SECRET => Value::Unknown(Unknown { secret: true }),
        _ => return Err("it contains a value of an unknown kind"),
    })
}
