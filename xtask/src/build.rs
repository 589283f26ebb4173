//! `cargo xtask build`: the binary, with its drivers inside.

use crate::drivers;
use crate::step::{self, cargo, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Optimised, for use.
    #[arg(long)]
    pub(crate) release: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    drivers::run(&drivers::Arguments { release: arguments.release, no_precompile: false })?;
    step("purlin", || {
        let mut command = cargo();
        command.args(["build", "--package", "purlin-cli", "--bin", "purlin"]);
        if arguments.release {
            command.arg("--release");
        }
        step::run(&mut command)
    })
}
