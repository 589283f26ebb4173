//! `cargo xtask test`: builds the necessary drivers and runs all tests, or one tier of them.

mod memory;
mod tier;

use std::process::Command;

use anyhow::bail;

pub(crate) use self::tier::Tier;
use crate::drivers;
use crate::step::{self, compile, step, works};

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// `host` (no server, no compiler of another language), `systems` (real servers, crashes) or `languages`
    /// (drivers in every language); then arguments for the test runner, such as the name of a test.
    #[arg(value_name = "TIER|ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// The seed of the random values in property tests.
const SEED: &str = "PROPTEST_RNG_SEED";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (tier, rest) = Tier::chosen(&arguments.rest);
    drivers::run(&drivers::Arguments::default())?;
    if works(Command::new("cargo-nextest").args(["nextest", "--version"])) {
        // `.config/nextest.toml` says how many of these threads each test takes.
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) * 4;
        // Report all failed tests together.
        let mut nextest =
            compile(["nextest", "run", "--workspace", "--profile", "servers", "--no-fail-fast"]);
        nextest.arg(format!("--test-threads={threads}"));
        if let Some(tier) = tier {
            nextest.args(["--filterset", &tier.filter()]);
            nextest.env(purlin_systems::tools::TIER, tier.name());
        }
        nextest.args(rest);
        // A change must not fail because of a fault that it did not cause, and a second run must have the same
        // result as the first. Elsewhere, and every night, the values differ in each run.
        if std::env::var_os("CI").is_some() && std::env::var_os(SEED).is_none_or(|seed| seed.is_empty()) {
            nextest.env(SEED, "1");
        }
        let temporary = memory::Folder::create();
        if let Some(folder) = &temporary {
            nextest.env("TMPDIR", folder.path());
        }
        // Each test that starts its own server takes seconds of the processor.
        #[cfg(unix)]
        let servers = purlin_systems::pool::Pool::start();
        #[cfg(unix)]
        nextest.env(purlin_systems::pool::VARIABLE, servers.socket());
        step("tests", || step::run(&mut nextest))?;
    } else if tier.is_some() {
        bail!("a tier needs cargo-nextest: `cargo install cargo-nextest --locked`");
    } else {
        eprintln!("    cargo-nextest is not installed; `cargo test` takes longer");
        let mut test = compile(["test", "--workspace", "--all-targets", "--no-fail-fast"]);
        test.args(rest);
        step("tests", || step::run(&mut test))?;
    }
    if rest.is_empty() && matches!(tier, None | Some(Tier::Host)) {
        step("examples in the documentation", || step::run(&mut compile(["test", "--workspace", "--doc"])))?;
    }
    Ok(())
}
