//! The JSON of a failure: the `error` of a failed resource.

use std::collections::BTreeMap;

use purlin_model::grants::{Capability, Lack};
use purlin_model::server_problem::{ProblemKind, ServerProblem};
use purlin_model::{Diagnostic, Location, Reason, Worded};
use purlin_sandbox::CallError;
use purlin_sandbox::clock::millis;
use serde::{Serialize, Serializer};

use super::is_false;
use crate::error::Cause;
use crate::failed::CallFailed;

/// The error of a failed resource.
#[derive(Serialize)]
struct Fail<'a> {
    /// A stable short name of the kind of failure.
    code: &'static str,
    message: String,
    /// The underlying problem if it is known; otherwise the same as `code`.
    kind: &'static str,
    /// The driver that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'a str>,
    /// The number of calls; `milliseconds` is the time that they took.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    /// What the driver says about the failure, such as `code`, `status` and `request-id` of a service.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<&'a str, &'a str>,
    /// The server that could not be reached, or that replied with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server<'a>>,
    /// The relevant places in the documents: definitions, inputs, grants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<FailurePlace<'a>>,
    /// The grants that the driver lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lacking: Vec<Need<'a>>,
    /// The reasons for a replacement that was not in the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Worded<&'a Reason>>,
    /// What the user can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    help: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'a [Diagnostic],
}

/// A server, as the host observed it.
#[derive(Serialize)]
struct Server<'a> {
    address: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    problem: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

/// A place that a failure concerns.
#[derive(Serialize)]
struct FailurePlace<'a> {
    /// `definition`, `input` or `grant`.
    of: &'static str,
    /// The definition's id, or the input's JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(flatten)]
    location: Option<&'a Location>,
}

/// A grant that a driver lacks.
#[derive(Serialize)]
struct Need<'a> {
    capability: Capability,
    pattern: &'a str,
    /// Whether there is a grant, but it allows only reading.
    #[serde(skip_serializing_if = "is_false")]
    read_only: bool,
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fail::new(self).serialize(serializer)
    }
}

impl<'a> Fail<'a> {
    fn new(cause: &'a Cause) -> Self {
        let diagnostics = match cause {
            Cause::Inputs(faults) => faults.as_slice(),
            Cause::Call(failed) => &failed.invalid,
            _ => &[],
        };
        let reasons = match cause {
            Cause::MoreThanPlanned { reasons } => reasons.iter().map(Worded::from).collect(),
            _ => Vec::new(),
        };
        let mut fail = Self {
            code: cause.code(),
            message: cause.to_string(),
            kind: cause.kind(),
            driver: None,
            attempts: None,
            milliseconds: None,
            details: BTreeMap::new(),
            server: None,
            places: Vec::new(),
            lacking: Vec::new(),
            reasons,
            help: cause.diagnostics().into_iter().filter_map(|fault| fault.help).collect(),
            diagnostics,
        };
        if let Some(defined) = cause.definition() {
            let name = defined.name.as_deref();
            fail.places.push(FailurePlace { of: "definition", name, location: known(&defined.location) });
        }
        if let Cause::Call(failed) = cause {
            for pointer in failed.pointers() {
                let location = failed.place_of(pointer).and_then(|spot| known(&spot.location));
                fail.places.push(FailurePlace { of: "input", name: Some(pointer), location });
            }
            fail.call(failed);
        }
        fail
    }

    fn call(&mut self, failed: &'a CallFailed) {
        self.driver = (!failed.driver.is_empty()).then_some(&*failed.driver);
        self.attempts = Some(failed.attempts);
        self.milliseconds = Some(millis(failed.took));
        if let CallError::Failure(failure) = &failed.error {
            let details = failure.details().iter();
            self.details = details.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        }
        self.server = failed.server_problem.as_ref().map(Server::new);
        let Some(lacking) = &failed.lacking else { return };
        for need in &lacking.needs {
            let read_only = match lacking.granted.lacks(need) {
                Some(Lack::ReadOnly(dir)) => {
                    let (name, location) = (Some(dir.guest.as_str()), known(&dir.location));
                    self.places.push(FailurePlace { of: "grant", name, location });
                    true
                }
                _ => false,
            };
            self.lacking.push(Need { capability: need.capability, pattern: &need.pattern, read_only });
        }
    }
}

impl<'a> Server<'a> {
    fn new(problem: &'a ServerProblem) -> Self {
        Self {
            address: &problem.server,
            method: problem.request.as_ref().map(|request| request.method.as_str()),
            url: problem.request.as_ref().map(|request| request.url.as_str()),
            problem: problem.kind.code(),
            status: match problem.kind {
                ProblemKind::Status(status) => Some(status),
                _ => None,
            },
        }
    }
}

/// A place in a file. A text of an embedding program may have no name.
fn known(location: &Location) -> Option<&Location> {
    (!location.file.is_empty()).then_some(location)
}
