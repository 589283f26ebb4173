//! `cargo xtask deny`: checks that dependencies comply with `deny.toml`: their licences, their
//! sources, and known vulnerabilities.

use std::path::PathBuf;
use std::process::Command;

use crate::step::{cargo, root, run, step, works};

/// The version that `deny.toml` is written for.
const VERSION: &str = "0.20.2";

pub(crate) fn run_all() -> anyhow::Result<()> {
    install()?;
    step("licences, sources and versions of dependencies", || {
        run(deny().args(["check", "bans", "licenses", "sources"]))
    })?;
    step("known vulnerabilities of dependencies", advisories)
}

/// Checks for known vulnerabilities. Their database is a remote git repository; if it cannot be
/// fetched, this is reported.
fn advisories() -> anyhow::Result<()> {
    if works(deny().args(["fetch", "db"])) {
        return run(deny().args(["--offline", "check", "advisories"]));
    }
    eprintln!("    NOT CHECKED: the database of advisories cannot be fetched from github.com");
    Ok(())
}

/// The folder of the program, next to the other tools.
fn folder() -> PathBuf {
    root().join("target/tools/cargo")
}

fn program() -> PathBuf {
    folder().join("bin").join("cargo-deny").with_extension(std::env::consts::EXE_EXTENSION)
}

fn deny() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root());
    command
}

/// Builds the program if it is missing. A debug build is enough, since it runs only for seconds.
pub(crate) fn install() -> anyhow::Result<()> {
    let is_there = Command::new(program()).arg("--version").output().is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("cargo-deny {VERSION}")
    });
    if is_there {
        return Ok(());
    }
    step("cargo deny", || {
        run(cargo()
            .args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--quiet"])
            .args(["--no-default-features", "--root"])
            .arg(folder())
            .arg("--target-dir")
            .arg(folder().join("build")))
    })
}
