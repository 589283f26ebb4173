//! `cargo xtask simulate`: runs the engine's simulator for any number of lives.

use crate::step::{self, cargo, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Number of lives; the ordinary tests simulate 2,000.
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// Seed of the first life; the others have the following numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Continue until this many lives have failed. The first is explained, the others are only
    /// named.
    #[arg(long, default_value_t = 1)]
    faults: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut command = cargo();
    // With this, a million lives take under an hour on two processors; without it, two.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "3");
    command.args(["test", "--workspace", "--test", "simulator", "--"]);
    command.args(["--exact", "simulated_lives_keep_every_promise", "--nocapture"]);
    command.env("PURLIN_SIMULATE_RUNS", arguments.runs.to_string());
    command.env("PURLIN_SIMULATE_SEED", arguments.seed.to_string());
    command.env("PURLIN_SIMULATE_FAULTS", arguments.faults.to_string());
    step("simulated lives", || step::run(&mut command))
}
