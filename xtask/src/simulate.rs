//! `cargo xtask simulate`: the engine's simulator, for as many lives as there is time for.

use crate::step::{self, cargo, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// So many lives; the ordinary tests live 2,000.
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// The seed of the first life; the others follow it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Goes on until so many lives failed. The first is explained, the others are named.
    #[arg(long, default_value_t = 1)]
    faults: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut command = cargo();
    // A million lives take under an hour on two processors with this, and two without it.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "3");
    command.args(["test", "--workspace", "--test", "simulator", "--"]);
    command.args(["--exact", "simulated_lives_keep_every_promise", "--nocapture"]);
    command.env("PURLIN_SIMULATE_RUNS", arguments.runs.to_string());
    command.env("PURLIN_SIMULATE_SEED", arguments.seed.to_string());
    command.env("PURLIN_SIMULATE_FAULTS", arguments.faults.to_string());
    step("simulated lives", || step::run(&mut command))
}
