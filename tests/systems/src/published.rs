//! The crates of the workspace that others use: those to embed Purlin, those to write drivers, and
//! every crate of ours that they need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::tools;

/// The crates that others name in their manifests.
const NAMED: [&str; 5] = ["purlin-host", "purlin-sdk", "purlin-sdk-aws", "purlin-sdk-http", "purlin-sdk-net"];

/// Them and their dependencies in the workspace, as `cargo metadata` describes them, sorted by name.
///
/// # Panics
/// If cargo fails.
pub fn crates() -> Vec<Value> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let done = cargo().args(arguments).current_dir(tools::root()).output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&done.stdout).expect("metadata");
    let all = metadata["packages"].as_array().expect("packages");
    let named = |name: &str| all.iter().find(|one| one["name"] == name).expect("a crate of the workspace");
    let mut names: BTreeSet<&str> = NAMED.into();
    let mut queue: Vec<&str> = NAMED.into();
    while let Some(name) = queue.pop() {
        let dependencies = named(name)["dependencies"].as_array().expect("dependencies");
        // Dependencies for tests are not published.
        let ours = dependencies.iter().filter(|one| one["path"].is_string() && one["kind"] != "dev");
        for name in ours.filter_map(|one| one["name"].as_str()) {
            if names.insert(name) {
                queue.push(name);
            }
        }
    }
    names.into_iter().map(|name| named(name).clone()).collect()
}

/// Packages them with `cargo package`, and returns the files. Compiles and downloads nothing.
/// The built-in drivers must be built.
///
/// # Panics
/// If cargo fails.
pub fn package(target: &Path, crates: &[Value]) -> Vec<PathBuf> {
    let mut command = cargo();
    command
        .args(["package", "--quiet", "--no-verify", "--allow-dirty", "--offline", "--target-dir"])
        .arg(target);
    command.args(crates.iter().flat_map(|one| ["-p", one["name"].as_str().expect("a name")]));
    let done = command.current_dir(tools::root()).output().expect("cargo runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = |one: &Value| {
        let part = |field: &str| one[field].as_str().expect("a text").to_owned();
        target.join("package").join(format!("{}-{}.crate", part("name"), part("version")))
    };
    crates.iter().map(file).collect()
}

/// The cargo that runs the tests.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
