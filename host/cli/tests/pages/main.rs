//! Runs the pages that people read, as written: the book, README.md and those of the examples.
//!
//! `page.rs` describes the meaning of blocks. With `PURLIN_BLESS=1`, the pages are updated with the
//! program's output; review the difference.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod advice;
mod book;
mod drivers;
mod errors;
mod examples;
mod fields;
mod links;
mod page;
mod run;

use purlin_systems::tools::root;
