//! A whole deployment or deletion in one call, as a stream of its events. `pipeline.rs` has
//! the order of its parts.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream};
use purlin_engine::{CancelToken, DestroyOptions, Event, Plan, PlanOptions, Summary};
use purlin_model::Key;
use purlin_state::Environment;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::reconcile::follow;
use crate::{Collected, Documents, Error, Follower, Job, Purlin, RunEnd, Stage};

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
    /// Asks whether to apply the plan; without it, every plan is applied. A [`Follower`]
    /// is asked instead.
    pub consent: Option<Consent>,
    /// Stops the run. Calls in flight finish first, unless they are aborted.
    pub cancel: CancelToken,
}

/// The options of [`Purlin::destroy`].
#[derive(Clone, Default)]
pub struct TeardownOptions {
    /// The options of the plan.
    pub plan: DestroyOptions,
    /// Documents of the environment. They provide the current inputs if a call with the recorded
    /// ones fails, for example because a credential was rotated.
    pub documents: Option<Arc<Documents>>,
    /// The resources whose data may be lost. A plan that loses the data of another resource is
    /// rejected, and the error names the resource.
    pub may_lose: Vec<Key>,
    /// Asks whether to apply the plan; without it, every plan is applied.
    pub consent: Option<Consent>,
    /// Stops the run. Calls in flight finish first, unless they are aborted.
    pub cancel: CancelToken,
}

/// Asks somebody whether to apply a plan with changes. The environment stays locked until the answer
/// is there.
#[derive(Clone)]
pub struct Consent(Arc<Ask>);

type Ask = dyn Fn(&Plan) -> BoxFuture<'static, Answer> + Send + Sync;

/// Whether to apply a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Apply it.
    Yes,
    /// Apply it, even if these resources lose their data ([`Plan::losses_not_allowed`]), in addition
    /// to those of [`UpOptions::may_lose`].
    YesAndLose(Vec<Key>),
    /// Do nothing. The stream ends with the summary of a cancelled run.
    No,
}

impl Consent {
    /// Asks with `ask`, which gets the plan before anything is changed.
    pub fn new<F: Future<Output = Answer> + Send + 'static>(
        ask: impl Fn(&Plan) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |plan| ask(plan).boxed()))
    }
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Consent").finish_non_exhaustive()
    }
}

/// A running deployment or deletion: a stream of its events. The last item is the summary or an
/// error. It keeps the [`Purlin`] and the documents, so that it can be moved to another task.
///
/// The run advances only while the stream is polled. Dropping the stream aborts the calls in
/// flight, and the next deployment finds out their outcome; to stop properly, use
/// [`UpOptions::cancel`].
pub struct Events {
    events: UnboundedReceiver<Event>,
    work: Option<BoxFuture<'static, Result<RunEnd, Error>>>,
    end: Option<Result<Event, Error>>,
    collected: Vec<Collected>,
}

/// The follower of a stream: passes on all events but the summaries.
struct Sender {
    events: UnboundedSender<Event>,
    consent: Option<Consent>,
}

impl Follower for Sender {
    async fn agrees(&mut self, plan: &mut Plan) -> bool {
        let Some(Consent(ask)) = self.consent.as_ref().filter(|_| !plan.is_empty()) else { return true };
        match ask(plan).await {
            Answer::Yes => true,
            Answer::YesAndLose(keys) => {
                plan.allow_losses(&keys);
                true
            }
            Answer::No => false,
        }
    }

    async fn follow(&mut self, _: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary {
        // If nobody listens any more, the stream was dropped, and this future with it.
        follow(run, &mut |event: &Event| drop(self.events.send(event.clone()))).await
    }
}

impl Events {
    fn new<F>(consent: Option<Consent>, work: impl FnOnce(Sender) -> F) -> Self
    where
        F: Future<Output = Result<RunEnd, Error>> + Send + 'static,
    {
        let (sender, events) = unbounded_channel();
        let work = work(Sender { events: sender, consent }).boxed();
        Self { events, work: Some(work), end: None, collected: Vec::new() }
    }

    /// The shared resources of other environments that were deleted because this deployment was
    /// their last user. Empty until the stream has ended.
    pub fn collected(&self) -> &[Collected] {
        &self.collected
    }
}

impl Stream for Events {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(work) = &mut this.work
            && let Poll::Ready(result) = work.as_mut().poll(cx)
        {
            this.work = None;
            this.end = Some(result.map(|outcome| {
                Event::Summary(match outcome {
                    RunEnd::Applied { summary, collected } => {
                        this.collected = collected;
                        summary
                    }
                    RunEnd::Nothing(collected) => {
                        this.collected = collected;
                        Summary::default()
                    }
                    RunEnd::Stopped(_, summary) => summary,
                    RunEnd::Declined => Summary { cancelled: true, ..Summary::default() },
                })
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
    /// be out of date, plans, asks for [consent](UpOptions::consent), applies, and deletes shared
    /// resources that no longer have users. Nothing happens until the stream is polled.
    ///
    /// # Errors
    /// The stream ends with an error if the documents are invalid ([`Error::is_input`]), if another
    /// deployment of the environment is running ([`Error::State`]), if the plan loses data without
    /// permission, or if the state cannot be read or written. A resource that fails is not an
    /// error: the summary names it.
    pub fn up(self: &Arc<Self>, documents: impl Into<Arc<Documents>>, options: UpOptions) -> Events {
        let (purlin, documents) = (Arc::clone(self), documents.into());
        Events::new(options.consent.clone(), move |mut sender| async move {
            purlin.run(&Job::up(&documents, options), &mut sender).await
        })
    }

    /// Deletes all recorded resources of an environment, dependents first, like `purlin destroy`:
    /// takes its lock, finds out the outcome of calls that an earlier run left open, plans, asks for
    /// [consent](TeardownOptions::consent), deletes, and then deletes shared resources that no longer
    /// have users. Nothing happens until the stream is polled.
    ///
    /// # Errors
    /// The stream ends with an error if a resource is protected or another environment uses it, if
    /// another deployment of the environment is running ([`Error::State`]), if the plan loses data
    /// without permission, or if the state cannot be read or written. A resource that cannot be
    /// deleted is not an error: the summary names it.
    pub fn destroy(self: &Arc<Self>, environment: &Environment, options: TeardownOptions) -> Events {
        let (purlin, environment) = (Arc::clone(self), environment.clone());
        Events::new(options.consent.clone(), move |mut sender| async move {
            let TeardownOptions { plan, documents, may_lose, consent: _, cancel } = options;
            let context = purlin.context_of(&environment, &purlin.deployment_id()?).await?;
            let job = Job::destroy(&context, documents.as_deref(), plan).losing(may_lose).until(cancel);
            purlin.run(&job, &mut sender).await
        })
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
