//! Tests with the cases of the published implementation: every answer must be the same.
#![allow(clippy::expect_used, clippy::print_stdout)]

use purlin_range::{Range, lenient};
use serde_json::Value;

#[test]
fn every_case_of_the_published_implementation_is_answered_alike() {
    let Some(path) = purlin_corpus::find("masterminds/masterminds_check.json") else { return };
    let text = std::fs::read_to_string(path).expect("a table");
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
