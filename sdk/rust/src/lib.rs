//! Write Purlin drivers in Rust: a driver is one trait.
