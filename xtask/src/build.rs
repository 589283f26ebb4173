//! `cargo xtask build`: builds the binary with the drivers inside.

use crate::drivers;
use crate::step::{self, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Build with optimisations.
    #[arg(long)]
    pub(crate) release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    with(&drivers::Arguments { release: arguments.release, no_tests: true, ..Default::default() })
}

/// Builds the program with these drivers inside.
pub(crate) fn with(drivers: &drivers::Arguments) -> anyhow::Result<()> {
    drivers::run(drivers)?;
    step("purlin", || {
        let mut build = step::build(drivers.release);
        if !drivers.only.is_empty() {
            build.env("PURLIN_DRIVERS", drivers.only.join(","));
        }
        // The example is already built. Naming it keeps cargo's selection of features unchanged.
        step::run(build.args(["--bin", "purlin", "--example", "precompile"]))
    })
}
