//! Conversions between JSON and the values of a template.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::Value;
use serde_json::{Map, Number, Value as Json};

/// A JSON value as a value of a template.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(uint)) => Value::Uint(uint),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect()),
        Json::Object(entries) => {
            Value::Map(Arc::new(entries.iter().map(|(k, v)| (k.as_str().into(), from_json(v))).collect()))
        }
    }
}

/// A value of a template as JSON.
///
/// # Errors
/// If it is too large, or holds a number or function that JSON does not have.
pub fn to_json(value: &Value) -> Result<Json, String> {
    convert(value, &mut crate::MAX_ITEMS.clone())
}

fn convert(value: &Value, budget: &mut usize) -> Result<Json, String> {
    *budget = budget.checked_sub(1).ok_or_else(|| format!("it has more than {} parts", crate::MAX_ITEMS))?;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(int) => (*int).into(),
        Value::Uint(uint) => (*uint).into(),
        Value::Float(float) => {
            Json::Number(Number::from_f64(*float).ok_or_else(|| format!("{float} is not a JSON number"))?)
        }
        Value::String(text) => Json::String(text.to_string()),
        Value::List(items) => {
            Json::Array(items.iter().map(|item| convert(item, budget)).collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            let mut map = Map::new();
            for (name, entry) in entries.iter() {
                map.insert(name.to_string(), convert(entry, budget)?);
            }
            Json::Object(map)
        }
        other => return Err(format!("JSON does not support {}", other.type_name())),
    })
}

pub(crate) fn string(text: impl Into<Arc<str>>) -> Value {
    Value::String(text.into())
}

pub(crate) fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().collect())
}

pub(crate) fn map(entries: BTreeMap<Arc<str>, Value>) -> Value {
    Value::Map(Arc::new(entries))
}

/// A value as text, as Sprig's `toString` does it; empty for a missing value.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    }
}
