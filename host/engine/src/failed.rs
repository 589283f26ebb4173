//! A failed driver call with everything that is known about it: what the driver reports, what the
//! host observed, the number of attempts, and the definition.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use purlin_model::driver::{Failure, Inputs};
use purlin_model::grants::{Capability, Endpoint, HttpGrant, Need};
use purlin_model::server_problem::ServerProblem;
use purlin_model::{Diagnostic, DocumentPart, Grants, Location, Recipe, Spot, Value};
use purlin_sandbox::{CallError, Facts};

use crate::driver::Driver;
use crate::values::rules::SchemaRules;

/// A failed driver call.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct CallFailed {
    /// The error that the driver reports, or the reason why the call was terminated.
    pub error: CallError,
    /// The driver's name; empty if unknown.
    pub driver: Arc<str>,
    /// The number of calls.
    pub attempts: u32,
    /// The total duration, including the pauses between the calls.
    pub took: Duration,
    /// The longest wait between calls, if the driver asked for a longer one.
    pub most_wait: Option<Duration>,
    /// The last problem with a server that the host observed.
    pub server_problem: Option<ServerProblem>,
    /// The input that names this server: a JSON Pointer into
    /// `{values, secrets, params, connection}`.
    pub input: Option<String>,
    /// The grants that the driver lacks, and those it has.
    pub lacking: Option<Box<Lacking>>,
    /// The inputs that the driver reports as invalid, at their places in the documents: the same
    /// diagnostics as in a plan.
    pub invalid: Vec<Diagnostic>,
    /// The definition that provisions the resource; `None` if the resource is only deleted.
    pub definition: Option<Defined>,
    /// Where the definition writes the inputs of [`Self::pointers`], as far as it does.
    pub(crate) spots: Vec<(String, Spot)>,
}

/// The grants that a driver lacks, and those it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The access that it needs.
    pub needs: Vec<Need>,
    /// The access that it is granted.
    pub granted: Grants,
}

/// A definition, by name and location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Its id; `None` for the built-in definition of `workload` and `base-env`.
    pub name: Option<Arc<str>>,
    /// Where it was written.
    pub location: Location,
}

impl Defined {
    pub(crate) fn by(recipe: &Recipe) -> Self {
        Self { name: recipe.name.clone(), location: recipe.location.clone() }
    }
}

impl From<CallError> for CallFailed {
    fn from(error: CallError) -> Self {
        Self {
            error,
            driver: "".into(),
            attempts: 1,
            took: Duration::ZERO,
            most_wait: None,
            server_problem: None,
            input: None,
            lacking: None,
            invalid: Vec::new(),
            definition: None,
            spots: Vec::new(),
        }
    }
}

impl CallFailed {
    /// The inputs that the failure is about, as JSON Pointers into `{values, secrets, params,
    /// connection}`: those that the driver reports as invalid, and the one that names the server.
    pub fn pointers(&self) -> impl Iterator<Item = &str> {
        let wrong = match &self.error {
            CallError::Failure(Failure::InvalidInputs(inputs)) => inputs.as_slice(),
            _ => &[],
        };
        let wrong = wrong.iter().map(|input| input.pointer.as_str());
        wrong.chain(self.input.as_deref()).filter(|pointer| !pointer.is_empty())
    }

    /// Where the definition writes an input; `None` if it does not, or the documents are not
    /// available.
    pub fn place_of(&self, pointer: &str) -> Option<&Spot> {
        self.spots.iter().find(|(known, _)| known == pointer).map(|(_, spot)| spot)
    }

    /// Looks up where the definition writes the inputs.
    pub(crate) fn located(mut self, rules: &SchemaRules) -> Self {
        let Some(defined) = &self.definition else { return self };
        // The definition contains every input except those from the developer's params.
        let own = self.pointers().filter(|pointer| !pointer.starts_with("/params"));
        let spot = |pointer: &str| {
            Some((pointer.to_owned(), rules.place(DocumentPart::Definition(&defined.location), pointer)?))
        };
        self.spots = own.filter_map(spot).collect();
        self
    }

    /// Adds the context of the call to the error.
    pub(crate) fn explained(
        mut self,
        driver: &dyn Driver,
        facts: &Facts,
        inputs: Option<&Inputs>,
        definition: Option<Defined>,
    ) -> Self {
        self.driver = driver.known_as().into();
        self.server_problem = facts.last_server_problem();
        let mut needs = facts.all_refused();
        if let CallError::Failure(Failure::Denied { capability, target, .. }) = &self.error
            && let Some(need) = need(capability, target)
            && (needs.is_empty() || need.capability == Capability::Dirs)
        {
            needs.push(need);
        }
        let denied = matches!(self.error, CallError::Failure(Failure::Denied { .. }));
        let reached = match (needs.first().filter(|_| denied), &self.server_problem) {
            (Some(need), _) => Some(target(&need.pattern)),
            (None, Some(problem)) => Some(&*problem.server),
            (None, None) => None,
        };
        self.input = reached.zip(inputs).and_then(|(reached, inputs)| naming(reached, inputs));
        if let (false, Some(granted)) = (needs.is_empty(), driver.grants()) {
            self.lacking = Some(Box::new(Lacking { needs, granted: granted.clone() }));
        }
        self.definition = definition;
        self
    }
}

/// The access that the driver reports as denied, if it can be granted literally.
fn need(capability: &str, target: &str) -> Option<Need> {
    let plain = |text: &str| !text.chars().any(|c| c.is_control()) && !text.contains("..");
    let capability = capability.parse().ok()?;
    let fits = match capability {
        Capability::Http => HttpGrant::parse(target).is_ok(),
        Capability::Tcp | Capability::Udp => Endpoint::parse(target).is_ok(),
        Capability::Dirs => target.starts_with('/') && target.len() > 1,
        Capability::Dns | Capability::Addresses | Capability::Ca | Capability::Env | Capability::Secrets => {
            false
        }
    };
    (fits && plain(target)).then(|| Need::new(capability, target))
}

/// The server or folder in a grant.
fn target(pattern: &str) -> &str {
    let rest = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    match rest.len() == pattern.len() {
        true => pattern,
        false => rest.split('/').next().unwrap_or(rest),
    }
}

/// The first input that contains the server's address, or else its host.
fn naming(server: &str, inputs: &Inputs) -> Option<String> {
    let host = match server.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => server,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let parts = [("connection", &inputs.connection), ("values", &inputs.values), ("params", &inputs.params)];
    [server, bare]
        .into_iter()
        .filter(|text| !text.is_empty())
        .find_map(|text| parts.iter().find_map(|(name, value)| find(text, value, &mut format!("/{name}"))))
}

fn find(text: &str, value: &Value, pointer: &mut String) -> Option<String> {
    let mut below = |segment: Cow<'_, str>, value: &Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        let found = find(text, value, pointer);
        pointer.truncate(length);
        found
    };
    // The content of a secret is never revealed, not even whether it contains a host name.
    match value {
        Value::String(own) => {
            own.to_ascii_lowercase().contains(&text.to_ascii_lowercase()).then(|| pointer.clone())
        }
        Value::List(items) => {
            items.iter().enumerate().find_map(|(index, item)| below(index.to_string().into(), item))
        }
        Value::Map(map) => map.iter().find_map(|(name, item)| below(Cow::Borrowed(name), item)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_input_that_names_a_server_is_found() {
        let inputs = Inputs {
            values: json!({"note": "db", "server": {"host": "DB.internal", "port": 5432}, "urls": ["http://10.0.0.1:81/x"]})
                .into(),
            ..Inputs::default()
        };
        for (server, input) in [
            ("db.internal:5432", Some("/values/server/host")),
            ("10.0.0.1:81", Some("/values/urls/0")),
            ("10.0.0.1:82", Some("/values/urls/0")),
            ("other:1", None),
        ] {
            assert_eq!(naming(server, &inputs).as_deref(), input, "{server}");
        }
    }

    #[test]
    fn a_request_is_granted_literally_or_not_at_all() {
        assert_eq!(need("dirs", "/out"), Some(Need::new(Capability::Dirs, "/out")));
        for (capability, target) in [("dirs", "/a/../b"), ("dirs", "out"), ("http", "x"), ("bank", "all")] {
            assert_eq!(need(capability, target), None, "{capability} {target}");
        }
    }
}
