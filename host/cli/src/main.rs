//! `purlin`: the command line.
//!
//! The only place of the house that prints, reads the environment, or knows a terminal. It reaches
//! everything else through `purlin-host`. One file a command in `commands/`; what they find is
//! plain data in `report/`, and `render/` makes something to look at of it.

mod app;
mod args;
mod choices;
mod commands;
mod complete;
mod consent;
mod events;
mod failure;
mod files;
mod input;
mod json;
mod logging;
mod memory;
mod naming;
mod progress;
mod render;
mod report;
mod run;
mod style;
mod surroundings;
mod text;
mod timings;
mod ui;
mod usage;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::main()
}
