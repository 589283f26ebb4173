//! `cargo xtask crash`: cuts each command that writes off at each of its system calls.

use std::process::Command;

use crate::drivers;
use crate::step::{self, cargo, step, works};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only this command, such as `up` or `state-key-rotate`.
    #[arg(long)]
    command: Option<String>,
    /// So many cuts of each command, chosen by the seed, instead of all; the ordinary tests make 8.
    #[arg(long)]
    each: Option<usize>,
    /// Only kills.
    #[arg(long, conflicts_with = "power")]
    kill: bool,
    /// Only power cuts.
    #[arg(long)]
    power: bool,
    /// So many power cuts after each call: each leaves something else of what was not synced.
    #[arg(long, default_value_t = 6)]
    variants: u64,
    /// Begin at the call with this number.
    #[arg(long, default_value_t = 0)]
    from: usize,
    /// What power cuts leave follows from this.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many cuts are checked at the same time [default: one for each processor].
    #[arg(long)]
    jobs: Option<usize>,
    /// Checks once more what a cut left that was at fault, by the name that the fault has.
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
