//! Signed requests, repeated when that is harmless, and a record of their effects so far.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use purlin_sdk::{Call, Failure, State};
use purlin_sdk_http::{Client, Request, Response, Transport};

use crate::sign::{Scope, signed};
use crate::{AwsError, Credentials, RequestError};

/// Attempts at one request within a call. After that the host waits, and calls again.
const ATTEMPTS: u32 = 4;
/// Attempts once something was changed: then the host cannot simply call again.
const ATTEMPTS_LATER: u32 = 9;
/// The first wait between two attempts; each further one is twice as long.
const WAIT: Duration = Duration::from_millis(250);
/// The longest default wait between two attempts.
const LONGEST: Duration = Duration::from_secs(4);

/// The longest wait for something that AWS has created and does not know everywhere yet.
const NOT_YET: Duration = Duration::from_secs(4);

/// The effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    None,
    /// It changes something, and repeating it has no further effect.
    Same,
    /// It creates something, and repeating it would create a second one.
    Another,
}

/// A client of one service of AWS for one call of a driver.
pub struct Aws {
    http: Client,
    scope: Scope,
    credentials: Credentials,
    /// Whether this call has changed anything.
    changed: Cell<bool>,
    /// Whether a change with an unknown outcome may have been made.
    undecided: Cell<bool>,
    /// Whether an answer to the last request was lost.
    lost: Cell<bool>,
}

impl Aws {
    /// A client for a service, with the service's name in signatures.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] if a part of the credentials is missing.
    pub fn new(
        call: &Call,
        service: &'static str,
        region: &str,
        credentials: &Credentials,
    ) -> Result<Self, Failure> {
        Ok(Self {
            http: Client::new(call).reason(format!("to provision in {}", service.to_uppercase())),
            scope: Scope { service, region: region.to_owned() },
            credentials: credentials.whole()?.clone(),
            changed: Cell::new(false),
            undecided: Cell::new(false),
            lost: Cell::new(false),
        })
    }

    /// The same over another transport.
    #[must_use]
    pub fn with_transport(mut self, transport: impl Transport + 'static) -> Self {
        self.http = self.http.with_transport(transport);
        self
    }

    /// Sends a request, with a new signature for each attempt. `action` is AWS's name for it, such
    /// as `s3:CreateBucket`.
    ///
    /// # Errors
    /// If AWS returns an error, or there is no answer.
    pub fn send(&self, action: &str, effect: Effect, request: Request) -> Result<Response, RequestError> {
        let request = if effect == Effect::Another { request } else { request.repeatable() };
        let mut wait = WAIT;
        // Once an answer is lost, the request may have been carried out, whatever later attempts
        // return.
        let mut lost_once = false;
        self.lost.set(false);
        for attempt in 1.. {
            let signed = signed(request.clone(), &self.scope, &self.credentials, SystemTime::now())?;
            let (fault, again, lost) = match self.http.send(signed) {
                Ok(answer) if answer.is_success() => {
                    self.changed.set(self.changed.get() || effect != Effect::None);
                    return Ok(answer);
                }
                Ok(answer) => {
                    let error = AwsError::of(&answer, action);
                    let lost = error.is_internal();
                    let again = error.is_busy() || lost && effect != Effect::Another;
                    wait = error.patience().unwrap_or(wait).max(WAIT);
                    (RequestError::Aws(Box::new(error)), again, lost)
                }
                Err(error) => {
                    let lost = error.is_lost();
                    let failure = Failure::from(error);
                    let again =
                        matches!(failure, Failure::RetryAfter { .. }) || lost && effect != Effect::Another;
                    (RequestError::Failed(failure), again, lost)
                }
            };
            lost_once |= lost && effect != Effect::None;
            self.lost.set(lost_once);
            let attempts = if self.changed.get() { ATTEMPTS_LATER } else { ATTEMPTS };
            if !again || attempt >= attempts || self.http.pause(wait).is_err() {
                self.undecided.set(self.undecided.get() || lost_once);
                return Err(fault);
            }
            wait = (wait * 2).min(LONGEST);
        }
        Err(RequestError::Failed(Failure::failed("no request was sent")))
    }

    /// Waits for something that AWS does in its own time.
    ///
    /// # Errors
    /// If the call's time is over, or the operator cancelled the call.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        self.http.pause(time)
    }

    /// The rest of the call's time.
    pub fn remaining(&self) -> Duration {
        self.http.remaining()
    }

    /// Repeats, for some seconds, an action that AWS rejects only because a new object is not known
    /// everywhere yet: see [`RequestError::is_not_yet`].
    ///
    /// # Errors
    /// The last error, or any other.
    pub fn until_known<T>(&self, attempt: impl Fn() -> Result<T, RequestError>) -> Result<T, RequestError> {
        let mut wait = WAIT;
        loop {
            match attempt() {
                Err(fault) if fault.is_not_yet() && wait <= NOT_YET && self.http.pause(wait).is_ok() => {
                    wait *= 2;
                }
                result => return result,
            }
        }
    }

    /// Deletes something that AWS may still treat as in use for a moment.
    ///
    /// # Errors
    /// The last error, or any other.
    pub fn until_free<T>(&self, attempt: impl Fn() -> Result<T, RequestError>) -> Result<T, RequestError> {
        let mut wait = WAIT;
        loop {
            match attempt() {
                Err(fault)
                    if fault.is(&["DeleteConflict"]) && wait <= NOT_YET && self.http.pause(wait).is_ok() =>
                {
                    wait *= 2;
                }
                result => return result,
            }
        }
    }

    /// Whether the last request that was sent had an attempt whose answer was lost.
    pub fn was_lost(&self) -> bool {
        self.lost.get()
    }

    /// The outcome that was unknown has been checked.
    pub fn decided(&self) {
        self.undecided.set(false);
    }

    /// The failure of a `create` that failed in the middle. If something was created, `made`
    /// describes it, and the rest is finished later. If it is unknown whether anything was created,
    /// the failure is undecided, and the host finds out.
    pub fn settle_create(&self, failure: Failure, made: Option<State>) -> Failure {
        match made {
            _ if matches!(failure, Failure::Partial { .. }) => failure,
            Some(state) if self.changed.get() => Failure::partial(state, failure),
            _ if self.changed.get() || self.undecided.get() => Failure::undecided(failure),
            _ => failure,
        }
    }

    /// The failure of an `update` that failed in the middle: if something may have changed, the
    /// rest is finished later.
    pub fn settle_update(&self, failure: Failure, state: State) -> Failure {
        match failure {
            Failure::Partial { .. } => failure,
            _ if self.changed.get() || self.undecided.get() => Failure::partial(state, failure),
            _ => failure,
        }
    }
}
