//! Tests of the crate as a program that embeds it uses it: whole deployments, shared installations,
//! the upkeep of environments, and the example.
//!
//! They are one program: each further one would be linked with all of wasmtime.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod context;
mod corpus;
mod embed;
mod keep;
mod requirements;
mod rollouts;
mod sharing;
mod up;
