//! Runs an example on real servers from a fresh checkout: starts the servers on loopback, deploys a
//! copy of the example, shows the result, destroys it, and stops the servers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use purlin_systems::Example;

use crate::step::{built, step};
use crate::{build, tools};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave everything running until Enter is pressed, for experiments.
    #[arg(long)]
    stay: bool,
    /// Build the program with optimisations, which takes longer.
    #[arg(long)]
    release: bool,
}

const UP: &[&str] = &["up", "apps", "platform", "--yes"];

pub(crate) fn run<E: Example>(
    name: &str,
    start: impl FnOnce() -> Option<E>,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    tools::run_all(&tools::Arguments::default())?;
    build::run(&build::Arguments { release: arguments.release })?;
    let purlin = built(arguments.release).join(format!("purlin{}", std::env::consts::EXE_SUFFIX));
    let example = step("servers", || start().context("a server is not installed"))?;
    let scratch = tempfile::Builder::new().prefix(&format!("purlin-{name}-")).tempdir()?;
    example.put_into(scratch.path());
    show(&example);
    let command = |arguments: &[&str]| command(&purlin, scratch.path(), arguments);
    command(&["graph", "apps", "platform"])?;
    command(UP)?;
    show(&example);
    command(&["outputs", "apps", "platform"])?;
    // Nothing has changed: everything is read, and nothing is updated.
    command(&[UP, &["--refresh"]].concat())?;
    if arguments.stay {
        eprintln!("==> everything is deployed; in another terminal:");
        eprintln!("    cd {}", scratch.path().display());
        eprintln!("    {} up apps platform --refresh", purlin.display());
        for hint in example.hints() {
            eprintln!("    {hint}");
        }
        eprintln!("    press Enter to delete everything again");
        std::io::stdin().read_line(&mut String::new())?;
    }
    command(&["destroy", "--yes", "--allow-data-loss"])?;
    let left = example.inventory();
    if !left.is_empty() {
        bail!("left behind: {}", left.join(", "));
    }
    show(&example);
    Ok(())
}

fn command(purlin: &Path, folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let shown = format!("purlin {}", arguments.join(" "));
    step(&shown, || {
        let status = Command::new(purlin).args(arguments).current_dir(folder).status();
        let status = status.with_context(|| format!("cannot run {}", purlin.display()))?;
        ensure!(status.success(), "`{shown}` failed ({status})");
        Ok(())
    })
}

/// Shows the contents of the servers, without asking Purlin.
fn show(example: &impl Example) {
    eprintln!("==> on the servers");
    if example.inventory().is_empty() {
        eprintln!("    nothing");
        return;
    }
    for line in example.shown().lines() {
        eprintln!("    {line}");
    }
}
