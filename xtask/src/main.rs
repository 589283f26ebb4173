//! The build system of Purlin: `cargo xtask COMMAND`. One file a command.
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a command-line tool")]

mod bench;
mod build;
mod check;
mod ci;
mod crash;
mod deny;
mod docs;
mod drivers;
#[cfg(unix)]
mod example;
mod fuzz;
mod hostile;
#[cfg(unix)]
mod kubernetes;
mod quickstart;
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
    /// Builds the drivers to target/drivers, compiled ahead of time for this kind of machine.
    Drivers(drivers::Arguments),
    /// Builds the drivers, then the `purlin` binary with them inside.
    Build(build::Arguments),
    /// Builds the drivers, then runs all tests.
    Test(test::Arguments),
    /// Builds what is needed and deploys the quickstart in a scratch copy.
    Quickstart(quickstart::Arguments),
    /// Deploys the platform of examples/shop on real servers, and takes it away again.
    #[cfg(unix)]
    Shop(example::Arguments),
    /// Deploys the Score files of examples/kubernetes to a cluster, and takes them away again.
    #[cfg(unix)]
    Kubernetes(example::Arguments),
    /// Builds the SDKs as packages for npm, pip and cargo, to target/sdk.
    Sdk,
    /// Builds the book, where mdBook is installed.
    Docs(docs::Arguments),
    /// Lives many simulated lives of an environment, with every fault there is.
    Simulate(simulate::Arguments),
    /// Keeps many environments on several hosts while everything fails, and checks the end.
    #[cfg(unix)]
    Soak(soak::Arguments),
    /// Cuts every command that writes off at each of its system calls, by kills and by power cuts.
    Crash(crash::Arguments),
    /// Feeds every reader of untrusted bytes with what a fuzzer makes up.
    Fuzz(fuzz::Arguments),
    /// Measures the released program, next to its peers.
    Bench(bench::Arguments),
    /// Installs the servers and compilers that tests of real systems and other languages use.
    Tools(tools::Arguments),
    /// Holds dependencies against deny.toml: licences, sources, known vulnerabilities.
    Deny,
    /// Checks what changed since it last passed: format, lints, unit tests, dependencies.
    Check,
    /// What has to pass before a change goes in: format, lints, tests.
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
        Command::Quickstart(arguments) => quickstart::run(&arguments),
        #[cfg(unix)]
        Command::Shop(arguments) => shop::run(&arguments),
        #[cfg(unix)]
        Command::Kubernetes(arguments) => kubernetes::run(&arguments),
        Command::Sdk => sdk::run_all(),
        Command::Docs(arguments) => docs::run(&arguments),
        #[cfg(unix)]
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Tools(arguments) => tools::run_all(&arguments),
        Command::Deny => deny::run_all(),
        Command::Check => check::run(),
        Command::Ci => ci::run(),
    }
}
