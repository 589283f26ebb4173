//! Every place of inputs that does not fit.
//!
//! Reading ends at the first fault. So a stand-in that fits takes the place, and the rest is read
//! again, until nothing is wrong any more or nothing helps.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::read;
use crate::{Failure, InvalidInput};

/// A pointer, and what is wrong there.
pub(super) type Fault = (String, String);

/// Faults that are told at once, at most.
const MOST: usize = 32;

/// What is said of them.
pub(super) fn refused(faults: Vec<Fault>) -> Failure {
    let fault = |(pointer, message)| InvalidInput { pointer, message };
    Failure::InvalidInputs(faults.into_iter().map(fault).collect())
}

/// The first fault and all that follow, each place once.
pub(super) fn all<I: DeserializeOwned>(document: &Value, first: Fault) -> Vec<Fault> {
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

/// Puts a stand-in in the place of a fault, and says what is wrong then in another place. None where
/// nothing is, or nothing fits there.
fn mended<I: DeserializeOwned>(document: &mut Value, fault: &Fault, known: &[String]) -> Option<Fault> {
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
            // It may say better what fits.
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

/// Where something is wrong. What is missing is pointed at by what holds it.
fn place((pointer, message): &Fault) -> String {
    match quoted(message, "missing field `") {
        Some(field) => format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1")),
        None => pointer.clone(),
    }
}

/// Values that may fit: those that the message names, one of each type, and none, which hides it until
/// the end.
fn stand_ins(message: &str) -> Vec<Option<Value>> {
    let usual = [json!(null), json!(""), json!(0), json!(false), json!([]), json!({}), json!("0")].map(Some);
    let mut all = named(message);
    all.extend(usual);
    all.push(None);
    all
}

/// What a message says would fit, such as the names of variants.
fn named(message: &str) -> Vec<Option<Value>> {
    let expected = message.split_once("expected").map(|(_, expected)| expected).unwrap_or_default();
    expected.split('`').skip(1).step_by(2).map(|name| Some(name.into())).collect()
}

/// Puts a value in a place, or takes away what is there. Whether there is such a place.
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
