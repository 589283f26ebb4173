//! Tests of the stores: what each one promises, whatever happens to its files, its server and its
//! processes.
//!
//! They are one program: each further one would be linked with all dependencies.
#![allow(clippy::expect_used, clippy::panic, reason = "these are tests")]

#[macro_use]
mod common;
mod audit;
mod crash;
mod formats;
mod journal;
mod keys;
mod life;
mod pool;
mod postgres;
mod postgres_care;
mod postgres_faults;
mod postgres_login;
mod store;
