//! Every place of inputs that does not fit.
//!
//! Reading ends at the first fault. So a fitting substitute replaces the value, and the document is
//! read again, until there are no more faults or no substitute helps.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::read;
use crate::{Failure, Finding};

/// A pointer, and the fault there.
pub(super) type InputFault = (String, String);

/// The maximum number of faults that are reported at once.
const MOST: usize = 32;

/// The failure for them.
pub(super) fn refused(faults: Vec<InputFault>) -> Failure {
    let fault = |(pointer, message)| Finding { pointer, message };
    Failure::InvalidInputs(faults.into_iter().map(fault).collect())
}

/// The first fault and all that follow, each place once.
pub(super) fn all<I: DeserializeOwned>(document: &Value, first: InputFault) -> Vec<InputFault> {
    let mut document = document.clone();
    let mut faults = vec![first];
    while faults.len() < MOST {
        let Some(last) = faults.last() else { break };
        let known: Vec<String> = faults.iter().map(place).collect();
        match mended::<I>(&mut document, last, &known) {
            Some(fault) => faults.push(fault),
            None => break,
        }
    }
    faults
}

/// Replaces a faulty value with a substitute, and returns the next fault in another place. None if
/// there is none, or no substitute fits.
fn mended<I: DeserializeOwned>(
    document: &mut Value,
    fault: &InputFault,
    known: &[String],
) -> Option<InputFault> {
    let at = place(fault);
    let mut stand_ins = stand_ins(&fault.1);
    let mut tried = 0;
    while let Some(stand_in) = stand_ins.get(tried).cloned() {
        tried += 1;
        let mut other = document.clone();
        if tried > MOST || !put(&mut other, &at, stand_in) {
            continue;
        }
        match read::<I>(&other) {
            Ok(_) => return None,
            // The new message may say better what fits.
            Err(next) if place(&next) == at => stand_ins.extend(named(&next.1)),
            Err(next) if known.contains(&place(&next)) => {}
            Err(next) => {
                *document = other;
                return Some(next);
            }
        }
    }
    None
}

/// The place of a fault. A missing member is reported at its parent.
fn place((pointer, message): &InputFault) -> String {
    match quoted(message, "missing field `") {
        Some(field) => format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1")),
        None => pointer.clone(),
    }
}

/// Values that may fit: those that the message names, one of each type, and none, which hides the
/// fault until the end.
fn stand_ins(message: &str) -> Vec<Option<Value>> {
    let usual = [json!(null), json!(""), json!(0), json!(false), json!([]), json!({}), json!("0")].map(Some);
    let mut all = named(message);
    all.extend(usual);
    all.push(None);
    all
}

/// The values that a message names as valid, such as the names of variants.
fn named(message: &str) -> Vec<Option<Value>> {
    let expected = message.split_once("expected").map(|(_, expected)| expected).unwrap_or_default();
    expected.split('`').skip(1).step_by(2).map(|name| Some(name.into())).collect()
}

/// Sets or removes the value at a place. Returns whether there is such a place.
fn put(document: &mut Value, place: &str, value: Option<Value>) -> bool {
    let Some((parent, key)) = place.rsplit_once('/') else { return false };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (document.pointer_mut(parent), value) {
        (Some(Value::Object(map)), Some(value)) => {
            map.insert(key, value);
            true
        }
        (Some(Value::Object(map)), None) => map.shift_remove(&key).is_some(),
        (Some(Value::Array(items)), Some(value)) => key
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get_mut(index))
            .map(|item| *item = value)
            .is_some(),
        _ => false,
    }
}

fn quoted<'a>(message: &'a str, before: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.split('`').next()
}
