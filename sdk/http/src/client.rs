//! Sending requests within the deadline of a call. It does not know how they travel.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purlin_sdk::{Call, Failure, operation};

use crate::{Error, Request, Response};

/// What is kept of the call's time, a fifth of it at most, so that the driver can still say what
/// went wrong.
const RESERVE: Duration = Duration::from_millis(500);
/// The longest that a request may take where the call has more time.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest wait between two attempts within one call.
const WAIT: Duration = Duration::from_secs(10);
/// How often a wait asks whether the operator wants the call to end.
const ASK: Duration = Duration::from_millis(100);

/// What an exchange has to stay within.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the first byte sent to the last one received.
    pub time: Duration,
    /// Bytes of the answer's body.
    pub largest: usize,
}

/// How requests travel. A closure of the same shape is one.
pub trait Transport {
    /// Sends a request and returns its answer, whatever its status. Redirects are answers.
    ///
    /// # Errors
    /// Where there is no whole answer.
    fn exchange(&self, request: &Request, limits: &Limits) -> Result<Response, Error>;
}

impl<F: Fn(&Request, &Limits) -> Result<Response, Error>> Transport for F {
    fn exchange(&self, request: &Request, limits: &Limits) -> Result<Response, Error> {
        self(request, limits)
    }
}

/// The platform's own way: `wasi:http` in a sandbox, plain HTTP/1.1 in unit tests.
struct Platform;

impl Transport for Platform {
    fn exchange(&self, request: &Request, limits: &Limits) -> Result<Response, Error> {
        #[cfg(target_os = "wasi")]
        return crate::wasi::exchange(request, limits);
        #[cfg(not(target_os = "wasi"))]
        return crate::native::exchange(request, limits);
    }
}

/// A client for one call of a driver.
pub struct Client {
    transport: Box<dyn Transport>,
    /// Milliseconds since 1970.
    deadline: u64,
    reserve: Duration,
    largest: usize,
    attempts: u32,
    reason: String,
    headers: Vec<(String, String)>,
}

impl Client {
    /// A client that is done before the call's deadline. Answers may have 4 MiB, and nothing is
    /// sent twice.
    pub fn new(call: &Call) -> Self {
        Self {
            transport: Box::new(Platform),
            deadline: call.deadline,
            reserve: RESERVE.min(left(call.deadline) / 5),
            largest: 4 << 20,
            attempts: 1,
            reason: "to do what the inputs say".to_owned(),
            headers: Vec::new(),
        }
    }

    /// The same over another transport.
    #[must_use]
    pub fn with_transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Box::new(transport);
        self
    }

    /// The same with another limit for the body of an answer, in bytes.
    #[must_use]
    pub fn largest(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// The same with what requests are for, as the operator reads it where one is denied: "to …".
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The same with a header for each request that does not have it.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same with so many attempts, at least one, at a request that may be repeated. Between
    /// them it waits as long as the server says, or else 200 ms, 400 ms and so on.
    #[must_use]
    pub fn patience(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// What is left of the call's time, without the little that is kept for an answer.
    pub fn remaining(&self) -> Duration {
        left(self.deadline).saturating_sub(self.reserve)
    }

    /// Sends a request. Any status is an answer: [`Response::success`] is the strict one.
    ///
    /// # Errors
    /// Where there is no whole answer. `?` makes the right [`Failure`] of it.
    pub fn send(&self, mut request: Request) -> Result<Response, Error> {
        for (name, value) in &self.headers {
            if request.get_header(name).is_none() {
                request.headers.push((name.clone(), value.clone()));
            }
        }
        request.validate()?;
        let mut attempt = 1;
        loop {
            let result = self.attempt(&request);
            let wait = match &result {
                Ok(answer) => answer.asks_for_patience(),
                Err(error) => error.asks_for_patience(),
            };
            let Some(wait) = wait.filter(|_| attempt < self.attempts) else { return result };
            let wait = wait.unwrap_or(Duration::from_millis(100) * 2u32.saturating_pow(attempt));
            if wait > WAIT || self.pause(wait).is_err() {
                return result;
            }
            attempt += 1;
        }
    }

    fn attempt(&self, request: &Request) -> Result<Response, Error> {
        let time = self.remaining().min(LONGEST);
        if time.is_zero() {
            return Err(Error::unreachable(request, "the call's time is over"));
        }
        let limits = Limits { time, largest: self.largest };
        match self.transport.exchange(request, &limits) {
            Ok(answer) => Ok(answer.to(request)),
            Err(error) => Err(error.with_reason(&self.reason)),
        }
    }

    /// Waits, and asks all the while whether to go on.
    ///
    /// # Errors
    /// [`Failure::RetryAfter`] where the call's time does not suffice, or the operator wants it to
    /// end. It says that nothing happened: who has begun something has to say otherwise.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        if time >= self.remaining() {
            return Err(Failure::RetryAfter { after: time, message: "the call's time is over".to_owned() });
        }
        let mut left = time;
        loop {
            if operation::cancelled() {
                return Err(Failure::RetryAfter {
                    after: left,
                    message: "the call was cancelled".to_owned(),
                });
            }
            if left.is_zero() {
                return Ok(());
            }
            let step = left.min(ASK);
            std::thread::sleep(step);
            left -= step;
        }
    }
}

fn left(deadline: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline).saturating_sub(now)
}
