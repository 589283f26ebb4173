//! Runs the program, from the command line to the exit status.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use purlin_files::reason;

use crate::app::App;
use crate::args::When;
use crate::commands::Cli;
use crate::failure::{Failure, Status};
use crate::logging;
use crate::memory;
use crate::surroundings;
use crate::ui::{Level, Ui};
use crate::{complete, usage, worker};

/// Parses the command line, runs the command, and reports its result.
pub(crate) fn main() -> ExitCode {
    memory::keep_little();
    if let Some(status) = worker::answer().or_else(complete::answer) {
        return status;
    }
    // Set the colours for errors of the command line before parsing it.
    let mut arguments = std::env::args_os();
    let program = arguments.next();
    let words = usage::words(arguments);
    set_color(early_color(&words));
    let parsed = match usage::slip(&words) {
        Some(slip) => Err(slip),
        None => match Cli::try_parse_from(program.iter().chain(&words)) {
            Ok(cli) => Ok(cli),
            Err(error) => match usage::failure(&error, &words) {
                Some(wrong) => Err(wrong),
                None => {
                    // An error cannot be reported anywhere, and it is not an error if the reader of
                    // the help closes the pipe.
                    let _ = error.print();
                    return if error.use_stderr() { Status::Input.into() } else { Status::Done.into() };
                }
            },
        },
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err((failure, output)) => {
            failure.tell(&Ui::new(Level::Normal), output);
            return failure.status().into();
        }
    };
    set_color(cli.global.color());
    let level = match (cli.global.quiet, cli.global.verbose) {
        (true, _) => Level::Quiet,
        (_, 0) => Level::Normal,
        _ => Level::Verbose,
    };
    let ui = Ui::new(level);
    logging::start(cli.global.verbose, cli.global.quiet, ui.bars.clone());
    let output = cli.command.output();
    if let Some(folder) = &cli.global.chdir
        && let Err(error) = std::env::set_current_dir(folder)
    {
        let message = format!("cannot run in `{}`: {}", folder.display(), reason(&error));
        Failure::input(message).tell(&ui, output);
        return Status::Input.into();
    }
    let folder = match std::env::current_dir() {
        Ok(folder) => folder,
        Err(error) => {
            Failure::caused("the current folder cannot be found", &error).tell(&ui, output);
            return Status::Failed.into();
        }
    };
    if let Err(error) = purlin_sandbox::clock::now() {
        Failure::run(error.to_string()).tell(&ui, output);
        return Status::Failed.into();
    }
    surroundings::open_more_files();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            Failure::caused("cannot start threads", &error).tell(&ui, output);
            return Status::Failed.into();
        }
    };
    let command = cli.command.name();
    let (timings, releases) = Default::default();
    let app = App { ui, global: cli.global, timings, command, folder, releases };
    let status = match runtime.block_on(cli.command.run(&app)) {
        Ok(status) => status,
        Err(failure) => {
            failure.tell(&app.ui, output);
            runtime.block_on(app.released());
            failure.status()
        }
    };
    if app.global.timings {
        app.ui.raw(&app.timings.render());
    }
    // Do not wait for a driver that is still running: everything relevant is already recorded.
    runtime.shutdown_background();
    if let Some(error) = app.ui.write_failure() {
        app.ui.error(&format!("cannot write to standard output: {}", reason(&error)));
        return Status::Failed.into();
    }
    status.into()
}

fn set_color(when: When) {
    match when {
        When::Auto => anstream::ColorChoice::Auto,
        When::Always => anstream::ColorChoice::Always,
        When::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// The value of `--color`, found without parsing the whole command line.
fn early_color(words: &[OsString]) -> When {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = match word.to_str() {
            Some("--") => break,
            Some("--no-color") => Some("never"),
            Some("--color") => words.next().and_then(|value| value.to_str()),
            Some(word) => word.strip_prefix("--color="),
            None => None,
        };
        match value {
            Some("always") => return When::Always,
            Some("never") => return When::Never,
            _ => {}
        }
    }
    When::Auto
}
