//! The parameters whose values are known before anything runs, so that the name of a sharing group
//! can contain them (SPEC §6, sharing).

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{Piece, Placeholder, Reference, Setting, Table, Template, Value, ValueKind};

use crate::resolution::{Installation, PassedValue};
use crate::resolve::Parent;

/// The longest text that is composed: each level of requirements may double it.
const LONGEST: usize = 1024;

/// The known values of the given parameters. Placeholders are those of the parent.
pub(crate) fn of_given(given: &[PassedValue], parent: Parent<'_>) -> BTreeMap<Arc<str>, Value> {
    let parameters = given.iter().filter(|one| one.part == Setting::Parameter).map(|one| &one.binding);
    parameters.filter_map(|one| Some((Arc::clone(&one.name), value(&one.value, parent)?))).collect()
}

/// The same, completed with a person's answers and with defaults, and without secrets.
pub(crate) fn complete(own: &Installation) -> BTreeMap<Arc<str>, Value> {
    let mut all = own.known.clone();
    for parameter in &own.bundle.parameters {
        let is_it = |one: &&PassedValue| one.part == Setting::Parameter && one.binding.name == parameter.name;
        let value = match own.given.iter().find(is_it).map(|one| &one.binding.value) {
            Some(Template::Constant(value)) => value,
            Some(_) => continue,
            None => match (&parameter.source, &parameter.default) {
                (None, Some(default)) => default,
                _ => continue,
            },
        };
        all.insert(Arc::clone(&parameter.name), value.clone());
    }
    let table = Table::of(&own.bundle);
    table.secrets(ValueKind::PARAMETER).for_each(|name| {
        all.remove(name);
    });
    all
}

fn value(template: &Template, parent: Parent<'_>) -> Option<Value> {
    match template {
        Template::Constant(value) => Some(value.clone()),
        Template::Text(pieces) => match &**pieces {
            [Piece::Placeholder(placeholder)] => placed(placeholder, parent),
            pieces => {
                let mut joined = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Literal(text) => joined.push_str(text),
                        Piece::Placeholder(placeholder) => {
                            joined.push_str(&text(&placed(placeholder, parent)?)?);
                        }
                    }
                    if joined.len() > LONGEST {
                        return None;
                    }
                }
                Some(Value::from(&*joined))
            }
        },
        Template::List(_) | Template::Map(_) => None,
    }
}

fn placed(placeholder: &Placeholder, parent: Parent<'_>) -> Option<Value> {
    if placeholder.modifiers.is_some() {
        return None;
    }
    match &placeholder.reference {
        Reference::Param(path) => parameter(&path.0, parent).cloned(),
        Reference::Bundle(field) => Some(Value::from(&*parent.bundle.field(*field))),
        _ => None,
    }
}

/// The value of a parameter of the parent, if it is known.
pub(crate) fn parameter<'p>(path: &[Arc<str>], parent: Parent<'p>) -> Option<&'p Value> {
    match path {
        [part, name] if **part == *"parameters" => parent.known.get(name),
        _ => None,
    }
}

/// A known value as a part of a text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Bool(_) | Value::Number(_) => Some(value.redact().to_string()),
        _ => None,
    }
}
