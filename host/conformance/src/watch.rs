//! The witness of one call: it keeps what it sees, and cuts the call off where it is told to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use purlin_model::Label;
use purlin_sandbox::{Asked, CancelToken, CheckpointSink, Deed, Witness};

/// Texts of one call that are kept, in bytes; a driver that says more is heard so far.
const MOST: usize = 8 << 20;

/// What a call did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How often it called the host.
    pub(crate) asked: usize,
    /// Calls that reach out: what was asked for.
    pub(crate) reached: Vec<Asked>,
    /// What it was refused.
    pub(crate) refused: Vec<String>,
    /// What it said, and where.
    pub(crate) said: Vec<(&'static str, String)>,
    kept: usize,
    /// Ids that it reported, in order.
    pub(crate) checkpoints: Vec<Label>,
    /// Answers of servers that arrived.
    pub(crate) answers: usize,
}

/// Where a call is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// At the n-th time that it calls the host, from 1 on.
    At(usize),
    /// While it waits for its checkpoint, which is not kept.
    BeforeCheckpoint,
    /// While it waits for its checkpoint, which is kept.
    AfterCheckpoint,
    /// The n-th answer of a server is lost, from 1 on. The call itself goes on.
    Answer(usize),
}

/// A witness that is a place for checkpoints too.
pub(crate) struct Watch {
    seen: Mutex<Seen>,
    cut: Option<Cut>,
    cancel: CancelToken,
}

impl Watch {
    pub(crate) fn new(cut: Option<Cut>, cancel: &CancelToken) -> Self {
        Self { seen: Mutex::default(), cut, cancel: cancel.clone() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut self.seen())
    }
}

impl Seen {
    fn keep(&mut self, part: &'static str, text: &str) {
        self.kept = self.kept.saturating_add(text.len());
        if self.kept <= MOST {
            self.said.push((part, text.to_owned()));
        }
    }
}

impl Witness for Watch {
    fn sees(&self, deed: Deed<'_>) {
        let mut seen = self.seen();
        match deed {
            Deed::Asks(asked) => {
                seen.asked += 1;
                if matches!(asked, Asked::Files | Asked::Network) {
                    seen.reached.push(asked);
                }
                if self.cut == Some(Cut::At(seen.asked)) {
                    self.cancel.cut();
                }
            }
            Deed::Refused(what) => seen.refused.push(what.to_owned()),
            Deed::Says(text) => seen.keep("log", text),
            Deed::Answers { part, text } => seen.keep(part, text),
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
    async fn checkpoint(&self, id: &Label) -> Result<(), String> {
        if self.cut != Some(Cut::BeforeCheckpoint) {
            self.seen().checkpoints.push(id.clone());
        }
        if matches!(self.cut, Some(Cut::BeforeCheckpoint | Cut::AfterCheckpoint)) {
            self.cancel.cut();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}
