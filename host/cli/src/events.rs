//! What happens during a run, for programs: one JSON document a line (SPEC §11).

use purlin_host::engine::{Action, Cause, Event, Phase, Summary};
use purlin_host::model::driver::Failure as DriverFailure;
use purlin_host::sandbox::CallError;
use serde::Serialize;

use crate::report::FORMAT;
use crate::report::diagnostic::{self, Fault};
use crate::report::plan::{Change, Tally};
use crate::ui::Ui;

/// Something happened to a resource.
#[derive(Debug, Serialize)]
struct ResourceEvent<'a> {
    format: u8,
    event: &'static str,
    key: &'a str,
    action: &'static str,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fail>,
}

/// Why a resource failed.
#[derive(Debug, Serialize)]
struct Fail {
    /// A stable short name of the kind of failure.
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Fault>,
}

/// The run is over.
#[derive(Debug, Serialize)]
struct SummaryEvent {
    format: u8,
    event: &'static str,
    status: &'static str,
    done: Tally,
    failed: usize,
    skipped: usize,
    /// Resources of which it is not known what became of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// Why nothing was tried, or what is wrong with the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Calls of drivers that had effects.
    calls: usize,
    milliseconds: u64,
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Writes an event as a line.
pub(crate) fn write(event: &Event, ui: &Ui) {
    match event {
        Event::Resource { key, action, phase } => resource(key.as_str(), *action, phase, ui),
        Event::Summary(summary) => ui.json_line(&summarise(summary)),
    }
}

fn resource(key: &str, action: Action, phase: &Phase, ui: &Ui) {
    let mut line = ResourceEvent {
        format: FORMAT,
        event: "resource",
        key,
        action: action.as_str(),
        phase: "started",
        message: None,
        percent: None,
        milliseconds: None,
        because: None,
        changes: Vec::new(),
        error: None,
    };
    match phase {
        Phase::Started => {}
        Phase::Progress { message, percent } => {
            line.phase = "progress";
            line.message = Some(message);
            line.percent = *percent;
        }
        Phase::Observed { message, changes } => {
            line.phase = "observed";
            line.message = Some(message);
            line.changes = changes.iter().map(Change::new).collect();
        }
        Phase::Succeeded { took } => {
            line.phase = "succeeded";
            line.milliseconds = Some(millis(*took));
        }
        Phase::Failed { cause, took } => {
            line.phase = "failed";
            line.milliseconds = Some(millis(*took));
            line.error = Some(fail(cause));
        }
        Phase::Skipped { because } => {
            line.phase = "skipped";
            line.because = because.as_ref().map(|key| key.as_str());
        }
    }
    ui.json_line(&line);
}

fn fail(cause: &Cause) -> Fail {
    let (code, diagnostics) = match cause {
        Cause::Inputs(faults) => ("inputs", diagnostic::faults(faults)),
        Cause::Call(error) => (call_code(error), Vec::new()),
        Cause::State(_) => ("state", Vec::new()),
        Cause::MoreThanPlanned { .. } => ("more-than-planned", Vec::new()),
        Cause::Inconsistent { .. } => ("inconsistent", Vec::new()),
        Cause::Outputs { .. } => ("outputs", Vec::new()),
        Cause::NotFound(_) => ("not-found", Vec::new()),
        Cause::Undecided => ("undecided", Vec::new()),
        Cause::NoDriver(_) => ("no-driver", Vec::new()),
    };
    Fail { code, message: cause.to_string(), diagnostics }
}

fn call_code(error: &CallError) -> &'static str {
    match error {
        CallError::Failure(failure) => match failure {
            DriverFailure::InvalidInputs(_) => "invalid-inputs",
            DriverFailure::Denied { .. } => "denied",
            DriverFailure::NotFound(_) => "not-found",
            DriverFailure::Conflict(_) => "conflict",
            DriverFailure::RetryAfter { .. } => "retry-after",
            DriverFailure::Partial { .. } => "partial",
            DriverFailure::Failed(_) => "failed",
        },
        CallError::TimeLimit { .. } | CallError::TotalTimeLimit { .. } => "time-limit",
        CallError::MemoryLimit { .. } => "memory-limit",
        CallError::OutputLimit { .. } => "output-limit",
        CallError::Cancelled => "cancelled",
        _ => "driver",
    }
}

/// How a run ended, in a word.
pub(crate) fn status(summary: &Summary) -> &'static str {
    match (summary.cancelled, summary.is_success()) {
        (true, _) => "cancelled",
        (_, true) => "succeeded",
        _ => "failed",
    }
}

fn summarise(summary: &Summary) -> SummaryEvent {
    SummaryEvent {
        format: FORMAT,
        event: "summary",
        status: status(summary),
        done: summary.done.into(),
        failed: summary.failed.len(),
        skipped: summary.skipped.len(),
        unknown: summary.unknown.iter().map(ToString::to_string).collect(),
        error: summary.halted.as_ref().map(ToString::to_string).or_else(|| summary.integrity.clone()),
        calls: summary.calls,
        milliseconds: millis(summary.took),
    }
}
