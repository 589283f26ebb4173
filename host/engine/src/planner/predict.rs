//! The outputs that are certain before a driver is called.

use purlin_model::driver::Inputs;
use purlin_model::{Key, Map, Value};
use purlin_state::Record;

use crate::driver::Driver;
use crate::rules::Rules;

/// The outputs as far as they are certain. `record` is the resource that stays in place, if there
/// is one.
pub(crate) fn outputs(
    rules: &Rules,
    driver: &dyn Driver,
    key: &Key,
    inputs: &Inputs,
    record: Option<&Record>,
    stable: &[String],
) -> Value {
    if mirrors(driver, key)
        && let (Value::Map(values), Value::Map(secrets)) = (&inputs.values, &inputs.secrets)
    {
        let mut outputs: Map = values.clone();
        for (name, secret) in secrets {
            let value = match outputs.remove(name) {
                Some(value) => fill(secret.clone(), value),
                None => secret.clone(),
            };
            outputs.insert(name.clone(), value.into_secret());
        }
        return rules.seal_outputs(key.type_name(), driver, Value::Map(outputs));
    }
    // Outputs that are not stable are unknown. A map claims to be complete, so a map of only the
    // stable outputs would make the others look absent.
    match record {
        Some(record) if !stable.is_empty() => match &record.state.outputs {
            Value::Map(outputs) => Value::Map(
                outputs
                    .iter()
                    .map(|(name, value)| {
                        let kept = stable.iter().any(|stable| **stable == **name);
                        (name.clone(), if kept { value.clone() } else { Value::unknown() })
                    })
                    .collect(),
            ),
            _ => Value::unknown(),
        },
        _ => Value::unknown(),
    }
}

/// Whether a driver's outputs are its inputs, so that all of them are known in advance.
pub(crate) fn mirrors(driver: &dyn Driver, key: &Key) -> bool {
    let schema = driver.manifest().schema(key.type_name());
    schema.is_some_and(|schema| schema.outputs["x-purlin-outputs"] == "inputs")
}

/// A secret, completed at any depth with the entries of the value of the same name.
fn fill(secret: Value, value: Value) -> Value {
    match (secret, value) {
        (Value::Map(mut secret), Value::Map(value)) => {
            for (name, item) in value {
                let filled = match secret.get_mut(&name) {
                    Some(there) => fill(std::mem::take(there), item),
                    None => item,
                };
                secret.insert(name, filled);
            }
            Value::Map(secret)
        }
        (secret, _) => secret,
    }
}

/// The first output that differs from the certain value, as a JSON Pointer. Secrecy makes no
/// difference: the returned value may contain a secret by chance, or only in part.
pub(crate) fn broken(certain: &Value, outputs: &Value) -> Option<String> {
    let Value::Map(certain) = certain.exposed() else { return None };
    let outputs = outputs.exposed();
    let actual = |name: &str| outputs.as_map().and_then(|map| map.get(name));
    certain
        .iter()
        .filter(|(_, value)| !value.has_unknown())
        .find(|(name, value)| actual(name).is_none_or(|actual| !same(actual, value)))
        .map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1")))
}

/// Whether two values are equal in plain text.
fn same(one: &Value, other: &Value) -> bool {
    match (one.exposed(), other.exposed()) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let equal = |(name, one): (&std::sync::Arc<str>, &Value)| {
                other.get(name).is_some_and(|other| same(one, other))
            };
            one.len() == other.len() && one.iter().all(equal)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_promised_output_may_be_secret() {
        let plain = Value::from(json!({"a": {"b": ["hidden", 1], "c": 2}}));
        let mut partly = plain.clone();
        if let Value::Map(map) = &mut partly
            && let Some(Value::Map(a)) = map.get_mut("a")
        {
            a.insert("b".into(), Value::from(json!(["hidden", 1])).into_secret());
        }
        assert_eq!(broken(&plain, &partly), None);
        assert_eq!(broken(&partly, &plain), None);
        assert_eq!(broken(&plain, &plain.clone().into_secret()), None);
        let other = Value::from(json!({"a": {"b": ["other", 1], "c": 2}}));
        assert_eq!(broken(&plain, &other), Some("/a".to_owned()));
        assert_eq!(broken(&plain, &Value::map()), Some("/a".to_owned()));
    }

    #[test]
    fn a_secret_is_completed_with_the_value_of_the_same_name() {
        let filled =
            fill(json!({"a": 1, "m": {"x": 1}}).into(), json!({"a": 2, "b": 3, "m": {"y": 2}}).into());
        assert_eq!(filled, json!({"a": 1, "b": 3, "m": {"x": 1, "y": 2}}).into());
        assert_eq!(fill("text".into(), json!({"a": 1}).into()), "text".into());
    }
}
