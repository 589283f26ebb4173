//! A mistake never destroys: slips in a folder that was deployed before, each followed by
//! `purlin up --yes`. Whatever the slip, nothing that is recorded is lost but what the documents
//! plainly no longer ask for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod drawn;
#[path = "../cli/project.rs"]
#[allow(dead_code, reason = "shared with the other tests of the program")]
mod project;
mod scene;
mod table;
