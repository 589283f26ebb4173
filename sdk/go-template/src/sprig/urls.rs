//! URLs, taken apart and put together.

use gotmpl::Value;

use super::{Answer, Call, Dict, Table};
use crate::value::{map, string, text};

pub(super) const TABLE: Table = &[("urlParse", parse), ("urlJoin", join)];

const PARTS: [&str; 7] = ["scheme", "userinfo", "host", "path", "query", "fragment", "opaque"];

fn parse(call: &Call<'_>) -> Answer {
    let url = call.text(0)?;
    let (rest, fragment) = url.split_once('#').unwrap_or((&url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => ("", rest),
    };
    let (authority, path, opaque) = match rest.strip_prefix("//") {
        Some(rest) => match rest.find('/').and_then(|slash| rest.split_at_checked(slash)) {
            Some((authority, path)) => (authority, path, ""),
            None => (rest, "", ""),
        },
        None if !scheme.is_empty() && !rest.starts_with('/') => ("", "", rest),
        None => ("", rest, ""),
    };
    let (userinfo, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let hostname = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let values = [scheme, userinfo, host, path, query, fragment, opaque];
    let mut parts: Dict = PARTS.into_iter().map(Into::into).zip(values.map(string)).collect();
    parts.insert("hostname".into(), string(hostname.trim_start_matches('[').trim_end_matches(']')));
    Ok(map(parts))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"+-.".contains(&letter))
}

fn join(call: &Call<'_>) -> Answer {
    let parts = call.dict(0)?;
    let part = |name: &str| parts.get(name).map(text).unwrap_or_default();
    let mut url = String::new();
    let with = |mark: &str, value: String| if value.is_empty() { value } else { format!("{mark}{value}") };
    if !part("scheme").is_empty() {
        url.push_str(&part("scheme"));
        url.push(':');
    }
    if part("host").is_empty() {
        url.push_str(&part("opaque"));
    } else {
        let user = part("userinfo");
        url.push_str("//");
        url.push_str(&if user.is_empty() { user } else { format!("{user}@") });
        url.push_str(&part("host"));
    }
    url.push_str(&part("path"));
    url.push_str(&with("?", part("query")));
    url.push_str(&with("#", part("fragment")));
    Ok(Value::String(url.into()))
}
