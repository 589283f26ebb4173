//! Results of drivers, workers and the cache, generated from bytes. For fuzzers only.

use std::time::Duration;

use purlin_model::Value;
use purlin_model::driver::{Failure, Inputs};

use crate::artifact::Artifact;
use crate::bindings::purlin::driver::types;
use crate::convert::Reader;
use crate::error::CallError;
use crate::info;
use crate::secrets::{self, SecretMatcher};
use crate::worker;

/// The secret that must not appear in plain text.
const SECRET: &str = "s3cr\"et\\val";

/// Texts, divided at zeros: an answer has a fixed number of them, and missing ones are empty.
struct Texts<'a>(std::slice::Split<'a, u8, fn(&u8) -> bool>);

impl Texts<'_> {
    fn next(&mut self) -> String {
        let bytes = self.0.next().unwrap_or_default();
        String::from_utf8_lossy(bytes).replace("SECRET", SECRET)
    }

    fn problem(&mut self) -> types::Problem {
        types::Problem { message: self.next(), details: vec![(self.next(), self.next())] }
    }

    /// Facts by name, none without a name.
    fn notes(&mut self) -> Vec<(String, String)> {
        let note = (self.next(), self.next());
        Some(note).filter(|(name, _)| !name.is_empty()).into_iter().collect()
    }

    fn state(&mut self) -> types::State {
        let manifest = types::ManifestFile { name: self.next(), location: self.next(), data: self.next() };
        types::State {
            id: self.next(),
            outputs: self.next(),
            secrets: self.next(),
            cookie: self.next().into_bytes(),
            manifests: if manifest.name.is_empty() { Vec::new() } else { vec![manifest] },
            sensitive: Some(self.next()).filter(|place| !place.is_empty()).into_iter().collect(),
            version: 1,
            notes: self.notes(),
        }
    }
}

/// Reads a generated answer of a call with a secret, and panics if visible output contains it.
pub fn answer(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let mut texts = Texts(rest.split((|byte: &u8| *byte == 0) as fn(&u8) -> bool));
    let given = Inputs {
        values: Value::map(),
        secrets: Value::from(serde_json::json!({"password": SECRET})),
        params: Value::map(),
        connection: Value::map(),
        account: None,
        account_fields: Value::Null,
    };
    let mut matcher = SecretMatcher::default();
    matcher.collect(&given.secrets, true);
    matcher.finish();
    let reader = Reader::new("fuzzed", (1 << 20, 10 << 10), &matcher, None);
    match kind % 6 {
        0 => {
            if let Ok(state) = reader.state(texts.state()) {
                clean(&state.id.to_string());
                clean(&state.outputs.redact().to_string());
                clean(&Value::Map(state.notes).redact().to_string());
                for file in &state.manifests {
                    clean(&format!("{} {} {}", file.name, file.location, file.data.redact()));
                }
            }
        }
        1 => {
            let checked = types::Checked {
                values: texts.next(),
                secrets: texts.next(),
                warnings: vec![types::Finding { pointer: texts.next(), message: texts.next() }],
            };
            if let Ok(checked) = reader.checked(checked, &given) {
                clean(&checked.values.redact().to_string());
                clean(&checked.secrets.redact().to_string());
            }
        }
        2 => {
            let values = texts.next();
            let observed =
                types::Observed { state: texts.state(), values: (!values.is_empty()).then_some(values) };
            if let Ok(observed) = reader.observed(observed, &given) {
                clean(&observed.values.unwrap_or(Value::Null).redact().to_string());
            }
        }
        3 => {
            let info = types::DriverInfo {
                name: texts.next(),
                version: texts.next(),
                description: texts.next(),
                types: vec![types::TypeSchema {
                    type_name: texts.next(),
                    implements: vec![texts.next(), "read".to_owned()],
                    inputs: texts.next(),
                    outputs: texts.next(),
                }],
                requested_capabilities: vec![types::RequestedCapability {
                    capability: texts.next(),
                    pattern: Some(texts.next()),
                    reason: texts.next(),
                }],
                notes: texts.notes(),
            };
            if let Ok(read) = info::from_wit(info) {
                let kept = info::from_json(&info::to_json(&read));
                assert_eq!(kept.as_ref(), Some(&read), "a description is kept as it is");
            }
        }
        4 => {
            let (message, pointer) = (texts.next(), texts.next());
            let invalid = vec![types::Finding { pointer, message }];
            check_text(&reader.failure(types::Failure::InvalidInputs(invalid)));
            check_text(&reader.failure(types::Failure::Failed(texts.problem())));
        }
        _ => {
            let partial = types::Partial { problem: texts.problem(), state: texts.state() };
            let error = reader.failure(types::Failure::Partial(partial));
            check_text(&error);
            let pending =
                types::Pending { state: Some(texts.state()), after_ms: u64::MAX, message: texts.next() };
            check_text(&reader.failure(types::Failure::Pending(pending)));
            let retry = types::Retry { after_ms: u64::MAX, message: texts.next() };
            let error = reader.failure(types::Failure::RetryAfter(retry));
            check_text(&error);
            if let CallError::Failure(Failure::RetryAfter { after, .. }) = error {
                assert!(
                    after < Duration::from_secs(1_000_000),
                    "a driver can have the host wait for {after:?}"
                );
            }
        }
    }
}

/// Reads generated bytes as the answer of a worker.
pub fn worker(bytes: &[u8]) {
    worker::fuzz(bytes);
}

/// Reads generated bytes as compiled code from the cache. None of it becomes code here.
pub fn artifact(bytes: &[u8]) {
    for intact in [true, false] {
        if let Some(artifact) = Artifact::parse(bytes, intact) {
            let written = artifact.to_bytes();
            let again = Artifact::parse(&written, false);
            let is_same = again.is_some_and(|again| {
                (again.digest, &again.info, again.code) == (artifact.digest, &artifact.info, artifact.code)
            });
            assert!(is_same, "what was read is written as it was");
        }
    }
}

/// Searches the last line for generated secrets, one per line, and panics if not all of them are
/// found.
pub fn secrets(bytes: &[u8]) {
    secrets::fuzz(&String::from_utf8_lossy(bytes));
}

fn check_text(error: &CallError) {
    let details = match error {
        CallError::Failure(failure) => failure.details(),
        _ => &[],
    };
    let details = details.iter().flat_map(|(name, value)| [name.clone(), value.clone()]);
    for text in details.chain([error.to_string()]) {
        clean(&text);
        let is_quiet = text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t');
        assert!(is_quiet, "{text:?} acts on a terminal");
    }
}

fn clean(text: &str) {
    let escaped = serde_json::Value::from(SECRET).to_string();
    let found = text.contains(SECRET) || text.contains(escaped.trim_matches('"'));
    assert!(!found, "a secret can be read in {text:?}");
}
