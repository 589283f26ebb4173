//! Outputs that are certain before the driver was called.

use purlin_model::driver::Inputs;
use purlin_model::{Key, Map, Value};
use purlin_state::Record;

use crate::driver::Driver;
use crate::rules::Rules;

/// The outputs as far as they are certain. `record` is what stays in place, if anything.
pub(crate) fn outputs(
    rules: &Rules,
    driver: &dyn Driver,
    key: &Key,
    inputs: &Inputs,
    record: Option<&Record>,
    stable: &[String],
) -> Value {
    let schema = driver.manifest().schema(key.type_name());
    let mirrors = schema.is_some_and(|schema| schema.outputs["x-purlin-outputs"] == "inputs");
    if mirrors && let (Value::Map(values), Value::Map(secrets)) = (&inputs.values, &inputs.secrets) {
        let mut outputs: Map = values.clone();
        outputs.extend(secrets.iter().map(|(name, value)| (name.clone(), value.clone().into_secret())));
        return rules.seal_outputs(key.type_name(), driver, Value::Map(outputs));
    }
    // What is not among the stable outputs is unknown; a map says only what it has, so a map of
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

/// The first output that is not what was certain, as a JSON Pointer.
pub(crate) fn broken(certain: &Value, outputs: &Value) -> Option<String> {
    let Value::Map(certain) = certain else { return None };
    let actual = |name: &str| outputs.as_map().and_then(|map| map.get(name));
    certain
        .iter()
        .filter(|(_, value)| !value.has_unknown())
        .find(|(name, value)| actual(name).is_none_or(|actual| actual.exposed() != value.exposed()))
        .map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1")))
}
