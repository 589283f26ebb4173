//! `log`, and the destination of standard output and error: lines for the operator, as `tracing`
//! events with the target `purlin::driver`. Secrets are masked, control characters are made
//! visible, and a driver's output is limited.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::Key;
use purlin_model::grants::Need;
use purlin_model::server_problem::{ProblemKind, RequestLine, ServerProblem};

use super::Guest;
use crate::bindings::purlin::driver::log;
use crate::convert::printable;
use crate::error::size;
use crate::facts::Facts;
use crate::observer::{CallEvent, HostRequest, OptionalObserver};
use crate::secrets::{SecretMatcher, neutralise};

/// Bytes of one line; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 16 << 10;
/// The number of last lines that are kept.
const LAST_LINES: usize = 3;
/// The number of different denials of one call that are reported to the operator.
const MOST_REFUSED: usize = 20;
/// The cost of a line beside its text, so that empty ones are not free.
const LINE_COST: usize = 16;

/// The log of one call. Clones write to the same.
#[derive(Clone)]
pub(crate) struct Log(Arc<Inner>);

struct Inner {
    driver: Arc<str>,
    resource: Option<Key>,
    matcher: Arc<SecretMatcher>,
    limit: u64,
    observer: OptionalObserver,
    facts: Facts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: u64,
    dropped: bool,
    stdout: Line,
    stderr: Line,
    last: Vec<String>,
    errors: Vec<String>,
    refused: Vec<String>,
}

/// An unfinished line.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    cut: bool,
}

/// The stream of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Stdout,
    Stderr,
}

impl log::Host for Guest {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => tracing::Level::TRACE,
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
            log::Level::Error => tracing::Level::ERROR,
        };
        self.log.requests(HostRequest::Contract);
        self.log.message(level, &message);
        Ok(())
    }
}

impl Log {
    pub(crate) fn new(
        driver: &Arc<str>,
        resource: Option<&Key>,
        matcher: &Arc<SecretMatcher>,
        limit: u64,
        observer: OptionalObserver,
        facts: Facts,
    ) -> Self {
        Self(Arc::new(Inner {
            driver: Arc::clone(driver),
            resource: resource.cloned(),
            matcher: Arc::clone(matcher),
            limit,
            observer,
            facts,
            state: Mutex::default(),
        }))
    }

    pub(crate) fn driver(&self) -> &str {
        &self.0.driver
    }

    /// Reports a request to the host to the observer.
    pub(super) fn requests(&self, what: HostRequest) {
        self.observe(CallEvent::Request(what));
    }

    /// Reports an event to the observer.
    pub(super) fn observe(&self, event: CallEvent<'_>) {
        if let Some(observer) = &self.0.observer {
            observer.observe(event);
        }
    }

    /// Whether there is an observer.
    pub(super) fn is_watched(&self) -> bool {
        self.0.observer.is_some()
    }

    /// Whether an answer that has arrived is lost on its way to the driver.
    pub(super) fn loses_answer(&self) -> bool {
        self.0.observer.as_ref().is_some_and(|observer| observer.loses_answer())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a message of the driver, each of its lines as an event.
    fn message(&self, level: tracing::Level, message: &str) {
        self.observe(CallEvent::Output(message));
        let mut state = self.state();
        // Masked before it is cut into lines: a secret can have several.
        for line in self.0.matcher.mask(message).lines() {
            // A message can have millions of lines.
            if !self.line(&mut state, level, line) {
                break;
            }
        }
    }

    /// Logs bytes of a stream as they come.
    pub(super) fn stream(&self, origin: Origin, mut bytes: &[u8]) {
        let mut state = self.state();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            state.line(origin).push(line);
            self.end_of_line(&mut state, origin);
            bytes = rest.get(1..).unwrap_or_default();
        }
        state.line(origin).push(bytes);
    }

    /// Logs unfinished lines.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        for origin in [Origin::Stdout, Origin::Stderr] {
            if !state.line(origin).bytes.is_empty() {
                self.end_of_line(&mut state, origin);
            }
        }
    }

    /// The last lines about a fault. A driver's errors take precedence over its warnings, and those
    /// over its language runtime's output on standard error.
    pub(crate) fn last_words(&self) -> Option<String> {
        let state = self.state();
        let lines = if state.errors.is_empty() { &state.last } else { &state.errors };
        (!lines.is_empty()).then(|| lines.join(" / "))
    }

    /// Reports a denial to the operator: each one once, and only up to a limit.
    pub(super) fn refused(&self, what: &str) {
        self.observe(CallEvent::Denial(what));
        let what = printable(&self.0.matcher, what).replace(['\n', '\t'], " ");
        let mut state = self.state();
        if state.refused.len() >= MOST_REFUSED || state.refused.contains(&what) {
            return;
        }
        tracing::warn!(
            target: "purlin::driver", driver = &*self.0.driver, resource = self.resource(), "{what}"
        );
        state.refused.push(what);
    }

    /// Records a missing grant. If it holds a secret, it cannot be a line of grants.
    pub(super) fn lacks(&self, need: Need) {
        if printable(&self.0.matcher, &need.pattern) == need.pattern {
            self.0.facts.refused(need);
        }
    }

    /// Records that a server could not be reached, or replied with an error.
    pub(super) fn server_problem(&self, server: &str, request: Option<RequestLine>, problem: ProblemKind) {
        let clean = |text: &str| printable(&self.0.matcher, text);
        let request =
            request.map(|request| RequestLine { method: clean(&request.method), url: clean(&request.url) });
        let problem = match problem {
            ProblemKind::Tls(text) => ProblemKind::Tls(clean(&text)),
            ProblemKind::Other(text) => ProblemKind::Other(clean(&text)),
            problem => problem,
        };
        self.0.facts.server_problem(ServerProblem { server: clean(server), request, kind: problem });
    }

    /// Records that communication with a server succeeded.
    pub(super) fn served(&self) {
        self.0.facts.served();
    }

    /// Takes from the limit of the log. Beyond the limit, lines are dropped.
    pub(super) fn spend(&self, bytes: usize) -> bool {
        self.take(&mut self.state(), bytes)
    }

    pub(super) fn metric(&self, name: &str, value: fmt::Arguments<'_>) {
        // In a name there is no place where a secret could be omitted.
        let is_plain = matches!(self.0.matcher.mask(name), Cow::Borrowed(same) if same == name);
        if is_plain && self.spend(name.len() + LINE_COST) {
            tracing::debug!(
                target: "purlin::driver", driver = &*self.0.driver, resource = self.resource(),
                metric = name, "{value}"
            );
        }
    }

    fn resource(&self) -> &str {
        self.0.resource.as_ref().map_or("", Key::as_str)
    }

    fn end_of_line(&self, state: &mut State, origin: Origin) {
        let Line { bytes, cut } = std::mem::take(state.line(origin));
        let text = String::from_utf8_lossy(&bytes);
        self.observe(CallEvent::Output(&text));
        let mut masked = self.0.matcher.mask(&text).into_owned();
        if cut {
            // The end may be the beginning of a secret.
            let end = masked.floor_char_boundary(masked.len().saturating_sub(self.0.matcher.longest()));
            masked.truncate(end);
            masked.push('…');
        }
        let level = match origin {
            Origin::Stdout => tracing::Level::INFO,
            Origin::Stderr => tracing::Level::WARN,
        };
        self.line(state, level, masked.trim_end_matches('\r'));
    }

    /// Logs a line without secrets. Returns whether it was within the limit.
    fn line(&self, state: &mut State, level: tracing::Level, line: &str) -> bool {
        let mut line = neutralise(line);
        if line.len() > LONGEST_LINE {
            let end = line.floor_char_boundary(LONGEST_LINE);
            line = format!("{}…", line.get(..end).unwrap_or_default()).into();
        }
        if level <= tracing::Level::WARN && !line.trim().is_empty() {
            let mut last = line.trim().to_owned();
            last.truncate(last.floor_char_boundary(512));
            let lines = if level == tracing::Level::ERROR { &mut state.errors } else { &mut state.last };
            lines.push(last);
            if lines.len() > LAST_LINES {
                lines.remove(0);
            }
        }
        if !self.take(state, line.len() + LINE_COST) {
            return false;
        }
        let (driver, resource) = (&*self.0.driver, self.resource());
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(target: "purlin::driver", $level, driver, resource, "{line}")
            };
        }
        match level {
            tracing::Level::ERROR => event!(tracing::Level::ERROR),
            tracing::Level::WARN => event!(tracing::Level::WARN),
            tracing::Level::INFO => event!(tracing::Level::INFO),
            tracing::Level::DEBUG => event!(tracing::Level::DEBUG),
            _ => event!(tracing::Level::TRACE),
        }
        true
    }

    fn take(&self, state: &mut State, bytes: usize) -> bool {
        state.spent = state.spent.saturating_add(bytes as u64);
        if state.spent <= self.0.limit {
            return true;
        }
        if !state.dropped {
            state.dropped = true;
            tracing::warn!(
                target: "purlin::driver", driver = &*self.0.driver, resource = self.resource(),
                "further lines are dropped: over {}, the log limit of a call; \
                 `drivers.{}.limits.log` in purlin.yaml raises it",
                size(self.0.limit), self.0.driver
            );
        }
        false
    }
}

impl State {
    fn line(&mut self, origin: Origin) -> &mut Line {
        match origin {
            Origin::Stdout => &mut self.stdout,
            Origin::Stderr => &mut self.stderr,
        }
    }
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.bytes.len());
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.cut |= !dropped.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_of_a_driver_is_kept() {
        let log = Log::new(&"acme/x".into(), None, &Arc::default(), 1 << 20, None, Facts::default());
        log.stream(Origin::Stderr, b"a runtime's\ntraceback\nis long\nand loud\n");
        assert_eq!(log.last_words().as_deref(), Some("traceback / is long / and loud"));
        log.message(tracing::Level::ERROR, "ValueError: no good");
        log.stream(Origin::Stderr, b"run with more noise\n");
        assert_eq!(log.last_words().as_deref(), Some("ValueError: no good"));
    }
}
