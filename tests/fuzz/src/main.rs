//! The fuzzer: one target of `purlin_fuzz::TARGETS`, the one that `PURLIN_FUZZ` names.
#![no_main]
#![allow(clippy::panic, reason = "it is what finds panics")]

use std::sync::OnceLock;

use purlin_fuzz::{TARGETS, Target};

fn target() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("PURLIN_FUZZ").unwrap_or_default();
        match TARGETS.iter().find(|(known, _)| *known == name) {
            Some((_, target)) => *target,
            None => panic!("`PURLIN_FUZZ` names no target: `{name}`"),
        }
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target()(bytes));
