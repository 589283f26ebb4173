//! Consent: no command with effects acts without it (SPEC §9).
//!
//! Every command that can change something real takes [`ConsentArgs`] and makes a [`Consent`] of
//! them before it reads anything. That is the only place that decides whether somebody can be
//! asked, and whether somebody has to be.
//!
//! `--yes` covers what a change of the documents explains. Losing data takes consent of its own:
//! `--allow-data-loss`, `lifecycle.allow_data_loss` in the documents, or the name of the
//! environment, typed in.

use purlin_host::model::Key;

use crate::app::App;
use crate::failure::{Failure, keys_as_lines};
use crate::text;

/// Consent given in advance.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConsentArgs {
    /// Apply without asking for confirmation. Required without a terminal.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Also delete and replace resources that hold data. Required in addition to `--yes`.
    #[arg(long)]
    pub(crate) allow_data_loss: bool,
}

/// What a command with effects may do without asking, and whether it can ask.
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    yes: bool,
    data_loss: bool,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Agreed.
    Yes,
    /// A person said no.
    No,
    /// It was not agreed to beforehand, and nobody is to be asked.
    Refused,
}

impl Consent {
    /// What was agreed to on the command line. `json` is whether the command writes JSON: then it
    /// never asks, even on a terminal.
    ///
    /// # Errors
    /// When nothing was agreed to and there is nobody to ask (exit status 2).
    pub(crate) fn new(args: &ConsentArgs, json: bool, app: &App) -> Result<Self, Failure> {
        if args.yes || (!json && app.ui.is_interactive()) {
            return Ok(Self { yes: args.yes, data_loss: args.allow_data_loss });
        }
        let message = match json {
            true => "`--format json` cannot ask for confirmation",
            false => "there is no terminal to ask for confirmation",
        };
        let command = app.command;
        Err(Failure::input(message).hint(format!(
            "`purlin {command} --yes` applies without asking; {} only shows what would happen",
            shows(command)
        )))
    }

    /// Whether a person is asked, who has to see then what it is about.
    pub(crate) fn asks(&self) -> bool {
        !self.yes
    }

    /// Whether a person agrees to a plan that changes something.
    pub(crate) fn agrees(&self, question: &str, app: &App) -> bool {
        self.yes || app.ui.confirm(question)
    }

    /// Whether a person agrees to a plan by which these resources lose their data.
    pub(crate) fn agrees_to_lose(&self, keys: &[Key], question: &str, env: &str, app: &App) -> Answer {
        let agreed = match (self.data_loss, self.yes) {
            (true, _) => self.agrees(question, app),
            (false, true) => return Answer::Refused,
            (false, false) => {
                let what = match keys.len() {
                    1 => "1 resource loses its data:".to_owned(),
                    many => format!("{many} resources lose their data:"),
                };
                app.ui.raw(&format!("{what}{}\n", keys_as_lines(keys)));
                let env = text::line(env);
                app.ui.type_in(&format!("To go on, type the name of the environment, `{env}`:")) == env
            }
        };
        if agreed { Answer::Yes } else { Answer::No }
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
