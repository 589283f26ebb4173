//! URLs, parsed and joined.

use gotmpl::Value;

use super::types::kind;
use super::{Answer, Call, Dict, Table};
use crate::value::{map, string};

pub(super) const TABLE: Table = &[("urlParse", parse), ("urlJoin", join)];

const PARTS: [&str; 7] = ["scheme", "userinfo", "host", "path", "query", "fragment", "opaque"];

fn parse(call: &Call<'_>) -> Answer {
    let url = call.text(0)?;
    let (rest, fragment) = url.split_once('#').unwrap_or((&url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => (String::new(), rest),
    };
    let (authority, path, opaque) = match rest.strip_prefix("//") {
        Some(rest) => match rest.find('/').and_then(|slash| rest.split_at_checked(slash)) {
            Some((authority, path)) => (authority, path, ""),
            None => (rest, "", ""),
        },
        None if !scheme.is_empty() && !rest.starts_with('/') => ("", "", rest),
        None => ("", rest, ""),
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let hostname = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let hostname = hostname.trim_start_matches('[').trim_end_matches(']').to_owned();
    let user = if user.is_empty() { String::new() } else { userinfo(user)? };
    let (path, fragment) = (decoded(path)?, decoded(fragment)?);
    let values = [scheme, user, host.to_owned(), path, query.to_owned(), fragment, opaque.to_owned()];
    let mut parts: Dict = PARTS.into_iter().map(Into::into).zip(values.map(string)).collect();
    parts.insert("hostname".into(), string(hostname));
    Ok(map(parts))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter))
}

/// As Go's `URL.String` does it.
fn join(call: &Call<'_>) -> Answer {
    let parts = call.dict(0)?;
    let part = |name: &str| match parts.get(name) {
        None | Some(Value::Nil) => Ok(""),
        Some(Value::String(text)) => Ok(&**text),
        Some(other) => Err(format!("`{name}` has to be text, not {}", kind(other))),
    };
    let (scheme, user, host, opaque) = (part("scheme")?, part("userinfo")?, part("host")?, part("opaque")?);
    let (path, query, fragment) = (part("path")?, part("query")?, part("fragment")?);
    let mut url = String::new();
    if !scheme.is_empty() {
        url = format!("{scheme}:");
    }
    if opaque.is_empty() {
        let user = if user.is_empty() { user.to_owned() } else { format!("{}@", userinfo(user)?) };
        if !user.is_empty() || !host.is_empty() || !scheme.is_empty() && !path.is_empty() {
            url = format!("{url}//{user}{}", encoded(host, b"!$&'()*+,;=:[]<>\"%"));
        }
        if !path.is_empty() && !path.starts_with('/') && !host.is_empty() {
            url.push('/');
        }
        // Otherwise the text before the colon would be a scheme.
        if url.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
            url.push_str("./");
        }
        url.push_str(&if path == "*" { path.to_owned() } else { encoded(path, b"$&+,/:;=@") });
    } else {
        url.push_str(opaque);
    }
    if !query.is_empty() {
        url = format!("{url}?{query}");
    }
    if !fragment.is_empty() {
        url = format!("{url}#{}", encoded(fragment, b"!()*$&+,/:;=?@"));
    }
    Ok(string(url))
}

/// A user and, after a colon, a password, in their only spelling.
fn userinfo(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !text.bytes().all(allowed) {
        return Err("`userinfo` contains a character that has to be escaped, as with `urlquery`".to_owned());
    }
    let part = |text: &str| Ok::<_, String>(encoded(&decoded(text)?, b"$&+,;="));
    match text.split_once(':') {
        Some((user, password)) => Ok(format!("{}:{}", part(user)?, part(password)?)),
        None => part(text),
    }
}

/// Encodes everything except letters, digits, `-_.~` and these as `%` and two digits.
fn encoded(text: &str, but: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || but.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => u8::try_from(high * 16 + low).unwrap_or(0),
                _ => return Err("it has a `%` without two hexadecimal digits after it".to_owned()),
            },
            plain => plain,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the unescaped bytes are not text".to_owned())
}
