//! A zoo of hostile drivers. Each attack runs beside a good driver, which must not notice; the
//! operator gets helpful and harmless messages; and nothing is left over.
//!
//! Out of scope: a secret that is reversed, encrypted, or given letter by letter. A driver that has
//! a secret can disguise it beyond recognition; its grants prevent that it gets out.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

#[allow(dead_code, reason = "the other tests of the sandbox use the rest")]
#[path = "../sandbox/common/mod.rs"]
mod common;

mod answers;
mod by_hand;
mod deadline;
mod files;
mod forecasts;
mod handles;
mod harness;
mod memory;
mod network;
mod text;
mod time;
mod worker;
