//! `cargo xtask check`: checks a change between edits. It checks only what changed since the last
//! success.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::step::{self, cargo, output, root, step, works};
use crate::{deny, workflows};

/// Files that every crate depends on.
const FOR_ALL: [&str; 4] = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo/config.toml"];

/// The contract, from which the host, the SDKs and the drivers generate code.
const CONTRACT: &str = "wit/";

/// Files that decide which dependencies are allowed.
const FOR_DEPENDENCIES: [&str; 2] = ["Cargo.lock", "deny.toml"];

/// The workflow files of GitHub.
const WORKFLOWS: &str = ".github/workflows/";

/// The crate that includes files from elsewhere: the SDKs, examples and pages of the book.
const INCLUDES: &str = "purlin-cli";

pub(crate) fn run() -> anyhow::Result<()> {
    let now = tree()?;
    let passed = root().join("target/check.tree");
    let before = std::fs::read_to_string(&passed).ok();
    if before.as_ref() == Some(&now) {
        println!("nothing changed since the last check that passed");
        return Ok(());
    }
    // Without an earlier tree, or if git has removed it, everything counts as new.
    let changed = before.and_then(|before| changed(&before, &now).ok());
    let crates = match &changed {
        Some(changed) => Some(crates(changed)?),
        None => None,
    };
    step("format", || step::run(cargo().args(["fmt", "--all", "--check"])))?;
    if crates.as_ref().is_none_or(|crates| !crates.is_empty()) {
        step("lints", || {
            let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
            step::run(cargo().args(lints))
        })?;
        step("unit tests of what changed and what depends on it", || unit_tests(crates.as_ref()))?;
    }
    let has =
        |is_it: fn(&str) -> bool| changed.as_ref().is_none_or(|files| files.iter().any(|file| is_it(file)));
    if has(|file| FOR_DEPENDENCIES.contains(&file)) {
        deny::run_all()?;
    }
    if has(|file| file.starts_with(WORKFLOWS)) {
        match workflows::can_run() {
            true => workflows::run_all()?,
            // Contributors need node for nothing else between edits; `ci` installs it.
            false => eprintln!("    NOT CHECKED: the workflow files, because node or npm is not installed"),
        }
    }
    std::fs::create_dir_all(root().join("target"))?;
    std::fs::write(passed, now).context("cannot record that the check passed")
}

/// The current tree of all files, including uncommitted ones.
fn tree() -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let index = folder.path().join("index");
    let git = |arguments: &[&str]| {
        output(Command::new("git").args(arguments).env("GIT_INDEX_FILE", &index))
            .context("`cargo xtask check` compares the files with git")
    };
    // git starts with the committed index, so that it reads only changed files.
    let committed = output(Command::new("git").args(["rev-parse", "--git-path", "index"]))?;
    if let Err(error) = std::fs::copy(root().join(committed), &index) {
        eprintln!("    cannot copy git's index ({error}); reading all files");
    }
    git(&["add", "--all"])?;
    git(&["write-tree"])
}

/// The files that differ between two trees.
fn changed(before: &str, now: &str) -> anyhow::Result<Vec<String>> {
    let names = output(Command::new("git").args(["diff-tree", "-r", "--name-only", before, now]))?;
    Ok(names.lines().map(str::to_owned).collect())
}

/// The crates that files belong to.
fn crates(files: &[String]) -> anyhow::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let mut packages = serde_json::from_str::<Metadata>(&metadata)?.packages;
    // A crate inside the folder of another one comes first.
    packages.sort_by_key(|package| std::cmp::Reverse(package.manifest_path.as_os_str().len()));
    Ok(owners(files, &packages))
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

fn owners(files: &[String], packages: &[Package]) -> BTreeSet<String> {
    if files.iter().any(|file| FOR_ALL.contains(&file.as_str()) || file.starts_with(CONTRACT)) {
        return packages.iter().map(|package| package.name.clone()).collect();
    }
    let owner = |file: &String| {
        let path = root().join(file);
        let mut owners = packages.iter().filter(|package| {
            package.manifest_path.parent().is_some_and(|folder| folder != root() && path.starts_with(folder))
        });
        owners.next().map_or(INCLUDES, |package| &package.name).to_owned()
    };
    files.iter().map(owner).collect()
}

/// Runs the unit tests of these crates, or of all.
fn unit_tests(crates: Option<&BTreeSet<String>>) -> anyhow::Result<()> {
    let within = "kind(lib) | kind(bin) | kind(proc-macro)";
    let tests = match crates {
        Some(crates) => {
            let dependents: Vec<_> = crates.iter().map(|name| format!("rdeps({name})")).collect();
            format!("({within}) & ({})", dependents.join(" | "))
        }
        None => within.to_owned(),
    };
    if works(Command::new("cargo-nextest").args(["nextest", "--version"])) {
        let nextest =
            ["nextest", "run", "--workspace", "--lib", "--bins", "--no-fail-fast", "--no-tests=pass"];
        return step::run(cargo().args(nextest).args(["--status-level=fail", "-E", &tests]));
    }
    eprintln!("    cargo-nextest is not installed; `cargo test` runs the unit tests of all crates");
    step::run(cargo().args(["test", "--workspace", "--lib", "--bins", "--no-fail-fast"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_the_innermost_crate() {
        let package = |name: &str, folder: &str| Package {
            name: name.into(),
            manifest_path: root().join(folder).join("Cargo.toml"),
        };
        let packages = [package("inner", "host/a/inner"), package("a", "host/a"), package("b", "host/b")];
        let of = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            owners(&files, &packages).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(&["host/a/inner/src/lib.rs"]), ["inner"]);
        assert_eq!(of(&["host/a/src/lib.rs", "host/b/Cargo.toml"]), ["a", "b"]);
        assert_eq!(of(&["host/ab/src/lib.rs", "docs/src/introduction.md"]), [INCLUDES]);
        assert_eq!(of(&["Cargo.lock"]), ["a", "b", "inner"]);
        assert_eq!(of(&["wit/driver.wit"]), ["a", "b", "inner"]);
        assert!(of(&[]).is_empty());
    }
}
