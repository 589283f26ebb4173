//! The reason why a command failed, for people and programs.
//!
//! Faults in documents and failures of drivers are shown with their lines in the documents, and
//! everything else as `error:` and `hint:` lines.

use std::error::Error as StdError;
use std::process::ExitCode;
use std::sync::Arc;

use purlin_documents::SourceMap;
use purlin_engine as engine;
use purlin_files::with_causes;
use purlin_model::{Diagnostic, Key};
use serde::Serialize;

use crate::commands::Output;
use crate::hints;
use crate::naming;
use crate::render;
use crate::report::missing_grants::MissingGrants;
use crate::report::{self, FORMAT};
use crate::text;
use crate::ui::Ui;

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
    /// A driver failed while a plan was made. `message` is the failure in one line, and `faults` explain
    /// it like a failure in a run.
    Unplanned {
        message: String,
        faults: Vec<Diagnostic>,
        sources: SourceMap,
        lacking: Vec<(Arc<str>, engine::Lacking)>,
    },
    /// Any other error. Programs react to the code, if it has one.
    Plain { status: Status, code: Option<&'static str>, message: String, hints: Vec<String> },
}

impl Failure {
    /// The documents are invalid.
    pub(crate) fn documents(faults: Vec<Diagnostic>, sources: SourceMap) -> Self {
        Self::Documents { faults, sources, lacking: Vec::new() }
    }

    /// The input or the command line is invalid.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Plain { status: Status::Input, code: None, message: message.into(), hints: Vec::new() }
    }

    /// The command failed.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self::Plain { status: Status::Failed, code: None, message: message.into(), hints: Vec::new() }
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
            purlin_host::Error::Engine(engine::Error::Driver { ref key, ref cause }) => {
                let faults = cause.diagnostics().into_iter();
                Self::Unplanned {
                    message: error.message(),
                    faults: faults.map(|fault| fault.concerning(&[key])).collect(),
                    sources: sources.clone(),
                    lacking: lacking(cause),
                }
            }
            error => Self::Plain {
                status: if error.is_input() { Status::Input } else { Status::Failed },
                code: error.code(),
                message: message(&error),
                hints: hints::of(&error),
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
            Self::Unplanned { .. } => Status::Failed,
            Self::Plain { status, .. } => *status,
        }
    }

    /// Reports the failure: to people on standard error, and to programs also on standard output.
    pub(crate) fn tell(&self, ui: &Ui, output: Output) {
        match self {
            Self::Documents { faults, sources, lacking } => {
                explain(faults, sources, &summary(faults), lacking, ui);
            }
            Self::Unplanned { faults, sources, lacking, .. } => {
                let summary = format!("{}; no plan was made", text::count(faults.len(), "error"));
                explain(faults, sources, &summary, lacking, ui);
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
                ErrorReport { code: None, message: summary(faults), hints: &[], diagnostics: faults }
            }
            Self::Unplanned { message, faults, .. } => {
                ErrorReport { code: None, message: message.clone(), hints: &[], diagnostics: faults }
            }
            Self::Plain { code, message, hints, .. } => {
                ErrorReport { code: *code, message: message.clone(), hints, diagnostics: &[] }
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
            format!("what would be done now deviates from the plan:{lines}")
        }
        purlin_host::Error::Engine(engine::Error::DataLoss(keys)) => {
            let what = match keys.len() {
                1 => "1 resource would lose its data, which needs separate consent:".to_owned(),
                many => format!("{many} resources would lose their data, which needs separate consent:"),
            };
            format!("{what}{}", keys_as_lines(keys))
        }
        // Within an environment, a key is as precise as a URN, and shorter.
        purlin_host::Error::Engine(error) => text::line(&error.message_with(report::state::key)).into_owned(),
        error => error.message(),
    }
}

/// Shows faults with their places, a summary, and how to grant what is missing.
fn explain(
    faults: &[Diagnostic],
    sources: &SourceMap,
    summary: &str,
    lacking: &[(Arc<str>, engine::Lacking)],
    ui: &Ui,
) {
    ui.raw(&render::diagnostics::render(faults, sources, ui.error_columns()));
    ui.error(summary);
    let mut all = MissingGrants::default();
    lacking.iter().for_each(|(driver, lacking)| all.add(driver, lacking));
    all.hint(ui);
}

/// The grants that a driver lacked, by its name.
fn lacking(cause: &engine::Cause) -> Vec<(Arc<str>, engine::Lacking)> {
    let engine::Cause::Call(failed) = cause else { return Vec::new() };
    let lacking = failed.lacking.iter();
    lacking.map(|lacking| (Arc::clone(&failed.driver), engine::Lacking::clone(lacking))).collect()
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
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    hints: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'a [Diagnostic],
}
