//! The differences between the recorded and the new inputs of a resource.

use purlin_model::driver::Inputs;
use purlin_model::{Map, Value};
use purlin_state::Record;

use crate::plan::ValueChange;

/// The differences, each at the deepest place that contains it, in document order. The connection
/// of a new resource is not a difference.
pub(crate) fn inputs(before: Option<&Inputs>, after: &Inputs) -> Vec<ValueChange> {
    let empty = Inputs::default();
    let is_recorded = before.is_some();
    let before = before.unwrap_or(&empty);
    let mut changes = Vec::new();
    let account = |inputs: &Inputs| inputs.account.as_deref().map_or(Value::Null, Value::from);
    for (name, old, new) in [
        ("values", &before.values, &after.values),
        ("secrets", &before.secrets, &after.secrets),
        ("params", &before.params, &after.params),
    ] {
        compare(&mut format!("/{name}"), present(old), present(new), &mut changes);
    }
    if is_recorded {
        let (old, new) = (present(&before.connection), present(&after.connection));
        compare(&mut "/connection".to_owned(), old, new, &mut changes);
    }
    compare(&mut "/account".to_owned(), present(&account(before)), present(&account(after)), &mut changes);
    changes
}

/// The differences between a record and the values that were found: inputs as far as the driver
/// reports them, and outputs.
pub(crate) fn observed(before: &Record, values: &Value, outputs: &Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    compare(&mut "/values".to_owned(), present(&before.inputs.values), present(values), &mut changes);
    compare(&mut "/outputs".to_owned(), present(&before.state.outputs), present(outputs), &mut changes);
    changes
}

/// The differences between secret references.
pub(crate) fn references(before: &Value, after: &Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    compare(&mut "/secret_refs".to_owned(), present(before), present(after), &mut changes);
    changes
}

/// At the top level, an empty map equals a missing one: `values: {}` is not a change.
fn present(value: &Value) -> Option<&Value> {
    match value {
        Value::Null => None,
        Value::Map(map) if map.is_empty() => None,
        other => Some(other),
    }
}

fn compare(path: &mut String, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<ValueChange>) {
    match (before, after) {
        (None, None) => {}
        (Some(old), Some(new)) if old == new => {}
        (Some(Value::Map(old)), Some(Value::Map(new))) => maps(path, old, new, changes),
        (None, Some(Value::Map(new))) if !new.is_empty() => maps(path, &Map::default(), new, changes),
        (Some(Value::Map(old)), None) if !old.is_empty() => maps(path, old, &Map::default(), changes),
        (Some(Value::List(old)), Some(Value::List(new))) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                below(path, &index.to_string(), Some(old), Some(new), changes);
            }
        }
        (old, new) => {
            // A value that becomes secret was the same one before, and the other way round.
            let sealed = |value: Option<&Value>, other: Option<&Value>| match value {
                Some(value) if other.is_some_and(Value::has_secret) && !value.has_secret() => {
                    Some(value.clone().into_secret())
                }
                value => value.cloned(),
            };
            let (before, after) = (sealed(old, new), sealed(new, old));
            changes.push(ValueChange { path: path.clone(), before, after, replaces: false });
        }
    }
}

fn maps(path: &mut String, old: &Map, new: &Map, changes: &mut Vec<ValueChange>) {
    for (key, after) in new {
        below(path, key, old.get(key), Some(after), changes);
    }
    for (key, before) in old {
        if !new.contains_key(key) {
            below(path, key, Some(before), None, changes);
        }
    }
}

fn below(
    path: &mut String,
    key: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    changes: &mut Vec<ValueChange>,
) {
    let length = path.len();
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    compare(path, old, new, changes);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(values: serde_json::Value) -> Inputs {
        Inputs { values: values.into(), secrets: Value::map(), ..Inputs::default() }
    }

    fn paths(changes: &[ValueChange]) -> Vec<&str> {
        changes.iter().map(|change| change.path.as_str()).collect()
    }

    #[test]
    fn the_deepest_difference_is_reported() {
        let before = with(json!({"a": {"b": 1, "c": 2}, "l": [1, 2], "gone": true}));
        let after = with(json!({"a": {"b": 1, "c": 3}, "l": [1, 5], "x/y": 0}));
        let changes = inputs(Some(&before), &after);
        assert_eq!(paths(&changes), ["/values/a/c", "/values/l/1", "/values/x~1y", "/values/gone"]);
        assert_eq!(changes[3].after, None);
        assert!(inputs(Some(&after), &after).is_empty());
    }

    #[test]
    fn every_leaf_of_a_new_resource_is_a_change() {
        assert_eq!(
            paths(&inputs(None, &with(json!({"a": {"b": 1}, "e": {}})))),
            ["/values/a/b", "/values/e"]
        );
    }
}
