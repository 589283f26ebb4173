//! Plans and applies. Below `purlin-host`, this is the only crate that knows the graph, the sandbox
//! and the state together.
//!
//! [`plan`] compares a graph with the recorded state and says, without effects, what happens to
//! each resource. [`apply`] executes exactly that, concurrently and in order, and records each
//! result before it counts. The crate must not know documents or terminals; it reports progress as
//! [`Event`]s.

mod answers;
mod apply;
mod ask;
mod begun;
mod compare;
mod current;
mod cycles;
mod diff;
mod digest;
mod driver;
mod edits;
mod error;
mod evaluate;
mod event;
mod events;
mod exclusion;
mod explain;
mod failed;
mod fate;
mod foresight;
mod holding;
mod ignore;
mod json;
mod missing_grants;
mod moments;
mod moves;
mod obstacles;
mod operate;
mod outputs;
mod plan;
mod planner;
mod recorded;
mod recorded_status;
mod renames;
mod rules;
mod run_state;
mod saved;
mod schedule;
mod secrets;
mod visibility;
mod workload;

pub use apply::{ApplyOptions, Run, apply};
pub use begun::{Becomes, Mark, deviations_of_rest, is_left_by_run};
pub use compare::{Difference, compare};
pub use current::CurrentInputs;
pub use driver::{About, Call, Driver, Drivers, Look, Needed, Progress};
pub use edits::{forget, protect, repair_contradictions, settle, share, taint};
pub use error::{Cause, Error};
pub use event::{Event, Phase, Summary};
pub use failed::{CallFailed, Defined, Lacking};
pub use foresight::{ByManifest, RecordedSecrets};
pub use holding::LostData;
pub use moves::{Moves, move_away};
pub use operate::last_attempts;
pub use outputs::KnownOutputs;
pub use plan::{Action, Change, Loss, Plan, Step, Suggestion, Tally, Warning};
pub use planner::{
    Base, DestroyOptions, Drawn, Misnamed, PlanOptions, Role, Scope, Scratch, Users, destroy, find,
    find_declared, fits, in_use, plan, read, recover, refresh, select, validate, with_aliases,
};
pub use purlin_sandbox::CancelToken;
pub use recorded_status::{RecordedStatus, ResourceStatus, recorded_statuses};
pub use renames::{rename, repoint};
pub use rules::{Places, Rules, check_inputs, seal_outputs};
pub use saved::{Deviation, Differs, Line, Saved, deviations, drawn};
pub use secrets::{SecretFault, SecretRef, SecretStores, check_secrets};
pub use visibility::not_shown_for;
pub use workload::{PatchFault, PatchProblem, WorkloadDocument, WorkloadError, workload_document};
