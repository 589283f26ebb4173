//! What the caller of a driver brings along: whom the call is about, where checkpoints go, and
//! how it can be stopped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use purlin_model::Label;
use purlin_model::driver::Subject;
use tokio::sync::watch;

use crate::facts::Facts;
use crate::witness::Witness;

/// Facts about one call.
#[derive(Clone)]
pub struct CallContext<'a> {
    /// The resource.
    pub subject: &'a Subject,
    /// The same for every attempt at the same effect, and for no other.
    pub idempotency_key: &'a str,
    /// An upper bound for this call; the driver's own limit applies where that is less.
    pub time: Option<Duration>,
    /// Where `create` records ids early. Without it they are dropped.
    pub checkpoint: Option<Arc<dyn CheckpointSink>>,
    /// Who hears of progress.
    pub progress: Option<ProgressSink>,
    /// How the call can be stopped.
    pub cancel: CancelToken,
    /// Who looks over the driver's shoulder, unmasked. None but for examining drivers.
    pub witness: Option<Arc<dyn Witness>>,
    /// Where the host notes what it sees of the call.
    pub facts: Facts,
}

impl<'a> CallContext<'a> {
    /// A call that nobody watches.
    pub fn new(subject: &'a Subject, idempotency_key: &'a str) -> Self {
        Self {
            subject,
            idempotency_key,
            time: None,
            checkpoint: None,
            progress: None,
            cancel: CancelToken::default(),
            witness: None,
            facts: Facts::default(),
        }
    }
}

/// Keeps provider ids that a driver reports before it has finished (`operation.checkpoint`).
#[async_trait::async_trait]
pub trait CheckpointSink: Send + Sync {
    /// Returns once the id is safe; the driver waits for it.
    ///
    /// # Errors
    /// A message when the id cannot be kept. It ends the call.
    async fn checkpoint(&self, id: &Label) -> Result<(), String>;
}

/// What a driver says while it works; secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// For people.
    pub message: String,
    /// 0 to 100, where it is known.
    pub percent: Option<u8>,
}

/// Hears of progress; must not block.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// Stops calls, in two steps (SPEC §9, Ctrl-C): first drivers are told that they should end,
/// then they are cut off. Clones stop together.
#[derive(Clone)]
pub struct CancelToken(Arc<watch::Sender<Stage>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Requested,
    Cut,
}

impl Default for CancelToken {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Stage::Running)))
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelToken({:?})", *self.0.borrow())
    }
}

impl CancelToken {
    /// Tells drivers that ask (`operation.cancelled`) to come to an end. Calls go on.
    pub fn request(&self) {
        self.raise(Stage::Requested);
    }

    /// Ends calls at once with [`crate::CallError::Cancelled`].
    pub fn cut(&self) {
        self.raise(Stage::Cut);
    }

    /// Whether drivers should come to an end.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() >= Stage::Requested
    }

    /// Whether calls are cut off.
    pub fn is_cut(&self) -> bool {
        *self.0.borrow() == Stage::Cut
    }

    fn raise(&self, stage: Stage) {
        self.0.send_if_modified(|current| {
            let raised = stage > *current;
            *current = stage.max(*current);
            raised
        });
    }

    /// Returns when drivers should come to an end.
    pub async fn requested(&self) {
        let mut stage = self.0.subscribe();
        if stage.wait_for(|stage| *stage >= Stage::Requested).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns when calls are to be cut off.
    pub(crate) async fn cut_off(&self) {
        let mut stage = self.0.subscribe();
        if stage.wait_for(|stage| *stage == Stage::Cut).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
