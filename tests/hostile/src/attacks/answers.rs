//! Answers that are too large, too deep, or false.

use super::{Attack, failed, state};
use purlin_sdk::bindings::purlin::driver::operation;
use purlin_sdk::bindings::purlin::driver::types::{
    Call, Denial, Failure, Finding, ManifestFile, Partial, Pending, Problem, Retry, State,
};
use serde_json::json;

pub(super) fn perform(attack: &Attack, name: &str, call: &Call) -> Option<Result<State, Failure>> {
    let bytes = attack.number("bytes", 8 << 20);
    Some(Ok(match name {
        // The answer that the test requests, verbatim.
        "answer" => {
            let manifest = |file: &serde_json::Value| ManifestFile {
                name: attack.filled(file["name"].as_str().unwrap_or_default()),
                location: attack.filled(file["location"].as_str().unwrap_or("cluster")),
                data: attack.filled(file["data"].as_str().unwrap_or("{}")),
            };
            State {
                id: attack.filled(&attack.text_or("id", "id")),
                outputs: attack.filled(&attack.text_or("outputs", "{}")),
                secrets: attack.filled(&attack.text_or("secrets", "{}")),
                cookie: vec![0; attack.number("cookie", 0)],
                manifests: attack.values["manifests"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(manifest)
                    .collect(),
                sensitive: attack.texts("sensitive"),
                version: 0,
                notes: attack.texts("notes").into_iter().map(|note| (note.clone(), note)).collect(),
            }
        }
        "huge-output" => state(&json!({"x": "x".repeat(bytes)})),
        "huge-id" => State { id: "i".repeat(bytes), ..state(&json!({})) },
        "huge-secrets" => {
            State { secrets: format!("{{\"x\":\"{}\"}}", "x".repeat(bytes)), ..state(&json!({})) }
        }
        "huge-cookie" => State { cookie: vec![0; bytes], ..state(&json!({})) },
        "huge-note" => {
            let note = ("note".to_owned(), format!("\"{}\"", "x".repeat(bytes)));
            State { notes: vec![note], ..state(&json!({})) }
        }
        "many-notes" => {
            let note = |n: usize| (n.to_string(), "0".to_owned());
            State { notes: (0..attack.number("count", 1_000_000)).map(note).collect(), ..state(&json!({})) }
        }
        "huge-failure" => return Some(Err(failed("x".repeat(bytes)))),
        "many-manifests" => {
            let file =
                |n: usize| ManifestFile { name: n.to_string(), location: String::new(), data: "0".into() };
            State {
                manifests: (0..attack.number("count", 1_000_000)).map(file).collect(),
                ..state(&json!({}))
            }
        }
        "many-faults" => {
            let fault = Finding { pointer: "/values".into(), message: "x".repeat(1_000) };
            return Some(Err(Failure::InvalidInputs(vec![fault; attack.number("count", 4_000)])));
        }
        // Small values that grow when they are read.
        "many-lists" => {
            State { outputs: format!("{{\"x\":[{}[]]}}", "[],".repeat(1_300_000)), ..state(&json!({})) }
        }
        "many-numbers" => {
            let numbers = "0,".repeat(attack.number("count", 2_000_000));
            State { outputs: format!("{{\"x\":[{numbers}0]}}"), ..state(&json!({})) }
        }
        // Secret places, as many as there are manifests to search for them.
        "many-places" => {
            let count = attack.number("count", 20_000);
            let place = |n: usize| match attack.text("place").as_str() {
                "" => format!("/manifests/{n}/x"),
                place => format!("/{place}"),
            };
            let places: Vec<String> = (0..count).map(place).collect();
            let file =
                |n: usize| ManifestFile { name: n.to_string(), location: String::new(), data: "0".into() };
            State { manifests: (0..count).map(file).collect(), sensitive: places, ..state(&json!({})) }
        }
        "many-keys" => {
            let keys: String = (0..attack.number("count", 300_000)).map(|n| format!("\"{n}\":0,")).collect();
            State { outputs: format!("{{{keys}\"x\":0}}"), ..state(&json!({})) }
        }
        "deep" => {
            let open = attack.text("open");
            State {
                outputs: open.repeat(attack.number("depth", 1_000_000) / open.len()),
                ..state(&json!({}))
            }
        }
        // An effect that is reported twice, differently.
        "two-ids" => {
            operation::checkpoint("the first", None);
            State { id: "the second".into(), ..state(&json!({"key": call.idempotency_key})) }
        }
        "checkpoint" => {
            operation::checkpoint(&attack.filled(&attack.text("id")), None);
            state(&json!({}))
        }
        "huge-checkpoint" => {
            operation::checkpoint(&"i".repeat(bytes), None);
            state(&json!({}))
        }
        "huge-checkpoint-cookie" => {
            operation::checkpoint("id", Some(&vec![0; bytes]));
            state(&json!({}))
        }
        "checkpoint-flood" => {
            for n in 0..attack.number("count", 100_000) {
                operation::checkpoint(&n.to_string(), None);
            }
            state(&json!({}))
        }
        "fail" => return Some(Err(failure(attack))),
        _ => return None,
    }))
}

/// A failure with text in every place.
fn failure(attack: &Attack) -> Failure {
    let message = attack.filled(&attack.text("text"));
    let details = vec![(message.clone(), message.clone()); attack.number("details", 0)];
    let problem = Problem { message: message.clone(), details };
    let pending = |state| Pending { state, after_ms: u64::MAX, message: message.clone() };
    let without_id = || State { id: String::new(), ..state(&json!({})) };
    match attack.text("kind").as_str() {
        "invalid-inputs" => Failure::InvalidInputs(vec![Finding { pointer: message.clone(), message }]),
        "denied" => Failure::Denied(Denial { capability: message.clone(), target: message.clone(), message }),
        "not-found" => Failure::NotFound(problem),
        "conflict" => Failure::Conflict(problem),
        "retry-after" => Failure::RetryAfter(Retry { after_ms: u64::MAX, message }),
        "pending" => Failure::Pending(pending(Some(state(&json!({}))))),
        "pending-without-id" => Failure::Pending(pending(Some(without_id()))),
        "pending-without-state" => Failure::Pending(pending(None)),
        "partial" => Failure::Partial(Partial { state: state(&json!({})), problem }),
        "partial-without-id" => Failure::Partial(Partial { state: without_id(), problem }),
        "undecided" => Failure::Undecided(problem),
        "needs-delete-before" => Failure::NeedsDeleteBefore(problem),
        _ => Failure::Failed(problem),
    }
}
