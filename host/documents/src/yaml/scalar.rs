//! Plain scalars of the YAML 1.2 core schema.

use std::borrow::Cow;

use purlin_model::number::is_kept;
use serde_json::Number;

use super::{NodeKind, Style};

/// The meaning of a plain scalar, or why it cannot be kept unchanged.
pub(crate) fn resolve(text: Cow<'_, str>) -> Result<NodeKind<'_>, &'static str> {
    let kind = match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Some(NodeKind::Null),
        "true" | "True" | "TRUE" => Some(NodeKind::Bool(true)),
        "false" | "False" | "FALSE" => Some(NodeKind::Bool(false)),
        other => number(other)?.map(NodeKind::Number),
    };
    Ok(kind.unwrap_or(NodeKind::String(text, Style::Plain)))
}

/// A number of the core schema; `None` if the text is not one.
pub(crate) fn number(text: &str) -> Result<Option<Number>, &'static str> {
    const TOO_LARGE: &str = "the number has more digits than can be kept";
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("infinity and not-a-number have no place in JSON");
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Ok(None);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
                return Ok(None);
            }
            return u64::from_str_radix(digits, radix).map(|n| Some(n.into())).map_err(|_| TOO_LARGE);
        }
    }
    if unsigned.bytes().all(|b| b.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        return match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(n), _) => Ok(Some(n.into())),
            (_, Ok(n)) => Ok(Some(n.into())),
            _ => Err(TOO_LARGE),
        };
    }
    if !is_float(unsigned) {
        return Ok(None);
    }
    let value: f64 = text.parse().map_err(|_| "the number cannot be read")?;
    match Number::from_f64(value) {
        Some(value) if is_kept(text) => Ok(Some(value)),
        _ => Err(TOO_LARGE),
    }
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_core_schema() {
        for (text, json) in [
            ("0", "0"),
            ("0123", "123"),
            ("-7", "-7"),
            ("+7", "7"),
            ("0o17", "15"),
            ("0xff", "255"),
            ("1.5e3", "1500.0"),
            (".5", "0.5"),
            ("1.", "1.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("123456789.12345679", "123456789.12345679"),
        ] {
            let found = number(text).expect(text).expect(text);
            assert_eq!(found.to_string(), json, "{text}");
        }
        for text in ["1_000", "0b1", "1:30", "1.2.3", "-", ".", "e3", "1e", "0o8", "0x", "-0x1", "12a"] {
            assert_eq!(number(text), Ok(None), "{text}");
        }
        for text in
            [".inf", "-.inf", ".nan", "1e999", "123456789012345678901234567890", "0.123456789012345678"]
        {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
