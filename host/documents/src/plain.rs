//! The value of a YAML or JSON file that is not one of our documents.

use std::path::Path;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location, Value};

use crate::template::constant;
use crate::{walk, yaml};

/// The value of a file with one document in it.
///
/// # Errors
/// If it cannot be read, or is not YAML. The error does not describe the fault: the file may hold
/// secrets.
pub fn plain_file(path: &Path) -> Result<Value, Box<Diagnostic>> {
    let name = walk::display(path);
    let text = walk::read_named(path)?;
    plain_value(&name, &text).map_err(|place| {
        let fault = Diagnostic::error("syntax", "this is not YAML").at(&place);
        Box::new(fault.help("write a map, one name and value a line"))
    })
}

/// The value of a text with one document in it.
///
/// # Errors
/// The place of the first fault. The error does not describe it: messages quote texts, and these
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
    if let Some(fault) = faults.into_iter().find(Diagnostic::is_error) {
        return Err(fault.location.unwrap_or_default());
    }
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some((value, _)), None) => Ok(value),
        (_, Some((_, place))) => Err(place),
        (None, None) => Ok(Value::Null),
    }
}
