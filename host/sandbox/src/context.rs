//! The caller's part of a call: the resource, the destination of checkpoints, and cancellation.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use purlin_model::driver::{Checkpoint, Subject, Token};
use tokio::sync::Notify;

use crate::facts::Facts;
use crate::observer::CallObserver;

/// Facts about one call.
#[derive(Clone)]
pub struct CallContext<'a> {
    /// The resource.
    pub subject: &'a Subject,
    /// The same for every attempt at the same effect, and for no other.
    pub idempotency_key: &'a str,
    /// An upper bound for this call; the driver's own limit applies if it is lower.
    pub time: Option<Duration>,
    /// The store for what `create` and `update` report early. Without it, that is dropped.
    pub checkpoint: Option<Arc<dyn CheckpointSink>>,
    /// What ties `create` and `update` to the forecast that people agreed to.
    pub token: Option<Token>,
    /// The receiver of progress.
    pub progress: Option<ProgressSink>,
    /// How to stop the call.
    pub cancel: CancelToken,
    /// Returns whether the call may begin, when its turn comes. Without it, it may.
    pub may_begin: Option<Permission>,
    /// Observes the driver, unmasked. None except for examining drivers.
    pub observer: Option<Arc<dyn CallObserver>>,
    /// The host's record of its observations of the call.
    pub facts: Facts,
}

impl<'a> CallContext<'a> {
    /// A call without observers.
    pub fn new(subject: &'a Subject, idempotency_key: &'a str) -> Self {
        Self {
            subject,
            idempotency_key,
            time: None,
            checkpoint: None,
            token: None,
            progress: None,
            cancel: CancelToken::default(),
            may_begin: None,
            observer: None,
            facts: Facts::default(),
        }
    }
}

/// Stores what a driver reports before it has finished (`operation.checkpoint`).
#[async_trait::async_trait]
pub trait CheckpointSink: Send + Sync {
    /// Returns once it is stored; the driver waits for it.
    ///
    /// # Errors
    /// A message if it cannot be stored. It ends the call.
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String>;
}

/// A driver's report during its work; secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// For people.
    pub message: String,
    /// 0 to 100, if known.
    pub percent: Option<u8>,
}

/// Whether a call may begin; must not block. Not after another host took over the environment, because that
/// host waits only for the calls that have begun.
pub type Permission = Arc<dyn Fn() -> bool + Send + Sync>;

/// Receives progress; must not block.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// Stops calls in two steps (SPEC §9, Ctrl-C): first it asks drivers to end, then it cuts them off.
/// Clones stop together.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Cancellation>);

#[derive(Default)]
struct Cancellation {
    /// A [`Stage`].
    stage: AtomicU8,
    /// Wakes calls in the order in which they began to wait, so that a simulated run can be repeated.
    raised: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Requested,
    Cut,
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelToken({:?})", self.stage())
    }
}

impl CancelToken {
    /// Asks drivers that check (`operation.cancelled`) to end. Calls continue.
    pub fn request(&self) {
        self.raise(Stage::Requested);
    }

    /// Ends calls at once with [`crate::CallError::Cancelled`].
    pub fn cut(&self) {
        self.raise(Stage::Cut);
    }

    /// Whether drivers should end.
    pub fn is_requested(&self) -> bool {
        self.stage() >= Stage::Requested
    }

    /// Whether calls are cut off.
    pub fn is_cut(&self) -> bool {
        self.stage() == Stage::Cut
    }

    /// Returns when drivers should end.
    pub async fn requested(&self) {
        self.reached(Stage::Requested).await;
    }

    /// Returns when calls have to be cut off.
    pub async fn cut_off(&self) {
        self.reached(Stage::Cut).await;
    }

    fn stage(&self) -> Stage {
        [Stage::Cut, Stage::Requested]
            .into_iter()
            .find(|stage| self.0.stage.load(Ordering::SeqCst) >= *stage as u8)
            .unwrap_or(Stage::Running)
    }

    fn raise(&self, stage: Stage) {
        if self.0.stage.fetch_max(stage as u8, Ordering::SeqCst) < stage as u8 {
            self.0.raised.notify_waiters();
        }
    }

    async fn reached(&self, stage: Stage) {
        loop {
            // Registered before the stage is read, so that a change between the two is not missed.
            let mut raised = pin!(self.0.raised.notified());
            raised.as_mut().enable();
            if self.stage() >= stage {
                return;
            }
            raised.await;
        }
    }
}
