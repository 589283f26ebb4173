//! The document of a workload as it is deployed (SPEC §5).
//!
//! Everything it is made from is recorded with the `workload` resource: the resolved `{metadata,
//! spec}` are its params, the operations to apply are its `update` output.

use purlin_model::{Map, Value};
use purlin_state::Record;

/// The resolved document of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadDocument {
    /// The workload's name.
    pub name: String,
    /// `{metadata, spec}`. Secret as a whole where a secret was touched and an operation applied.
    pub document: Value,
}

/// A workload whose document cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workload `{workload}`: the `update` output of its resource cannot be applied: {reason}")]
pub struct WorkloadError {
    /// Which workload.
    pub workload: String,
    /// Why.
    pub reason: String,
}

/// The document of a workload, from the record of its `workload` resource. `None` for records of
/// other types.
///
/// # Errors
/// When `update` is no list of JSON Patch operations, or one of them does not apply.
pub fn workload_document(record: &Record) -> Option<Result<WorkloadDocument, WorkloadError>> {
    let key = record.urn.key()?;
    if key.type_name() != "workload" {
        return None;
    }
    let name = key.workload()?.to_owned();
    let params = record.inputs.params.as_map();
    let part = |name: &str| params.and_then(|map| map.get(name)).cloned().unwrap_or_else(Value::map);
    let document =
        Value::Map(Map::from_iter([("metadata".into(), part("metadata")), ("spec".into(), part("spec"))]));
    let result = match record.state.outputs.get("update") {
        None | Some(Value::Null) => Ok(document),
        Some(update) => patch(&document, &update),
    };
    Some(match result {
        Ok(document) => Ok(WorkloadDocument { name, document }),
        Err(reason) => Err(WorkloadError { workload: name, reason }),
    })
}

/// Applies the operations in clear, and again with a token of its own in the place of each secret,
/// so that it is secret again wherever an operation moves it. Where the two differ by more than that,
/// as where an operation tests a secret or its path is one, the whole is secret. No reason tells a
/// secret, nor a token.
fn patch(document: &Value, update: &Value) -> Result<Value, String> {
    let reveal = |value: &Value| value.reveal().map_err(|error| error.to_string());
    let mut made = reveal(document)?;
    let touched = document.has_secret() || update.has_secret();
    let hidden = |reason: String, what: &str| match update.has_secret() {
        true => format!("{what} (it holds a secret, so the reason is not shown)"),
        false => reason,
    };
    let operations: json_patch::Patch = serde_json::from_value(reveal(update)?)
        .map_err(|error| hidden(error.to_string(), "it is no list of JSON Patch operations"))?;
    json_patch::patch(&mut made, &operations).map_err(|error| {
        let number = error.operation + 1;
        hidden(error.to_string(), &format!("operation {number} does not apply"))
    })?;
    let made = Value::from(made);
    if !touched {
        return Ok(made);
    }
    let tracked = tracked(document, update);
    let tracked = tracked.filter(|tracked| tracked.reveal().is_ok_and(|json| made == json.into()));
    Ok(tracked.unwrap_or_else(|| made.into_secret()))
}

/// The document with tokens as secrets, operations applied; nothing where they cannot be.
fn tracked(document: &Value, update: &Value) -> Option<Value> {
    let mut secrets = Vec::new();
    let mut json = tokenise(document, &mut secrets);
    let operations = tokenise(update, &mut secrets);
    let operations: json_patch::Patch = serde_json::from_value(operations).ok()?;
    json_patch::patch(&mut json, &operations).ok()?;
    Some(restore(json, &secrets))
}

/// No text of a YAML document begins like this: it does not allow the character NUL.
const TOKEN: &str = "\0secret ";

fn tokenise(value: &Value, secrets: &mut Vec<Value>) -> serde_json::Value {
    match value {
        Value::Secret(_) => {
            secrets.push(value.clone());
            format!("{TOKEN}{}", secrets.len() - 1).into()
        }
        Value::List(items) => items.iter().map(|item| tokenise(item, secrets)).collect(),
        Value::Map(map) => map.iter().map(|(key, item)| (key.to_string(), tokenise(item, secrets))).collect(),
        plain => plain.redact(),
    }
}

fn restore(json: serde_json::Value, secrets: &[Value]) -> Value {
    match json {
        serde_json::Value::String(text) => {
            let index = text.strip_prefix(TOKEN).and_then(|index| index.parse::<usize>().ok());
            index.and_then(|index| secrets.get(index)).cloned().unwrap_or_else(|| Value::string(text))
        }
        serde_json::Value::Array(items) => {
            Value::List(items.into_iter().map(|item| restore(item, secrets)).collect())
        }
        serde_json::Value::Object(map) => {
            Value::Map(map.into_iter().map(|(key, item)| (key.into(), restore(item, secrets))).collect())
        }
        scalar => scalar.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_stays_secret_wherever_a_patch_moves_it() {
        let secret = Value::from("hunter2").into_secret();
        let variables =
            Value::Map(Map::from_iter([("PASS".into(), secret.clone()), ("A".into(), "a".into())]));
        let document = Value::Map(Map::from_iter([("spec".into(), variables)]));
        let update = json!([
            {"op": "move", "from": "/spec/PASS", "path": "/spec/P2"},
            {"op": "add", "path": "/spec/serviceAccountName", "value": "sa"},
        ]);
        let patched = patch(&document, &update.into()).expect("applies");
        let spec = patched.get("spec").expect("spec");
        assert_eq!(spec.get("P2"), Some(secret));
        assert_eq!(spec.get("PASS"), None);
        assert_eq!(spec.get("serviceAccountName"), Some("sa".into()));
        assert!(!format!("{patched:?}").contains("hunter2"));
    }

    #[test]
    fn a_secret_decides_nothing_in_the_open() {
        let hidden = |json: serde_json::Value| Value::from(json).into_secret();
        let document = Value::Map(Map::from_iter([
            ("pw".into(), hidden(json!("hunter2"))),
            ("m".into(), hidden(json!({"in": "hunter2"}))),
            ("open".into(), 1.to_string().as_str().into()),
        ]));
        // A test of a secret holds; which one it was is not told.
        let tests =
            json!([{"op": "test", "path": "/pw", "value": "hunter2"}, {"op": "remove", "path": "/open"}]);
        let patched = patch(&document, &tests.into()).expect("applies");
        assert!(
            patched.get("pw").is_some_and(|pw| pw.has_secret())
                && !format!("{patched:?}").contains("hunter2")
        );
        // Operations reach into what is secret.
        let inside = json!([{"op": "add", "path": "/m/b", "value": 2}]);
        let patched = patch(&document, &inside.into()).expect("applies");
        assert_eq!(patched.get("m").and_then(|m| m.get("b")), Some(Value::from(json!(2)).into_secret()));
        // All operations may be secret, or their values.
        let update = hidden(json!([{"op": "add", "path": "/hunter2", "value": 1}]));
        assert!(matches!(patch(&document, &update), Ok(Value::Secret(_))));
        let add = Value::Map(Map::from_iter([
            ("op".into(), "add".into()),
            ("path".into(), "/new".into()),
            ("value".into(), hidden(json!("hunter2"))),
        ]));
        let patched = patch(&document, &Value::List(vec![add])).expect("applies");
        assert!(matches!(patched.get("new"), Some(Value::Secret(_))));
        assert_eq!(patched.get("open"), Some("1".into()));
        for wrong in
            [json!("hunter2"), json!([{"op": "hunter2"}]), json!([{"op": "remove", "path": "/hunter2"}])]
        {
            let reason = patch(&document, &hidden(wrong)).expect_err("it does not apply");
            assert!(
                !reason.contains("hunter2") && !reason.contains('\0') && !reason.contains("secret 0"),
                "{reason}"
            );
        }
    }

    #[test]
    fn a_wrong_patch_is_an_error() {
        for wrong in [json!({"op": "add"}), json!([{"op": "remove", "path": "/nothing"}]), json!("x")] {
            assert!(patch(&Value::map(), &wrong.into()).is_err());
        }
    }
}
