//! Tests of the real program, killed or without power at every place that could matter, and run
//! again: it creates nothing twice, forgets nothing, and opens every state (SPEC §10, §12).
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod audit;
mod cases;
mod choice;
mod cuts;
mod disk;
mod heads;
mod promises;
mod random;
mod reads;
#[path = "../common/reality.rs"]
mod reality;
mod record;
mod scene;
mod trace;
