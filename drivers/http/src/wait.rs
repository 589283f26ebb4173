//! Waits for a resource to become ready, for an operation to end, or for something to be gone.

use std::time::{Duration, Instant};

use purlin_sdk::{Failure, Json, operation};
use purlin_sdk_http::Response;

use crate::api::{Api, document, refused};
use crate::inputs::{Condition, LongOperation, Wait};

/// How often to check whether something is gone.
const LOOK: Duration = Duration::from_secs(1);

/// Why a wait ended without success.
pub(crate) enum Unmet {
    /// It failed, and stays so.
    Failed(String),
    /// Not yet, and the time is over or the call was cancelled.
    NotYet(String),
}

impl Unmet {
    pub(crate) fn message(self) -> String {
        match self {
            Self::Failed(message) | Self::NotYet(message) => message,
        }
    }
}

/// A repeated request.
struct Poll<'a> {
    what: &'a str,
    until: &'a Condition,
    fail: Option<&'a Condition>,
    every: Duration,
    at_most: Option<Duration>,
}

impl Api<'_> {
    /// Waits until a resource is ready. Does not return its state.
    pub(crate) fn ready(&self, wait: &Wait, id: &str) -> Result<(), Unmet> {
        let poll = Poll {
            what: "the resource",
            until: &wait.until,
            fail: wait.fail.as_ref(),
            every: Duration::from_millis(wait.every_ms),
            at_most: wait.at_most_ms.map(Duration::from_millis),
        };
        let path = wait.path.clone().unwrap_or_else(|| self.inputs.read_path());
        let url =
            self.url(&path, &self.scope.with_id(id)).map_err(|failure| Unmet::Failed(failure.to_string()))?;
        self.poll(&poll, &url).map(drop)
    }

    /// Whether there is nothing to wait for: the resource is ready, has failed, or needs no waiting.
    pub(crate) fn is_ready(&self, id: &str, seen: &Json) -> Result<bool, Failure> {
        let Some(wait) = &self.inputs.values.wait else { return Ok(true) };
        let other;
        let document = match &wait.path {
            None => seen,
            Some(path) => {
                let answer = self.get(self.url(path, &self.scope.with_id(id))?)?;
                if !answer.is_success() {
                    return Err(refused(&answer));
                }
                other = document(&answer).unwrap_or(Json::Null);
                &other
            }
        };
        let failed = wait.fail.as_ref().is_some_and(|fail| fail.holds(document));
        Ok(failed || wait.until.holds(document))
    }

    /// The place at which an answer says that an operation continues.
    pub(crate) fn goes_on(&self, answer: &Response) -> Result<Option<(&LongOperation, String)>, Failure> {
        let Some(operation) = &self.inputs.values.operation else { return Ok(None) };
        let Some(link) = answer.header(&operation.header).filter(|_| answer.status == 202) else {
            return Ok(None);
        };
        Ok(Some((operation, self.linked(link)?)))
    }

    /// Follows an operation to its end.
    pub(crate) fn follow(&self, operation: &LongOperation, url: &str) -> Result<Json, Unmet> {
        let poll = Poll {
            what: "the operation",
            until: &operation.until,
            fail: operation.fail.as_ref(),
            every: Duration::from_millis(operation.every_ms),
            at_most: operation.at_most_ms.map(Duration::from_millis),
        };
        self.poll(&poll, url)
    }

    fn poll(&self, poll: &Poll<'_>, url: &str) -> Result<Json, Unmet> {
        let begun = Instant::now();
        let mut last_state = String::new();
        loop {
            let mut wait = poll.every;
            match self.get(url.to_owned()) {
                Ok(answer) if answer.is_success() => {
                    let document = document(&answer).unwrap_or(Json::Null);
                    if poll.until.holds(&document) {
                        return Ok(document);
                    }
                    let now = document.pointer(&poll.until.pointer).unwrap_or(&Json::Null).to_string();
                    if poll.fail.is_some_and(|fail| fail.holds(&document)) {
                        return Err(Unmet::Failed(format!("{} failed: {}", poll.what, answer.message())));
                    }
                    if last_state != now {
                        operation::progress(&format!("{} is {now}", poll.what), None);
                        last_state = now;
                    }
                    wait = answer.retry_after().unwrap_or(poll.every).max(poll.every);
                }
                Ok(answer) => match refused(&answer) {
                    Failure::RetryAfter { after, .. } => wait = after.max(poll.every),
                    // An API may take a while to know a resource that it just created.
                    Failure::NotFound(message) => last_state = message,
                    failure => return Err(Unmet::Failed(failure.to_string())),
                },
                Err(Failure::RetryAfter { after, .. }) => wait = after.max(poll.every),
                Err(failure) => return Err(Unmet::Failed(failure.to_string())),
            }
            let over = poll.at_most.is_some_and(|most| begun.elapsed() + wait > most);
            if over || self.client.pause(wait).is_err() {
                let seconds = begun.elapsed().as_secs();
                let state = if last_state.is_empty() { "without an answer" } else { &last_state };
                return Err(Unmet::NotYet(format!("{} is {state} after {seconds} s", poll.what)));
            }
        }
    }

    /// Waits until a resource is gone.
    pub(crate) fn until_gone(&self, id: &str) -> Result<(), Failure> {
        while self.read(id)?.is_some() {
            let wait = self.client.pause(LOOK);
            wait.map_err(|_| Failure::undecided("its deletion was accepted, but it still exists"))?;
        }
        Ok(())
    }
}
