//! Inputs and changes of inputs. A change is a merge patch (RFC 7396).

use purlin_model::driver::{Checked, Inputs};
use purlin_model::{CaseInputs, Map, Value};

/// Inputs as a case writes them.
pub(crate) fn inputs(given: &CaseInputs) -> Inputs {
    let map = |value: &Value| if matches!(value, Value::Null) { Value::map() } else { value.clone() };
    Inputs {
        values: map(&given.values),
        secrets: map(&given.secrets),
        params: map(&given.params),
        connection: map(&given.connection),
        ..Inputs::default()
    }
    .with_account(&given.account)
}

/// Inputs after a change.
pub(crate) fn changed(inputs: &Inputs, change: &CaseInputs) -> Inputs {
    Inputs {
        values: merged(&inputs.values, &change.values),
        secrets: merged(&inputs.secrets, &change.secrets),
        params: merged(&inputs.params, &change.params),
        connection: merged(&inputs.connection, &change.connection),
        ..Inputs::default()
    }
    .with_account(&merged(&inputs.account(), &change.account))
}

/// A part that is not changed is null.
fn merged(value: &Value, change: &Value) -> Value {
    if matches!(change, Value::Null) { value.clone() } else { merge(value, change) }
}

fn merge(value: &Value, change: &Value) -> Value {
    let Value::Map(change) = change else { return change.clone() };
    let mut map = match value {
        Value::Map(map) => map.clone(),
        _ => Map::default(),
    };
    for (key, change) in change {
        match change {
            Value::Null => drop(map.remove(key)),
            change => {
                let before = map.get(key).cloned().unwrap_or(Value::Null);
                map.insert(key.clone(), merge(&before, change));
            }
        }
    }
    Value::Map(map)
}

/// The same inputs with what `check` returned.
pub(crate) fn checked(inputs: &Inputs, checked: &Checked) -> Inputs {
    Inputs { values: checked.values.clone(), secrets: checked.secrets.clone(), ..inputs.clone() }
}

/// The same inputs with a different value at a place, `/values/NAME` and so on.
pub(crate) fn at(inputs: &Inputs, part: &str, key: &str, value: Option<Value>) -> Inputs {
    let mut inputs = inputs.clone();
    let place = match part {
        "secrets" => &mut inputs.secrets,
        "params" => &mut inputs.params,
        "connection" => &mut inputs.connection,
        _ => &mut inputs.values,
    };
    let mut map = place.as_map().cloned().unwrap_or_default();
    match value {
        Some(value) => drop(map.insert(key.into(), value)),
        None => drop(map.remove(key)),
    }
    *place = Value::Map(map);
    inputs
}

/// Inputs as one document, secrets in plain text and unknown values null.
pub(crate) fn document(inputs: &Inputs) -> serde_json::Value {
    let plain = |value: &Value| match value {
        Value::Null => serde_json::json!({}),
        value => value.reveal_marked(&mut |_, _| {}),
    };
    let mut document = serde_json::json!({
        "values": plain(&inputs.values), "secrets": plain(&inputs.secrets), "params": plain(&inputs.params),
    });
    // Drivers whose schema does not define it may accept only what the schema defines.
    if inputs.connection.as_map().is_some_and(|map| !map.is_empty()) {
        document["connection"] = plain(&inputs.connection);
    }
    if inputs.account.is_some() {
        document["account"] = plain(&inputs.account());
    }
    document
}

/// Whether two values are equal, whatever is secret in them.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a.reveal_marked(&mut |_, _| {}) == b.reveal_marked(&mut |_, _| {})
}

/// A key as a part of a pointer.
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_is_a_merge_patch() {
        let inputs = Inputs { values: json!({"a": {"b": 1, "c": 2}, "d": 3}).into(), ..Inputs::default() };
        let change = CaseInputs {
            values: json!({"a": {"b": null, "e": 4}, "d": [1]}).into(),
            ..CaseInputs::default()
        };
        assert_eq!(changed(&inputs, &change).values, json!({"a": {"c": 2, "e": 4}, "d": [1]}).into());
        assert_eq!(changed(&inputs, &CaseInputs::default()), inputs);
    }
}
