//! Explains why a resource failed: the action, the number and duration of attempts, the place in
//! the documents, and what to do.

use purlin_model::driver::Failure;
use purlin_model::grants::Lack;
use purlin_model::server_problem::{ProblemKind, ServerProblem};
use purlin_model::{Diagnostic, Reason, Spot, duration};
use purlin_sandbox::CallError;

use crate::error::{Cause, returned_taken_id};
use crate::failed::{CallFailed, Defined};
use crate::missing_grants;
use crate::values::workload::{PatchFault, PatchProblem, WorkloadError};

impl Cause {
    /// The underlying problem if the host observed it, such as `connection-refused` where
    /// [`Self::code`] is `retry-after`. Otherwise the code itself.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Call(failed) => match connection(failed) {
                Some(problem) => problem.kind.code(),
                None if failed.lacking.is_some() && is_denied(&failed.error) => "not-granted",
                None => self.code(),
            },
            _ => self.code(),
        }
    }

    /// The definition that provisions the failed resource, if it is known.
    pub fn definition(&self) -> Option<&Defined> {
        match self {
            Self::Call(failed) => failed.definition.as_ref(),
            Self::Workload { definition, .. } => definition.as_ref(),
            _ => None,
        }
    }

    /// The failure as faults, each with its place and what to do. Most failures are a single fault.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Inputs(faults) => faults.clone(),
            Self::Call(failed) => call(failed, self.kind()),
            Self::NotFound { at, .. } => {
                let fault = Diagnostic::error(self.code(), self.to_string());
                let fault = at.iter().fold(fault, |fault, at| fault.at(at));
                vec![fault.help("the next run tries it again; remove it if it is gone for good")]
            }
            Self::Workload { error, definition } => {
                vec![placed(workload(error), definition.as_ref())]
            }
            Self::MoreThanPlanned { reasons } => {
                let is_of_part = |reason: &Reason| matches!(reason, Reason::PartNotPlanned { .. });
                let (message, what) = match reasons.iter().all(is_of_part) && !reasons.is_empty() {
                    true => ("more would happen to parts of the resource than the plan says", "it"),
                    false => ("the resource has to be replaced, but the plan says update", "the replacement"),
                };
                let mut fault = Diagnostic::error(self.code(), message);
                fault.notes.extend(reasons.iter().map(ToString::to_string));
                vec![fault.help(format!("run `purlin up` again: the next plan shows {what}"))]
            }
            Self::IdTaken { driver, id, other } => {
                let other = other.shown();
                vec![Diagnostic::error(self.code(), returned_taken_id(driver, id, &other)).help(format!(
                    "let only one of both declare it; if `{other}` was renamed, record that with `purlin state rename`"
                ))]
            }
            // Nothing failed.
            cause @ Self::InProgress(_) => vec![Diagnostic::warning(cause.code(), cause.to_string())],
            cause => vec![Diagnostic::error(cause.code(), cause.to_string())],
        }
    }
}

fn is_denied(error: &CallError) -> bool {
    matches!(error, CallError::Failure(Failure::Denied { .. }))
}

/// The connection problem that explains the failure. It cannot explain what a driver reports about
/// its inputs or its grants.
fn connection(failed: &CallFailed) -> Option<&ServerProblem> {
    let explains = matches!(
        &failed.error,
        CallError::Failure(
            Failure::RetryAfter { .. }
                | Failure::Failed(_)
                | Failure::Partial { .. }
                | Failure::Conflict(_)
                | Failure::Undecided(_)
        ) | CallError::TimeLimit { .. }
            | CallError::Trap { .. }
    );
    failed.server_problem.as_ref().filter(|problem| explains && problem.kind.is_connection())
}

fn placed(fault: Diagnostic, definition: Option<&Defined>) -> Diagnostic {
    match definition {
        Some(defined) if defined.location.line > 0 => fault.at(&defined.location),
        _ => fault,
    }
}

fn workload(error: &WorkloadError) -> Diagnostic {
    let message = format!("the `update` output of workload `{}` cannot be applied", error.workload);
    let fault = Diagnostic::error("workload-patch", message).fact(error.fault.to_string());
    match &error.fault {
        PatchFault::Operation { problem: PatchProblem::Missing { at, there, .. }, .. }
            if !there.is_empty() =>
        {
            let at = if at.is_empty() { "the document" } else { at };
            fault.fact(format!("{at} has {}", list(there)))
        }
        _ => fault,
    }
    .help("the operations are JSON Patch (RFC 6902) on `{metadata, spec}` of the workload")
}

fn list(names: &[String]) -> String {
    const LISTED: usize = 8;
    let mut listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > LISTED {
        listed.push(format!("{} more", names.len() - LISTED));
    }
    listed.join(", ")
}

fn call(failed: &CallFailed, kind: &'static str) -> Vec<Diagnostic> {
    let definition = failed.definition.as_ref();
    let input = failed.input.as_deref().and_then(|pointer| failed.place_of(pointer)).cloned();
    let whole = || Some(Spot { location: definition?.location.clone(), length: 0, block: false });
    let at = input.or_else(whole).filter(|spot| spot.location.line > 0);
    let put = |fault: Diagnostic| match &at {
        Some(Spot { location, length, .. }) => fault.at(location).spanning(*length as usize),
        None => fault,
    };
    if !failed.invalid.is_empty() {
        return failed.invalid.clone();
    }
    let mut faults = Vec::new();
    if is_denied(&failed.error)
        && let Some(lacking) = &failed.lacking
    {
        for need in &lacking.needs {
            let driver = &failed.driver;
            let fault = match lacking.granted.lacks(need) {
                Some(Lack::ReadOnly(grant)) => {
                    let definition = definition.map(|defined| &defined.location);
                    missing_grants::read_only(driver, &need.pattern, grant, definition)
                }
                _ => put(missing_grants::not_granted(driver, need, &[])),
            };
            faults.push(fault);
        }
        if !faults.is_empty() {
            return faults;
        }
    }
    let fault = match connection(failed) {
        Some(problem) => unreached(problem, failed, kind),
        None => reported(failed, kind),
    };
    let fault = match (&failed.error, failed.most_wait) {
        (CallError::Failure(Failure::RetryAfter { after, .. }), Some(most)) => {
            let fault = fault.fact(format!(
                "`{}` asks to be called again after {}, but all waits of one operation may take {} at most",
                failed.driver,
                duration(*after),
                duration(most)
            ));
            let limit = format!("`drivers.{}.limits.wait` in purlin.yaml", failed.driver);
            match fault.help {
                Some(_) => fault,
                None => fault.help(format!("run the same command again later, or raise {limit}")),
            }
        }
        _ => fault,
    };
    vec![put(fault)]
}

/// The fault for a server that could not be reached.
fn unreached(problem: &ServerProblem, failed: &CallFailed, kind: &'static str) -> Diagnostic {
    let server = &problem.server;
    let message = match &problem.kind {
        ProblemKind::Refused => format!("cannot connect to {server} (connection refused)"),
        ProblemKind::UnknownHost => format!("cannot find the host of {server} (unknown name)"),
        ProblemKind::Unreachable => format!("cannot connect to {server} (no route to it)"),
        ProblemKind::ConnectTimeout => format!("cannot connect to {server} (timed out)"),
        ProblemKind::ReplyTimeout => format!("no reply from {server} (timed out)"),
        ProblemKind::Tls(reason) => format!("no TLS connection to {server}: {reason}"),
        ProblemKind::Closed => format!("{server} closed the connection before it replied"),
        ProblemKind::Garbled => format!("the reply of {server} is not HTTP"),
        ProblemKind::Other(reason) => format!("cannot connect to {server}: {reason}"),
        ProblemKind::Status(status) => format!("{server} replied with status {status}"),
    };
    let mut fault = Diagnostic::error(kind, format!("{message}{}", tried(failed)));
    if let Some(request) = &problem.request {
        fault = fault.fact(format!("{} {}", request.method, request.url));
    }
    // While it waits for a server, the driver reports the same problem in other words.
    match &failed.error {
        CallError::Failure(Failure::RetryAfter { .. }) => {}
        CallError::Failure(Failure::Undecided(_)) => fault = fault.fact(UNDECIDED),
        error @ CallError::Failure(Failure::Partial { .. }) => fault = fault.fact(error.message()),
        error => fault = fault.fact(format!("`{}` reports: {error}", failed.driver)),
    }
    let input = failed.input.as_deref().map(last);
    let right = |question: &str| match input {
        Some(input) => format!("{question}, and is `{input}` right?"),
        None => format!("{question}?"),
    };
    fault.help(match &problem.kind {
        ProblemKind::Refused => right("is the server running"),
        ProblemKind::UnknownHost => match input {
            Some(input) => format!("check the spelling of the host in `{input}`"),
            None => "check the spelling of the host".to_owned(),
        },
        ProblemKind::Tls(_) => format!(
            "if a private authority signed the server's certificate, add that authority to `drivers.{}.grants.ca` of purlin.yaml",
            failed.driver
        ),
        ProblemKind::ReplyTimeout => right("is the server overloaded"),
        ProblemKind::Closed | ProblemKind::Garbled => right("does the server speak this protocol on this port"),
        _ => right("can this machine reach the server"),
    })
}

/// The explanation of a failure for which the driver does not know whether its request was
/// executed.
const UNDECIDED: &str = "the request may have been carried out; Purlin finds out in the next run, before it calls the driver again";

/// The fault that the driver reports, or that ended the driver.
fn reported(failed: &CallFailed, kind: &'static str) -> Diagnostic {
    let mut fault = Diagnostic::error(kind, format!("{}{}", failed.error.message(), tried(failed)));
    if matches!(&failed.error, CallError::Failure(Failure::Undecided(_))) {
        fault = fault.fact(UNDECIDED);
    }
    let status = failed.server_problem.as_ref().and_then(|problem| match problem.kind {
        ProblemKind::Status(status) => Some((problem, status)),
        _ => None,
    });
    let Some((problem, status)) = status else { return fault };
    let help = match status {
        401 | 403 => "check the credentials that the definition gives the driver".to_owned(),
        404 | 405 => match failed.input.as_deref().map(last) {
            Some(input) => format!("is `{input}` right, and does the path exist on this server?"),
            None => "does the path exist on this server?".to_owned(),
        },
        429 => "the server limits requests: run the same command again later".to_owned(),
        500.. => format!("the failure is on the server's side: read the log of {}", problem.server),
        _ => return fault,
    };
    fault.help(help)
}

fn tried(failed: &CallFailed) -> String {
    match failed.attempts {
        0 | 1 => String::new(),
        attempts => format!(", tried {attempts} times in {}", duration(failed.took)),
    }
}

/// The last name of a pointer.
fn last(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or(pointer)
}
