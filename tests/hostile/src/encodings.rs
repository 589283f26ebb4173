//! Encodings of the secret that disguise it.

use std::fmt::Write as _;

/// The secret in another encoding.
pub(crate) fn encoded(secret: &str, encoding: &str) -> String {
    match encoding {
        "base64" => base64(secret.as_bytes(), b"+/"),
        "base64-url" => base64(secret.as_bytes(), b"-_"),
        // As in `Authorization: Basic`: the prefix shifts all bits.
        "base64-basic" => base64(format!("u:{secret}").as_bytes(), b"+/"),
        "base64-shifted" => base64(format!("a{secret}").as_bytes(), b"+/"),
        "hex" => secret.bytes().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        "upper-hex" => encoded(secret, "hex").to_uppercase(),
        "percent" => percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)),
        "percent-lower" => percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
            .replace("%2B", "%2b")
            .replace("%2F", "%2f"),
        "percent-all" => percent(secret, |_| false),
        "json" => serde_json::Value::from(secret).to_string(),
        _ => secret.to_owned(),
    }
}

fn percent(text: &str, plain: impl Fn(u8) -> bool) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn base64(bytes: &[u8], last: &[u8; 2]) -> String {
    let digits: Vec<u8> =
        (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(last.iter().copied()).collect();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for n in 0..4 {
            let digit = char::from(digits[(bits >> (18 - 6 * n) & 63) as usize]);
            text.push(if n <= group.len() { digit } else { '=' });
        }
    }
    text
}
