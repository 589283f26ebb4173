//! Purlin, to embed.
//!
//! A thin face over the rooms of the house: documents in; a graph, a plan, a stream of events out.
//!
//! ```no_run
//! # async fn example() -> Result<(), purlin_host::Error> {
//! use futures::StreamExt as _;
//! use purlin_host::{Documents, Purlin, documents};
//!
//! let loaded = documents::load(&[documents::Input::Path("platform".into())]);
//! // Every deployment needs an id of its own: one that the environment has already is refused.
//! let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
//! let documents = Documents::new(loaded, &Default::default(), None, &format!("deployment-{now}"))?;
//! let purlin = Purlin::builder().state_folder(".purlin").cache_folder(".purlin/cache").build();
//! let session = purlin.begin(&documents.environment()).await?;
//! session.recover(&documents.context, Default::default()).await?;
//! let mut plan = session.plan(&documents, Default::default()).await?;
//! let losses = plan.losses_not_allowed();
//! if !losses.is_empty() {
//!     // Name them to a person first: without this call, the plan is refused.
//!     plan.allow_losses(&losses);
//! }
//! let mut run = session.deploy(plan, Some(&documents), Default::default()).await?;
//! while let Some(event) = run.next().await {
//!     println!("{event:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate never prints, reads no environment variable and no home folder, starts no runtime of
//! its own and installs no global: whatever it needs, the [`Builder`] is given. Its futures want a
//! tokio runtime with time enabled; with several threads, drivers run on all of them.

mod archive;
mod builder;
mod changes;
mod copies;
mod departures;
mod documents_in_context;
mod drivers;
mod error;
mod files;
mod fleet;
mod history;
mod impact;
mod installations;
mod last;
mod losses;
mod outputs;
mod probed;
mod promoted;
mod reconcile;
mod saved;
mod secrets;
mod session;
mod settle;
mod sharing;
mod stored;
mod vacancies;
mod values;
mod vanished;
mod waiting;
mod written;

pub use builder::{Builder, Purlin};
pub use changes::ContextChanges;
pub use copies::{Copied, CopyOptions};
pub use documents_in_context::Documents;
pub use drivers::{
    Approval, ApprovalChange, DriverInfo, DriverOrigin, Examined, Granted, Inspection, NAME_OF_ITS_OWN,
};
pub use error::Error;
pub use fleet::{Fleet, Turn, TurnEnd};
pub use history::Deploying;
pub use impact::{Affected, Impact, Proposal};
pub use installations::unmapped;
pub use last::LastDeployed;
pub use outputs::{Outputs, outputs};
pub use reconcile::{Keeper, Pass};
pub use saved::{SavedPlan, begins_as_plan};
pub use session::Session;
pub use sharing::{Collected, InstallationState};

pub use purlin_conformance as conformance;
pub use purlin_documents as documents;
pub use purlin_engine as engine;
pub use purlin_expression::is_slip;
pub use purlin_graph as graph;
pub use purlin_model as model;
pub use purlin_requirements as requirements;
pub use purlin_sandbox as sandbox;
pub use purlin_sandbox::clock;
pub use purlin_state as state;
