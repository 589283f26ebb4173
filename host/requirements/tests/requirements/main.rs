//! Tests of requirements: which bundles and installations satisfy them, and under which names.
//!
//! They are one program: each further one would be linked with all dependencies.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "these are tests")]

mod cases;
mod existing;
mod names;
mod porter;
mod support;
