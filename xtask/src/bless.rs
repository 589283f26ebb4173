//! `cargo xtask bless`: runs the tests that compare files with what the program says, and lets them write the
//! files: pages, tables of the drivers' READMEs, bindings, the references of the command line and of the rules
//! for drivers, and snapshots. The difference is to be read before it is committed.

use std::process::Command;

use anyhow::bail;

use crate::drivers;
use crate::step::{self, compile, step};
use crate::test::Tier;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Replaces the state that pins the format, too. It has new keys each time.
    #[arg(long)]
    state: bool,
    /// Arguments for the test runner, such as the name of a test. Without any, all tests without servers run, and
    /// the pages with one.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    drivers::run(&drivers::Arguments::default())?;
    let mut writing = compile(["nextest", "run", "--workspace", "--no-fail-fast"]);
    match arguments.rest.is_empty() {
        true => writing.args(["--filterset", &format!("({}) | binary(pages)", Tier::Host.filter())]),
        false => writing.args(&arguments.rest),
    };
    let written = step("tests that write", || {
        step::run(writing.env("PURLIN_BLESS", "1").env("INSTA_UPDATE", "always").env("INSTA_FORCE_PASS", "1"))
    });
    if arguments.state {
        let mut fixture = compile(["nextest", "run", "--workspace", "--run-ignored", "only"]);
        step("the state that pins the format", || {
            step::run(fixture.args(["--filterset", "package(purlin-state) & test(write_the_fixture)"]))
        })?;
    }
    let changed = step::output(Command::new("git").args(["status", "--short"]))?;
    match changed.is_empty() {
        true => eprintln!("    nothing changed"),
        false => eprintln!("    changed:\n{changed}"),
    }
    if let Err(error) = written {
        bail!("{error:#}; what a test cannot write is to be mended, and then `cargo xtask bless` again");
    }
    Ok(())
}
