//! A YAML or JSON file that is no document of ours, as the value that it says.

use std::sync::Arc;

use purlin_model::{Location, Value};

use crate::template::constant;
use crate::yaml;

/// The value of a text with one document in it.
///
/// # Errors
/// The place of the first fault. What is wrong there is not told: messages quote texts, and these
/// may hold secrets.
pub fn plain_value(name: &Arc<str>, text: &str) -> Result<Value, Location> {
    let mut values = Vec::new();
    let mut faults = Vec::new();
    faults.extend(yaml::parse(name, text, &mut |document| {
        values.push((constant(&document.root), document.root.span.location(name)));
        values.extend(
            document
                .faults
                .into_iter()
                .filter(|fault| fault.is_error())
                .map(|fault| (Value::Null, fault.location.unwrap_or_default())),
        );
    }));
    if let Some(fault) = faults.into_iter().find(purlin_model::Diagnostic::is_error) {
        return Err(fault.location.unwrap_or_default());
    }
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some((value, _)), None) => Ok(value),
        (_, Some((_, place))) => Err(place),
        (None, None) => Ok(Value::Null),
    }
}
