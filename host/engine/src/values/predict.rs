//! The outputs that are certain before a driver is called.

use purlin_model::driver::{Inputs, broken_output, keywords};
use purlin_model::{Key, Map, Unknown, Value};
use purlin_state::Record;

use crate::driver::{Driver, are_only_secrets};
use crate::values::rules::SchemaRules;

/// The outputs as far as they are certain. `record` is the resource that stays in place, if there
/// is one, and `foreseen` has the outputs of the driver's forecast.
pub(crate) fn outputs(
    rules: &SchemaRules,
    driver: &dyn Driver,
    key: &Key,
    inputs: &Inputs,
    record: Option<&Record>,
    stable: &[String],
    foreseen: Option<&Value>,
) -> Value {
    let known = without_forecast(rules, driver, key, inputs, record, stable);
    match foreseen {
        Some(foreseen) => with_forecast(rules, driver, key, known, foreseen),
        None => known,
    }
}

/// The same outputs, with those of the driver's forecast.
pub(crate) fn with_forecast(
    rules: &SchemaRules,
    driver: &dyn Driver,
    key: &Key,
    known: Value,
    foreseen: &Value,
) -> Value {
    let is_secret = matches!(foreseen, Value::Secret(_));
    let foreseen = foreseen.exposed().as_map().filter(|foreseen| !foreseen.is_empty());
    let Some(foreseen) = foreseen else { return known };
    let mut outputs = known.as_map().cloned().unwrap_or_default();
    for (name, value) in foreseen {
        let value = if is_secret { value.clone().into_secret() } else { value.clone() };
        outputs.insert(name.clone(), value);
    }
    rules.seal_outputs(key.type_name(), driver, Value::Map(outputs))
}

fn without_forecast(
    rules: &SchemaRules,
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
                Some(value) => fill(secret, &value),
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
                        let side = if matches!(value, Value::Secret(_)) { "/secrets" } else { "/outputs" };
                        let places = stable.iter().filter_map(|place| place.strip_prefix(side));
                        let whole = || stable.iter().any(|place| place == side);
                        let own: Vec<&str> = places.filter_map(|place| below(place, name)).collect();
                        (name.clone(), if whole() { value.clone() } else { kept(value, &own) })
                    })
                    .collect(),
            ),
            _ => Value::unknown(),
        },
        _ => Value::unknown(),
    }
}

/// The rest of a JSON Pointer that begins with a name.
fn below<'a>(place: &'a str, name: &str) -> Option<&'a str> {
    let rest = place.strip_prefix('/')?.strip_prefix(&*name.replace('~', "~0").replace('/', "~1"))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// A value with everything unknown but the places in it.
fn kept(value: &Value, places: &[&str]) -> Value {
    match value {
        _ if places.contains(&"") => value.clone(),
        Value::Map(map) if !places.is_empty() => Value::Map(
            map.iter()
                .map(|(name, value)| {
                    let own: Vec<&str> = places.iter().filter_map(|place| below(place, name)).collect();
                    (name.clone(), kept(value, &own))
                })
                .collect(),
        ),
        _ => Value::unknown(),
    }
}

/// Whether a driver's outputs are its inputs, so that all of them are known in advance.
pub(crate) fn mirrors(driver: &dyn Driver, key: &Key) -> bool {
    let schema = driver.info().schema(key.type_name());
    schema.is_some_and(|schema| schema.outputs[keywords::OUTPUTS] == "inputs")
}

/// Whether a driver computes its outputs without any effect, so that they can be computed while
/// planning. The driver says so, and has no capabilities to do anything else.
pub(crate) fn computes(driver: &dyn Driver, key: &Key) -> bool {
    let manifest = driver.info();
    let schema = manifest.schema(key.type_name());
    let harmless =
        || manifest.requested_capabilities.is_empty() && driver.grants().is_none_or(are_only_secrets);
    schema.is_some_and(|schema| schema.outputs[keywords::OUTPUTS] == "computed") && harmless()
}

/// The names of computed outputs. Their values are unknown: random values and the time change them.
pub(crate) fn computed(outputs: &Value) -> Value {
    match outputs {
        Value::Map(outputs) => Value::Map(
            outputs
                .iter()
                .map(|(name, value)| (name.clone(), Value::Unknown(Unknown { secret: value.has_secret() })))
                .collect(),
        ),
        // Even the names are secret.
        _ => Value::Unknown(Unknown { secret: true }),
    }
}

/// A secret, completed at any depth with the entries of the value of the same name, as the driver
/// completes it. Marks of secrecy inside make no difference: the whole is secret.
fn fill(secret: &Value, value: &Value) -> Value {
    match (secret.exposed(), value.exposed()) {
        (Value::Map(secret), Value::Map(value)) => {
            let mut filled = secret.clone();
            for (name, item) in value {
                let item = secret.get(name).map_or_else(|| item.clone(), |there| fill(there, item));
                filled.insert(name.clone(), item);
            }
            Value::Map(filled)
        }
        // It may turn out to be a map.
        (Value::Map(_), Value::Unknown(_)) => Value::unknown(),
        _ => secret.clone(),
    }
}

/// The first output that was certain, and is now said to be another one, as a JSON Pointer. An output that is
/// no longer certain is not another one.
pub(crate) fn contradicted(certain: &Value, now: &Value) -> Option<String> {
    let (certain, now) = (certain.exposed().as_map()?, now.exposed());
    let is_said = |name: &str| now.as_map()?.get(name).map(|value| !value.has_unknown());
    let said = certain.iter().filter(|(name, _)| is_said(name) == Some(true));
    broken_output(&Value::Map(said.map(|(name, value)| (name.clone(), value.clone())).collect()), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_places_that_a_driver_names_stay() {
        let value = Value::from(json!({"a/b": 1, "m": {"x": 1, "y": 2}, "z": 3}));
        let Value::Map(kept) = kept(&value, &["/a~1b", "/m/x"]) else { panic!("a map") };
        assert_eq!(kept.get("a/b"), Some(&Value::from(json!(1))));
        let inside = kept.get("m").expect("it is there");
        assert_eq!(inside.get("x"), Some(Value::from(json!(1))));
        assert!(inside.get("y").is_some_and(|value| value.has_unknown()));
        assert!(kept.get("z").is_some_and(Value::has_unknown));
        assert_eq!((below("/ab", "a"), below("/a/b", "a"), below("/a", "a")), (None, Some("/b"), Some("")));
    }

    #[test]
    fn a_secret_is_completed_with_the_value_of_the_same_name() {
        let plain = Value::from(json!({"a": 1, "m": {"x": 1}}));
        let value = Value::from(json!({"a": 2, "b": 3, "m": {"y": 2}}));
        let filled = Value::from(json!({"a": 1, "b": 3, "m": {"x": 1, "y": 2}}));
        assert_eq!(fill(&plain, &value), filled);
        // The marks of secrecy that resolved inputs have make no difference.
        assert_eq!(fill(&plain.clone().into_secret(), &value).into_secret(), filled.clone().into_secret());
        assert_eq!(fill(&plain, &value.into_secret()).into_secret(), filled.into_secret());
        assert_eq!(fill(&"text".into(), &json!({"a": 1}).into()), "text".into());
        assert!(fill(&plain, &Value::unknown()).has_unknown());
        assert_eq!(fill(&"text".into(), &Value::unknown()), "text".into());
    }
}
