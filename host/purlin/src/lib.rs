//! Purlin as a library.
//!
//! A thin interface to the other crates: documents go in; a graph, a plan and a stream of events
//! come out.
//!
//! ```no_run
//! # async fn example() -> Result<(), purlin_host::Error> {
//! use std::sync::Arc;
//!
//! use futures::StreamExt as _;
//! use purlin_host::{Input, Purlin, UpOptions, load};
//!
//! let purlin = Arc::new(Purlin::builder().state_folder(".purlin").build());
//! let documents = purlin.documents(load(&[Input::Path("platform".into())]), &Default::default())?;
//! let mut run = purlin.up(documents, UpOptions::default());
//! while let Some(event) = run.next().await {
//!     println!("{}", serde_json::to_string(&event?).unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Purlin::up`] runs a whole deployment, and [`Purlin::destroy`] deletes an environment. [`UpOptions::consent`] shows the plan and asks before
//! anything happens; [`Purlin::run`] also tells its caller about each part.
//!
//! Plans and events serialise to the published JSON, without secrets.
//!
//! The features `builtin-drivers` and `postgres` (the state of a team) are off by default.
//!
//! This crate never prints, reads no environment variable (except `SSL_CERT_FILE` and `SSL_CERT_DIR`,
//! which name the system's certificates) and no home folder, starts no runtime of its own and installs
//! no global: the [`Builder`] gets everything that it needs. Its futures need a tokio runtime with time
//! enabled; with several threads, drivers run on all of them.

mod archive;
mod audited;
mod beginning;
mod builder;
mod built;
mod changes;
mod copies;
mod crash_points;
#[cfg(feature = "postgres")]
mod database;
mod departures;
mod documents_in_context;
mod drivers;
mod error;
mod files;
mod fleet;
mod guards;
mod history;
mod impact;
mod installations;
mod last_deployment;
mod loops;
mod losses;
mod missing_documents;
mod moves;
mod outputs;
mod pipeline;
mod planning;
mod promoted;
mod reconcile;
mod resolve_context;
mod rollouts;
mod saved;
mod secrets;
mod selection;
mod session;
mod sharing;
mod source_locations;
mod stored;
mod up;
mod vacancies;
mod values;
mod waiting;

pub use builder::STATE_FOLDER;
pub use builder::{Builder, Purlin};
pub use changes::ContextChanges;
pub use copies::{Copied, CopyOptions};
#[cfg(feature = "postgres")]
pub use database::LockReleases;
pub use documents_in_context::Documents;
pub use drivers::{
    Approval, ApprovalChange, DriverOrigin, Examined, Granted, Inspection, ListedDriver, NAME_OF_ITS_OWN,
};
pub use error::Error;
pub use fleet::{Fleet, Turn, TurnEnd};
pub use history::Deploying;
pub use impact::{EnvironmentImpact, Proposal, Rejection};
pub use installations::unmapped;
pub use last_deployment::LastDeployed;
pub use moves::{Move, Moved, interrupted_move};
pub use outputs::{Outputs, OutputsReport, outputs};
pub use pipeline::{Follower, Job, RunEnd, Stage};
pub use reconcile::{Keeper, Pass};
pub use rollouts::{RolloutChange, RolloutEnvironment, RolloutOptions, RolloutReport, RolloutState, Waves};
pub use saved::{SavedPlan, begins_as_plan};
pub use selection::{SelectedEnvironment, Selection};
pub use session::Session;
pub use sharing::{Collected, InstallationState};
pub use up::{Answer, Consent, Events, TeardownOptions, UpOptions};

/// Documents: texts and files, read into their types.
#[doc(inline)]
pub use purlin_documents::{Input, Loaded, SourceMap, SourceText, load, load_sources, load_within};

/// Words: names, contexts, values, and what happens to a resource and why.
#[doc(inline)]
pub use purlin_model::{
    Awaited, Condition, ConditionReason, ConditionStatus, ConditionType, Context, ContextDefaults,
    DeclaredBy, Departure, Diagnostic, DriverConfig, DriverSource, EnvironmentId, FORMAT, FileNow, Finding,
    Grants, Key, Label, Limits, Location, Obstacle, Reason, ResourceStatus, Secret, SecretStore,
    SecretStoreKind, Severity, Spot, Unfinished, Unknown, Urn, Value, Wait, Worded, Workspace,
};

/// The graph of resources.
#[doc(inline)]
pub use purlin_graph::{Edge, Explanation, Graph, Node, NodeId};

/// Plans.
#[doc(inline)]
pub use purlin_engine::{
    Action, Base, DestroyOptions, Deviation, Loss, LostData, Plan, PlanOptions, Scope, Step, Suggestion,
    Tally, ValueChange, Warning,
};

/// Runs: their events, and why resources fail.
#[doc(inline)]
pub use purlin_engine::{
    CallFailed, CancelToken, Cause, Defined, Error as EngineError, Event, Lacking, Phase, Run, Summary,
};

/// Secret stores of the program.
#[doc(inline)]
pub use purlin_engine::{SecretFault, SecretRef, SecretStores};

/// Where components are compiled.
#[doc(inline)]
pub use purlin_sandbox::{CallError, Compiler, InProcess, SandboxError, Worker, serve_worker};

/// The state, and what is recorded in it.
#[doc(inline)]
pub use purlin_state::{
    AskedKey, AuditAction, AuditEntry, AuditFault, AuditTrail, DatabaseUser, Deployment, EmbeddedStore,
    Environment, EnvironmentSummary, Error as StateError, Export, HeldLock, Holder, Intent, KeyProvider,
    MarkState, MayLose, MemoryStore, OpenOptions, Outcome, Probe, Record, RecordId, RepairReport, Rollout,
    RolloutMark, RolloutStatus, Snapshot, Staleness, Status, Store,
};

/// The state in PostgreSQL.
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use purlin_state::{
    Address, ClientCertificate, CredentialSource, Credentials, DatabaseReport, PostgresOptions, PostgresStore,
};
