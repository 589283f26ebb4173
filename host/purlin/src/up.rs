//! A whole deployment in one call: settles the open calls of an earlier run, and then plans and
//! applies everything.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use purlin_engine::{CancelToken, Event, PlanOptions, Summary};
use purlin_model::Key;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::reconcile::follow;
use crate::{Collected, Documents, Error, Purlin};

/// The options of [`Purlin::up`].
#[derive(Clone, Debug, Default)]
pub struct UpOptions {
    /// The options of the plan.
    pub plan: PlanOptions,
    /// Read every resource before planning, so that changes by others are found and repaired.
    pub refresh: bool,
    /// The resources whose data may be lost, for example a database that must be replaced. A plan
    /// that loses the data of another resource is rejected, and the error names the resource.
    pub may_lose: Vec<Key>,
    /// Stops the run. Calls in flight finish first, unless they are aborted.
    pub cancel: CancelToken,
}

/// A running deployment: a stream of its events. The last item is the summary or an error.
///
/// The run advances only while the stream is polled. Dropping the stream aborts the calls in
/// flight, and the next deployment finds out their outcome; to stop properly, use
/// [`UpOptions::cancel`].
pub struct Up<'a> {
    events: UnboundedReceiver<Event>,
    work: Option<BoxFuture<'a, Result<Done, Error>>>,
    end: Option<Result<Event, Error>>,
    collected: Vec<Collected>,
}

/// The result of a whole deployment.
struct Done {
    summary: Summary,
    collected: Vec<Collected>,
}

impl From<Summary> for Done {
    fn from(summary: Summary) -> Self {
        Self { summary, collected: Vec::new() }
    }
}

impl Up<'_> {
    /// The shared resources of other environments that were deleted because this deployment was
    /// their last user. Empty until the stream has ended.
    pub fn collected(&self) -> &[Collected] {
        &self.collected
    }
}

impl Stream for Up<'_> {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(work) = &mut this.work
            && let Poll::Ready(result) = work.as_mut().poll(cx)
        {
            this.work = None;
            this.end = Some(result.map(|done| {
                this.collected = done.collected;
                Event::Summary(done.summary)
            }));
        }
        match this.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
            _ if this.work.is_some() => Poll::Pending,
            _ => Poll::Ready(this.end.take()),
        }
    }
}

impl Purlin {
    /// Brings the environment in line with the documents, like `purlin up`: takes its lock, finds
    /// out the outcome of calls that an earlier run left open, reads all resources if the state may
    /// be out of date, plans, applies, and deletes shared resources that no longer have users.
    /// Nothing happens until the stream is polled.
    ///
    /// # Errors
    /// The stream ends with an error if the documents are invalid ([`Error::is_input`]), if another
    /// deployment of the environment is running ([`Error::State`]), if the plan loses data without
    /// permission, or if the state cannot be read or written. A resource that fails is not an
    /// error: the summary names it.
    pub fn up<'a>(&'a self, documents: &'a Documents, options: UpOptions) -> Up<'a> {
        let (tell, events) = unbounded_channel();
        let work = Box::pin(self.deploy_all(documents, options, tell));
        Up { events, work: Some(work), end: None, collected: Vec::new() }
    }

    async fn deploy_all(
        &self,
        documents: &Documents,
        options: UpOptions,
        tell: UnboundedSender<Event>,
    ) -> Result<Done, Error> {
        let UpOptions { plan: planned, refresh, may_lose, cancel } = options;
        let context = &documents.context;
        // If nobody listens any more, the stream was dropped, and this future with it.
        let told = &mut |event: &Event| drop(tell.send(event.clone()));
        let session = self.begin_within(&documents.environment(), self.lock_timeout, &cancel).await?;
        let doubt = session.doubt().await?.is_some();
        if refresh || doubt || !session.open_calls().await?.is_empty() {
            session.know(documents, context).await;
        }
        if let Some(plan) = session.plan_recovery(context).await? {
            let summary = follow(session.apply(plan, cancel.clone()).await?, told).await;
            // An undecided call affects only its own resource.
            if summary.halted.is_some() || summary.cancelled {
                return Ok(summary.into());
            }
        }
        if refresh || doubt {
            let plan = session.plan_refresh_of(documents, &planned.scope).await?;
            let summary = follow(session.apply(plan, cancel.clone()).await?, told).await;
            if !summary.failed.is_empty() || summary.halted.is_some() || summary.cancelled {
                return Ok(summary.into());
            }
        }
        let mut plan = session.plan(documents, planned).await?;
        plan.allow_losses(&may_lose);
        let summary = follow(session.deploy(plan, Some(documents), cancel.clone()).await?, told).await;
        let (base, number) = (self.deployment_id()?, AtomicU64::new(0));
        let id = || format!("{base}-{}", number.fetch_add(1, Ordering::Relaxed));
        let collected = session.collect(&id, &cancel).await?;
        if summary.ends_doubt {
            session.trust().await?;
        }
        session.release().await?;
        Ok(Done { summary, collected })
    }

    /// A unique deployment id across all hosts.
    ///
    /// # Errors
    /// [`Error::Random`] if the system provides no random numbers.
    pub fn deployment_id(&self) -> Result<String, Error> {
        let random = getrandom::u32().map_err(|error| Error::Random(error.to_string()))?;
        Ok(format!("{:x}-{random:08x}", (self.clock())()))
    }
}
