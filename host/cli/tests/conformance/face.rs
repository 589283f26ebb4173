//! Tests of the output for people and for programs.

use purlin_systems::project::{ran_with, signal, started};
use purlin_systems::tools::component;

use crate::bench::{bench, check, checked, rules};

#[test]
fn without_cases_the_error_shows_an_example() {
    let bench = bench("{}");
    let ran = checked(&bench, &["purlin/echo"]);
    assert_eq!(ran.status, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("generated from its schema"), "{}", ran.out);
    for (arguments, wanted) in [
        (&["purlin/fil"][..], "fil"),
        (&["./nothing.wasm"], "cannot be read"),
        (&["purlin/echo", "--rule", "create.cat"], "there is no rule `create.cat`"),
        (&["purlin/echo", "--rule", "create.cat"], "hint: did you mean `create.cut`?"),
        (&["purlin/echo", "--cases", "nowhere.yaml"], "nowhere.yaml"),
        (&[], "needs FILE|NAME"),
    ] {
        let ran = checked(&bench, arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}\n{}", ran.out, ran.err);
        assert!(ran.err.contains(wanted), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn faults_of_cases_have_their_place() {
    let bench = bench("{}");
    for (cases, wanted) in [
        ("cases: []\n", "check.yaml:1:8"),
        ("cases:\n- name: a\n  inputs: {values: 7}\n", "check.yaml:3:20"),
        ("cases:\n- {name: a, inputs: {}, skip: [{rule: x.y, why: z}]}\n", "there is no rule `x.y`"),
        (
            "cases:\n- {name: a, type: dns, inputs: {}}\n",
            "of type `dns`, which the driver does not provision",
        ),
    ] {
        bench.write("check.yaml", cases);
        let driver = if wanted.contains("provision") { "purlin/faulty" } else { "purlin/echo" };
        let bench_driver = component("faulty");
        let file = bench_driver.to_str().expect("UTF-8");
        let driver = if driver == "purlin/faulty" { file } else { driver };
        let ran = checked(&bench, &[driver, "--cases", "check.yaml"]);
        assert_eq!(ran.status, 2, "{cases}: {}\n{}", ran.out, ran.err);
        assert!(ran.err.contains(wanted), "{cases}: {}", ran.err);
    }
}

#[test]
fn a_report_reads_within_80_columns() {
    let bench = bench("{}");
    bench.write("check.yaml", "cases:\n- {name: a, inputs: {values: {kind: pet}}, invalid: [{values: {separator: x}, at: [/values/separator]}]}\n");
    let ran = checked(&bench, &["purlin/random"]);
    assert_eq!(ran.status, 1, "{}\n{}", ran.out, ran.err);
    for line in ran.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for wanted in [
        "failed   check.faults",
        "it accepts inputs that are wrong at `/values/separator`",
        "expected",
        "skipped  read.finds",
    ] {
        assert!(ran.out.contains(wanted), "{wanted}: {}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
}

#[test]
fn each_misdeed_of_the_adversary_is_found() {
    let bench = bench("{}");
    let file = component("guests");
    let file = file.to_str().expect("UTF-8");
    for (deed, rule) in [
        ("trap", "answers"),
        ("panic", "answers"),
        ("exit", "answers"),
        ("alloc", "answers"),
        ("stack", "answers"),
        ("junk", "answers"),
        ("list", "answers"),
        ("huge", "answers"),
        ("twice", "answers"),
        ("twins", "answers"),
        ("empty-id", "answers"),
        ("long-id", "answers"),
        ("cookie", "answers"),
        ("leak", "secrets.hidden"),
        ("leak-id", "secrets.hidden"),
        ("say", "secrets.hidden"),
        ("invalid", "create.works"),
    ] {
        bench.write(
            "check.yaml",
            format!("cases:\n- {{name: a, type: thing, inputs: {{values: {{do: {deed}}}, secrets: {{password: correct-horse}}}}}}\nskip: [{{rule: read.none, why: it finds whatever it is asked for}}]\n"),
        );
        let ran = checked(&bench, &[file, "--cases", "check.yaml", "--format", "json"]);
        let report = ran.json();
        assert_eq!(ran.status, 1, "{deed}");
        assert!(rules(&report, "failed").iter().any(|failed| failed == rule), "{deed}: {report:#}");
        assert!(!ran.out.contains("correct-horse"), "{deed}: {report:#}");
    }
}

#[cfg(unix)]
#[test]
fn driver_check_watches_until_it_is_interrupted() {
    use std::io::{BufRead as _, BufReader};
    let bench = bench("{}");
    bench.write("check.yaml", "cases:\n- {name: first, inputs: {}}\n");
    let arguments = ["purlin/echo", "--cases", "check.yaml", "--watch", "--format", "json"];
    let mut child = started(check(&bench, &arguments));
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut waits = stderr.lines().map_while(Result::ok).filter(|line| line.contains("waiting for a change"));
    assert!(waits.next().is_some(), "it waits");
    bench.write("check.yaml", "cases:\n- {name: second, inputs: {}}\n");
    assert!(waits.next().is_some(), "it ran again");
    signal(&child, "-INT");
    let out = ran_with(child).status(0).out;
    assert!(out.contains("\"first\"") && out.contains("\"second\""), "{out}");
}
