//! Defaults and decisions.

use gotmpl::Value;

use super::{Answer, Call, Table};
use crate::value::{list, text};

pub(super) const TABLE: Table = &[
    ("default", default),
    ("empty", |c| Ok(Value::Bool(!c.at(0)?.is_truthy()))),
    ("coalesce", |c| Ok(c.args.iter().find(|value| value.is_truthy()).cloned().unwrap_or(Value::Nil))),
    ("all", |c| Ok(Value::Bool(c.args.iter().all(Value::is_truthy)))),
    ("any", |c| Ok(Value::Bool(c.args.iter().any(Value::is_truthy)))),
    ("ternary", |c| Ok(if c.at(2)?.is_truthy() { c.at(0)? } else { c.at(1)? }.clone())),
    ("fail", |c| Err(c.text(0)?)),
    ("required", |c| match c.at(1)? {
        Value::Nil => Err(c.text(0)?),
        Value::String(value) if value.is_empty() => Err(c.text(0)?),
        value => Ok(value.clone()),
    }),
    ("tuple", |c| Ok(list(c.args.iter().cloned()))),
    ("toString", |c| Ok(Value::String(text(c.at(0)?).into()))),
];

fn default(call: &Call<'_>) -> Answer {
    let fallback = call.at(0)?;
    Ok(call.args.get(1).filter(|value| value.is_truthy()).unwrap_or(fallback).clone())
}
