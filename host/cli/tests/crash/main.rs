//! The real program, killed at every place where it could matter, and run again: nothing is made
//! twice, nothing is forgotten, and every state opens (SPEC §10, §12).
//!
//! All places by default. `PURLIN_KILLS=N` sets how many kills come at random times instead of at
//! places; `PURLIN_SEED` where they begin.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod places;
mod random;
#[path = "../common/reality.rs"]
mod reality;
mod scene;
