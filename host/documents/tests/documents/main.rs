//! Tests of documents: what is read from them, and the messages about their faults.
//!
//! They are one program: each further one would be linked with all dependencies.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "these are tests")]

mod corpus;
mod faults;
mod files;
mod lock;
mod manifests;
mod mistakes;
mod nothing_vanishes;
mod placeholders;
mod robust;
mod score_schema;
mod slips;
mod stored;
