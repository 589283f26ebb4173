//! The events of a run for programs: one JSON document per line (SPEC §11).

use purlin_host::Documents;
use purlin_host::clock::millis;
use purlin_host::engine::{Action, CallFailed, Cause, Event, Phase, Stand, Summary};
use purlin_host::model::grants::Lack;
use purlin_host::model::trouble::Problem;
use purlin_host::model::{Condition, Finding, Location, Obstacle, Reason};
use serde::Serialize;

use crate::report::FORMAT;
use crate::report::cause;
use crate::report::condition;
use crate::report::diagnostic::{self, Fault, Place};
use crate::report::places;
use crate::report::plan::{Change, Tally, is_zero};
use crate::report::worded::Worded;
use crate::ui::Ui;

/// An event of a resource.
#[derive(Debug, Serialize)]
struct ResourceEvent<'a> {
    format: u8,
    event: &'static str,
    key: &'a str,
    action: &'static str,
    phase: &'static str,
    /// The action performed, if it differs from the planned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<&'static str>,
    /// The reasons why the resource waits, each with its message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Worded<Reason>>,
    /// The result of reading the resource, with its message.
    #[serde(flatten)]
    finding: Option<Worded<Finding>>,
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

/// The status of a resource changed.
#[derive(Debug, Serialize)]
struct StandsEvent<'a> {
    format: u8,
    event: &'static str,
    key: &'a str,
    status: Stand,
    #[serde(serialize_with = "condition::serialize")]
    conditions: &'a [Condition; 3],
    /// The obstacle that keeps the resource from matching the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<Worded<Obstacle>>,
}

/// The error of a failed resource.
#[derive(Debug, Serialize)]
struct Fail {
    /// A stable short name of the kind of failure.
    code: &'static str,
    message: String,
    /// The underlying problem if it is known; otherwise the same as `code`.
    kind: &'static str,
    /// The driver that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    /// The number of calls; `milliseconds` is the time that they took.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    /// The server that could not be reached, or that replied with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server>,
    /// The relevant places in the documents: definitions, inputs, grants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<Where>,
    /// The grants that the driver lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacking: Vec<Need>,
    /// The reasons for a replacement that was not in the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Worded<Reason>>,
    /// What the user can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    help: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Fault>,
}

/// A server, as the host observed it.
#[derive(Debug, Serialize)]
struct Server {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    problem: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

/// A place that a failure concerns.
#[derive(Debug, Serialize)]
struct Where {
    /// `definition`, `input` or `grant`.
    of: &'static str,
    /// The definition's id, or the input's JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(flatten)]
    place: Option<Place>,
}

/// A grant that a driver lacks.
#[derive(Debug, Serialize)]
struct Need {
    capability: String,
    pattern: String,
    /// Whether there is a grant, but it allows only reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
}

/// The run has ended.
#[derive(Debug, Serialize)]
struct SummaryEvent {
    format: u8,
    event: &'static str,
    status: &'static str,
    done: Tally,
    failed: usize,
    skipped: usize,
    /// The number of resources that wait for others that no document declares.
    #[serde(skip_serializing_if = "is_zero")]
    waiting: usize,
    /// Resources for which the outcome of a call could not be determined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// Why the run ended early, or the contradiction in the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The number of driver calls with effects.
    calls: usize,
    milliseconds: u64,
}

/// Writes an event on one line.
pub(crate) fn write(event: &Event, documents: Option<&Documents>, ui: &Ui) {
    match event {
        Event::Resource { key, action, phase } => resource(key.as_str(), *action, phase, documents, ui),
        Event::Stands { key, stand, conditions, obstacle } => ui.json_line(&StandsEvent {
            format: FORMAT,
            event: "stands",
            key: key.as_str(),
            status: *stand,
            conditions,
            obstacle: obstacle.clone().map(Worded::from),
        }),
        Event::Summary(summary) => ui.json_line(&summarise(summary)),
    }
}

fn resource(key: &str, action: Action, phase: &Phase, documents: Option<&Documents>, ui: &Ui) {
    let mut line = ResourceEvent {
        format: FORMAT,
        event: "resource",
        key,
        action: action.as_str(),
        phase: "started",
        done: None,
        reasons: Vec::new(),
        finding: None,
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
        Phase::Observed { finding, changes } => {
            line.phase = "observed";
            line.finding = Some(Worded::from(*finding));
            line.changes = changes.iter().map(Change::new).collect();
        }
        Phase::Succeeded { took, done } => {
            line.phase = "succeeded";
            line.done = (*done != action).then(|| done.as_str());
            line.milliseconds = Some(millis(*took));
        }
        Phase::Failed { cause, took } => {
            line.phase = "failed";
            line.milliseconds = Some(millis(*took));
            line.error = Some(fail(cause, documents));
        }
        Phase::Waiting { reasons } => {
            line.phase = "waiting";
            line.reasons = reasons.iter().cloned().map(Into::into).collect();
        }
        Phase::Skipped { because } => {
            line.phase = "skipped";
            line.because = because.as_ref().map(|key| key.as_str());
        }
    }
    ui.json_line(&line);
}

fn fail(cause: &Cause, documents: Option<&Documents>) -> Fail {
    let locate = |definition: &Location, pointer: &str| places::locate(documents, definition, pointer);
    let faults = cause::faults(cause, &locate);
    let diagnostics = match cause {
        Cause::Inputs(faults) => diagnostic::faults(faults),
        Cause::Call(failed) => diagnostic::faults(&failed.invalid),
        _ => Vec::new(),
    };
    let reasons = match cause {
        Cause::MoreThanPlanned { reasons } => reasons.iter().cloned().map(Into::into).collect(),
        _ => Vec::new(),
    };
    let mut fail = Fail {
        code: cause.code(),
        message: cause.to_string(),
        kind: cause::kind(cause),
        driver: None,
        attempts: None,
        milliseconds: None,
        server: None,
        places: Vec::new(),
        lacking: Vec::new(),
        reasons,
        help: faults.into_iter().filter_map(|fault| fault.help).collect(),
        diagnostics,
    };
    let definition = cause::definition(cause);
    if let Some(defined) = definition {
        let name = defined.name.as_deref().map(str::to_owned);
        fail.places.push(Where { of: "definition", name, place: known(&defined.location) });
    }
    if let Cause::Call(failed) = cause {
        for pointer in failed.pointers() {
            let place = definition.and_then(|defined| locate(&defined.location, pointer));
            let place = place.map(|spot| spot.location);
            let place = place.as_ref().and_then(known);
            fail.places.push(Where { of: "input", name: Some(pointer.to_owned()), place });
        }
        call(&mut fail, failed);
    }
    fail
}

fn known(location: &Location) -> Option<Place> {
    (!location.file.is_empty()).then(|| diagnostic::place(location))
}

fn call(fail: &mut Fail, failed: &CallFailed) {
    fail.driver = (!failed.driver.is_empty()).then(|| failed.driver.to_string());
    fail.attempts = Some(failed.attempts);
    fail.milliseconds = Some(millis(failed.took));
    fail.server = failed.trouble.as_ref().map(|trouble| Server {
        address: trouble.server.clone(),
        method: trouble.request.as_ref().map(|request| request.method.clone()),
        url: trouble.request.as_ref().map(|request| request.url.clone()),
        problem: trouble.problem.code(),
        status: match trouble.problem {
            Problem::Status(status) => Some(status),
            _ => None,
        },
    });
    let Some(lacking) = &failed.lacking else { return };
    for need in &lacking.needs {
        let read_only = match lacking.granted.lacks(need) {
            Some(Lack::ReadOnly(dir)) => {
                let name = Some(dir.guest.clone());
                fail.places.push(Where { of: "grant", name, place: known(&dir.location) });
                true
            }
            _ => false,
        };
        fail.lacking.push(Need {
            capability: need.capability.clone(),
            pattern: need.pattern.clone(),
            read_only,
        });
    }
}

/// The outcome of a run as one word.
pub(crate) fn status(summary: &Summary) -> &'static str {
    match (summary.cancelled, summary.is_success()) {
        (true, _) => "cancelled",
        (_, true) => "succeeded",
        _ if summary.only_waits() => "waiting",
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
        waiting: summary.waiting.len(),
        unknown: summary.unknown.iter().map(ToString::to_string).collect(),
        error: summary.halted.as_ref().map(ToString::to_string).or_else(|| summary.integrity.clone()),
        calls: summary.calls,
        milliseconds: millis(summary.took),
    }
}
