//! The crate to embed, as it is published: a program of ten lines outside of the workspace is built
//! from the packages, and deploys.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::Command;

use purlin_systems::{published, tools};

/// A definition of a built-in driver, and what uses it.
const PLATFORM: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: greeting}
spec: {type: greeting, driver: purlin/echo, inputs: {values: {text: hello}}, criteria: [{}]}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {app: shop, shared: {one: {type: greeting}}}
";

#[track_caller]
fn run(command: &mut Command) -> String {
    let done = command.output().expect("a program");
    let output =
        format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?} failed:\n{output}");
    output
}

/// A cargo that knows nothing of this repository: neither its configuration, nor its variables.
fn elsewhere(folder: &Path, target: &Path) -> Command {
    let mut cargo = published::cargo();
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
    cargo.env_remove("PURLIN_DRIVERS_DIR").env_remove("PURLIN_DRIVERS");
    cargo
}

#[test]
fn a_program_is_built_from_the_packages_and_deploys() {
    let target = tools::root().join("target/embed");
    let crates = published::crates();
    let files = published::package(&target, &crates);

    // In a fixed place, because the next run finds the compiled dependencies again.
    let unpacked = target.join("crates");
    let _ = std::fs::remove_dir_all(&unpacked);
    std::fs::create_dir_all(&unpacked).expect("a folder");
    let mut patches = String::from("\n[patch.crates-io]\n");
    for (one, file) in crates.iter().zip(&files) {
        // With the time of unpacking, by which cargo sees that a file changed.
        run(Command::new("tar").args(["xzmf"]).arg(file).arg("-C").arg(&unpacked));
        let (name, version) = (one["name"].as_str().expect("a name"), one["version"].as_str().expect("one"));
        let path = unpacked.join(format!("{name}-{version}"));
        patches += &format!("{name} = {{ path = {path:?} }}\n");
    }

    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("written");
    };
    let example = tools::root().join("examples/embed");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).expect("the example");
    let manifest = read("Cargo.toml");
    let published = manifest.replace("path = \"../../host/purlin\"", "version = \"0.1.0\"");
    assert_ne!(manifest, published);
    // The example is small, and nothing waits for its speed: only its size costs time.
    let profile = "\n[profile.dev]\ndebug = false\nincremental = false\n";
    write("Cargo.toml", &format!("{published}{patches}{profile}"));
    write("src/main.rs", &read("src/main.rs"));
    write("platform/platform.yaml", PLATFORM);
    std::fs::copy(tools::root().join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("versions");

    let said = run(elsewhere(folder.path(), &target).args(["run", "--quiet"]));
    assert!(said.contains("greeting.default#shared.one") && said.contains("Summary"), "{said}");

    // Nothing that it did not ask for.
    let tree = run(elsewhere(folder.path(), &target).args(["tree", "--prefix", "none", "--edges", "normal"]));
    assert!(tree.contains("purlin-builtin") && !tree.contains("postgres"), "{tree}");
    write(
        "Cargo.toml",
        &format!("{}{patches}{profile}", published.replace(", features = [\"builtin-drivers\"]", "")),
    );
    let tree = run(elsewhere(folder.path(), &target).args(["tree", "--prefix", "none", "--edges", "normal"]));
    // Beside the tree, cargo says which of the packages it did not need.
    let has = |name: &str| tree.lines().any(|line| line.starts_with(name));
    assert!(has("purlin-host") && !has("purlin-builtin"), "{tree}");
}
