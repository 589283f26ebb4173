//! The requests of the declaration, and the meaning of an answer to a request that changes
//! something.

use std::time::Duration;

use purlin_sdk::{Call, Failure, Json, Object, Subject};
use purlin_sdk_http::{Client, Parts, Request, Response};

use crate::inputs::{HttpInputs, Operation};
use crate::template::{self, Scope};

/// Attempts within one call at a request that may be repeated.
const ATTEMPTS: u32 = 3;
/// How long to wait if a status asks for a retry and the server does not say when.
const PATIENCE: Duration = Duration::from_secs(2);

/// An API, for one call.
pub(crate) struct Api<'a> {
    pub(crate) inputs: &'a HttpInputs,
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    key: String,
}

/// The outcome of a request that changes something.
pub(crate) enum Sent {
    /// The server carried it out.
    Done(Response),
    /// The server may have carried it out, or may still do so.
    Doubt(String),
}

impl<'a> Api<'a> {
    pub(crate) fn new(inputs: &'a HttpInputs, subject: &Subject, name: &str, call: &Call) -> Self {
        let scope = Scope {
            id: None,
            name: name.to_owned(),
            guresid: subject.guresid.clone(),
            outputs: Object::new(),
            params: inputs.params.clone(),
            vars: inputs.values.vars.clone(),
        };
        let reason = format!("to manage {}", subject.urn);
        let client = Client::new(call).reason(reason).patience(ATTEMPTS);
        Self { inputs, client, scope, key: call.idempotency_key.clone() }
    }

    /// The URL of a path of the API.
    pub(crate) fn url(&self, template: &str, scope: &Scope) -> Result<String, Failure> {
        let base = &self.inputs.connection.base_url;
        Ok(format!("{base}{}", template::expand(template, scope).map_err(Failure::failed)?))
    }

    /// The URL that an answer names. It must be of the same server, because credentials go with the
    /// request.
    pub(crate) fn linked(&self, link: &str) -> Result<String, Failure> {
        let base = Parts::of(&self.inputs.connection.base_url).map_err(Failure::failed)?;
        let scheme = if base.secure { "https" } else { "http" };
        if link.starts_with('/') && !link.starts_with("//") {
            return Ok(format!("{scheme}://{}{link}", base.authority));
        }
        match Parts::of(link) {
            Ok(there) if there.secure == base.secure && there.authority == base.authority => {
                Ok(link.to_owned())
            }
            _ => Err(Failure::failed(format!(
                "the server returned `{link}`, which is not at {scheme}://{}",
                base.authority
            ))),
        }
    }

    /// A request of the declaration.
    pub(crate) fn request(
        &self,
        operation: &Operation,
        method: &str,
        path: &str,
        scope: &Scope,
    ) -> Result<Request, Failure> {
        let url = self.url(operation.path.as_deref().unwrap_or(path), scope)?;
        let mut request = Request::new(operation.method.as_deref().unwrap_or(method), url);
        for (name, value) in &operation.headers {
            request = request.header(name, value);
        }
        Ok(request)
    }

    /// A `GET` of some URL.
    pub(crate) fn get(&self, url: String) -> Result<Response, Failure> {
        self.look(Request::get(url))
    }

    /// A request that changes nothing, whatever its method.
    pub(crate) fn look(&self, request: Request) -> Result<Response, Failure> {
        let answer = self.send(request.repeatable())?;
        if self.inputs.values.retry.contains(&answer.status) {
            let after = answer.retry_after().unwrap_or(PATIENCE);
            return Err(Failure::retry_after(after, answer.message()));
        }
        Ok(answer)
    }

    /// A request that changes something, with its body.
    pub(crate) fn change(
        &self,
        operation: &Operation,
        mut request: Request,
        body: Option<&Json>,
    ) -> Result<Sent, Failure> {
        if let Some(body) = self.inputs.body(body) {
            request = request.json(&body)?;
        }
        if let Some(header) = &self.inputs.values.idempotency_header {
            request = request.header(header, &self.key).repeatable();
        }
        self.effect(operation, request)
    }

    /// A request that changes something.
    pub(crate) fn effect(&self, operation: &Operation, request: Request) -> Result<Sent, Failure> {
        let answer = match self.send(request) {
            Ok(answer) => answer,
            Err(error) if error.is_lost() => {
                return Ok(Sent::Doubt(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        if self.inputs.values.retry.contains(&answer.status) {
            let after = answer.retry_after().unwrap_or(PATIENCE);
            return Err(Failure::retry_after(after, answer.message()));
        }
        let expected = match operation.expect.as_slice() {
            [] => answer.is_success(),
            statuses => statuses.contains(&answer.status),
        };
        match answer.status {
            _ if expected => Ok(Sent::Done(answer)),
            // Whoever passes the request on may say so although it arrived.
            408 | 503 if answer.retry_after().is_some() || self.is_repeatable() => {
                let after = answer.retry_after().unwrap_or(PATIENCE);
                Err(Failure::retry_after(after, answer.message()))
            }
            _ if answer.is_undecided() => Ok(Sent::Doubt(answer.message())),
            _ => Err(refused(&answer)),
        }
    }

    /// Whether another attempt cannot create a second resource.
    fn is_repeatable(&self) -> bool {
        self.inputs.can_look() || self.inputs.values.idempotency_header.is_some()
    }

    fn send(&self, mut request: Request) -> Result<Response, purlin_sdk_http::Error> {
        let connection = &self.inputs.connection;
        for (name, value) in &connection.headers {
            request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
            request = request.header(name, value);
        }
        for (name, value) in &self.inputs.values.headers {
            if request.get_header(name).is_none() {
                request = request.header(name, value);
            }
        }
        if request.get_header("accept").is_none() {
            request = request.header("accept", "application/json");
        }
        if request.get_header("authorization").is_none() {
            if let Some(token) = &connection.bearer {
                request = request.bearer(token);
            } else if let Some(basic) = &connection.basic {
                request = request.basic(&basic.user, &basic.password);
            }
        }
        for (name, value) in &connection.query {
            request = request.query(name, value);
        }
        self.client.send(request)
    }

    /// Whether an answer means that there is no such resource.
    pub(crate) fn is_gone(&self, answer: &Response) -> bool {
        let values = &self.inputs.values;
        values.gone.contains(&answer.status)
            || values.gone_when.as_ref().is_some_and(|gone| {
                answer.is_success() && answer.json::<Json>().is_ok_and(|document| gone.holds(&document))
            })
    }
}

/// The meaning of an error answer, with a hint about redirects.
pub(crate) fn refused(answer: &Response) -> Failure {
    match (answer.status, answer.header("location")) {
        (300..=399, Some(location)) => Failure::Failed(answer.problem(format!(
            "{}; it redirects to `{location}`, which is not followed: use that as `base_url` or path",
            answer.message()
        ))),
        (401 | 403, _) => Failure::Failed(
            answer.problem(format!("{}; check the credentials in `connection`", answer.message())),
        ),
        _ => answer.failure(),
    }
}

/// The JSON of an answer; `None` if it has none.
pub(crate) fn document(answer: &Response) -> Option<Json> {
    serde_json::from_slice(&answer.body).ok()
}
