//! `cargo xtask build`: the binary, with its drivers inside.

use crate::drivers;
use crate::step::{self, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Optimised, for use.
    #[arg(long)]
    pub(crate) release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    drivers::run(&drivers::Arguments { release: arguments.release, no_precompile: false })?;
    // The example is there already; naming it keeps cargo's choice of features as it was.
    step("purlin", || {
        step::run(step::build(arguments.release).args(["--bin", "purlin", "--example", "precompile"]))
    })
}
