//! Drivers as the engine sees them: a component in the sandbox, or anything that behaves like one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::driver::{Checked, Impact, Inputs, Manifest, Observed, ResourceState, Subject};
use purlin_model::{Diagnostic, DriverRequirement, Grants, Label};

pub use purlin_sandbox::Look;
use purlin_sandbox::{CallContext, CallError, CancelToken, Change, CheckpointSink, Facts};

/// Told what a driver says about its progress: a message, and how much of 100 where it is known.
pub type Progress = Arc<dyn Fn(&str, Option<u8>) + Send + Sync>;

/// Facts about one call (SPEC §8).
pub struct Call {
    /// Which resource it is about.
    pub subject: Subject,
    /// The same for every attempt at the same effect, and for no other.
    pub idempotency_key: String,
    /// Asked for by the operator's Ctrl-C.
    pub cancel: CancelToken,
    /// Told what the driver says about its progress.
    pub progress: Progress,
    /// Keeps ids that `create` reports before it is done.
    pub checkpoint: Option<Arc<dyn CheckpointSink>>,
    /// Where it is noted what the host sees of the call.
    pub facts: Facts,
}

impl Call {
    /// A call without effects, which nobody watches.
    pub fn quiet(subject: Subject) -> Self {
        Self {
            subject,
            idempotency_key: String::new(),
            cancel: CancelToken::default(),
            progress: Arc::new(|_, _| {}),
            checkpoint: None,
            facts: Facts::default(),
        }
    }
}

/// A driver that can be called. The functions are those of the contract in `wit/`; those that a
/// driver does not implement take the contract's default without a call.
#[async_trait]
pub trait Driver: Send + Sync {
    /// What it is.
    fn manifest(&self) -> &Manifest;

    /// The name by which the operator knows it, which need not be the one that it gives itself.
    /// Recipes and records use this one.
    fn known_as(&self) -> &str;

    /// Digest of its code: a changed driver is a reason to look at its resources again.
    fn digest(&self) -> &str;

    /// What the operator grants it; none where nothing is ever refused.
    fn grants(&self) -> Option<&Grants>;

    /// How long one call takes at most before it is ended, whatever it does; none where nothing ends it.
    fn longest(&self) -> Option<Duration> {
        None
    }

    /// Validates, fills in defaults, normalises. No effects.
    async fn check(
        &self,
        call: &Call,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Result<Checked, CallError>;

    /// The friendly name that the real thing gets. No effects.
    async fn name(&self, call: &Call, inputs: &Inputs) -> Result<Label, CallError>;

    /// Makes the resource. `replaces` is the id of the one that it takes the place of, where that exists
    /// still.
    async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError>;

    /// Looks at the resource as it is; none when it is gone. No effects.
    async fn read(&self, call: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError>;

    /// Says which changes replace. No effects.
    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError>;

    /// Changes the resource in place.
    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError>;

    /// Deletes the resource.
    async fn delete(&self, call: &Call, state: &ResourceState, inputs: &Inputs) -> Result<(), CallError>;
}

/// Who asks for a driver.
#[derive(Clone, Copy, Debug)]
pub enum Needed<'a> {
    /// A recipe, for what is to be made or changed.
    For(&'a DriverRequirement),
    /// A record, for what is to be deleted or looked at: name and version that made it.
    Recorded(&'a str, &'a str),
}

/// Finds drivers.
#[async_trait]
pub trait Drivers: Send + Sync {
    /// The best driver that fits.
    ///
    /// # Errors
    /// A diagnostic that says how to add the driver, or what is wrong with it.
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>>;
}

#[async_trait]
impl Driver for purlin_sandbox::Driver {
    fn manifest(&self) -> &Manifest {
        self.manifest()
    }

    fn known_as(&self) -> &str {
        self.name()
    }

    fn digest(&self) -> &str {
        self.digest()
    }

    fn grants(&self) -> Option<&Grants> {
        Some(self.grants())
    }

    fn longest(&self) -> Option<Duration> {
        Some(self.longest())
    }

    async fn check(
        &self,
        call: &Call,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Result<Checked, CallError> {
        self.check(&call.context(), inputs, previous).await
    }

    async fn name(&self, call: &Call, inputs: &Inputs) -> Result<Label, CallError> {
        self.name_of(&call.context(), inputs).await
    }

    async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        self.create(&call.context(), inputs, name, replaces).await
    }

    async fn read(&self, call: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError> {
        self.read(&call.context(), look).await
    }

    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        self.update_impact(&call.context(), change).await
    }

    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        self.update(&call.context(), change).await
    }

    async fn delete(&self, call: &Call, state: &ResourceState, inputs: &Inputs) -> Result<(), CallError> {
        self.delete(&call.context(), state, inputs).await
    }
}

impl Call {
    fn context(&self) -> CallContext<'_> {
        let progress = Arc::clone(&self.progress);
        CallContext {
            progress: Some(Arc::new(move |said| progress(&said.message, said.percent))),
            cancel: self.cancel.clone(),
            checkpoint: self.checkpoint.clone(),
            facts: self.facts.clone(),
            ..CallContext::new(&self.subject, &self.idempotency_key)
        }
    }
}
