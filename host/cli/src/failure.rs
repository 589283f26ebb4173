//! The reason why a command failed, for people and programs.
//!
//! There are two kinds: faults in documents, which are shown with their lines, and everything else,
//! which is shown as `error:` and `hint:` lines.

use std::error::Error as StdError;
use std::process::ExitCode;
use std::sync::Arc;

use purlin_host::internal::documents::SourceMap;
use purlin_host::internal::model::{Diagnostic, Key};
use purlin_host::internal::{engine, state, with_causes};
use serde::Serialize;

use crate::commands::Output;
use crate::naming;
use crate::render;
use crate::report::FORMAT;
use crate::report::missing_grants::MissingGrants;
use crate::text;
use crate::ui::Ui;

/// The hint for a saved plan that cannot be applied.
pub(crate) const NEW_PLAN: &str = "`purlin plan --out FILE` makes a new one; nothing was changed";

/// The exit status of the program (SPEC §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The command succeeded.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The input or the command line is invalid.
    Input = 2,
    /// `plan --detailed-exitcode` found changes.
    Changes = 3,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The documents are invalid. `lacking` are the grants that drivers lack for what these documents
    /// make them access.
    Documents { faults: Vec<Diagnostic>, sources: SourceMap, lacking: Vec<(Arc<str>, engine::Lacking)> },
    /// Any other error.
    Plain { status: Status, message: String, hints: Vec<String> },
}

impl Failure {
    /// The documents are invalid.
    pub(crate) fn documents(faults: Vec<Diagnostic>, sources: SourceMap) -> Self {
        Self::Documents { faults, sources, lacking: Vec::new() }
    }

    /// The input or the command line is invalid.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Plain { status: Status::Input, message: message.into(), hints: Vec::new() }
    }

    /// The command failed.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self::Plain { status: Status::Failed, message: message.into(), hints: Vec::new() }
    }

    /// The command failed for this cause.
    pub(crate) fn caused(message: impl std::fmt::Display, cause: &(dyn StdError + 'static)) -> Self {
        Self::run(format!("{message}: {}", with_causes(cause)))
    }

    /// Adds a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Plain { hints, .. } = &mut self {
            hints.push(hint.into());
        }
        self
    }

    /// Converts an error of the host that does not concern any document.
    pub(crate) fn without_sources(error: purlin_host::Error) -> Self {
        Self::host(error, &SourceMap::default())
    }

    /// Converts an error of the host; `sources` are the texts of the documents that it may concern.
    pub(crate) fn host(error: purlin_host::Error, sources: &SourceMap) -> Self {
        match error {
            purlin_host::Error::Documents(faults) => Self::documents(faults, sources.clone()),
            purlin_host::Error::Engine(engine::Error::NotGranted { faults, lacking }) => {
                Self::Documents { faults, sources: sources.clone(), lacking }
            }
            purlin_host::Error::Engine(engine::Error::Names(names)) => naming::failure(&names),
            error => Self::Plain {
                status: if error.is_input() { Status::Input } else { Status::Failed },
                message: message(&error),
                hints: hints(&error),
            },
        }
    }

    /// Whether the only fault is that others have deployed since the documents were read. Running
    /// the same command again then plans with their changes.
    pub(crate) fn is_outdated(&self) -> bool {
        let Self::Documents { faults, .. } = self else { return false };
        let mut errors = faults.iter().filter(|fault| fault.is_error()).peekable();
        errors.peek().is_some() && errors.all(|fault| fault.code == "deployed-meanwhile")
    }

    /// The exit status.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Documents { .. } => Status::Input,
            Self::Plain { status, .. } => *status,
        }
    }

    /// Reports the failure: to people on standard error, and to programs also on standard output.
    pub(crate) fn tell(&self, ui: &Ui, output: Output) {
        match self {
            Self::Documents { faults, sources, lacking } => {
                ui.raw(&render::diagnostics::render(faults, sources, ui.error_columns()));
                ui.error(&summary(faults));
                let mut all = MissingGrants::default();
                lacking.iter().for_each(|(driver, lacking)| all.add(driver, lacking));
                all.hint(ui);
            }
            Self::Plain { message, hints, .. } => {
                ui.error(message);
                hints.iter().for_each(|hint| ui.hint(hint));
            }
        }
        match output {
            Output::Text => {}
            Output::Json => ui.json(&Document { format: FORMAT, error: self.report() }),
            Output::Events => ui.json_line(&Event { format: FORMAT, event: "error", error: self.report() }),
        }
    }

    fn report(&self) -> ErrorReport<'_> {
        match self {
            Self::Documents { faults, .. } => {
                ErrorReport { message: summary(faults), hints: &[], diagnostics: faults }
            }
            Self::Plain { message, hints, .. } => {
                ErrorReport { message: message.clone(), hints, diagnostics: &[] }
            }
        }
    }
}

/// The message of an error that does not concern the documents.
fn message(error: &purlin_host::Error) -> String {
    match error {
        purlin_host::Error::Stale => "the plan is stale: the state changed since it was made".to_owned(),
        purlin_host::Error::Deviates(deviations) => {
            let lines: String = deviations.iter().map(|one| format!("\n  {one}")).collect();
            format!("the documents deviate from the plan:{lines}")
        }
        purlin_host::Error::Engine(engine::Error::DataLoss(keys)) => {
            let what = match keys.len() {
                1 => "1 resource would lose its data, which needs separate consent:".to_owned(),
                many => format!("{many} resources would lose their data, which needs separate consent:"),
            };
            format!("{what}{}", keys_as_lines(keys))
        }
        error => error.message(),
    }
}

/// What helps against an error, with the commands and options of the command line.
fn hints(error: &purlin_host::Error) -> Vec<String> {
    let hints: &[&str] = match error {
        purlin_host::Error::DeploymentExists { .. } => &["every deployment needs an id of its own"],
        purlin_host::Error::Stale | purlin_host::Error::Deviates(_) => &[NEW_PLAN],
        purlin_host::Error::NoCases(error) => {
            let example = &error.example;
            return vec![format!("add valid inputs to check.yaml, next to the component:\n{example}")];
        }
        purlin_host::Error::StateGone { .. } => &[
            "restore its folder, and start again; if it is lost, `purlin import` adopts the existing resources",
        ],
        purlin_host::Error::Engine(engine::Error::DataLoss(_)) => &[
            "nothing was changed; `--yes --allow-data-loss` also deletes the data",
            "`lifecycle: {KEY: {allow_data_loss: true}}` in a Deployment allows it for one resource",
        ],
        purlin_host::Error::Engine(engine::Error::Integrity(_)) => &[
            "the state was changed by something other than purlin, or its disk is failing; restore it from a backup",
        ],
        purlin_host::Error::State(state::Error::KeyExposed { path, .. }) => {
            let file = text::shell_word(&path.display().to_string());
            return vec![format!("run `chmod 600 {file}`; nothing was changed")];
        }
        purlin_host::Error::State(error) => hints_on_state(error),
        purlin_host::Error::Sandbox(_) | purlin_host::Error::Clock(_) | purlin_host::Error::Random(_) => {
            &["`purlin doctor` checks what Purlin needs from this machine"]
        }
        _ => &[],
    };
    hints.iter().map(|&hint| hint.to_owned()).collect()
}

fn hints_on_state(error: &state::Error) -> &'static [&'static str] {
    match error {
        state::Error::Locked { .. } => {
            &["only one deployment at a time may change an environment; nothing was changed by this one, \
             and `--lock-timeout 5m` waits for the other one"]
        }
        state::Error::Busy { .. } => {
            &["only one process at a time may change the whole state; nothing was changed by this one"]
        }
        state::Error::Reserved { .. } => {
            &["this deployment can use the installation afterwards; nothing was changed by this one"]
        }
        state::Error::Io { .. } => &["`--state DIR` names another folder for the state"],
        state::Error::Newer { .. } => &["nothing was changed"],
        state::Error::Unreachable { .. } => {
            &["nothing that was recorded is lost; run the same command again when the database responds"]
        }
        state::Error::KeyMissing { .. } => {
            &["restore the key from its backup, or set `key` in purlin.yaml to the right one; \
             nothing was changed"]
        }
        state::Error::NoKey { .. } => &["`purlin state key new FILE` creates a key; nothing was changed"],
        state::Error::WrongKey { .. } => {
            &["put the right key there, or set `key` in purlin.yaml to it; nothing was changed"]
        }
        state::Error::KeyInvalid { .. } => {
            &["restore it from its copy; a key is one line that begins with `AGE-SECRET-KEY-1`; \
             nothing was changed"]
        }
        _ => &[],
    }
}

/// The keys, each on a line of its own; if there are very many, only the first ones.
pub(crate) fn keys_as_lines(keys: &[Key]) -> String {
    const SHOWN: usize = 50;
    let mut lines: String =
        keys.iter().take(SHOWN).map(|key| format!("\n  {}", text::line(key.as_str()))).collect();
    if keys.len() > SHOWN {
        lines.push_str(&format!("\n  and {} more", keys.len() - SHOWN));
    }
    lines
}

fn summary(faults: &[Diagnostic]) -> String {
    let errors: Vec<&Diagnostic> = faults.iter().filter(|fault| fault.is_error()).collect();
    let is_in_text = |fault: &&Diagnostic| fault.location.as_ref().is_some_and(|place| place.line > 0);
    let place = if errors.iter().any(is_in_text) { " in the documents" } else { "" };
    format!("{}{place}; nothing was done", text::count(errors.len(), "error"))
}

#[derive(Serialize)]
struct Document<'a> {
    format: u8,
    error: ErrorReport<'a>,
}

#[derive(Serialize)]
struct Event<'a> {
    format: u8,
    event: &'static str,
    error: ErrorReport<'a>,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    message: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    hints: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'a [Diagnostic],
}
