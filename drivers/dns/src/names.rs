//! Names and contents of records in their only spelling, so that the server's answers can be
//! compared with the inputs.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Types whose content is a name, or ends with one.
const NAMED: [&str; 9] = ["CNAME", "DNAME", "ALIAS", "NS", "PTR", "MX", "SRV", "AFSDB", "KX"];
/// Bytes of one string of a TXT record (RFC 1035, section 3.3).
const STRING: usize = 255;

/// A name in lower case with a dot at its end.
///
/// # Errors
/// The fault in the name.
pub(crate) fn absolute(name: &str) -> Result<String, String> {
    let bare = name.strip_suffix('.').unwrap_or(name);
    if bare.is_empty() {
        return Err("names nothing".to_owned());
    }
    if bare.len() > 253 {
        return Err("has more than 253 characters".to_owned());
    }
    for label in bare.split('.') {
        if label.is_empty() {
            return Err("has two dots in a row, or one at its beginning".to_owned());
        }
        if label.len() > 63 {
            return Err(format!("has a label of more than 63 characters: `{label}`"));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_*/".contains(c);
        if let Some(wrong) = label.chars().find(|c| !fits(*c)) {
            let hint = if wrong.is_ascii() { "" } else { "; write it in its ASCII form (`xn--…`)" };
            return Err(format!("contains {wrong:?}{hint}"));
        }
    }
    Ok(format!("{}.", bare.to_ascii_lowercase()))
}

/// A name within a zone: `@` is the zone itself, and a name that does not end with the zone is
/// below it.
///
/// # Errors
/// The fault in the name.
pub(crate) fn within(name: &str, zone: &str) -> Result<String, String> {
    if name == "@" {
        return Ok(zone.to_owned());
    }
    let given = absolute(name)?;
    let is_in = |name: &str| name == zone || name.ends_with(&format!(".{zone}"));
    match (is_in(&given), name.ends_with('.')) {
        (true, _) => Ok(given),
        (false, true) => Err(format!("is not within the zone `{zone}`")),
        (false, false) => absolute(&format!("{given}{zone}")),
    }
}

/// The content of a record as the server writes it.
///
/// # Errors
/// The fault in the content.
pub(crate) fn content(kind: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(|c| c.is_ascii_control()) {
        return Err("contains a control character".to_owned());
    }
    match kind {
        "A" => {
            let address = text.parse::<Ipv4Addr>();
            address
                .map(|address| address.to_string())
                .map_err(|_| "is not an address such as 192.0.2.1".to_owned())
        }
        "AAAA" => {
            let address = text.parse::<Ipv6Addr>();
            address
                .map(|address| address.to_string())
                .map_err(|_| "is not an address such as 2001:db8::1".to_owned())
        }
        "TXT" | "SPF" if !text.starts_with('"') => Ok(quoted(text)),
        _ if NAMED.contains(&kind) => {
            let mut words: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
            let numbers = match kind {
                "MX" | "AFSDB" | "KX" => 1,
                "SRV" => 3,
                _ => 0,
            };
            let form = ["NAME", "PRIORITY NAME", "", "PRIORITY WEIGHT PORT NAME"].get(numbers).copied();
            if words.len() != numbers + 1
                || words.iter().take(numbers).any(|word| word.parse::<u16>().is_err())
            {
                return Err(format!("has to be `{}`", form.unwrap_or_default()));
            }
            if let Some(name) = words.last_mut()
                // The root means "no host" in MX and SRV.
                && name != "."
            {
                *name = absolute(name)?;
            }
            Ok(words.join(" "))
        }
        _ => Ok(text.to_owned()),
    }
}

/// A text in the quotes that a TXT record has, in strings of 255 bytes.
fn quoted(text: &str) -> String {
    let mut strings = Vec::new();
    let mut string = Vec::new();
    for byte in text.bytes() {
        if string.len() == STRING {
            strings.push(std::mem::take(&mut string));
        }
        string.push(byte);
    }
    strings.push(string);
    let escaped = |string: &Vec<u8>| {
        let mut text = String::from("\"");
        for byte in string {
            match byte {
                b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
                0x20..=0x7e => text.push(char::from(*byte)),
                _ => text.push_str(&format!("\\{byte:03}")),
            }
        }
        text + "\""
    };
    strings.iter().map(escaped).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        let zone = "example.org.";
        for (given, real) in [
            ("@", "example.org."),
            ("www", "www.example.org."),
            ("WWW.Example.Org", "www.example.org."),
            ("www.example.org.", "www.example.org."),
            ("a.b", "a.b.example.org."),
            ("*.dev", "*.dev.example.org."),
            ("_sip._tcp", "_sip._tcp.example.org."),
            ("notexample.org", "notexample.org.example.org."),
            ("example.org", "example.org."),
        ] {
            assert_eq!(within(given, zone).as_deref(), Ok(real), "{given}");
            assert_eq!(within(real, zone).as_deref(), Ok(real), "{real}");
        }
        for wrong in
            ["www.example.com.", "", ".", "a..b", ".a", "a b", "ä", &"a".repeat(64), &"a.".repeat(127)]
        {
            assert!(within(wrong, zone).is_err(), "{wrong}");
        }
    }

    #[test]
    fn content_has_one_spelling() {
        for (kind, given, real) in [
            ("A", " 192.0.2.1 ", "192.0.2.1"),
            ("AAAA", "2001:DB8:0:0::1", "2001:db8::1"),
            ("CNAME", "Target.Example.org", "target.example.org."),
            ("MX", "10  mail.example.org", "10 mail.example.org."),
            ("MX", "0 .", "0 ."),
            ("SRV", "1 2 443 a.example.org.", "1 2 443 a.example.org."),
            ("TXT", "v=spf1 -all", "\"v=spf1 -all\""),
            ("TXT", "a\"b\\cä", "\"a\\\"b\\\\c\\195\\164\""),
            ("TXT", "\"as\" \"it is\"", "\"as\" \"it is\""),
            ("CAA", "0 issue \"ca.example\"", "0 issue \"ca.example\""),
        ] {
            assert_eq!(content(kind, given).as_deref(), Ok(real));
            assert_eq!(content(kind, real).as_deref(), Ok(real), "{real} stays as it is");
        }
        assert_eq!(content("TXT", &"x".repeat(300)).expect("fits").len(), 300 + 5);
        for (kind, wrong) in [
            ("A", "::1"),
            ("A", "127.1"),
            ("AAAA", "192.0.2.1"),
            ("MX", "mail.example.org"),
            ("MX", "x mail"),
            ("CNAME", "a b"),
            ("CNAME", "a..b"),
            ("SRV", "1 2 a"),
            ("TXT", ""),
            ("TXT", "a\nb"),
        ] {
            assert!(content(kind, wrong).is_err(), "{kind} {wrong}");
        }
    }
}
