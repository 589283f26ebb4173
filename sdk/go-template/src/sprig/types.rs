//! The types of values, and conversions between them.

use gotmpl::Value;

use super::Table;
use crate::value::{list, string, text};

pub(super) const TABLE: Table = &[
    ("kindOf", |c| Ok(string(kind(c.at(0)?)))),
    ("kindIs", |c| Ok(Value::Bool(c.text(0)? == kind(c.at(1)?)))),
    ("typeOf", |c| Ok(string(type_name(c.at(0)?)))),
    ("typeIs", |c| Ok(Value::Bool(c.text(0)? == type_name(c.at(1)?)))),
    ("typeIsLike", |c| Ok(Value::Bool(c.text(0)?.trim_start_matches('*') == type_name(c.at(1)?)))),
    ("deepEqual", |c| Ok(Value::Bool(same(c.at(0)?, c.at(1)?)))),
    ("atoi", |c| Ok(Value::Int(c.text(0)?.parse().unwrap_or(0)))),
    ("int", |c| Ok(Value::Int(c.int(0)?))),
    ("int64", |c| Ok(Value::Int(c.int(0)?))),
    ("float64", |c| Ok(Value::Float(c.float(0)?))),
    ("toDecimal", |c| Ok(Value::Int(i64::from_str_radix(&c.text(0)?, 8).unwrap_or(0)))),
    ("toStrings", |c| Ok(list(c.list(0)?.iter().map(|item| string(text(item)))))),
];

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "slice",
        Value::Map(_) => "map",
        _ => "func",
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        other => kind(other),
    }
}

/// An integer, 0 if the value is not one.
#[allow(clippy::cast_possible_truncation)] // Saturation is intended.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(int) => *int,
        Value::Uint(uint) => i64::try_from(*uint).unwrap_or(i64::MAX),
        Value::Float(float) => *float as i64,
        Value::Bool(truth) => i64::from(*truth),
        Value::String(text) => {
            let text = text.trim();
            text.parse().unwrap_or_else(|_| text.parse::<f64>().unwrap_or(0.0) as i64)
        }
        _ => 0,
    }
}

/// A number, 0 if the value is not one.
#[allow(clippy::cast_precision_loss)]
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Float(float) => *float,
        Value::Uint(uint) => *uint as f64,
        Value::String(text) => text.trim().parse().unwrap_or(0.0),
        other => to_int(other) as f64,
    }
}

/// Whether two values are equal, numbers by their value.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (Value::Float(_), other) | (other, Value::Float(_)) if is_number(other) => to_float(a) == to_float(b),
        (a, b) if is_number(a) && is_number(b) => to_int(a) == to_int(b),
        _ => false,
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Float(_))
}
