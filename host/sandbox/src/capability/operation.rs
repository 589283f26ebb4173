//! `operation`: the call in flight, as its driver sees it.

use std::sync::Arc;

use purlin_model::Label;
use purlin_model::driver::{Checkpoint, Token};

use super::{Guest, Stop};
use crate::bindings::purlin::driver::operation;
use crate::clock;
use crate::context::{CallContext, CancelToken, CheckpointSink, Progress, ProgressSink};
use crate::convert::{LONGEST_ID, printable};
use crate::error::CallError;
use crate::observer::{CallEvent, HostRequest};
use crate::secrets::SecretMatcher;

/// The effect that a call may have. It decides which checkpoints the call may report, and whether it gets a
/// token.
#[derive(Clone)]
pub(crate) enum CallEffect {
    None,
    Create,
    /// An update of the resource with this id.
    Update(Label),
    Delete,
}

/// The answers of `operation` in one call.
pub(crate) struct Operation {
    checkpoint: Option<Arc<dyn CheckpointSink>>,
    progress: Option<ProgressSink>,
    cancel: CancelToken,
    matcher: Arc<SecretMatcher>,
    effect: CallEffect,
    /// Only in a call with an effect.
    pub(super) token: Option<Token>,
    /// Bytes of a cookie.
    largest_cookie: usize,
}

impl Operation {
    pub(crate) fn new(
        context: &CallContext<'_>,
        effect: CallEffect,
        matcher: &Arc<SecretMatcher>,
        largest_cookie: usize,
    ) -> Self {
        Self {
            checkpoint: context.checkpoint.clone(),
            progress: context.progress.clone(),
            cancel: context.cancel.clone(),
            matcher: Arc::clone(matcher),
            token: context.token.clone().filter(|_| !matches!(effect, CallEffect::None)),
            effect,
            largest_cookie,
        }
    }

    /// A call without an operation.
    pub(crate) fn none(cancel: &CancelToken) -> Self {
        Self {
            checkpoint: None,
            progress: None,
            cancel: cancel.clone(),
            matcher: Arc::default(),
            effect: CallEffect::None,
            token: None,
            largest_cookie: 0,
        }
    }
}

impl operation::Host for Guest {
    async fn checkpoint(&mut self, id: String, cookie: Option<Vec<u8>>) -> wasmtime::Result<()> {
        self.log.requests(HostRequest::Contract);
        let driver = self.log.driver().to_string();
        let stop = |error| Err(wasmtime::Error::new(Stop(error)));
        let largest = self.operation.largest_cookie;
        let wrong = match &self.operation.effect {
            CallEffect::None | CallEffect::Delete => {
                Some("it reported a checkpoint outside `create` and `update`".to_owned())
            }
            _ if id.is_empty() || id.len() > LONGEST_ID => {
                Some("the id of a checkpoint has 1 to 4096 bytes".to_owned())
            }
            CallEffect::Update(own) if own.expose() != id => {
                Some("it reported a checkpoint of another resource than the one that it updates".to_owned())
            }
            _ => cookie.as_ref().map(Vec::len).filter(|length| *length > largest).map(|length| {
                format!(
                    "the cookie of its checkpoint has {length} bytes, and {largest} are allowed; `drivers.{driver}.limits.state` in purlin.yaml raises it"
                )
            }),
        };
        if let Some(what) = wrong {
            return stop(CallError::Junk { driver, what });
        }
        let Some(sink) = &self.operation.checkpoint else { return Ok(()) };
        let checkpoint = Checkpoint { id: self.operation.matcher.label(id), cookie: cookie.map(Into::into) };
        match sink.checkpoint(&checkpoint).await {
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

    fn time_left(&mut self) -> wasmtime::Result<u64> {
        self.log.requests(HostRequest::Contract);
        Ok(clock::millis(self.deadline.left()))
    }
}
