//! Tests of the sandbox with components: how they are loaded, what a driver may do, and what a bad
//! one cannot.
//!
//! They are one program: each further one would be linked with all of wasmtime. Only the attacks of `zoo` have
//! their own, because they measure the process that they run in.
#![allow(clippy::expect_used, clippy::panic, reason = "these are tests")]

mod answers;
mod common;
mod contract;
mod drift;
mod forecast;
mod growth;
mod hostile;
mod inspect;
mod loading;
mod network;
mod operation;
mod reach;
