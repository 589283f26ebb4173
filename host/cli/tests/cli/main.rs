//! Tests of the whole program, as a process in a folder of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod author;
mod bundles;
mod complete;
mod consent;
mod corpus;
mod crash;
mod drift;
mod environments;
mod failures;
mod fleet;
mod hints;
mod history;
mod impact;
mod interrupted;
mod json;
mod life;
mod lifecycle;
mod lock;
mod look;
mod loss;
mod manifests;
mod paint;
mod plans;
mod project;
#[path = "../common/reality.rs"]
mod reality;
mod reconcile;
mod reference;
mod schemas;
mod scope;
mod secrets;
mod sharing;
mod slips;
mod state;
mod status;
mod terminal;
mod together;
mod vanished;
mod withheld;
mod world;
mod wrong;
