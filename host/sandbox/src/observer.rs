//! Observes a driver: a call's requests to the host and its output, unchanged.
//!
//! For examining drivers, not for running them: the observations are not masked, and may be secret.

use std::sync::Arc;

/// An action of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent<'a> {
    /// A call of a function of the host, reported before the function does anything. A call can be
    /// reported more than once, the same way each time.
    Request(HostRequest),
    /// The host denied something that no grant covers: the message for the operator.
    Denial(&'a str),
    /// Text for its log, its standard streams, or its progress.
    Output(&'a str),
    /// A part of its answer. Values under `secrets` are omitted.
    Answer {
        /// The part of the answer, such as `outputs`.
        part: &'static str,
        /// Unchanged.
        text: &'a str,
    },
}

/// A call's request to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HostRequest {
    /// `log`, `metrics` or `operation` of the contract.
    Contract,
    /// Opening or changing a file or a folder.
    Files,
    /// A lookup, a socket, a connection or a request.
    Network,
    /// Something else of WASI, such as the time, or reading an open file.
    Other,
}

/// Observes the actions of a call. It is called in the middle of the call and must not block; it
/// may cut the call off.
pub trait CallObserver: Send + Sync {
    /// Receives an action.
    fn observe(&self, event: CallEvent<'_>);

    /// Called once for each answer of a server that has arrived, before the driver has any of it:
    /// returns whether it is lost on its way, as when a connection breaks. An answer is the
    /// response to a request of `wasi:http`, or the data on a connection after something was sent.
    fn loses_answer(&self) -> bool {
        false
    }
}

/// An observer, if there is any.
pub(crate) type OptionalObserver = Option<Arc<dyn CallObserver>>;
