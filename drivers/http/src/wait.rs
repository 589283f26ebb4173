//! Whether a resource is ready, an operation has ended, or something is gone. A call waits for that only
//! for a moment: the driver then answers that it is pending, and the host looks again.

use std::time::{Duration, Instant};

use purlin_sdk::{Failure, Json, State, operation};
use purlin_sdk_http::Response;

use crate::Kept;
use crate::api::{Api, document, refused};
use crate::inputs::{Condition, LongOperation, Wait};

/// How often to check whether something is gone.
const LOOK: Duration = Duration::from_secs(1);
/// The longest wait in a call that can answer that it is pending.
pub(crate) const MOMENT: Duration = Duration::from_secs(5);
/// The longest wait in a call: its client ends it before the call does.
pub(crate) const WHOLE_CALL: Duration = Duration::MAX;

/// Why a wait ended without success.
pub(crate) enum Unmet {
    /// It failed, and stays so.
    Failed(String),
    /// Not yet, and the time is over or the call was cancelled.
    NotYet {
        /// The state of it.
        message: String,
        /// When to look again.
        after: Duration,
    },
}

impl Unmet {
    /// The failure for a resource that exists.
    pub(crate) fn failure(self, exists: State, kept: Kept) -> Failure {
        match self {
            Self::Failed(message) => Failure::partial(exists, message),
            Self::NotYet { message, after } => match exists.cookie(kept.waiting()) {
                Ok(exists) => exists.pending(after, message),
                Err(failure) => failure,
            },
        }
    }
}

/// A repeated request.
struct Poll<'a> {
    what: &'a str,
    until: &'a Condition,
    fail: Option<&'a Condition>,
    every: Duration,
}

impl<'a> Poll<'a> {
    fn for_ready(wait: &'a Wait) -> Self {
        let every = Duration::from_millis(wait.every_ms);
        Self { what: "the resource", until: &wait.until, fail: wait.fail.as_ref(), every }
    }

    /// What a document says; the state of it, if it says neither success nor failure.
    fn judge(&self, document: &Json) -> Result<(), String> {
        match self.until.holds(document) {
            true => Ok(()),
            false => Err(document.pointer(&self.until.pointer).unwrap_or(&Json::Null).to_string()),
        }
    }

    fn has_failed(&self, document: &Json) -> bool {
        self.fail.is_some_and(|fail| fail.holds(document))
    }
}

impl Api<'_> {
    /// Waits a moment until a resource is ready. Does not return its state.
    pub(crate) fn ready(&self, wait: &Wait, id: &str) -> Result<(), Unmet> {
        let path = wait.path.clone().unwrap_or_else(|| self.inputs.read_path());
        let url =
            self.url(&path, &self.scope.with_id(id)).map_err(|failure| Unmet::Failed(failure.to_string()))?;
        self.poll(&Poll::for_ready(wait), &url, MOMENT).map(drop)
    }

    /// Whether a resource is ready now, as its description says or, if `wait` has a path, the answer there.
    pub(crate) fn is_ready(&self, id: &str, seen: &Json) -> Result<Result<(), Unmet>, Failure> {
        let Some(wait) = &self.inputs.values.wait else { return Ok(Ok(())) };
        let poll = Poll::for_ready(wait);
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
        Ok(poll.judge(document).map_err(|state| match poll.has_failed(document) {
            true => Unmet::Failed(format!("{} failed: it is {state}", poll.what)),
            false => Unmet::NotYet { message: format!("{} is {state}", poll.what), after: poll.every },
        }))
    }

    /// The place at which an answer says that an operation continues.
    pub(crate) fn goes_on(&self, answer: &Response) -> Result<Option<(&LongOperation, String)>, Failure> {
        let Some(operation) = &self.inputs.values.operation else { return Ok(None) };
        let Some(link) = answer.header(&operation.header).filter(|_| answer.status == 202) else {
            return Ok(None);
        };
        Ok(Some((operation, self.linked(link)?)))
    }

    /// What is left of an operation that went on when the resource was last seen; none if nothing is.
    pub(crate) fn went_on(&self, kept: &Kept) -> Option<Result<Unmet, Failure>> {
        let (operation, link) = (self.inputs.values.operation.as_ref()?, kept.operation.as_ref()?);
        match self.linked(link) {
            Ok(url) => self.follow(operation, &url, Duration::ZERO).err().map(Ok),
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Follows an operation to its end, or for this time.
    pub(crate) fn follow(
        &self,
        operation: &LongOperation,
        url: &str,
        patience: Duration,
    ) -> Result<Json, Unmet> {
        let poll = Poll {
            what: "the operation",
            until: &operation.until,
            fail: operation.fail.as_ref(),
            every: Duration::from_millis(operation.every_ms),
        };
        self.poll(&poll, url, patience)
    }

    fn poll(&self, poll: &Poll<'_>, url: &str, patience: Duration) -> Result<Json, Unmet> {
        let begun = Instant::now();
        let mut last_state = String::new();
        loop {
            let mut wait = poll.every;
            match self.get(url.to_owned()) {
                Ok(answer) if answer.is_success() => {
                    let document = document(&answer).unwrap_or(Json::Null);
                    let Err(now) = poll.judge(&document) else { return Ok(document) };
                    if poll.has_failed(&document) {
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
                    Failure::NotFound(problem) => last_state = problem.message,
                    failure => return Err(Unmet::Failed(failure.to_string())),
                },
                Err(Failure::RetryAfter { after, .. }) => wait = after.max(poll.every),
                Err(failure) => return Err(Unmet::Failed(failure.to_string())),
            }
            let over = begun.elapsed().saturating_add(wait) > patience;
            if over || self.client.pause(wait).is_err() {
                let state = if last_state.is_empty() { "without an answer" } else { &last_state };
                return Err(Unmet::NotYet { message: format!("{} is {state}", poll.what), after: wait });
            }
        }
    }

    /// Waits a moment until a resource is gone.
    pub(crate) fn until_gone(&self, id: &str) -> Result<(), Failure> {
        let begun = Instant::now();
        while self.read(id)?.is_some() {
            let over = begun.elapsed().saturating_add(LOOK) > MOMENT;
            if over || self.client.pause(LOOK).is_err() {
                return Err(Failure::pending(LOOK, "its deletion was accepted, but it still exists"));
            }
        }
        Ok(())
    }
}
