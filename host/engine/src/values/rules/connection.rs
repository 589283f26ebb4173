//! Connections (SPEC §8): how a driver reaches the system that a resource is in. A changed
//! connection does not change the resource, unless the driver's schema says that the changed part
//! identifies the system.

use purlin_model::Value;
use purlin_model::driver::keywords::{property, replacing_part};
use purlin_model::driver::{DriverInfo, Inputs};
use purlin_state::Record;

use super::SchemaRules;
use crate::driver::Driver;

impl SchemaRules {
    /// Fills in the driver's defaults for a connection and an account, and marks the secret parts.
    pub(crate) fn connect(&self, driver: &dyn Driver, type_name: &str, inputs: &mut Inputs) {
        for (name, given) in [("connection", &mut inputs.connection), ("account", &mut inputs.account_fields)]
        {
            if matches!(given, Value::Null) {
                continue;
            }
            match self.of_driver(driver, type_name) {
                Some(Ok(schema)) => {
                    schema.fill(&[name], given, &|_| true);
                    *given = schema.seal_at([name], std::mem::take(given));
                }
                // It is unknown which parts are secret.
                Some(Err(_)) => *given = std::mem::take(given).into_secret(),
                None => {}
            }
        }
    }
}

/// The part of a connection that identifies the system; null if there is none.
fn identity(info: &DriverInfo, type_name: &str, connection: &Value) -> Value {
    let part = info.schema(type_name).and_then(|schema| {
        replacing_part(
            &schema.inputs,
            property(&schema.inputs, &schema.inputs, "connection")?,
            Some(connection),
        )
    });
    part.unwrap_or(Value::Null)
}

/// Whether a connection leads to the system that a resource is recorded in.
pub(crate) fn is_same_system(info: &DriverInfo, record: &Record, current: &Value) -> bool {
    let recorded = &record.inputs.connection;
    // A resource that was recorded before its driver supported connections has none.
    if matches!(current, Value::Null) || matches!(recorded, Value::Null) || recorded == current {
        return true;
    }
    let Some(key) = record.urn.key() else { return false };
    let identity = |connection| identity(info, key.type_name(), connection);
    identity(recorded) == identity(current)
}

/// The recorded inputs with those current ones whose change is no change of the resource: the
/// connection, and the params if the driver does not read them. `None` if they are the recorded ones.
pub(crate) fn brought_up_to_date(
    info: &DriverInfo,
    record: &Record,
    current: &Inputs,
    reads_params: bool,
) -> Option<Inputs> {
    let reached = with_connection(info, record, &current.connection);
    match reads_params || record.inputs.params == current.params {
        true => reached,
        false => {
            let reached = reached.unwrap_or_else(|| record.inputs.clone());
            Some(Inputs { params: current.params.clone(), ..reached })
        }
    }
}

/// The recorded inputs with the current connection. `None` if that leads to another system, or
/// equals the recorded one.
pub(crate) fn with_connection(info: &DriverInfo, record: &Record, current: &Value) -> Option<Inputs> {
    // Without a schema, it is unknown what identifies the system, so the recorded connection is
    // kept.
    let has_schema = record.urn.key().is_some_and(|key| info.schema(key.type_name()).is_some());
    let changes = has_schema && !matches!(current, Value::Null) && record.inputs.connection != *current;
    let reached = || Inputs { connection: current.clone(), ..record.inputs.clone() };
    (changes && is_same_system(info, record, current)).then(reached)
}
