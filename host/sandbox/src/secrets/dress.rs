//! How programs write a text that is to travel: in JSON, in base64, in hex, in URLs, in large or small
//! letters. Cheap dresses only; whoever wants to hide a secret finds another one.

/// Shorter ones are in too many texts that have nothing to do with it.
const SHORTEST: usize = 8;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text in every dress that differs from it.
pub(super) fn dresses(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let json = serde_json::Value::from(text).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
    // What comes before it in the same text moves its bits by none, one or two bytes.
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
    // As forms and older programs write it.
    long.push(hex(bytes, "%", |byte| unreserved(byte) || b"!*'()".contains(&byte)));
    long.push(hex(bytes, "%", |byte| unreserved(byte) || byte == b' ').replace(' ', "+"));
    let lowered: Vec<String> =
        long.iter().filter(|text| text.contains('%')).map(|text| lower_hex(text)).collect();
    long.push(hex(bytes, "", |_| false).to_ascii_lowercase());
    long.extend(lowered);
    long.extend([text.to_uppercase(), text.to_lowercase()]);
    long.retain(|dress| dress.len() >= SHORTEST);
    long.push(json);
    long.retain(|dress| dress != text);
    long
}

/// The characters of base64 that depend on these bytes alone, whatever follows them and so many
/// bytes (or three more, and so on) before.
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
    // These hold bits of what is before.
    text.split_off(text.len().min(if before == 0 { 0 } else { before + 1 }))
}

/// Bytes in hex, each with something before it, but for those that stay as they are.
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

/// The same with small letters where letters are digits of hex.
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
    fn urls_and_hex_in_large_and_small() {
        let found = dresses("a+b/C d~");
        for dress in
            ["612B622F4320647E", "612b622f4320647e", "a%2Bb%2FC%20d~", "a%2bb%2fC%20d~", "a%2Bb%2FC+d~"]
        {
            assert!(found.iter().any(|known| known == dress), "{dress}: {found:?}");
        }
    }

    #[test]
    fn plain_texts_have_few_dresses() {
        let found = dresses("hunter22");
        assert!(found.len() <= 10, "{found:?}");
        assert!(!found.contains(&"hunter22".to_owned()));
    }
}
