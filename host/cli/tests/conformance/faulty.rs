//! Tests with one component per rule that breaks only this rule: `tests/faulty`, in whose bytes the
//! rule is set.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use purlin_systems::project::ran;
use purlin_systems::tools::{component, root};
use serde_json::Value;

use crate::bench::{bench, check, checked, rules};

const MARK: &[u8] = b"purlin-faulty breaks:";
/// The length in bytes of the mark and the name of the rule.
const ROOM: usize = 64;

/// The number of drivers that are checked at the same time. Most checks wait longer than they compute.
const JOBS: usize = 8;

/// The component that breaks a rule.
fn breaking(rule: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(component("faulty")).expect("read");
    let places: Vec<usize> = bytes
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK)
        .map(|(at, _)| at)
        .collect();
    let [at] = places.as_slice() else { panic!("the mark is there {} times", places.len()) };
    let name = format!("{rule:<width$}", width = ROOM - MARK.len());
    bytes[at + MARK.len()..at + ROOM].copy_from_slice(name.as_bytes());
    bytes
}

/// The address of a server that answers every request while the test runs.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut request = [0; 5];
                // The check interrupts the driver, so a connection that it leaves open is not an
                // error.
                if stream.read_exact(&mut request).is_ok() {
                    drop(stream.write_all(b"ok\n"));
                }
            });
        }
    });
    address
}

fn examined(rule: &str, arguments: &[&str]) -> (i32, Value) {
    examined_with("", rule, arguments)
}

/// The result of a check with additional lines in the file of cases.
fn examined_with(more: &str, rule: &str, arguments: &[&str]) -> (i32, Value) {
    let server = server();
    // Its things are shown at once: one that is not there is its fault.
    let bench = bench(&format!(
        "{{acme/faulty: {{source: faulty.wasm, limits: {{grace: 0s}}, grants: {{\
         dirs: [{{host: ./data, guest: /things, mode: rw}}], tcp: ['{server}']}}}}}}"
    ));
    bench.write("faulty.wasm", breaking(rule));
    let cases = std::fs::read_to_string(root().join("tests/faulty/check.yaml")).expect("read");
    bench.write("check.yaml", cases.replace("${server}", &server) + more);
    let arguments = [&["./faulty.wasm", "--format", "json"], arguments].concat();
    let mut command = check(&bench, &arguments);
    if rule == "cancel" {
        // Its calls do not end however long they have.
        command.env_remove("PURLIN_CANCEL_TIME");
    }
    let ran = ran(command);
    (ran.status, ran.json())
}

fn every_rule() -> Vec<String> {
    let listed = checked(&bench("{}"), &["--rules", "--format", "json"]).json();
    let rules = listed["rules"].as_array().expect("rules").clone();
    rules.iter().map(|rule| rule["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn an_honest_driver_keeps_every_rule() {
    let (status, report) = examined("none", &[]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(rules(&report, "ok"), every_rule(), "{report:#}");
}

/// The contract permits a `create` that fails with `undecided` to leave an object. The examination deletes it.
#[test]
fn an_undecided_create_may_leave_an_object() {
    let (status, report) = examined("undecided", &["--rule", "create.clean"]);
    assert_eq!((status, rules(&report, "ok")), (0, vec!["create.clean".to_owned()]), "{report:#}");
    assert_eq!(report["left"], serde_json::json!([]), "{report:#}");
}

#[test]
fn each_rule_has_a_driver_that_breaks_only_it() {
    let rules = every_rule();
    let started = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some(rule) = rules.get(started.fetch_add(1, Ordering::Relaxed)) {
                    let found = broken_alone(rule);
                    wrong.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(started.into_inner() >= rules.len(), "{rules:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks the driver that breaks a rule. Returns what is wrong if the report does not name exactly this
/// rule.
fn broken_alone(rule: &str) -> Option<String> {
    let (status, report) = examined(rule, &[]);
    let examined = report["rules"].as_array().expect("rules");
    for finding in examined.iter().filter_map(|rule| rule["findings"].as_array()).flatten() {
        assert!(finding["what"].is_string() && finding["expected"].is_string(), "{finding:#}");
    }
    assert!(!report.to_string().contains("correct-horse-battery"), "`{rule}` shows a secret");
    let failed = rules(&report, "failed");
    let is_right = failed == [rule] && status == 1;
    (!is_right).then(|| format!("`{rule}` gives {failed:?} and status {status}"))
}

/// One rule holds all that a preview promises. The findings name each part of it that is broken.
#[test]
fn a_preview_that_acts_varies_or_guesses_is_caught() {
    let guessed = |places: &str| {
        format!(
            "the output `/title` is certain while {places} are not known, and is another one when they are"
        )
    };
    for (fault, expected) in [
        (
            "preview.acting",
            vec![
                "after `preview`, `read` finds another `bytes`".to_owned(),
                "after `preview`, `read` finds no resource".to_owned(),
                "after `preview`, `read` finds the resource".to_owned(),
            ],
        ),
        (
            "preview.varying",
            vec![
                "the output `/bytes` was certain in the forecast, and is another one".to_owned(),
                "the same request returned another forecast before".to_owned(),
            ],
        ),
        ("preview.guessing", vec![guessed("`/values/text`, `/values/title`"), guessed("`/values/title`")]),
    ] {
        let (status, report) = examined(fault, &["--rule", "preview.keeps"]);
        assert_eq!((status, rules(&report, "failed")), (1, vec!["preview.keeps".to_owned()]), "{report:#}");
        let findings = report["rules"][0]["findings"].as_array().expect("findings");
        let found: BTreeSet<&str> = findings.iter().filter_map(|finding| finding["what"].as_str()).collect();
        assert!(expected.iter().all(|what| found.contains(&**what)), "`{fault}` gives {found:#?}");
    }
}

#[test]
fn a_rule_can_be_tried_alone() {
    let (status, report) = examined("create.cut", &["--rule", "create.cut"]);
    assert_eq!((status, rules(&report, "failed")), (1, vec!["create.cut".to_owned()]));
    assert_eq!(report["rules"].as_array().map(Vec::len), Some(1));
    let (status, report) = examined("create.cut", &["--rule", "read.values"]);
    assert_eq!((status, rules(&report, "ok")), (0, vec!["read.values".to_owned()]));
}

/// What is pending is looked at until it is ready, as a run does, and then examined.
#[test]
fn what_is_ready_later_is_examined_then() {
    let (status, report) = examined("late", &["--rule", "read.values"]);
    assert_eq!((status, rules(&report, "failed")), (1, vec!["read.values".to_owned()]), "{report:#}");
}

/// A call without an answer keeps no rule, also if only another rule than that of answers is examined.
#[test]
fn a_call_without_an_answer_breaks_the_rule_that_is_tried_alone() {
    let (status, report) = examined("answers", &["--rule", "create.works"]);
    assert_eq!((status, rules(&report, "failed")), (1, vec!["create.works".to_owned()]), "{report:#}");
}

#[test]
fn a_rule_can_be_left_out_with_a_reason() {
    let skip = "skip: [{rule: read.values, why: it is slow}]\n";
    let (status, report) = examined_with(skip, "read.values", &[]);
    assert_eq!((status, rules(&report, "skipped")), (0, vec!["read.values".to_owned()]), "{report:#}");
}
