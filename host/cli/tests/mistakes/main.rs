//! Tests that a mistake never destroys anything: mistakes in a folder that was deployed before,
//! each followed by `purlin up --yes`. Nothing recorded may be lost except for what the documents
//! clearly no longer request.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod every_line;
mod random;
mod scene;
mod table;
