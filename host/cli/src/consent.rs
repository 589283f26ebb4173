//! Consent: no command with effects acts without it (SPEC §9).
//!
//! Every command that can change something real takes [`ConsentArgs`] and turns them into a
//! [`Consent`] before it reads anything. Only this module decides whether the user can be asked,
//! and whether the user must be asked.
//!
//! `--yes` covers the effects of changed documents. Losing data needs separate consent:
//! `--allow-data-loss`, `lifecycle.allow_data_loss` in the documents, or the name of the
//! environment, typed in by the user.

use purlin_model::Key;

use crate::app::App;
use crate::failure::{Failure, keys_as_lines};
use crate::text;

/// Why a command cannot ask the user.
pub(crate) const NO_TERMINAL: &str = "there is no terminal to ask for confirmation";

/// Consent given in advance.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConsentArgs {
    /// Apply without asking for confirmation. Required without a terminal.
    #[arg(short, long, aliases = crate::args::YES)]
    pub(crate) yes: bool,

    /// Also delete and replace resources that hold data. Required in addition to `--yes`.
    #[arg(long)]
    pub(crate) allow_data_loss: bool,
}

/// The consent for a command with effects: given in advance, or to be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    yes: bool,
    data_loss: bool,
}

/// The answer to a request for consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The user agreed.
    Yes,
    /// The user declined.
    No,
    /// Consent was not given in advance, and the user must not be asked.
    Refused,
}

impl Consent {
    /// The consent given on the command line. `json` is whether the command writes JSON; it then
    /// never asks, even on a terminal.
    ///
    /// # Errors
    /// If consent was not given and the user cannot be asked (exit status 2).
    pub(crate) fn new(args: &ConsentArgs, json: bool, app: &App) -> Result<Self, Failure> {
        if args.yes || (!json && app.ui.is_interactive()) {
            return Ok(Self { yes: args.yes, data_loss: args.allow_data_loss });
        }
        let message = match json {
            true => "`--format json` cannot ask for confirmation",
            false => NO_TERMINAL,
        };
        let command = app.command;
        let shows = shows(command).map(|shows| format!("; {shows}")).unwrap_or_default();
        Err(Failure::input(message)
            .hint(format!("with `--yes`, the same command applies without asking{shows}")))
    }

    /// Whether the user is asked. Then the plan must be shown first.
    pub(crate) fn needs_confirmation(&self) -> bool {
        !self.yes
    }

    /// Whether the user agrees to a plan with changes.
    pub(crate) fn agrees(&self, question: &str, app: &App) -> bool {
        self.yes || app.ui.confirm(question)
    }

    /// Whether the user agrees to a plan that loses the data of these resources.
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
                app.ui.type_in(&format!("To continue, type the name of the environment, `{env}`:")) == env
            }
        };
        if agreed { Answer::Yes } else { Answer::No }
    }
}

/// Which command shows the effects of another one without applying them, if there is one.
fn shows(command: &str) -> Option<&'static str> {
    match command {
        "destroy" => Some("`purlin state list` shows what there is to delete"),
        "rollback" => Some("`purlin diff` only shows what would happen"),
        "rollout" => Some("`purlin impact` shows what would happen"),
        "import" => None,
        _ => Some("`purlin plan` only shows what would happen"),
    }
}
