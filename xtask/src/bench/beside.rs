//! `cargo xtask bench beside`: measures the cost of an environment next to many others in the same
//! state.
//!
//! All environments have the same number of resources. A command should only pay for its own
//! environment, so the figures should be the same in each row.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::process;
use super::purlin::write_documents;
use super::series::Series;
use super::shape::Shape;
use super::task::write;
use crate::build;
use crate::step::{built, root, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Resources of each environment.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    size: usize,
    /// How many other environments there are, one row each, in ascending order.
    #[arg(long, value_name = "COUNT", default_values_t = [0, 10, 100, 1_000])]
    others: Vec<usize>,
    /// Runs of each command, after one to warm up.
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Do not build; use the program of an earlier build.
    #[arg(long)]
    no_build: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let purlin = program(arguments.no_build)?;
    let folder = folder("beside-")?;
    let folder = folder.path();
    let workspace = "apiVersion: purlin.dev/v1\nkind: Workspace\nmetadata: {name: bench}\nspec: {}\n";
    write(folder, "purlin.yaml", [workspace.to_owned()])?;
    write_documents(Shape::Layers, arguments.size, folder)?;
    name_no_environment(folder)?;
    let up = |name: &str| {
        let words = ["up", "--yes", "--quiet", "--new-environment", "--env", name];
        process::run(&mut command(&purlin, &words), folder).map(drop)
    };
    up("measured")?;
    println!(
        "| an environment of {} beside | plan, nothing changed | apply, nothing changed |",
        arguments.size
    );
    println!("|---|--:|--:|");
    let mut there = 0;
    for &others in &arguments.others {
        step(&format!("{others} others"), || {
            (there..others).try_for_each(|number| up(&format!("other-{number}")))
        })?;
        there = there.max(others);
        let mut cells: Vec<String> = Vec::new();
        for words in [&["plan"][..], &["up", "--yes", "--quiet"]] {
            let words: Vec<&str> = words.iter().copied().chain(["--env", "measured"]).collect();
            cells.push(cell(|| command(&purlin, &words), folder, arguments.runs)?);
        }
        println!("| {others} others | {} |", cells.join(" | "));
    }
    Ok(())
}

/// The path of the program, which is built first unless `no_build` is set.
pub(super) fn program(no_build: bool) -> anyhow::Result<PathBuf> {
    if !no_build {
        build::run(&build::Arguments { release: true })?;
    }
    Ok(built(true).join(format!("purlin{}", std::env::consts::EXE_SUFFIX)))
}

/// A folder for a measurement.
pub(super) fn folder(prefix: &str) -> anyhow::Result<tempfile::TempDir> {
    let target = root().join("target/bench");
    fs::create_dir_all(&target)?;
    Ok(tempfile::Builder::new().prefix(prefix).tempdir_in(target)?)
}

/// Runs a command once to warm up and then `runs` times. Returns the median and the range of the
/// times, and the median of the peak memory.
pub(super) fn cell(command: impl Fn() -> Command, folder: &Path, runs: usize) -> anyhow::Result<String> {
    let (mut times, mut memory) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
    for run in 0..=runs {
        let usage = process::run(&mut command(), folder)?;
        if run > 0 {
            times.push(usage.wall.as_secs_f64());
            memory.push(usage.peak as f64);
        }
    }
    let times = Series::of(times).context("nothing was measured")?;
    let memory = Series::of(memory).context("nothing was measured")?;
    Ok(format!(
        "{:.0} ms ({:.0} to {:.0}), {:.0} MiB",
        times.median * 1e3,
        times.min * 1e3,
        times.max * 1e3,
        memory.median / f64::from(1 << 20)
    ))
}

/// Removes the environment from the documents, since the command line names it.
pub(super) fn name_no_environment(folder: &Path) -> anyhow::Result<()> {
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.is_file() {
            let text = fs::read_to_string(&path)?;
            fs::write(&path, text.replace("\n  env: dev\n", "\n"))?;
        }
    }
    Ok(())
}

pub(super) fn command(purlin: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(purlin);
    command.args(words).env("NO_COLOR", "1").env_remove("RUST_LOG");
    command
}
