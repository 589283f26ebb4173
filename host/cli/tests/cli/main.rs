//! Tests of the whole program, as a process in a folder of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod appearance;
mod author;
mod bundles;
mod codes;
mod complete;
mod concurrent_runs;
mod consent;
mod corpus;
mod crash;
mod data_loss;
mod destructive_mistakes;
mod drift;
mod environments;
mod exact_values;
mod failures;
mod fleet;
mod gate;
mod graph;
mod hints;
mod history;
mod impact;
mod interrupted;
mod invalid_input;
mod json;
mod life;
mod lifecycle;
mod lock;
mod manifests;
mod missing_documents;
mod plans;
mod project;
#[path = "../common/reality.rs"]
mod reality;
mod reconcile;
mod reference;
mod schemas;
mod scope;
mod secret_output;
mod secrets;
mod sharing;
mod state;
mod status;
mod terminal;
mod terminal_control;
mod world;
