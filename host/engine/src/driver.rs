//! Drivers as the engine sees them: components in the sandbox, or anything that behaves like one.

mod requests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::driver::{DriverInfo, Implements, Subject, Token};
use purlin_model::{Diagnostic, DriverRequirement, Grants, Key};

use purlin_sandbox::{CallContext, CallError, CancelToken, CheckpointSink, Facts, Permission};
pub use purlin_sandbox::{Effect, ReadRequest};
use purlin_state::Record;

pub(crate) use requests::returned_state;
pub use requests::{Request, Response};

use crate::values::accounts::Accounts;

/// Receives the progress that a driver reports: a message and, if known, a percentage.
pub type Progress = Arc<dyn Fn(&str, Option<u8>) + Send + Sync>;

/// Data about one call (SPEC §8).
pub struct Call {
    /// The resource that the call is about.
    pub subject: Subject,
    /// Identical for all attempts at the same effect, and unique to that effect.
    pub idempotency_key: String,
    /// Requested when the operator presses Ctrl-C.
    pub cancel: CancelToken,
    /// As [`CallContext::may_begin`].
    pub may_begin: Option<Permission>,
    /// Receives the progress that the driver reports.
    pub progress: Progress,
    /// Saves what `create` and `update` report before they finish.
    pub checkpoint: Option<Arc<dyn CheckpointSink>>,
    /// What ties an effect to the forecast that people agreed to.
    pub token: Option<Token>,
    /// Collects the facts about the call that the host observes.
    pub facts: Facts,
}

impl Call {
    /// A call without effects and without progress reports.
    pub fn quiet(subject: Subject) -> Self {
        Self {
            subject,
            idempotency_key: String::new(),
            cancel: CancelToken::default(),
            may_begin: None,
            progress: Arc::new(|_, _| {}),
            checkpoint: None,
            token: None,
            facts: Facts::default(),
        }
    }
}

/// The facts about a driver that are known without a call.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The driver's description.
    pub info: &'a DriverInfo,
    /// The name under which the operator configured the driver, which can differ from the name in
    /// its description. Recipes and records use this name.
    pub known_as: &'a str,
    /// The digest of the driver's code. A changed driver is a reason to check its resources again.
    pub digest: &'a str,
    /// Whether the driver foresees its effects ([`Request::Preview`]).
    pub previews: bool,
    /// What the operator grants the driver; `None` if every request is allowed.
    pub grants: Option<&'a Grants>,
    /// The maximum duration of a call; `None` if calls are not limited.
    pub longest: Option<Duration>,
    /// How long one operation waits between its calls, if the driver asks for it.
    pub patience: Duration,
    /// How long its system may not show a new resource ([`purlin_model::Limits::grace`]).
    pub grace: Duration,
    /// How long a run waits for one of its resources that is in progress
    /// ([`purlin_model::Limits::pending`]).
    pub pending: Duration,
    /// The accounts whose fields it is given; `None` if nobody keeps accounts.
    pub accounts: Option<&'a Accounts>,
}

/// A driver that can be called: one request, one response. Functions that a driver does not implement
/// return the default of the contract without a call.
#[async_trait]
pub trait Driver: Send + Sync {
    /// The facts about the driver.
    fn about(&self) -> About<'_>;

    /// [`About::info`].
    fn info(&self) -> &DriverInfo {
        self.about().info
    }

    /// What it implements for the type of a resource.
    fn implements(&self, key: &Key) -> Implements {
        self.info().implements(key.type_name())
    }

    /// What it implements for the type of a recorded resource.
    fn implements_for(&self, record: &Record) -> Implements {
        record.urn.key().map(|key| self.implements(&key)).unwrap_or_default()
    }

    /// [`About::known_as`].
    fn known_as(&self) -> &str {
        self.about().known_as
    }

    /// [`About::digest`].
    fn digest(&self) -> &str {
        self.about().digest
    }

    /// [`About::previews`].
    fn previews(&self) -> bool {
        self.about().previews
    }

    /// [`About::grants`].
    fn grants(&self) -> Option<&Grants> {
        self.about().grants
    }

    /// [`About::longest`].
    fn longest(&self) -> Option<Duration> {
        self.about().longest
    }

    /// [`About::patience`].
    fn patience(&self) -> Duration {
        self.about().patience
    }

    /// [`About::grace`].
    fn grace(&self) -> Duration {
        self.about().grace
    }

    /// [`About::pending`].
    fn pending(&self) -> Duration {
        self.about().pending
    }

    /// Makes a call. The response is that of the requested function.
    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError>;
}

/// Whether a driver can reach nothing outside of itself, so that its resources exist only in the state
/// and nobody else can change them. Secrets are inputs.
pub(crate) fn reaches_nothing(driver: &dyn Driver) -> bool {
    driver.info().requested_capabilities.is_empty() && driver.grants().is_some_and(are_only_secrets)
}

/// Whether grants give access to nothing but secrets, which are inputs.
pub(crate) fn are_only_secrets(grants: &Grants) -> bool {
    *grants == Grants { secrets: grants.secrets.clone(), ..Grants::default() }
}

/// Why a driver is needed.
#[derive(Clone, Copy, Debug)]
pub enum Needed<'a> {
    /// A recipe needs it to create or update a resource.
    For(&'a DriverRequirement),
    /// A record needs it to delete or read a resource: the name and version of the driver that made
    /// it.
    Recorded(&'a str, &'a str),
}

/// Finds drivers.
#[async_trait]
pub trait Drivers: Send + Sync {
    /// The best matching driver.
    ///
    /// # Errors
    /// A diagnostic that says how to add the driver, or what is wrong with it.
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>>;
}

#[async_trait]
impl Driver for purlin_sandbox::Driver {
    fn about(&self) -> About<'_> {
        About {
            info: self.info(),
            known_as: self.name(),
            digest: self.digest(),
            previews: self.previews(),
            grants: Some(self.grants()),
            longest: Some(self.longest()),
            patience: self.patience(),
            grace: self.grace(),
            pending: self.pending(),
            accounts: None,
        }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let context = &call.context();
        Ok(match request {
            Request::Check { inputs, previous } => {
                Response::Checked(self.check(context, inputs, previous).await?)
            }
            Request::Name(inputs) => Response::Name(self.name_of(context, inputs).await?),
            Request::Read(request) => Response::Observed(self.read(context, request).await?),
            Request::UpdateImpact(change) => Response::Impact(self.update_impact(context, change).await?),
            Request::Preview(effect) => Response::Forecast(self.preview(context, effect).await?),
            Request::Effect(Effect::Create { inputs, name, replaces }) => {
                Response::State(self.create(context, inputs, name, replaces).await?)
            }
            Request::Effect(Effect::Update(change)) => Response::State(self.update(context, change).await?),
            Request::Effect(Effect::Delete { state, inputs, data_loss_allowed }) => {
                self.delete(context, (state, data_loss_allowed), inputs).await?;
                Response::Deleted
            }
        })
    }
}

impl Call {
    fn context(&self) -> CallContext<'_> {
        let progress = Arc::clone(&self.progress);
        CallContext {
            progress: Some(Arc::new(move |report| progress(&report.message, report.percent))),
            cancel: self.cancel.clone(),
            may_begin: self.may_begin.clone(),
            checkpoint: self.checkpoint.clone(),
            token: self.token.clone(),
            facts: self.facts.clone(),
            ..CallContext::new(&self.subject, &self.idempotency_key)
        }
    }
}

/// The slot of a requirement: two recipes that require the same versions share a driver.
pub(crate) fn requirement_name(requirement: &DriverRequirement) -> Arc<str> {
    match &requirement.range {
        None => Arc::clone(&requirement.name),
        Some(range) => format!("{}@{range}", requirement.name).into(),
    }
}

/// The slot of a recorded driver.
pub(crate) fn recorded_name(record: &Record) -> Arc<str> {
    format!("{}={}", record.driver.name, record.driver.version).into()
}
