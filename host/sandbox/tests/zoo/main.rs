//! A zoo of hostile drivers. Each attack is carried out beside a good driver, which must not
//! notice; the operator gets words that help and do no harm; and nothing is left over.
//!
//! Out of reach: a secret that is reversed, encrypted, or told letter by letter. A driver that has
//! a secret can give it away in words that nobody recognises, and is kept from that by its grants.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod by_hand;
mod files;
mod handles;
mod harness;
mod memory;
mod network;
mod text;
mod time;
mod worker;
