//! One call for a whole deployment: what an earlier run left open is settled, then everything is planned and applied.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _};
use purlin_engine::{CancelToken, Event, PlanOptions, Summary};
use purlin_model::Key;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{Collected, Documents, Error, Purlin};

/// How [`Purlin::up`] deploys.
#[derive(Clone, Debug, Default)]
pub struct UpOptions {
    /// What is planned.
    pub plan: PlanOptions,
    /// Read every resource before planning, so that changes made elsewhere are found and undone.
    pub refresh: bool,
    /// The resources whose data may be lost, such as a database that has to be replaced. A plan that loses the data of
    /// another one is rejected, and the error names it.
    pub may_lose: Vec<Key>,
    /// Stops the run. Calls in flight finish first, unless they are cut off.
    pub cancel: CancelToken,
}

/// A deployment under way: a stream of its events. The last item is the summary or an error.
///
/// The run advances only while the stream is polled. Dropping the stream cuts off the calls in flight, and the next
/// deployment finds out what they did; to stop properly, use [`UpOptions::cancel`].
pub struct Up<'a> {
    events: UnboundedReceiver<Event>,
    work: Option<BoxFuture<'a, Result<Done, Error>>>,
    end: Option<Result<Event, Error>>,
    collected: Vec<Collected>,
}

/// What a whole deployment came to.
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
    /// The shared resources of other environments that were deleted, because this deployment was the last one to use
    /// them. Empty until the stream has ended.
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
    /// Makes the environment match the documents, as `purlin up` does: takes its lock, finds out what became of calls
    /// that an earlier run left open, reads all resources where the state may be out of date, plans, applies, and
    /// deletes shared resources that are no longer used. Nothing happens until the stream is polled.
    ///
    /// # Errors
    /// The stream ends with an error when the documents are wrong ([`Error::is_input`]), when someone else deploys to
    /// the environment ([`Error::State`]), when the plan loses data that may not be lost, and when the state cannot be
    /// read or written. A resource that fails is no error: the summary names it.
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
        let session = self.begin_within(&documents.environment(), self.lock_timeout, &cancel).await?;
        let doubt = session.doubt().await?.is_some();
        if refresh || doubt || !session.open_calls().await?.is_empty() {
            session.know(documents, context).await;
        }
        if let Some(plan) = session.plan_recovery(context).await? {
            let summary = follow(session.apply(plan, cancel.clone()).await?, &tell).await;
            // A call that stays undecided concerns its resource alone.
            if summary.halted.is_some() || summary.cancelled {
                return Ok(summary.into());
            }
        }
        if refresh || doubt {
            let plan = session.plan_refresh_of(documents, &planned.scope).await?;
            let summary = follow(session.apply(plan, cancel.clone()).await?, &tell).await;
            if !summary.failed.is_empty() || summary.halted.is_some() || summary.cancelled {
                return Ok(summary.into());
            }
        }
        let mut plan = session.plan(documents, planned).await?;
        plan.allow_losses(&may_lose);
        let summary = follow(session.deploy(plan, Some(documents), cancel.clone()).await?, &tell).await;
        let (base, number) = (self.deployment_id()?, AtomicU64::new(0));
        let id = || format!("{base}-{}", number.fetch_add(1, Ordering::Relaxed));
        let collected = session.collect(&id, &cancel).await?;
        if summary.ends_doubt {
            session.trust().await?;
        }
        session.release().await?;
        Ok(Done { summary, collected })
    }

    /// An id for a deployment that no other deployment has, on any host.
    ///
    /// # Errors
    /// [`Error::Random`] when the system gives no random numbers.
    pub fn deployment_id(&self) -> Result<String, Error> {
        let random = getrandom::u32().map_err(|error| Error::Random(error.to_string()))?;
        Ok(format!("{:x}-{random:08x}", (self.clock())()))
    }
}

/// Passes on all events of a run but the summary.
async fn follow(mut run: impl Stream<Item = Event> + Unpin, tell: &UnboundedSender<Event>) -> Summary {
    while let Some(event) = run.next().await {
        match event {
            Event::Summary(summary) => return summary,
            // Whoever no longer listens has dropped the work, too.
            event => drop(tell.send(event)),
        }
    }
    Summary::default()
}
