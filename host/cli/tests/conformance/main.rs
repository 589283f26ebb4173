//! `purlin driver check`, the whole program: our own drivers keep every rule, and for each rule
//! there is a driver that breaks it and no other. A check that cannot fail would be none.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod bench;
mod face;
mod faulty;
mod ours;
