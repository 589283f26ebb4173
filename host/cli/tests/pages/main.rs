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
#[path = "../cli/project.rs"]
#[allow(dead_code, reason = "shared with the other tests of the program")]
mod project;
mod run;

use std::path::{Path, PathBuf};

/// The root of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("two folders above").to_owned()
}
