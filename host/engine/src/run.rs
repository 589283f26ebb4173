//! Executes a plan: its operations, their order, and the records of their results. It knows the
//! plan as data, and must not know how it was made.

mod apply;
mod events;
mod exclusion;
mod moments;
mod obstacles;
mod operate;
mod run_state;
mod schedule;

pub use apply::{ApplyOptions, Run, apply};
pub use operate::last_attempts;
