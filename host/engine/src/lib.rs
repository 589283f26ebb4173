//! Plans and applies. Below `purlin-host`, this is the only crate that knows the graph, the sandbox
//! and the state together.
//!
//! [`plan`] compares a graph with the recorded state and says, without effects, what happens to
//! each resource. [`apply`] executes exactly that, concurrently and in order, and records each
//! result before it counts. The crate must not know documents or terminals; it reports progress as
//! [`Event`]s.

mod changes;
mod driver;
mod error;
mod event;
mod explain;
mod failed;
mod json;
mod missing_grants;
mod names;
mod plan;
mod planner;
mod records;
mod run;
mod values;

pub use changes::data_loss::LostData;
pub use changes::parts::GoingPart;
pub use driver::{About, Call, Driver, Drivers, Effect, Needed, Progress, ReadRequest, Request, Response};
pub use error::{Cause, Error};
pub use event::{Event, Phase, Summary};
pub use failed::{CallFailed, Defined, Lacking};
pub use names::{Misnamed, Role, find, find_declared};
pub use plan::{Action, Loss, Plan, Step, Suggestion, Tally, ValueChange, Warning};
pub use planner::{
    Base, CheckedInputs, DescribedDrivers, DestroyOptions, Deviation, Differs, OperationOutline, PlanOptions,
    PlannedInput, RecordDigest, RecordedSecrets, Saved, Scope, Scratch, Users, checked_inputs, destroy,
    deviations, deviations_of_rest, fits, in_use, is_left_by_run, plan, read, recover, refresh, select,
    validate, with_aliases,
};
pub use purlin_sandbox::CancelToken;
pub use records::edits::{forget, protect, repair_contradictions, settle, share, taint};
pub use records::moves::{Moves, move_away};
pub use records::recorded_status::{RecordedStatus, ResourceStatus, recorded_statuses};
pub use records::renames::{rename, repoint};
pub use records::visibility::not_shown_for;
pub use run::{ApplyOptions, Run, apply, last_attempts};
pub use values::accounts::Accounts;
pub use values::compare::{Difference, compare};
pub use values::current::CurrentInputs;
pub use values::outputs::KnownOutputs;
pub use values::rules::{Places, SchemaRules, check_inputs, check_outputs, seal_outputs};
pub use values::secrets::{SecretFault, SecretRef, SecretStores, check_secrets};
pub use values::supplied::SuppliedDrivers;
pub use values::workload::{PatchFault, PatchProblem, WorkloadDocument, WorkloadError, workload_document};
