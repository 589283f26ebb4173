//! Runs the program, from the command line to the exit status.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
    let cli = match parsed(program, &words) {
        Ok(cli) => cli,
        Err(status) => return status,
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
    let folder = match place(cli.global.chdir.as_deref()) {
        Ok(folder) => folder,
        Err(failure) => {
            failure.tell(&ui, output);
            return failure.status().into();
        }
    };
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

/// The command. For a wrong command line, and for help, it prints that and returns the exit status.
fn parsed(program: Option<OsString>, words: &[OsString]) -> Result<Cli, ExitCode> {
    let wrong = match usage::slip(words) {
        Some(slip) => slip,
        None => match Cli::try_parse_from(program.iter().chain(words)) {
            Ok(cli) => return Ok(cli),
            Err(error) => match usage::failure(&error, words) {
                Some(wrong) => wrong,
                None => {
                    // An error cannot be reported anywhere, and it is not an error if the reader of
                    // the help closes the pipe.
                    let _ = error.print();
                    let is_error = error.use_stderr();
                    return Err(if is_error { Status::Input } else { Status::Done }.into());
                }
            },
        },
    };
    let (failure, output) = wrong;
    failure.tell(&Ui::new(Level::Normal), output);
    Err(failure.status().into())
}

/// The folder to run in, after `--chdir`. The clock must show a time there is a date for.
fn place(chdir: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(folder) = chdir {
        std::env::set_current_dir(folder).map_err(|error| {
            Failure::input(format!("cannot run in `{}`: {}", folder.display(), reason(&error)))
        })?;
    }
    let folder = std::env::current_dir();
    let folder = folder.map_err(|error| Failure::caused("the current folder cannot be found", &error))?;
    purlin_sandbox::clock::now().map_err(|error| Failure::run(error.to_string()))?;
    Ok(folder)
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
