//! The document of a workload in its deployed form (SPEC §5).
//!
//! All its parts are recorded with the `workload` resource: the resolved `{metadata, spec}` are its
//! params, and the operations to apply are its `update` output.

use json_patch::{PatchErrorKind, PatchOperation};
use purlin_model::{Key, Map, Value};
use purlin_state::Record;

/// The resolved document of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadDocument {
    /// The workload's name.
    pub name: String,
    /// `{metadata, spec}`. Secret as a whole if an operation depends on a secret in a way that
    /// cannot be tracked.
    pub document: Value,
}

/// A workload whose document cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workload `{workload}`: the `update` output of its resource cannot be applied: {fault}")]
pub struct WorkloadError {
    /// The workload's name.
    pub workload: String,
    /// The fault.
    pub fault: PatchFault,
}

/// Why operations cannot be applied to a document. Contains names from the document and the
/// operation, but no values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchFault {
    /// It is not a list of JSON Patch operations (RFC 6902).
    #[error("it is not a list of JSON Patch operations: {0}")]
    NoPatch(String),
    /// An operation does not apply. It contains a secret, so the reason is hidden.
    #[error("operation {index} does not apply (it contains a secret, so the reason is not shown)")]
    Hidden {
        /// The operation's number, from 1.
        index: usize,
    },
    /// An operation does not apply.
    #[error("operation {index}, `{operation}` at `{path}`: {problem}")]
    Operation {
        /// The operation's number, from 1.
        index: usize,
        /// The operation, such as `replace`.
        operation: &'static str,
        /// The JSON Pointer that the operation refers to.
        path: String,
        /// The problem.
        problem: PatchProblem,
    },
}

/// Why an operation does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    /// There is nothing at the path.
    #[error("`{at}` has no `{missing}`")]
    Missing {
        /// The deepest existing place along the path; empty for the whole document.
        at: String,
        /// The missing name.
        missing: String,
        /// The existing names, sorted.
        there: Vec<String>,
    },
    /// A value along the path is neither a map nor a list.
    #[error("`{at}` is {kind}")]
    Scalar {
        /// Its place.
        at: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The value of a `test` differs.
    #[error("the value is another one")]
    Differs,
    /// Any other problem.
    #[error("{0}")]
    Other(String),
}

/// The document of a workload, from the record of its `workload` resource. `None` for records of
/// other resources.
///
/// # Errors
/// If `update` is not a list of JSON Patch operations, or one of them does not apply.
pub fn workload_document(record: &Record) -> Option<Result<WorkloadDocument, WorkloadError>> {
    of(&record.urn.key()?, &record.inputs.params, &record.state.outputs)
}

/// Whether the document of a workload can be built from params and outputs, as far as they are
/// known.
pub(crate) fn check(key: &Key, params: &Value, outputs: &Value) -> Result<(), Box<WorkloadError>> {
    // Most resources are not workloads, and most workloads have no operations.
    if key.declared_workload().is_none() {
        return Ok(());
    }
    match outputs.get("update") {
        None | Some(Value::Null) => return Ok(()),
        Some(update) if update.has_unknown() || params.has_unknown() => return Ok(()),
        Some(_) => {}
    }
    match of(key, params, outputs) {
        Some(Err(error)) => Err(Box::new(error)),
        _ => Ok(()),
    }
}

fn of(key: &Key, params: &Value, outputs: &Value) -> Option<Result<WorkloadDocument, WorkloadError>> {
    let name = key.declared_workload()?.to_owned();
    let params = params.as_map();
    let part = |name: &str| params.and_then(|map| map.get(name)).cloned().unwrap_or_else(Value::map);
    let document =
        Value::Map(Map::from_iter([("metadata".into(), part("metadata")), ("spec".into(), part("spec"))]));
    let result = match outputs.get("update") {
        None | Some(Value::Null) => Ok(document),
        Some(update) => patch(&document, &update),
    };
    Some(match result {
        Ok(document) => Ok(WorkloadDocument { name, document }),
        Err(fault) => Err(WorkloadError { workload: name, fault }),
    })
}

/// Applies the operations in plain text, and again with a unique token in place of each secret, so
/// that a secret stays secret wherever an operation moves it. If the results differ otherwise, for
/// example because an operation tests a secret or has one as its path, the whole document is
/// secret. No error reveals a secret or a token.
fn patch(document: &Value, update: &Value) -> Result<Value, PatchFault> {
    let reveal = |value: &Value| value.reveal().map_err(|error| PatchFault::NoPatch(error.to_string()));
    let mut made = reveal(document)?;
    let hides = update.has_secret();
    let touched = document.has_secret() || hides;
    let operations: json_patch::Patch =
        serde_json::from_value(reveal(update)?).map_err(|error| match hides {
            true => PatchFault::NoPatch("it contains a secret, so the reason is not shown".to_owned()),
            false => PatchFault::NoPatch(error.to_string()),
        })?;
    for (index, operation) in operations.0.iter().enumerate() {
        if let Err(error) = json_patch::patch(&mut made, std::slice::from_ref(operation)) {
            let index = index + 1;
            return Err(match (hides, document.has_secret()) {
                (true, _) => PatchFault::Hidden { index },
                // Names below a secret are secret too.
                (false, true) => fault(index, operation, &document.redact(), &error.kind),
                (false, false) => fault(index, operation, &made, &error.kind),
            });
        }
    }
    let made = Value::from(made);
    if !touched {
        return Ok(made);
    }
    let tracked = tracked(document, update);
    let tracked = tracked.filter(|tracked| tracked.reveal().is_ok_and(|json| made == json.into()));
    Ok(tracked.unwrap_or_else(|| made.into_secret()))
}

/// The document with tokens in place of secrets, after the operations; `None` if they do not apply.
fn tracked(document: &Value, update: &Value) -> Option<Value> {
    let mut secrets = Vec::new();
    let mut json = tokenise(document, &mut secrets);
    let operations = tokenise(update, &mut secrets);
    let operations: json_patch::Patch = serde_json::from_value(operations).ok()?;
    json_patch::patch(&mut json, &operations).ok()?;
    Some(restore(json, &secrets))
}

fn fault(
    index: usize,
    operation: &PatchOperation,
    document: &serde_json::Value,
    kind: &PatchErrorKind,
) -> PatchFault {
    let (name, target) = match operation {
        PatchOperation::Add(_) => ("add", parent(operation.path().as_str())),
        PatchOperation::Remove(_) => ("remove", operation.path().as_str()),
        PatchOperation::Replace(_) => ("replace", operation.path().as_str()),
        PatchOperation::Move(moving) => ("move", moving.from.as_str()),
        PatchOperation::Copy(copying) => ("copy", copying.from.as_str()),
        PatchOperation::Test(_) => ("test", operation.path().as_str()),
    };
    let target = match (name, document.pointer(target)) {
        // The source of a move or copy exists, so the problem is the target.
        ("move" | "copy", Some(_)) => parent(operation.path().as_str()),
        _ => target,
    };
    let problem = match (kind, missing(document, target)) {
        (PatchErrorKind::TestFailed, _) => PatchProblem::Differs,
        (_, Some(problem)) => problem,
        (kind, None) => PatchProblem::Other(kind.to_string()),
    };
    PatchFault::Operation { index, operation: name, path: operation.path().to_string(), problem }
}

fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The first missing step of a pointer.
fn missing(document: &serde_json::Value, pointer: &str) -> Option<PatchProblem> {
    let (mut at, mut value) = (String::new(), document);
    for segment in pointer.split('/').skip(1) {
        let below = format!("{at}/{segment}");
        let Some(next) = document.pointer(&below) else {
            let missing = segment.replace("~1", "/").replace("~0", "~");
            return Some(match value {
                serde_json::Value::Object(map) => {
                    let mut there: Vec<String> = map.keys().cloned().collect();
                    there.sort_unstable();
                    PatchProblem::Missing { at, missing, there }
                }
                serde_json::Value::Array(items) => {
                    let there = (0..items.len()).map(|index| index.to_string()).collect();
                    PatchProblem::Missing { at, missing, there }
                }
                serde_json::Value::Null => PatchProblem::Scalar { at, kind: "null" },
                serde_json::Value::Bool(_) => PatchProblem::Scalar { at, kind: "true or false" },
                serde_json::Value::Number(_) => PatchProblem::Scalar { at, kind: "a number" },
                serde_json::Value::String(_) => PatchProblem::Scalar { at, kind: "a string" },
            });
        };
        (at, value) = (below, next);
    }
    None
}

/// The prefix of a token. No YAML text starts with it, since YAML does not allow the character NUL.
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
    fn a_patch_keeps_secrets_secret() {
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
    fn a_document_that_depends_on_a_secret_is_secret() {
        let hidden = |json: serde_json::Value| Value::from(json).into_secret();
        let document = Value::Map(Map::from_iter([
            ("pw".into(), hidden(json!("hunter2"))),
            ("m".into(), hidden(json!({"in": "hunter2"}))),
            ("open".into(), 1.to_string().as_str().into()),
        ]));
        // A test of a secret succeeds without revealing which secret it was.
        let tests =
            json!([{"op": "test", "path": "/pw", "value": "hunter2"}, {"op": "remove", "path": "/open"}]);
        let patched = patch(&document, &tests.into()).expect("applies");
        assert!(
            patched.get("pw").is_some_and(|pw| pw.has_secret())
                && !format!("{patched:?}").contains("hunter2")
        );
        // Operations can change values inside a secret.
        let inside = json!([{"op": "add", "path": "/m/b", "value": 2}]);
        let patched = patch(&document, &inside.into()).expect("applies");
        assert_eq!(patched.get("m").and_then(|m| m.get("b")), Some(Value::from(json!(2)).into_secret()));
        // All operations may be secret, or only their values.
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
            let reason = patch(&document, &hidden(wrong)).expect_err("it does not apply").to_string();
            assert!(
                !reason.contains("hunter2") && !reason.contains('\0') && !reason.contains("secret 0"),
                "{reason}"
            );
        }
    }

    #[test]
    fn an_inapplicable_patch_names_the_operation_and_the_existing_names() {
        let document = json!({"spec": {"containers": {"main": {"image": "nginx"}}, "ports": [80]}});
        for (update, message) in [
            (
                json!([
                    {"op": "add", "path": "/spec/x", "value": 1},
                    {"op": "replace", "path": "/spec/containers/man/image", "value": "x"},
                ]),
                "operation 2, `replace` at `/spec/containers/man/image`: `/spec/containers` has no `man`",
            ),
            (
                json!([{"op": "add", "path": "/metadata/labels/a", "value": 1}]),
                "operation 1, `add` at `/metadata/labels/a`: `` has no `metadata`",
            ),
            (
                json!([{"op": "move", "from": "/spec/ports/3", "path": "/spec/x"}]),
                "operation 1, `move` at `/spec/x`: `/spec/ports` has no `3`",
            ),
            (
                json!([{"op": "remove", "path": "/spec/containers/main/image/tag"}]),
                "operation 1, `remove` at `/spec/containers/main/image/tag`: `/spec/containers/main/image` is a string",
            ),
            (
                json!([{"op": "test", "path": "/spec/ports/0", "value": 81}]),
                "operation 1, `test` at `/spec/ports/0`: the value is another one",
            ),
        ] {
            let fault = patch(&document.clone().into(), &update.into()).expect_err("does not apply");
            assert_eq!(fault.to_string(), message);
        }
    }

    #[test]
    fn an_inapplicable_patch_is_an_error() {
        for wrong in [json!({"op": "add"}), json!([{"op": "remove", "path": "/nothing"}]), json!("x")] {
            assert!(patch(&Value::map(), &wrong.into()).is_err());
        }
    }
}
