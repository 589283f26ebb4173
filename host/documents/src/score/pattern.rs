//! The patterns of the format, each as a simple test of a text.

fn lower(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// A name of 2 to 63 characters: a-z, 0-9 and `-`, the latter not at an end.
pub(super) fn label(text: &str) -> bool {
    (2..=63).contains(&text.len())
        && text.starts_with(lower)
        && text.ends_with(lower)
        && text.chars().all(|c| lower(c) || c == '-')
}

/// The key of an annotation: `[DOMAIN/]NAME`.
pub(super) fn annotation(text: &str) -> bool {
    let (domain, name) = match text.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, text),
    };
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let name_fits = (2..=63).contains(&name.len())
        && name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(|c| alphanumeric(c) || matches!(c, '.' | '_' | '-'));
    text.len() <= 316 && name_fits && domain.is_none_or(|domain| domain.split('.').all(label))
}

/// The id of a resource: labels separated by `.`, 2 to 63 characters in total.
pub(super) fn id(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(lower) && part.ends_with(lower) && part.chars().all(|c| lower(c) || c == '-')
    };
    (2..=63).contains(&text.len()) && text.split('.').all(part)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// An amount of memory: `125M`, `1.5Gi`, or bytes.
pub(super) fn memory(text: &str) -> bool {
    let number =
        text.strip_suffix('i').filter(|rest| rest.ends_with(['K', 'M', 'G', 'T', 'P', 'E'])).unwrap_or(text);
    let number = number.strip_suffix(['K', 'M', 'G', 'T', 'P', 'E']).unwrap_or(number);
    match number.split_once('.') {
        Some((whole, fraction)) => {
            digits(whole) && digits(fraction) && (whole == "0" || !whole.starts_with('0'))
        }
        None => digits(number) && !number.starts_with('0'),
    }
}

/// An amount of CPU: `2`, `0.5` or `125m`.
pub(super) fn cpu(text: &str) -> bool {
    match text.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(text.strip_suffix('m').unwrap_or(text)),
    }
}

/// The mode of a file, such as `0600`.
pub(super) fn mode(text: &str) -> bool {
    let octal = match text.len() {
        4 => text.strip_prefix('0'),
        _ => Some(text),
    };
    octal.is_some_and(|octal| octal.len() == 3 && octal.bytes().all(|b| (b'0'..=b'7').contains(&b)))
}

/// The name of an HTTP header.
pub(super) fn header(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_hold_at_their_edges() {
        let all = |test: fn(&str) -> bool, good: &[&str], bad: &[&str]| {
            good.iter().for_each(|text| assert!(test(text), "{text}"));
            bad.iter().for_each(|text| assert!(!test(text), "{text}"));
        };
        let (long, longer) = ("a".repeat(63), "a".repeat(64));
        all(label, &["ab", "a-b", "1a", &long], &["", "a", "-a", "a-", "A1", "a_b", "é1", &longer]);
        all(
            annotation,
            &["ab", "a.B_c", "my.ex-am.org/Ab"],
            &["a", "my..org/ab", "M.org/ab", "xy/", "ab/cd/ef"],
        );
        all(id, &["ab", "a.b", "a--b.c"], &["a", "a..b", ".a", "a-.b", "aB"]);
        all(
            memory,
            &["1", "125M", "1.5Gi", "0.5K"],
            &["0", "", "01", "1i", "1KiB", "1.", "1.5k", "00.5", "Mi"],
        );
        all(cpu, &["2", "0.5", "125m", "00"], &["", "m", "1.5m", ".5", "1."]);
        all(mode, &["600", "0755"], &["", "60", "1600", "0800", "06000"]);
        all(header, &["X-A_1"], &["", "a b", "ü"]);
    }
}
