//! Sends requests within the deadline of a call. This module does not know how they travel.

use std::time::{Duration, Instant};

use purlin_sdk::{Call, Failure, operation};

use crate::{Error, Request, Response};

/// The time reserved at the end of a call, at most a fifth of it, so that the driver can still
/// report an error.
const RESERVE: Duration = Duration::from_millis(500);
/// The longest time for a request if the call has more time.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest wait between two attempts within one call.
const WAIT: Duration = Duration::from_secs(10);
/// How often a wait checks whether the operator cancelled the call.
const ASK: Duration = Duration::from_millis(100);

/// The limits of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the first byte sent to the last byte received.
    pub time: Duration,
    /// Bytes of the answer's body.
    pub largest: usize,
}

/// How requests travel. A closure of the same shape is a transport.
pub trait Transport {
    /// Sends a request and returns its answer, whatever its status. Redirects are returned as
    /// answers.
    ///
    /// # Errors
    /// There is no complete answer.
    fn exchange(&self, request: &Request, limits: &Limits) -> Result<Response, Error>;
}

impl<F: Fn(&Request, &Limits) -> Result<Response, Error>> Transport for F {
    fn exchange(&self, request: &Request, limits: &Limits) -> Result<Response, Error> {
        self(request, limits)
    }
}

/// The transport of the platform: `wasi:http` in a sandbox, plain HTTP/1.1 in unit tests.
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
    begin: Instant,
    /// The call's time from then on, without a reserve for the driver's answer.
    time: Duration,
    largest: usize,
    attempts: u32,
    reason: String,
    headers: Vec<(String, String)>,
}

impl Client {
    /// A client that finishes before the call's deadline. Answers may have 4 MiB, and nothing is
    /// sent twice.
    pub fn new(call: &Call) -> Self {
        let left = call.time_left();
        Self {
            transport: Box::new(Platform),
            begin: Instant::now(),
            time: left - RESERVE.min(left / 5),
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

    /// The same with a different limit for the body of an answer, in bytes.
    #[must_use]
    pub fn largest(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// The same with the purpose of the requests, which the operator reads if one is denied: "to
    /// …".
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

    /// The same with this number of attempts, at least one, at a request that may be repeated.
    /// Between attempts it waits as long as the server says, or else 200 ms, 400 ms and so on.
    #[must_use]
    pub fn patience(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The rest of the call's time, without the reserve for an answer.
    pub fn remaining(&self) -> Duration {
        self.time.saturating_sub(self.begin.elapsed())
    }

    /// Sends a request. Any status is returned as an answer: use [`Response::success`] to reject
    /// errors.
    ///
    /// # Errors
    /// If there is no complete answer. `?` turns it into the right [`Failure`].
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
                Ok(answer) => answer.retry_delay(),
                Err(error) => error.retry_delay(),
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

    /// Waits, and meanwhile checks whether to continue.
    ///
    /// # Errors
    /// [`Failure::RetryAfter`] if the call's time does not suffice, or the operator cancelled the
    /// call. It says that nothing happened: a driver that has begun something must return another
    /// failure.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        if time >= self.remaining() {
            return Err(Failure::retry_after(time, "the call's time is over"));
        }
        let mut left = time;
        loop {
            if operation::cancelled() {
                return Err(Failure::retry_after(left, "the call was cancelled"));
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
