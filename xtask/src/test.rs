//! `cargo xtask test`: all tests, with the drivers they need.

use std::process::Command;

use crate::drivers;
use crate::step::{self, cargo, step, works};

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Passed on to the test runner, such as a test's name.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    drivers::run(&drivers::Arguments { release: false, no_precompile: false })?;
    if works(Command::new("cargo-nextest").args(["nextest", "--version"])) {
        step("tests", || step::run(cargo().args(["nextest", "run", "--workspace"]).args(&arguments.rest)))?;
    } else {
        eprintln!("    cargo-nextest is not installed; `cargo test` takes longer");
        step("tests", || {
            step::run(cargo().args(["test", "--workspace", "--all-targets"]).args(&arguments.rest))
        })?;
    }
    if arguments.rest.is_empty() {
        step("examples in the documentation", || step::run(cargo().args(["test", "--workspace", "--doc"])))?;
    }
    Ok(())
}
