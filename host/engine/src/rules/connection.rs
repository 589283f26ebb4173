//! Connections (SPEC §8): how a driver reaches the system that a resource is in. What changes in one is no
//! change of the resource, unless the driver's schema says that it tells one system from another.

use purlin_model::Value;
use purlin_model::driver::keywords::{property, replacing_part};
use purlin_model::driver::{Inputs, Manifest};
use purlin_schema::{Fault, Misfit};
use purlin_state::Record;

use super::Rules;
use crate::driver::Driver;

impl Rules {
    /// Fills in the defaults that the driver has for a connection, and makes secret what it says is secret.
    pub(crate) fn connect(&self, driver: &dyn Driver, type_name: &str, inputs: &mut Inputs) {
        if matches!(inputs.connection, Value::Null) {
            return;
        }
        match self.of_driver(driver, type_name) {
            Some(Ok(schema)) => {
                schema.fill(&["connection"], &mut inputs.connection, &|_| true);
                let connection = std::mem::take(&mut inputs.connection);
                inputs.connection = schema.seal_at(["connection"], connection);
            }
            // What is secret cannot be told.
            Some(Err(_)) => {
                let connection = std::mem::take(&mut inputs.connection);
                inputs.connection = connection.into_secret();
            }
            None => {}
        }
    }
}

/// What to write instead of values or secrets that a driver does not take, where it takes them, or what is in
/// them, as its connection.
pub(super) fn moved(
    driver: &dyn Driver,
    type_name: &str,
    inputs: &Inputs,
    misfit: &Misfit,
) -> Option<String> {
    let Fault::Unknown { name, .. } = &misfit.fault else { return None };
    let rules = &driver.manifest().schema(type_name)?.inputs;
    let connection = property(rules, rules, "connection")?;
    let is_taken = |name: &str| property(rules, connection, name).is_some();
    let given = match misfit.at.strip_suffix(&**name)? {
        "/values/" => inputs.values.get(name),
        "/secrets/" => inputs.secrets.get(name),
        _ => return None,
    };
    let within = given.as_ref().map(Value::exposed).and_then(Value::as_map);
    let names: Vec<&str> = match is_taken(name) {
        true => vec![name],
        false => within?.keys().map(|name| &**name).filter(|name| is_taken(name)).collect(),
    };
    let (last, first) = names.split_last()?;
    let first = first.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(match first.is_empty() {
        true => format!("`{last}` belongs to `inputs.connection`"),
        false => format!("{first} and `{last}` belong to `inputs.connection`"),
    })
}

/// What of a connection tells one system from another; null where nothing does.
fn identity(manifest: &Manifest, type_name: &str, connection: &Value) -> Value {
    let part = manifest.schema(type_name).and_then(|schema| {
        replacing_part(
            &schema.inputs,
            property(&schema.inputs, &schema.inputs, "connection")?,
            Some(connection),
        )
    });
    part.unwrap_or(Value::Null)
}

/// Whether a connection leads to the system that a resource is recorded in.
pub(crate) fn is_same_system(manifest: &Manifest, record: &Record, current: &Value) -> bool {
    let recorded = &record.inputs.connection;
    // What was recorded before its driver knew of connections has none.
    if matches!(current, Value::Null) || matches!(recorded, Value::Null) || recorded == current {
        return true;
    }
    let Some(key) = record.urn.key() else { return false };
    let identity = |connection| identity(manifest, key.type_name(), connection);
    identity(recorded) == identity(current)
}

/// Inputs that are recorded, with the current connection; none where that leads to another system, or is
/// the recorded one.
pub(crate) fn reached(manifest: &Manifest, record: &Record, current: &Value) -> Option<Inputs> {
    // Where nobody says what tells one system from another, the recorded connection leads to the right one.
    let is_told = record.urn.key().is_some_and(|key| manifest.schema(key.type_name()).is_some());
    let changes = is_told && !matches!(current, Value::Null) && record.inputs.connection != *current;
    let reached = || Inputs { connection: current.clone(), ..record.inputs.clone() };
    (changes && is_same_system(manifest, record, current)).then(reached)
}
