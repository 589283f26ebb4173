//! The observer of one call: it keeps its observations, and cuts the call off at the requested
//! instant.

use std::sync::{Mutex, MutexGuard, PoisonError};

use purlin_model::Label;
use purlin_model::driver::Checkpoint;
use purlin_sandbox::{CallEvent, CallObserver, CancelToken, CheckpointSink, HostRequest};

/// Bytes of one call's texts that are kept; the rest is ignored.
const MOST: usize = 8 << 20;

/// The observations of a call.
#[derive(Debug, Default)]
pub(crate) struct CallObservations {
    /// How often it called the host.
    pub(crate) host_calls: usize,
    /// The requests of calls that reach out.
    pub(crate) reached: Vec<HostRequest>,
    /// What it was denied.
    pub(crate) refused: Vec<String>,
    /// Its output, and the channel.
    pub(crate) texts: Vec<(&'static str, String)>,
    kept: usize,
    /// Ids that it reported, in order.
    pub(crate) checkpoints: Vec<Label>,
    /// Answers of servers that arrived.
    pub(crate) answers: usize,
}

/// The instant at which a call is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// At the n-th call of the host, from 1.
    At(usize),
    /// While it waits for its checkpoint, which is not stored.
    BeforeCheckpoint,
    /// While it waits for its checkpoint, which is stored.
    AfterCheckpoint,
    /// The n-th answer of a server is lost, from 1. The call itself continues.
    Answer(usize),
}

/// An observer that is also a sink for checkpoints.
pub(crate) struct Watch {
    seen: Mutex<CallObservations>,
    cut: Option<Cut>,
    cancel: CancelToken,
}

impl Watch {
    pub(crate) fn new(cut: Option<Cut>, cancel: &CancelToken) -> Self {
        Self { seen: Mutex::default(), cut, cancel: cancel.clone() }
    }

    fn seen(&self) -> MutexGuard<'_, CallObservations> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self) -> CallObservations {
        std::mem::take(&mut self.seen())
    }
}

impl CallObservations {
    fn keep(&mut self, part: &'static str, text: &str) {
        self.kept = self.kept.saturating_add(text.len());
        if self.kept <= MOST {
            self.texts.push((part, text.to_owned()));
        }
    }
}

impl CallObserver for Watch {
    fn observe(&self, event: CallEvent<'_>) {
        let mut seen = self.seen();
        match event {
            CallEvent::Request(request) => {
                seen.host_calls += 1;
                if matches!(request, HostRequest::Files | HostRequest::Network) {
                    seen.reached.push(request);
                }
                if self.cut == Some(Cut::At(seen.host_calls)) {
                    self.cancel.cut();
                }
            }
            CallEvent::Denial(what) => seen.refused.push(what.to_owned()),
            CallEvent::Output(text) => seen.keep("log", text),
            CallEvent::Answer { part, text } => seen.keep(part, text),
            _ => {}
        }
    }

    fn loses_answer(&self) -> bool {
        let mut seen = self.seen();
        seen.answers += 1;
        self.cut == Some(Cut::Answer(seen.answers))
    }
}

#[async_trait::async_trait]
impl CheckpointSink for Watch {
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        if self.cut != Some(Cut::BeforeCheckpoint) {
            self.seen().checkpoints.push(checkpoint.id.clone());
        }
        if matches!(self.cut, Some(Cut::BeforeCheckpoint | Cut::AfterCheckpoint)) {
            self.cancel.cut();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}
