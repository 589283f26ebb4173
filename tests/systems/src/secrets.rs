//! Secrets of many shapes, and the search for them in output and storage.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

/// Names and secrets. Those of eight characters or more are searched for.
pub fn shapes() -> Vec<(&'static str, Value)> {
    let long = format!("golf-{}", "0123456789abcdef".repeat(6_400));
    vec![
        ("text", json!("alpha-correct-horse")),
        ("username", json!("user")),
        ("host", json!("hostname-of-bravo")),
        ("named", json!("open")),
        ("nested", json!({"a": ["charlie-nested", {"b": "delta-nested"}], "n": 86_753_091})),
        ("list", json!(["echo-in-a-list", "foxtrot-in-a-list"])),
        ("number", json!(8_675_309_123_u64)),
        ("float", json!(31_415.926_5)),
        ("truth", json!(true)),
        ("empty", json!("")),
        ("one", json!("q")),
        ("three", json!("zqz")),
        ("lines", json!("hotel-first-line\nindia-second-line\n")),
        ("pem", json!("-----BEGIN KEY-----\nanVsaWV0dGp1bGlldHQ\n  kilo-kilo-kilo\n-----END KEY-----\n")),
        ("unicode", json!("lima-ßüñ-密码-🔑")),
        ("long", json!(long)),
        ("quotes", json!("mike\"quote'\\back: #x")),
        ("yaml", json!("november: [1, {x")),
        ("url", json!("https://oscar:papa-pass@host.example/?a=b&c=d e")),
        ("padded", json!("  quebec padded  ")),
        ("percent", json!("romeo%20percent+plus")),
        ("base64", json!("c2llcnJhLWJhc2U2NA==")),
        ("json", json!("{\"tango\": \"uniform-value\"}")),
        ("control", json!("victor\ttab\u{7}bell-whiskey")),
    ]
}

/// Every text that must not be found, in every encoding.
pub fn needles() -> Vec<String> {
    fn texts(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::String(text) if text.len() >= 8 => {
                // For a long one, a part is enough.
                let text = text.trim();
                into.push(text.get(..64.min(text.len())).unwrap_or(text).to_owned());
                into.extend(
                    text.lines()
                        .map(str::trim)
                        .filter(|line| line.len() >= 8)
                        .map(|line| line.get(..64.min(line.len())).unwrap_or(line).to_owned()),
                );
            }
            Value::Number(number) if number.to_string().len() >= 8 => into.push(number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
            Value::Object(entries) => entries.values().for_each(|entry| texts(entry, into)),
            _ => {}
        }
    }
    let mut plain = Vec::new();
    shapes().iter().for_each(|(_, secret)| texts(secret, &mut plain));
    let mut all = Vec::new();
    for text in plain {
        let json = json!(text).to_string();
        let hex = text.bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        });
        let url = text.bytes().fold(String::new(), |mut out, byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                let _ = write!(out, "%{byte:02X}");
            }
            out
        });
        let encoded = base64(text.as_bytes());
        all.extend([
            encoded.get(..encoded.len() / 4 * 4 - 4).unwrap_or_default().to_owned(),
            json.trim_matches('"').to_owned(),
            text.to_uppercase(),
            text.to_lowercase(),
            hex.to_uppercase(),
            hex,
            url,
            text,
        ]);
    }
    all.retain(|needle| needle.len() >= 8 && !needle.starts_with("-----BEGIN"));
    all.retain(|needle| !needle.to_uppercase().contains("-----"));
    all.sort();
    all.dedup();
    all
}

/// In Base64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes.chunks(3).fold(String::new(), |mut out, group| {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        out.extend((0..=group.len()).map(|at| char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63])));
        out
    })
}

/// The output contains no secret.
///
/// # Panics
/// If it does.
#[track_caller]
pub fn holds_none(what: &str, bytes: &[u8], needles: &[String]) {
    for needle in needles {
        let found = bytes.windows(needle.len()).position(|window| window == needle.as_bytes());
        assert!(found.is_none(), "{what} holds `{needle}` at {found:?}");
    }
}

/// Shows every file of a folder, at any depth.
///
/// # Panics
/// If one cannot be read.
pub fn every_file(folder: &Path, see: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            every_file(&path, see);
        } else {
            see(&path, &std::fs::read(&path).expect("a file"));
        }
    }
}
