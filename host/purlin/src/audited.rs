//! The audit (SPEC §9): who changes the state, and why, in the commit of the change itself.
//!
//! Everything that a [`Session`](crate::Session) writes goes through its [`AuditedLock`], which asks what it is
//! about. So no change can be written without its entry.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use purlin_engine::{Action, Plan};
use purlin_model::Workspace;
use purlin_state::{
    AuditAction, AuditEntry, AuditTrail, Change, Durable, Environment, Error as StateError, Holder, Lock,
    Writer,
};

use crate::{Error, Purlin};

/// What a change is about, for the audit.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    action: AuditAction,
    subjects: Vec<Arc<str>>,
    deployment: Option<Arc<str>>,
    resources: u64,
}

impl Act {
    pub(crate) fn new<S: Into<Arc<str>>>(action: AuditAction, subjects: impl IntoIterator<Item = S>) -> Self {
        let subjects = subjects.into_iter().map(Into::into).collect();
        Self { action, subjects, deployment: None, resources: 0 }
    }

    /// The run of a plan.
    pub(crate) fn run(plan: &Plan) -> Self {
        let mut changed: Vec<_> =
            plan.steps.iter().filter(|step| step.action != Action::None).map(|step| &step.urn).collect();
        changed.sort_unstable();
        changed.dedup();
        let (action, deployment) = (AuditAction::Run, Some(Arc::clone(&plan.context.deployment)));
        Self { action, subjects: Vec::new(), deployment, resources: changed.len() as u64 }
    }

    /// Whether these changes are the first ones to record it with. A run also notes what it is about to do, and
    /// what it found; a watch that finds everything as it should be is no change.
    fn is_in(&self, changes: &[Change]) -> bool {
        let changes_something = |change: &Change| match change {
            Change::Put(_)
            | Change::Remove(_)
            | Change::Deployed { .. }
            | Change::Roll { .. }
            | Change::ForgetRollout(_)
            | Change::SetClosed(_) => true,
            Change::Intend(_)
            | Change::Checkpoint { .. }
            | Change::Settle(_)
            | Change::Obstruct { .. }
            | Change::Vanish { .. }
            | Change::RemoveCookies(_)
            | Change::Audited { .. }
            | Change::SetStaleness(_) => false,
        };
        match self.action {
            AuditAction::Run => changes.iter().any(changes_something),
            _ => !changes.is_empty(),
        }
    }
}

/// Who makes changes, and why.
#[derive(Clone)]
struct Author {
    holder: Holder,
    reason: Option<Arc<str>>,
    /// How long entries are kept.
    keep: Duration,
}

impl Author {
    /// The entry of an act at this time.
    fn entry(&self, act: Act, now: u64) -> Change {
        let Act { action, subjects, deployment, resources } = act;
        let by = Holder { since: now, ..self.holder.clone() };
        let reason = self.reason.clone();
        let entry = AuditEntry { subjects, deployment, resources, reason, ..AuditEntry::new(by, action) };
        let keep = u64::try_from(self.keep.as_millis()).unwrap_or(u64::MAX);
        Change::Audited { entry: Box::new(entry), kept_since: now.saturating_sub(keep) }
    }
}

/// The lock of an environment whose changes are audited.
pub(crate) struct AuditedLock {
    lock: Lock,
    author: Author,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl AuditedLock {
    pub(crate) fn environment(&self) -> &Environment {
        self.lock.environment()
    }

    pub(crate) fn lapsed(&self) -> Option<Duration> {
        self.lock.lapsed()
    }

    pub(crate) async fn release(self) -> Result<(), StateError> {
        self.lock.release().await
    }

    /// The clock that times in the environment are recorded by: that of the store, if it has one.
    pub(crate) fn clock(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        let (writer, own) = (self.lock.writer(), Arc::clone(&self.clock));
        Arc::new(move || writer.now().unwrap_or_else(|| own()))
    }

    /// Writes changes together with their entry.
    pub(crate) async fn record(&self, act: Act, mut changes: Vec<Change>) -> Result<(), StateError> {
        changes.push(self.author.entry(act, (self.clock())()));
        self.lock.writer().commit(changes).await
    }

    /// The receiver of the changes of one act, which takes several commits. The first one that changes anything
    /// carries the entry.
    pub(crate) fn writer(&self, act: Act) -> Arc<dyn Writer> {
        let (writer, author, clock) = (self.lock.writer(), self.author.clone(), self.clock());
        Arc::new(AuditedWriter { writer, author, clock, act: Arc::new(Mutex::new(Some(act))) })
    }

    /// The receiver of notes: what a run or a watch found out, and what is cleared away. Nobody decided on them.
    pub(crate) fn notes(&self) -> Arc<dyn Writer> {
        self.lock.writer()
    }
}

/// A writer that adds the entry of an act to the first commit that changes anything.
struct AuditedWriter {
    writer: Arc<dyn Writer>,
    author: Author,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// `None` once its entry was submitted.
    act: Arc<Mutex<Option<Act>>>,
}

fn held(act: &Mutex<Option<Act>>) -> MutexGuard<'_, Option<Act>> {
    act.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Writer for AuditedWriter {
    fn submit(&self, mut changes: Vec<Change>) -> Result<Durable, StateError> {
        let mut act = held(&self.act);
        let Some(now) = act.take_if(|act| act.is_in(&changes)) else {
            drop(act);
            return self.writer.submit(changes);
        };
        changes.push(self.author.entry(now.clone(), (self.clock)()));
        match self.writer.submit(changes) {
            Ok(durable) => {
                let waiting = Arc::clone(&self.act);
                Ok(Box::pin(async move {
                    let written = durable.await;
                    if let Err(StateError::Refused { .. }) = written {
                        // The next commit may succeed.
                        held(&waiting).get_or_insert(now);
                    }
                    written
                }))
            }
            Err(error) => {
                *act = Some(now);
                Err(error)
            }
        }
    }

    async fn lost(&self) -> StateError {
        self.writer.lost().await
    }

    fn is_lost(&self) -> bool {
        self.writer.is_lost()
    }

    fn now(&self) -> Option<u64> {
        self.writer.now()
    }

    fn cut_off(&self) {
        self.writer.cut_off();
    }
}

impl Purlin {
    /// The audit of an environment, or of what concerns the state as a whole ([`Environment::fleet`]): who
    /// changed it, from where and why, and where the chain of its entries is broken.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read.
    pub async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error> {
        if self.is_untouched() {
            return Ok(AuditTrail::default());
        }
        Ok(self.store().await?.audit(environment).await?)
    }

    /// Audits everything that is written under a lock.
    pub(crate) fn audited(&self, lock: Lock) -> AuditedLock {
        AuditedLock { lock, author: self.author(), clock: self.clock() }
    }

    /// The entry of an act that no lock of this program covers.
    pub(crate) fn audit_entry(&self, act: Act) -> Change {
        self.author().entry(act, (self.clock())())
    }

    /// Records an act that concerns the state as a whole.
    pub(crate) async fn audit_whole(&self, act: Act) -> Result<(), Error> {
        let session = self.begin_held(&Environment::fleet()).await?;
        session.lock.record(act, Vec::new()).await?;
        session.release().await
    }

    fn author(&self) -> Author {
        let keep = self.workspace().audit_keep.unwrap_or(Workspace::AUDIT_KEEP);
        Author { holder: self.holder(), reason: self.reason.clone(), keep }
    }
}
