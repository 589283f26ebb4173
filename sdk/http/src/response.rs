//! Answers, and their failures.

use std::time::{Duration, SystemTime};

use purlin_sdk::{Failure, Json, Problem};
use serde::de::DeserializeOwned;

use crate::{Request, request};

/// Characters of a body that a message quotes.
const QUOTED: usize = 300;
/// Headers that have the server's own name of a request.
const REQUEST_IDS: [&str; 3] = ["x-request-id", "x-amzn-requestid", "x-amz-request-id"];
/// How long to wait if a server asks for a retry and does not say when.
const PATIENCE: Duration = Duration::from_secs(1);

/// An answer, whatever its status.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// Such as 200.
    pub status: u16,
    /// As received; names in any case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// The request that it answers, as people may see it.
    target: String,
    repeatable: bool,
    effects: bool,
}

impl Response {
    /// An answer that a transport received.
    pub fn new(status: u16, headers: Vec<(String, String)>, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers, body: body.into(), target: String::new(), repeatable: false, effects: false }
    }

    pub(crate) fn to(mut self, request: &Request) -> Self {
        self.target = request.target();
        self.repeatable = request.is_repeatable();
        self.effects = request.has_effects();
        self
    }

    /// The first header of a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        request::find(&self.headers, name)
    }

    /// Whether the status is one of 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the request may have been carried out although the answer is an error: a proxy, or
    /// the server itself, gave up in the middle.
    pub fn is_undecided(&self) -> bool {
        match self.status {
            // It was understood, and rejected.
            501 | 505 => false,
            503 => self.retry_after().is_none(),
            408 | 499 | 500..=599 => true,
            _ => false,
        }
    }

    /// The time after which the server wants the next attempt, if it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        match text.parse::<u64>() {
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) => {
                let then = httpdate::parse_http_date(text).ok()?;
                Some(then.duration_since(SystemTime::now()).unwrap_or_default())
            }
        }
    }

    /// The delay before another attempt, if one is useful and harmless: `Some(None)` if the server
    /// does not say how long.
    pub(crate) fn retry_delay(&self) -> Option<Option<Duration>> {
        let after = self.retry_after();
        let again = match self.status {
            429 => true,
            503 => after.is_some() || self.repeatable,
            408 | 425 | 502 | 504 => self.repeatable,
            _ => false,
        };
        again.then_some(after)
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Failure::Failed`] with the fault in the body, or [`Failure::Undecided`] if the request had
    /// effects and the status is a success. It quotes nothing, because an answer may hold secrets.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let problem =
                self.problem(format!("{}: the answer is not the JSON expected: {error}", self.target));
            let is_done = self.effects && self.is_success();
            if is_done { Failure::Undecided(problem) } else { Failure::Failed(problem) }
        })
    }

    /// The body as text; invalid bytes are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The answer itself if its status is one of 200 to 299.
    ///
    /// # Errors
    /// The result of [`Response::failure`].
    pub fn success(self) -> Result<Self, Failure> {
        if self.is_success() { Ok(self) } else { Err(self.failure()) }
    }

    /// The answer itself if its status is one of these.
    ///
    /// # Errors
    /// The result of [`Response::failure`].
    pub fn expect_status(self, statuses: &[u16]) -> Result<Self, Failure> {
        if statuses.contains(&self.status) { Ok(self) } else { Err(self.failure()) }
    }

    /// The failure for an unwanted answer: 404 and 410 are not found, 409 and 412 a conflict, a
    /// request for a retry is granted if nothing can have happened, and an uncertain outcome is
    /// undecided ([`Response::is_undecided`]).
    pub fn failure(&self) -> Failure {
        let problem = self.problem(self.message());
        if self.effects && self.is_undecided() {
            return Failure::Undecided(problem);
        }
        if let Some(after) = self.retry_delay() {
            return Failure::retry_after(after.unwrap_or(PATIENCE), problem.message);
        }
        match self.status {
            404 | 410 => Failure::NotFound(problem),
            409 | 412 => Failure::Conflict(problem),
            _ => Failure::Failed(problem),
        }
    }

    /// A message with the details of this answer: its `status` and, if the server named it, the
    /// `request-id`.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let problem = Problem::new(message).with_detail("status", self.status.to_string());
        match self.request_id() {
            Some(id) => problem.with_detail("request-id", id),
            None => problem,
        }
    }

    /// The server's own name of the request, which its operators can look up.
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_IDS.iter().find_map(|name| self.header(name)).filter(|id| !id.is_empty())
    }

    /// Method, URL, status, and the server's message. For a success, only the part for people is
    /// quoted, because the rest may contain secrets.
    pub fn message(&self) -> String {
        let message = serde_json::from_slice::<Json>(&self.body).ok().and_then(|body| message_in(&body));
        let rest = || if self.is_success() { String::new() } else { self.text() };
        let message = quoted(&message.unwrap_or_else(rest));
        let target = &self.target;
        let mark = if message.is_empty() { "" } else { ": " };
        format!("{target}: status {}{mark}{message}", self.status)
    }
}

/// The message in a body, at one of the places where APIs put it.
fn message_in(body: &Json) -> Option<String> {
    let places = [
        "/message",
        "/error/message",
        "/error_description",
        "/error",
        "/detail",
        "/errors/0/message",
        "/errors/0/detail",
        "/errors/0",
        "/Message",
        "/title",
        "/reason",
    ];
    places.iter().find_map(|place| body.pointer(place).and_then(Json::as_str)).map(str::to_owned)
}

/// One line of a message.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
