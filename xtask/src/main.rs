//! The build system of Purlin: `cargo xtask COMMAND`. Each command has its own file.
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a command-line tool")]

mod bench;
mod bless;
mod build;
mod check;
mod ci;
mod crash;
mod deny;
#[cfg(unix)]
mod dist;
mod docs;
mod drivers;
#[cfg(unix)]
mod example;
mod fuzz;
mod hostile;
#[cfg(unix)]
mod kubernetes;
mod map;
mod quickstart;
#[cfg(unix)]
mod sdk;
#[cfg(unix)]
mod shop;
mod simulate;
#[cfg(unix)]
mod soak;
mod step;
mod targets;
mod test;
mod tools;
mod workflows;

use clap::{Parser, Subcommand};

/// Builds, tests and measures Purlin.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds the drivers to target/drivers, precompiled for this kind of machine.
    Drivers(drivers::Arguments),
    /// Builds the drivers, then the `purlin` binary that contains them.
    Build(build::Arguments),
    /// Builds the drivers, then runs all tests, or one tier of them: `host`, `systems` or `languages`.
    Test(test::Arguments),
    /// Writes the files that tests compare with what the program says: pages, tables, bindings, snapshots.
    Bless(bless::Arguments),
    /// Builds everything necessary and deploys the quickstart in a temporary copy.
    Quickstart(quickstart::Arguments),
    /// Deploys the platform of examples/shop on real servers, and destroys it again.
    #[cfg(unix)]
    Shop(example::Arguments),
    /// Deploys the Score files of examples/kubernetes to a cluster, and destroys them again.
    #[cfg(unix)]
    Kubernetes(example::Arguments),
    /// Builds the SDKs as packages for npm, pip and cargo, and the crates to embed Purlin, in target/sdk.
    #[cfg(unix)]
    Sdk,
    /// Builds the packages of a release in target/dist: an archive, a Debian package, a wheel, packages for npm.
    #[cfg(unix)]
    Dist(dist::Arguments),
    /// Prints what each file of each crate is for, as its first comment says.
    Map(map::Arguments),
    /// Builds the book, if mdBook is installed.
    Docs(docs::Arguments),
    /// Simulates many lives of an environment, with all possible faults.
    Simulate(simulate::Arguments),
    /// Reconciles many environments on several hosts while faults occur, and checks the result.
    #[cfg(unix)]
    Soak(soak::Arguments),
    /// Interrupts every command that writes at each of its system calls, by kills and power
    /// failures.
    Crash(crash::Arguments),
    /// Fuzzes every parser of untrusted bytes.
    Fuzz(fuzz::Arguments),
    /// Benchmarks the released program and its peers.
    Bench(bench::Arguments),
    /// Installs the servers and compilers for the tests of real systems and other languages.
    Tools(tools::Arguments),
    /// Checks dependencies against deny.toml: licences, sources, known vulnerabilities.
    Deny,
    /// Checks the workflow files with actionlint.
    Workflows,
    /// Checks what changed since the last success: format, lints, unit tests, dependencies,
    /// workflow files.
    Check,
    /// Runs all checks that a change must pass: format, lints, tests.
    Ci,
}

fn main() -> anyhow::Result<()> {
    if let Some(compiled) = fuzz::wrapped() {
        return compiled;
    }
    match Arguments::parse().command {
        Command::Drivers(arguments) => drivers::run(&arguments),
        Command::Build(arguments) => build::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Bless(arguments) => bless::run(&arguments),
        Command::Quickstart(arguments) => quickstart::run(&arguments),
        #[cfg(unix)]
        Command::Shop(arguments) => shop::run(&arguments),
        #[cfg(unix)]
        Command::Kubernetes(arguments) => kubernetes::run(&arguments),
        #[cfg(unix)]
        Command::Sdk => sdk::run_all(),
        #[cfg(unix)]
        Command::Dist(arguments) => dist::run_all(&arguments),
        Command::Map(arguments) => map::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        #[cfg(unix)]
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Tools(arguments) => tools::run_all(&arguments),
        Command::Deny => deny::run_all(),
        Command::Workflows => workflows::run_all(),
        Command::Check => check::run(),
        Command::Ci => ci::run(),
    }
}
