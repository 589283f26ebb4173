//! Tests of runs that are interrupted by Ctrl-C or killed.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use purlin_systems::project::{Project, read_until, signal, started};
use purlin_systems::tools::program;

use crate::adversary::adversarial;
use crate::gate::Gate;

/// The project with many resources, half of them things.
fn with_many(project: Project) -> Project {
    let shared: String =
        (0..40).map(|n| format!("    s{n}: {{type: thing}}\n    d{n}: {{type: dns}}\n")).collect();
    project.write(
        "deploy.yaml",
        format!("apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec:\n  shared:\n{shared}"),
    );
    project
}

#[test]
fn killed_at_any_time_the_state_opens_again() {
    let project = with_many(adversarial("{do: sleep, ms: 400}", "{time: 10m}"));
    for wait in [20, 60, 150, 300, 450] {
        let mut child = project.start(&["up", "--yes", "--parallelism", "4"]);
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().expect("killed");
        child.wait().expect("ended");
        project.run(&["state", "list"]).status(0);
    }
    project.edit("things.yaml", "do: sleep", "do: echo");
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(project.run(&["plan", "--detailed-exitcode"]).status(0).status, 0);
    project.run(&["destroy", "--yes"]).status(0);
    assert_eq!(project.recorded(), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_calls_in_flight_and_a_second_one_cuts_them_off() {
    let mut gate = Gate::new();
    let project = with_many(gate.project());
    let mut child = project.start(&["up", "--yes", "--parallelism", "2", "--format", "json"]);
    let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let mut errors = BufReader::new(child.stderr.take().expect("stderr"));
    gate.wait();
    signal(&child, "-INT");
    read_until(&mut errors, "press Ctrl-C again");
    gate.open();
    let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
    assert_eq!(child.wait().expect("ended").code(), Some(1));
    let last: serde_json::Value = serde_json::from_str(rest.last().expect("a summary")).expect("JSON");
    assert_eq!((&last["event"], &last["status"]), (&"summary".into(), &"cancelled".into()));
    assert_eq!(last["failed"], 0, "calls in flight finish");
    assert!(last["skipped"].as_u64().is_some_and(|skipped| skipped > 0));
    project.run(&["state", "list"]).status(0);

    // Here the call does not end by itself.
    let mut gate = Gate::new();
    let project = gate.project();
    let mut child = project.start(&["up", "--yes", "--format", "json"]);
    let mut errors = BufReader::new(child.stderr.take().expect("stderr"));
    gate.wait();
    let begun = Instant::now();
    signal(&child, "-INT");
    // Two signals at once may count as one.
    read_until(&mut errors, "press Ctrl-C again");
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    project.run(&["state", "list"]).status(0);
}

#[cfg(unix)]
#[test]
fn a_closed_terminal_finishes_calls_in_flight() {
    for (nohup, status) in [(false, Some(1)), (true, Some(0))] {
        let mut gate = Gate::new();
        let project = gate.project();
        let two = (0..2).map(|n| format!("    s{n}: {{type: thing}}\n")).collect::<String>();
        project.write(
            "deploy.yaml",
            format!("apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec:\n  shared:\n{two}"),
        );
        let arguments = ["up", "--yes", "--parallelism", "1", "--format", "json"];
        let mut child = match nohup {
            false => project.start(&arguments),
            true => {
                let mut nohup = std::process::Command::new("nohup");
                nohup.arg(program());
                started(project.in_place(nohup, &arguments))
            }
        };
        let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let mut errors = BufReader::new(child.stderr.take().expect("stderr"));
        gate.wait();
        signal(&child, "-HUP");
        if !nohup {
            read_until(&mut errors, "press Ctrl-C again");
        }
        gate.open();
        let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
        assert_eq!(child.wait().expect("ended").code(), status, "nohup {nohup}: {rest:#?}");
        let last: serde_json::Value = serde_json::from_str(rest.last().expect("a summary")).expect("JSON");
        let word = if nohup { "succeeded" } else { "cancelled" };
        assert_eq!((&last["status"], &last["failed"]), (&word.into(), &0.into()));
        let list = project.run(&["state", "list", "--format", "json"]).status(0).json();
        assert!(!list.to_string().contains("pending"), "{list}");
    }
}
