//! The host's services for a command-line program.

use super::{Attack, state};
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::json;
use std::io::Read as _;
use wasip2::cli::stdout::get_stdout;
use wasip2::random::insecure::get_insecure_random_bytes;
use wasip2::random::random::get_random_bytes;

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let bytes = attack.values["bytes"].as_u64().unwrap_or(4 << 30);
    Some(Ok(match name {
        "exit" => std::process::exit(attack.number("status", 0) as i32),
        "abort" => std::process::abort(),
        "stdin" => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            state(&json!({"read": text, "ok": read.is_ok()}))
        }
        "environment" => {
            for _ in 0..10_000 {
                std::hint::black_box(std::env::vars().count() + std::env::args().count());
            }
            state(&json!({"variables": std::env::vars().count(), "arguments": std::env::args().count()}))
        }
        "randomness" => state(&json!({"bytes": get_random_bytes(bytes).len()})),
        "insecure-randomness" => state(&json!({"bytes": get_insecure_random_bytes(bytes).len()})),
        // More zeros than a stream accepts at once.
        "zeroes" => {
            let stream = get_stdout();
            state(&json!({"written": stream.write_zeroes(bytes).is_ok()}))
        }
        _ => return None,
    }))
}
