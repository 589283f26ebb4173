//! The program as people and programs meet it: run as a process, in a folder of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod crash;
mod history;
mod json;
mod life;
mod look;
mod project;
mod reference;
mod state;
mod together;
mod wrong;
