//! Marks the driver's outputs as secret, wherever they are returned.

use purlin_model::driver::DriverInfo;
use purlin_model::{Map, Value};
use purlin_schema::{Describes, Schema};

/// Marks the outputs as secret that the driver's own schema declares secret, for a caller without
/// documents.
pub fn seal_outputs(info: &DriverInfo, type_name: &str, outputs: Value) -> Value {
    match info.schema(type_name).filter(|schema| has_secret_keyword(&schema.outputs)) {
        Some(schema) => match Schema::of_driver(&schema.outputs, Describes::Outputs) {
            Ok(schema) => schema.seal(outputs),
            // Some output is secret, but it is unknown which.
            Err(_) => outputs.into_secret(),
        },
        None => outputs,
    }
}

/// Whether a schema declares anything secret.
pub(super) fn has_secret_keyword(schema: &serde_json::Value) -> bool {
    match schema {
        serde_json::Value::Object(map) => map.iter().any(|(name, value)| {
            (matches!(name.as_str(), "writeOnly" | "x-secret") && *value == true) || has_secret_keyword(value)
        }),
        serde_json::Value::Array(items) => items.iter().any(has_secret_keyword),
        _ => false,
    }
}

/// The value that was found, secret wherever the recorded value is, since no schema is available
/// when only records are read.
pub(crate) fn keep_secret(recorded: &Value, found: Value) -> Value {
    match (recorded, found) {
        (Value::Secret(_), found) => found.into_secret(),
        (Value::Map(recorded), Value::Map(found)) => Value::Map(
            found
                .into_iter()
                .map(|(name, value)| {
                    let value = match recorded.get(&name) {
                        Some(recorded) => keep_secret(recorded, value),
                        None => value,
                    };
                    (name, value)
                })
                .collect::<Map>(),
        ),
        (Value::List(recorded), Value::List(found)) => {
            // It is unknown where the items moved.
            let all = recorded.len() != found.len() && recorded.iter().any(Value::has_secret);
            let item = |(index, value): (usize, Value)| match recorded.get(index) {
                _ if all => value.into_secret(),
                Some(recorded) => keep_secret(recorded, value),
                None => value,
            };
            Value::List(found.into_iter().enumerate().map(item).collect())
        }
        (_, found) => found,
    }
}
