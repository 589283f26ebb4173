//! Which numbers can be kept: Purlin, like most programs that read JSON, has integers of 64 bits and
//! floating-point numbers of 64 bits.

/// Whether a number of JSON or YAML, in decimal digits, is kept: an integer of 64 bits, or a number
/// of at most 17 significant digits that is the nearest to some floating-point number. Any other
/// would become a different number.
pub fn is_kept(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']);
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    }
    let Ok(value) = text.parse::<f64>() else { return false };
    let digits = digits(unsigned);
    match value {
        0.0 => digits.is_empty(),
        // Subnormal numbers have fewer digits, so the number has to be exactly one of them.
        value if !value.is_normal() => digits == self::digits(&format!("{:e}", value.abs())),
        _ => digits.len() <= MOST_DIGITS,
    }
}

/// The digits that distinguish any two floating-point numbers.
const MOST_DIGITS: usize = 17;

/// The significant digits of a number.
fn digits(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::is_kept;

    #[test]
    fn numbers_that_would_change_are_not_kept() {
        for text in [
            "0",
            "-0",
            "+7",
            "18446744073709551615",
            "-9223372036854775808",
            "0.0",
            "-0.0e9",
            "1.0",
            "1.50000",
            "123456789.12345679",
            "0.30000000000000001",
            "1e23",
            "1.7976931348623157e308",
            "5e-324",
            "100000000000000000000000.0",
            "0.00000000000000000000000012345678901234567",
        ] {
            assert!(is_kept(text), "{text}");
        }
        for text in [
            "18446744073709551616",
            "-9223372036854775809",
            "0.123456789012345678",
            "3.14159265358979323846",
            "1e-400",
            "1.2345678901234567e-320",
            "1e999",
            "",
        ] {
            assert!(!is_kept(text), "{text}");
        }
    }
}
