//! More memory and stack than allowed.

use super::{Attack, state};
use core::arch::wasm32::memory_grow;
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::json;

pub(super) fn perform(_: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    Some(Ok(match name {
        "grow-by-page" => {
            let mut pages = 0;
            while memory_grow::<0>(1) != usize::MAX {
                pages += 1;
            }
            // It was denied, and continues as if nothing had happened.
            state(&json!({"pages": pages}))
        }
        "grow-by-4-gib" => state(&json!({"refused": memory_grow::<0>(65_535) == usize::MAX})),
        "hoard" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1u8; 1 << 16]);
                std::hint::black_box(&hoard);
            }
        }
        "stack" => state(&json!({"depth": dig(0)})),
        "stack-frames" => state(&json!({"depth": sink(0)})),
        _ => return None,
    }))
}

/// Uses much of the stack in memory.
#[inline(never)]
fn dig(depth: u64) -> u64 {
    let pad = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { dig(depth + 1) + pad[3] }
}

/// Uses nothing of the stack in memory: only the machine's own.
#[inline(never)]
fn sink(depth: u64) -> u64 {
    if std::hint::black_box(depth) == u64::MAX { 0 } else { sink(depth + 1).wrapping_mul(3) ^ depth }
}
