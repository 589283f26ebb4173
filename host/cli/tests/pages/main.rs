//! Pages that people read – the book, README.md and those of the examples – are run as written.
//!
//! What a block of a page means is said in `page.rs`. With `PURLIN_BLESS=1` the pages are changed
//! to what the program says; look at the difference before you believe it.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod book;
mod examples;
mod page;
mod run;

use std::path::{Path, PathBuf};

/// The workspace's root.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("two folders above").to_owned()
}
