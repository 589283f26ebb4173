//! `operation`: the call in flight, as its driver sees it.

use std::sync::Arc;

use super::{Guest, Stop};
use crate::bindings::purlin::driver::operation;
use crate::context::{CallContext, CancelToken, CheckpointSink, Progress, ProgressSink};
use crate::convert::{LONGEST_ID, printable};
use crate::error::CallError;
use crate::observer::{CallEvent, HostRequest};
use crate::secrets::SecretMatcher;

/// The answers of `operation` in one call.
pub(crate) struct Operation {
    checkpoint: Option<Arc<dyn CheckpointSink>>,
    progress: Option<ProgressSink>,
    cancel: CancelToken,
    matcher: Arc<SecretMatcher>,
    creates: bool,
}

impl Operation {
    pub(crate) fn new(context: &CallContext<'_>, creates: bool, matcher: &Arc<SecretMatcher>) -> Self {
        Self {
            checkpoint: context.checkpoint.clone(),
            progress: context.progress.clone(),
            cancel: context.cancel.clone(),
            matcher: Arc::clone(matcher),
            creates,
        }
    }

    /// A call without an operation.
    pub(crate) fn none(cancel: &CancelToken) -> Self {
        Self {
            checkpoint: None,
            progress: None,
            cancel: cancel.clone(),
            matcher: Arc::default(),
            creates: false,
        }
    }
}

impl operation::Host for Guest {
    async fn checkpoint(&mut self, id: String) -> wasmtime::Result<()> {
        self.log.requests(HostRequest::Contract);
        let driver = self.log.driver().to_string();
        let stop = |error| Err(wasmtime::Error::new(Stop(error)));
        if !self.operation.creates {
            let what = "it reported a checkpoint outside `create`".into();
            return stop(CallError::Junk { driver, what });
        }
        if id.is_empty() || id.len() > LONGEST_ID {
            let what = "the id of a checkpoint has 1 to 4096 bytes".into();
            return stop(CallError::Junk { driver, what });
        }
        let Some(sink) = &self.operation.checkpoint else { return Ok(()) };
        match sink.checkpoint(&self.operation.matcher.label(id)).await {
            Ok(()) => Ok(()),
            Err(message) => stop(CallError::Checkpoint { driver, message }),
        }
    }

    fn progress(&mut self, message: String, percent: Option<u8>) -> wasmtime::Result<()> {
        self.log.requests(HostRequest::Contract);
        self.log.observe(CallEvent::Output(&message));
        if let Some(on_progress) = &self.operation.progress
            && self.log.spend(message.len() + 16)
        {
            let message = printable(&self.operation.matcher, &message);
            on_progress(Progress { message, percent: percent.map(|percent| percent.min(100)) });
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        self.log.requests(HostRequest::Contract);
        Ok(self.operation.cancel.is_requested())
    }
}
