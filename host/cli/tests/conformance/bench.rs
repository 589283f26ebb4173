//! A folder with a workspace, in which the program checks a driver.

use std::process::Command;

use purlin_systems::project::{Project, Ran, ran};
use serde_json::Value;

/// `drivers` is the text below `drivers` in the workspace. A driver may write to `./data` if this text
/// grants it.
pub(crate) fn bench(drivers: &str) -> Project {
    let bench = Project::empty();
    std::fs::create_dir(bench.path().join("data")).expect("made");
    let workspace = format!("apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers: {drivers}\n");
    bench.write("purlin.yaml", workspace);
    bench
}

/// A check, ready to run.
pub(crate) fn check(bench: &Project, arguments: &[&str]) -> Command {
    let mut command = bench.command(&[&["driver", "check"], arguments].concat());
    // Time for every place at which a call can be cut off.
    command.env("PURLIN_CUT_TIME", "300");
    command
}

/// A check that ran to its end.
#[track_caller]
pub(crate) fn checked(bench: &Project, arguments: &[&str]) -> Ran {
    ran(check(bench, arguments))
}

/// The ids of the rules with this status.
#[track_caller]
pub(crate) fn rules(report: &Value, status: &str) -> Vec<String> {
    let rules = report["rules"].as_array().unwrap_or_else(|| panic!("no rules: {report:#}"));
    rules
        .iter()
        .filter(|rule| rule["status"] == status)
        .map(|rule| rule["id"].as_str().expect("an id").to_owned())
        .collect()
}
