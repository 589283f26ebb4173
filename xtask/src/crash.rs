//! `cargo xtask crash`: interrupts each command that writes at each of its system calls.

use std::process::Command;

use crate::drivers;
use crate::step::{self, cargo, step, works};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Check only this command, such as `up` or `state-key-rotate`.
    #[arg(long)]
    command: Option<String>,
    /// Check this many cuts of each command, chosen by the seed, instead of all; the ordinary tests
    /// check 8.
    #[arg(long)]
    each: Option<usize>,
    /// Check only kills.
    #[arg(long, conflicts_with = "power")]
    kill: bool,
    /// Check only power failures.
    #[arg(long)]
    power: bool,
    /// Power failures after each call; each keeps a different part of the unsynced changes.
    #[arg(long, default_value_t = 6)]
    variants: u64,
    /// Begin at the call with this number.
    #[arg(long, default_value_t = 0)]
    from: usize,
    /// The seed that determines what power failures keep.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check this many cuts concurrently [default: one per processor].
    #[arg(long)]
    jobs: Option<usize>,
    /// Repeat the check of a kept faulty cut, given the name of the fault.
    #[arg(long, requires = "command")]
    again: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    anyhow::ensure!(
        works(Command::new("strace").arg("--version")),
        "strace is not installed; `cargo xtask tools` installs it"
    );
    drivers::run(&drivers::Arguments::default())?;
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, Into::into));
    let mode = if arguments.kill { "kill" } else { "power" };
    let settings = [
        ("COMMAND", arguments.command.clone()),
        ("EACH", Some(arguments.each.map_or("all".to_owned(), |each| each.to_string()))),
        ("MODE", (arguments.kill || arguments.power).then(|| mode.to_owned())),
        ("POWER", Some(arguments.variants.to_string())),
        ("FROM", Some(arguments.from.to_string())),
        ("SEED", Some(arguments.seed.to_string())),
        ("JOBS", Some(jobs.to_string())),
        ("AGAIN", arguments.again.clone()),
    ];
    let mut command = cargo();
    command.args(["test", "--workspace", "--test", "crash", "--"]);
    command.args(["--exact", "cuts::each_command_that_writes_can_be_cut_off_anywhere", "--nocapture"]);
    for (name, value) in settings {
        command.env(format!("PURLIN_CUTS_{name}"), value.unwrap_or_default());
    }
    step("cuts", || step::run(&mut command))
}
