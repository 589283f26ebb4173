//! `cargo xtask quickstart`: from a fresh checkout to provisioned resources.
//!
//! Builds the targets, the drivers of the example and the program with them, and runs the example
//! in a temporary copy, so that the checkout stays unchanged. Building the other drivers would take
//! minutes longer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::step::{root, step};
use crate::{build, drivers};

/// The drivers that the example uses.
const DRIVERS: [&str; 4] = ["dns-wildcard", "echo", "random", "template"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep the temporary copy, and print its path.
    #[arg(long)]
    keep: bool,
    /// Build the program with optimisations, which takes longer.
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    build::with(&drivers::Arguments {
        release: arguments.release,
        no_tests: true,
        only: DRIVERS.map(str::to_owned).to_vec(),
        ..Default::default()
    })?;
    let scratch = tempfile::Builder::new().prefix("purlin-quickstart-").tempdir()?;
    copy(&root().join("examples/quickstart"), scratch.path())?;
    let purlin = binary(arguments.release);
    for command in [
        &["graph"][..],
        &["up", "--yes"],
        &["outputs"],
        // Nothing has changed, so no driver is called.
        &["up", "--yes"],
        &["destroy", "--yes"],
    ] {
        step(&format!("purlin {}", command.join(" ")), || {
            let status = Command::new(&purlin).args(command).current_dir(scratch.path()).status();
            let status = status.with_context(|| format!("cannot run {}", purlin.display()))?;
            anyhow::ensure!(status.success(), "`purlin {}` failed ({status})", command.join(" "));
            Ok(())
        })?;
    }
    if arguments.keep {
        eprintln!("==> the copy is kept in {}", scratch.keep().display());
    }
    eprintln!("==> the program is {}, with the drivers of the example only", purlin.display());
    eprintln!("    `cargo xtask build` builds it with all drivers");
    eprintln!("    to try it yourself: cd examples/quickstart, and then `{} up`", purlin.display());
    Ok(())
}

/// The path of the built program.
fn binary(release: bool) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let name = format!("purlin{}", std::env::consts::EXE_SUFFIX);
    root().join(target).join(if release { "release" } else { "debug" }).join(name)
}

/// Copies a folder without hidden files, which may include an old state.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}
