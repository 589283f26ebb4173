//! The formats that are checked. Others are only for people.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The expected format of a text, in words; none if it matches, or if the format is not checked.
pub(crate) fn broken(format: &str, text: &str) -> Option<&'static str> {
    let (holds, words) = match format {
        "ipv4" => (text.parse::<Ipv4Addr>().is_ok(), "an IPv4 address"),
        "ipv6" => (text.parse::<Ipv6Addr>().is_ok(), "an IPv6 address"),
        "uuid" => (is_uuid(text), "a UUID"),
        "date" => (is_date(text), "a date such as `2026-11-22`"),
        "date-time" => (is_date_time(text), "a time such as `2026-11-22T10:00:00Z`"),
        "email" => (is_email(text), "an e-mail address"),
        "hostname" => (is_hostname(text), "a host name"),
        "uri" => (is_uri(text), "a URI"),
        _ => return None,
    };
    (!holds).then_some(words)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn number(text: Option<&str>, digits: usize) -> Option<u32> {
    let text = text?;
    (text.len() == digits && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (year, month, day) = (number(parts.next(), 4), number(parts.next(), 2), number(parts.next(), 2));
    let (Some(year), Some(month), Some(day), None) = (year, month, day, parts.next()) else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let (time, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let clock = |text: &str| {
        let mut parts = text.split(':');
        number(parts.next(), 2).is_some_and(|hour| hour < 24)
            && number(parts.next(), 2).is_some_and(|minute| minute < 60)
            && parts.next().is_none()
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let Some((minutes, seconds)) = whole.rsplit_once(':') else { return false };
    is_date(date)
        && clock(minutes)
        && number(Some(seconds), 2).is_some_and(|second| second <= 60)
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && (zone.eq_ignore_ascii_case("z") || zone.get(1..).is_some_and(clock))
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !host.is_empty() && !text.chars().any(char::is_whitespace)
    })
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && !rest.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn formats_are_checked() {
        for (format, right, wrong) in [
            ("ipv4", vec!["10.0.0.1"], vec!["10.0.0", "10.0.0.256"]),
            ("ipv6", vec!["::1"], vec!["10.0.0.1"]),
            ("uuid", vec!["3f2b1c00-0000-4000-8000-000000000000"], vec!["3f2b1c00"]),
            ("date", vec!["2024-02-29"], vec!["2023-02-29", "2026-13-01", "2026-1-1"]),
            (
                "date-time",
                vec!["2026-11-22T10:00:00Z", "2026-11-22t10:00:00.5+01:00"],
                vec!["2026-11-22", "2026-11-22T10:00:00", "2026-11-22T25:00:00Z"],
            ),
            ("email", vec!["a@b.example"], vec!["a", "@b", "a b@c"]),
            ("hostname", vec!["db.internal"], vec!["-a", "a_b", ""]),
            ("uri", vec!["https://a.example/x", "urn:x"], vec!["a", "/x", "ht tp://x"]),
            ("what-nobody-knows", vec!["anything"], vec![]),
        ] {
            for text in right {
                assert_eq!(broken(format, text), None, "{format} {text}");
            }
            for text in wrong {
                assert!(broken(format, text).is_some(), "{format} {text}");
            }
        }
    }
}
