//! Consent: no command with effects acts without it (SPEC §9).
//!
//! Every command that can change something real takes [`ConsentArgs`] and makes a [`Consent`] of
//! them before it reads anything. That is the only place that decides whether somebody can be
//! asked, and whether somebody has to be.

use crate::app::App;
use crate::failure::Failure;

/// How a person agrees beforehand.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConsentArgs {
    /// Apply without asking. Required where there is no terminal to ask on.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// What a command with effects may do without asking, and whether it can ask.
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    yes: bool,
}

impl Consent {
    /// What was agreed to on the command line. `json` is whether the command writes JSON: then it
    /// never asks, even on a terminal.
    ///
    /// # Errors
    /// When nothing was agreed to and there is nobody to ask (exit status 2).
    pub(crate) fn new(args: &ConsentArgs, json: bool, app: &App) -> Result<Self, Failure> {
        if args.yes || (!json && app.ui.is_interactive()) {
            return Ok(Self { yes: args.yes });
        }
        let message = match json {
            true => "with `--format json` there is nobody to ask",
            false => "there is no terminal to ask on",
        };
        let command = app.command;
        Err(Failure::input(message).hint(format!(
            "`purlin {command} --yes` applies without asking; {} only shows what would happen",
            shows(command)
        )))
    }

    /// Whether a person agrees to a plan that changes something.
    pub(crate) fn agrees(&self, question: &str, app: &App) -> bool {
        self.yes || app.ui.confirm(question)
    }
}

/// The command that shows what another one would do.
fn shows(command: &str) -> &'static str {
    match command {
        "destroy" => "`purlin state list`",
        "rollback" => "`purlin diff`",
        _ => "`purlin plan`",
    }
}
