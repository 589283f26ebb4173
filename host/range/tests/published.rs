//! Tests with the cases of the published implementation: every answer must be the same.
#![allow(clippy::expect_used, clippy::print_stdout)]

use std::path::Path;

use purlin_range::{Range, lenient};
use serde_json::Value;

#[test]
fn every_case_of_the_published_implementation_is_answered_alike() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/corpus/masterminds/masterminds_check.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: there is no corpus at {}", path.display());
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut wrong = Vec::new();
    for case in &cases {
        let field = |name: &str| case[name].as_str().expect("text");
        let answer = Range::parse(field("constraint"))
            .map(|range| range.matches(&lenient(field("version")).expect("a version")));
        if answer.as_ref().ok().copied() != case["want"].as_bool() {
            wrong.push(format!("{case}: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert_eq!(cases.len(), 228);
}
