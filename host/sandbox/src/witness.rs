//! Looking over a driver's shoulder: what a call asks of the host and what it says, as it came.
//!
//! For examining drivers, not for running them: what is seen is not masked, and may be secret.

use std::sync::Arc;

/// Something that a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deed<'a> {
    /// It calls a function of the host's. Heard before the function does anything. A call can be
    /// heard more than once, the same way each time.
    Asks(Asked),
    /// It was refused something that no grant covers: the operator's words.
    Refused(&'a str),
    /// It writes to its log or its standard streams, or reports progress.
    Says(&'a str),
    /// It answers. What stands in `secrets` is left out.
    Answers {
        /// Which part of the answer, such as `outputs`.
        part: &'static str,
        /// As it came.
        text: &'a str,
    },
}

/// What a call asks the host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Asked {
    /// `log`, `metrics` or `operation` of the contract.
    Contract,
    /// To open a file or a folder.
    Files,
    /// A look-up, a socket, a connection or a request.
    Network,
    /// Something else of WASI, such as the time, or to read what is open.
    Other,
}

/// Sees what a call does. It is asked in the middle of the call and must not block; it may cut
/// the call off.
pub trait Witness: Send + Sync {
    /// Something is done.
    fn sees(&self, deed: Deed<'_>);

    /// Asked once for each answer of a server that has arrived, before the driver has any of it:
    /// whether it is lost on its way, as when a connection breaks. An answer is the response to a
    /// request of `wasi:http`, or what comes over a connection after something was sent.
    fn loses_answer(&self) -> bool {
        false
    }
}

/// A witness, if there is any.
pub(crate) type Watching = Option<Arc<dyn Witness>>;
