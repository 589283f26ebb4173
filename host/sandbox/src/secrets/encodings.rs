//! The encodings in which programs write a text to transport it: in JSON as their languages write
//! it, also within JSON, in XML, in base64, in hex, in the parts of URLs, in lower or upper case.
//! Only simple encodings; a driver that wants to hide a secret finds another one.

use std::fmt::Write as _;

/// Shorter ones are in too many unrelated texts.
const SHORTEST: usize = 8;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text in every encoding that differs from it.
pub(super) fn encodings(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    // The text before it shifts its bits by none, one or two bytes.
    let mut long: Vec<String> = (0..3).map(|before| base64(before, bytes)).collect();
    for at in 0..long.len() {
        if let Some(plain) = long.get(at).filter(|plain| plain.contains(['+', '/'])) {
            long.push(plain.replace('+', "-").replace('/', "_"));
        }
    }
    long.push(hex(bytes, "", |_| false));
    long.push(hex(bytes, "%", |_| false));
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    long.push(hex(bytes, "%", unreserved));
    // As a part of a path, a component, a whole URL and the user name and password of one.
    for more in [&b"/"[..], b"!*'()", b";/?:@&=+$,#!*'()", b"!$&'()*+,;="] {
        long.push(hex(bytes, "%", |byte| unreserved(byte) || more.contains(&byte)));
    }
    // In forms, in an old and a new encoding.
    for kept in [&b"-._~"[..], b"*-._"] {
        let stays = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte) || byte == b' ';
        long.push(hex(bytes, "%", stays).replace(' ', "+"));
    }
    let lowered: Vec<String> =
        long.iter().filter(|text| text.contains('%')).map(|text| lower_hex(text)).collect();
    long.push(hex(bytes, "", |_| false).to_ascii_lowercase());
    long.extend(lowered);
    long.extend([text.to_uppercase(), text.to_lowercase()]);
    long.retain(|encoding| encoding.len() >= SHORTEST);
    let json = jsons(text);
    long.extend(json.iter().map(|json| self::json(json, Case::Lower, |_| false)));
    long.extend(json);
    for (double, single) in
        [("&quot;", "&#39;"), ("&quot;", "&apos;"), ("&quot;", "'"), ("&#34;", "&#39;"), ("&quot;", "&#x27;")]
    {
        long.push(xml(text, double, single));
    }
    // SQL and YAML, CSV, and programs between single quotes.
    long.extend([
        text.replace('\'', "''"),
        text.replace('"', "\"\""),
        text.replace('\\', "\\\\").replace('\'', "\\'"),
    ]);
    long.retain(|encoding| encoding != text);
    long.sort_unstable();
    long.dedup();
    long
}

/// The case of the digits of an escape.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    Lower,
    Upper,
}

/// The text between quotes in JSON, in the styles of several languages.
fn jsons(text: &str) -> Vec<String> {
    let html = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    let ascii = json(text, Case::Lower, |c| !c.is_ascii());
    vec![
        // JavaScript, Rust, most others.
        json(text, Case::Lower, |_| false),
        // Go.
        json(text, Case::Lower, html),
        // Python; PHP escapes the slash as well.
        ascii.replace('/', "\\/"),
        ascii,
        json(text, Case::Lower, |_| false).replace('/', "\\/"),
        // .NET.
        json(text, Case::Upper, |c| !c.is_ascii() || html(c) || matches!(c, '"' | '\'' | '+' | '`')),
    ]
}

/// The text between quotes in JSON, with further characters as escapes.
fn json(text: &str, case: Case, escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if escaped(c) => escape(&mut out, c, case),
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => escape(&mut out, c, case),
            c => out.push(c),
        }
    }
    out
}

fn escape(out: &mut String, c: char, case: Case) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a string does not fail.
        let _ = match case {
            Case::Lower => write!(out, "\\u{unit:04x}"),
            Case::Upper => write!(out, "\\u{unit:04X}"),
        };
    }
}

/// The text in XML and HTML.
fn xml(text: &str, double: &str, single: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', double).replace('\'', single)
}

/// The characters of base64 that depend only on these bytes, whatever follows them, if this many
/// bytes (or three more, and so on) precede them.
fn base64(before: usize, bytes: &[u8]) -> String {
    let digit = |six: u32| char::from(DIGITS[(six & 63) as usize]);
    let all: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
    let mut text = String::with_capacity(all.len() / 3 * 4 + 4);
    for group in all.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        match group.len() {
            3 => text.extend([digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]),
            2 => text.extend([digit(bits >> 10), digit(bits >> 4)]),
            _ => text.push(digit(bits >> 2)),
        }
    }
    // These hold bits of the preceding bytes.
    text.split_off(text.len().min(if before == 0 { 0 } else { before + 1 }))
}

/// Bytes in hex, each with a prefix, except those that stay unchanged.
fn hex(bytes: &[u8], before: &str, stays: impl Fn(u8) -> bool) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or_default().to_ascii_uppercase();
    let mut text = String::with_capacity(bytes.len() * (2 + before.len()));
    for byte in bytes {
        if stays(*byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str(before);
            text.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text
}

/// The same with lower case for hex digits.
fn lower_hex(text: &str) -> String {
    let mut digits = 0;
    let lower = |c: char| {
        let lowered = if digits > 0 { c.to_ascii_lowercase() } else { c };
        digits = if c == '%' { 2u8 } else { digits.saturating_sub(1) };
        lowered
    };
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_part_is_part_of_the_base64() {
        assert_eq!(base64(0, b"secret"), "c2VjcmV0");
        assert!("c2VjcmV0cw==".starts_with(&base64(0, b"secrets")));
        assert!("dTpzZWNyZXRz".ends_with(&base64(2, b"secrets")), "{}", base64(2, b"secrets"));
        assert!("eHNlY3JldHM=".contains(&base64(1, b"secrets")), "{}", base64(1, b"secrets"));
        assert_eq!(base64(0, b""), "");
        assert_eq!(base64(1, b""), "");
        assert_eq!(base64(2, b""), "");
    }

    #[test]
    fn urls_and_hex_are_known_in_large_and_small_letters() {
        let found = encodings("a+b/C d~");
        for encoding in
            ["612B622F4320647E", "612b622f4320647e", "a%2Bb%2FC%20d~", "a%2bb%2fC%20d~", "a%2Bb%2FC+d~"]
        {
            assert!(found.iter().any(|known| known == encoding), "{encoding}: {found:?}");
        }
    }

    #[test]
    fn json_of_many_languages_and_json_within_json_is_known() {
        let found = encodings("a<b>&\"c/é🔑+'");
        for encoding in [
            r#"a<b>&\"c/é🔑+'"#,
            r#"a\u003cb\u003e\u0026\"c/é🔑+'"#,
            r#"a<b>&\"c/\u00e9\ud83d\udd11+'"#,
            r#"a<b>&\"c\/\u00e9\ud83d\udd11+'"#,
            r#"a\u003Cb\u003E\u0026\u0022c/\u00E9\uD83D\uDD11\u002B\u0027"#,
            r#"a<b>&\\\"c/é🔑+'"#,
            "a&lt;b&gt;&amp;&quot;c/é🔑+&#39;",
            "a&lt;b&gt;&amp;&#34;c/é🔑+&#39;",
            "a<b>&\"c/é🔑+''",
            "a<b>&\"\"c/é🔑+'",
            "a<b>&\"c/é🔑+\\'",
            "a%3Cb%3E%26%22c/%C3%A9%F0%9F%94%91%2B%27",
            "a%3Cb%3E&%22c/%C3%A9%F0%9F%94%91+'",
        ] {
            assert!(found.iter().any(|known| known == encoding), "{encoding}: {found:#?}");
        }
    }

    #[test]
    fn plain_texts_have_few_encodings() {
        let found = encodings("hunter22");
        assert!(found.len() <= 10, "{found:?}");
        assert!(!found.contains(&"hunter22".to_owned()));
    }
}
