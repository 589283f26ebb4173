//! Managed resources that refer to one another, from documents to the calls of a driver (SPEC §7).
//!
//! A test that begins with an id, such as `ref_05`, shows one case of how Crossplane resolves
//! references, deletes, and manages the life of a resource. Where Purlin differs, the test shows what
//! Purlin does and says so. Cases that the graph or the store decide are beside their tests.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../support/mod.rs"]
mod support;

mod convergence;
mod deletion;
mod given;
mod life;
mod refs;
