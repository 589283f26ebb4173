//! Tests of plans and runs, with a platform in memory. They are one program, which is compiled and
//! linked faster than one for each file.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod aliases;
mod contract;
mod cookies;
mod events;
mod foreseen_deletions;
mod goes_with;
mod halfway;
mod identity;
mod import;
mod in_progress;
mod inputs;
mod joint_deletion;
mod journal;
mod lease;
mod lifecycle;
mod losses;
mod partial;
mod pending;
mod previews;
mod protect;
mod references;
mod refresh;
mod replace;
mod replaced;
mod secret_refs;
mod secrets;
mod shown_late;
mod staleness;
mod support;
mod targets;
mod undecided;
mod unknown;
