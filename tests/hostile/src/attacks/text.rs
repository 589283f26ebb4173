//! Text in every channel: secrets, terminal commands, floods.

use super::{Attack, state};
use crate::encodings::encoded;
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use purlin_sdk::bindings::purlin::driver::{log, operation};
use purlin_sdk::bindings::purlin::metrics::metrics;
use serde_json::json;
use std::io::Write as _;

impl Attack {
    /// A text with the secret, in the requested encoding, in place of `{secret}`.
    pub(crate) fn filled(&self, text: &str) -> String {
        text.replace("{secret}", &encoded(&self.secret, &self.text("encoding")))
    }
}

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let text = attack.filled(&attack.text("text"));
    match name {
        "say" => say(&attack.text("channel"), &text),
        "say-halves" => {
            // Two writes, one line.
            let (one, two) = text.split_at(text.len() / 2);
            for half in [one, two] {
                std::io::stdout().write_all(half.as_bytes()).unwrap();
                std::io::stdout().flush().unwrap();
            }
            println!();
        }
        "say-bytes" => {
            std::io::stdout().write_all(b"before \xff\xfe\x80\xc3 after\n").unwrap();
            std::io::stderr().write_all(&[0xf0, 0x9f, b'\n']).unwrap();
        }
        "flood" => {
            let line = "x".repeat(attack.number("bytes", 1_000));
            for _ in 0..attack.number("count", 100_000) {
                say(&attack.text("channel"), &line);
            }
        }
        "one-long-line" => {
            let line = vec![b'x'; 4096];
            for _ in 0..attack.number("count", 50_000) {
                std::io::stdout().write_all(&line).unwrap();
            }
        }
        "empty-lines" => {
            let lines = vec![b'\n'; 4096];
            for _ in 0..2_000 {
                std::io::stderr().write_all(&lines).unwrap();
            }
        }
        "log-of-lines" => {
            for _ in 0..20 {
                log::write(log::Level::Error, &"\n".repeat(4 << 20));
            }
        }
        _ => return None,
    }
    Some(Ok(state(&json!({"said": name}))))
}

fn say(channel: &str, text: &str) {
    match channel {
        "stdout" => println!("{text}"),
        "stderr" => eprintln!("{text}"),
        "progress" => operation::progress(text, Some(255)),
        "metrics" => {
            metrics::count(text, u64::MAX);
            metrics::measure(text, f64::NAN);
            metrics::measure("a_name", f64::INFINITY);
        }
        "panic" => panic!("{text}"),
        _ => log::write(log::Level::Error, text),
    }
}
