//! More time than allowed.

use super::{Attack, failed, state};
use purlin_sdk::bindings::purlin::driver::operation;
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::json;
use std::time::Duration;
use wasip2::clocks::monotonic_clock::{now, subscribe_duration, subscribe_instant};
use wasip2::io::poll::poll;

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    Some(Ok(match name {
        "loop" => loop {
            std::hint::spin_loop();
        },
        "loop-of-calls" => loop {
            std::hint::black_box(now());
        },
        "loop-of-questions" => loop {
            std::hint::black_box(operation::cancelled());
        },
        "sleep-for-ever" => {
            std::thread::sleep(Duration::from_secs(1 << 40));
            state(&json!({}))
        }
        "wait-for-the-end-of-time" => {
            subscribe_instant(u64::MAX).block();
            state(&json!({}))
        }
        // Each wait ends at once, so that none yields.
        "wait-for-nothing" => loop {
            subscribe_duration(0).block();
        },
        "timers" => {
            let timers: Vec<_> = (0..10_000).map(|_| subscribe_duration(u64::MAX)).collect();
            poll(&timers.iter().collect::<Vec<_>>());
            state(&json!({}))
        }
        "poll-list" => {
            let (ready, never) = (subscribe_duration(0), subscribe_duration(u64::MAX));
            let mut list = vec![&never; attack.number("handles", 100_000)];
            list.push(&ready);
            state(&json!({"ready": poll(&list).len()}))
        }
        "poll-list-of-ready" => {
            let ready = subscribe_duration(0);
            let list = vec![&ready; attack.number("handles", 100_000)];
            let mut found = 0;
            for _ in 0..20 {
                found += poll(&list).len();
            }
            state(&json!({"ready": found}))
        }
        "poll-nothing" => state(&json!({"ready": poll(&[]).len()})),
        "ignore-cancellation" => loop {
            if operation::cancelled() {
                std::thread::sleep(Duration::from_secs(60));
            }
        },
        "answer-after-cancellation" => {
            while !operation::cancelled() {
                std::thread::sleep(Duration::from_millis(2));
            }
            state(&json!({"made": "all the same"}))
        }
        "fail-after-cancellation" => {
            while !operation::cancelled() {
                std::thread::sleep(Duration::from_millis(2));
            }
            return Some(Err(failed("I was told to stop")));
        }
        _ => return None,
    }))
}
