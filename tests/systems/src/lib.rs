//! The common part of the tests of the program: folders in which it runs, servers that are started
//! on loopback and stopped again, and a wire that kills the program at any message.
//!
//! This crate knows neither wasmtime nor any crate of the host: the tests use the program as people
//! run it.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod certificates;
pub mod cut;
pub mod example;
pub mod interrupt;
pub mod kit;
pub mod kubernetes;
pub mod moto;
pub mod platform;
pub mod pool;
pub mod postgres;
pub mod powerdns;
pub mod project;
pub mod published;
pub mod redis;
mod replies;
pub mod rest;
pub mod secrets;
pub mod server;
pub mod shop;
pub mod tools;
pub mod values;

pub use example::Example;
pub use interrupt::{Proxy, at_every_message};
pub use project::{Project, Ran};
pub use server::{Server, free_port};
