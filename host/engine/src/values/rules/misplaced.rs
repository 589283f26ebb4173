//! Help for inputs that are written in another part of `inputs` than the one the driver takes them
//! from.

use purlin_model::Value;
use purlin_model::driver::Inputs;
use purlin_model::driver::keywords::property;
use purlin_schema::{Fault, Violation};
use serde_json::Value as Json;

use crate::driver::Driver;
use crate::values::secrets::is_reference;

/// The parts of `inputs`.
const PARTS: [&str; 3] = ["values", "secrets", "connection"];

/// The help for an input that a driver rejects where it is written, but would accept elsewhere.
pub(super) fn help(
    driver: &dyn Driver,
    type_name: &str,
    inputs: &Inputs,
    violation: &Violation,
) -> Option<String> {
    let (part, below) = violation.at.strip_prefix('/')?.split_once('/')?;
    let given = given(inputs, part, below);
    let is_reference = given.as_ref().and_then(Value::as_map).is_some_and(is_reference);
    match &violation.fault {
        Fault::Unknown { name, .. } if name == below => {
            let rules = &driver.info().schema(type_name)?.inputs;
            elsewhere(rules, part, name, is_reference)
                .or_else(|| within_connection(rules, part, given.as_ref()?))
        }
        Fault::Unknown { .. } => None,
        _ if part == "secrets" && is_reference => {
            Some("`{store, ref}` belongs under `secret_refs`".to_owned())
        }
        _ => None,
    }
}

/// The value at a JSON Pointer below a part of the inputs.
fn given(inputs: &Inputs, part: &str, below: &str) -> Option<Value> {
    let whole = match part {
        "values" => &inputs.values,
        "secrets" => &inputs.secrets,
        "connection" => &inputs.connection,
        _ => return None,
    };
    let plain = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
    below.split('/').try_fold(whole.clone(), |value, segment| value.get(&plain(segment)))
}

/// The help for an input that other parts take.
fn elsewhere(rules: &Json, part: &str, name: &str, is_reference: bool) -> Option<String> {
    let others = PARTS.into_iter().filter(|other| *other != part && takes(rules, other, name));
    let others = others.map(|other| match other {
        "secrets" if is_reference => "`inputs.secret_refs`".to_owned(),
        other => format!("`inputs.{other}`"),
    });
    let others = others.collect::<Vec<_>>().join(" or ");
    (!others.is_empty()).then(|| format!("`{name}` belongs under {others}"))
}

/// The help for a map with inputs of the connection.
fn within_connection(rules: &Json, part: &str, given: &Value) -> Option<String> {
    let is_taken = |name: &&str| part != "connection" && takes(rules, "connection", name);
    let names: Vec<&str> = given.as_map()?.keys().map(|name| &**name).filter(is_taken).collect();
    let (last, first) = names.split_last()?;
    let first = first.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(match first.is_empty() {
        true => format!("`{last}` belongs under `inputs.connection`"),
        false => format!("{first} and `{last}` belong under `inputs.connection`"),
    })
}

/// Whether a part of the inputs has an input of this name.
fn takes(rules: &Json, part: &str, name: &str) -> bool {
    property(rules, rules, part).is_some_and(|part| property(rules, part, name).is_some())
}
