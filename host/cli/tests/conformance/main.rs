//! Tests of `purlin driver check` with the whole program: Purlin's own drivers obey every rule, and
//! for each rule there is a driver that breaks only this one, which proves that the check can fail.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod bench;
mod face;
mod faulty;
mod ours;
