//! URLs, as far as a client needs to parse them and to insert texts into them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except RFC 3986's unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one segment of a path: a slash in it is encoded too, and `.` and `..` cannot lead
/// anywhere else.
pub fn segment(text: &str) -> String {
    match text {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

/// A text as a name or a value in a query.
pub fn query(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The parts of a URL that are sent separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// Whether it is `https`, not `http`.
    pub secure: bool,
    /// The host, with a port if one is given.
    pub authority: &'a str,
    /// Path and query; `/` if there is none.
    pub path: String,
}

impl<'a> Parts<'a> {
    /// Parses a URL.
    ///
    /// # Errors
    /// The fault in it, for people.
    pub fn of(url: &'a str) -> Result<Self, String> {
        if let Some(wrong) = url.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(*c)) {
            return Err(format!("a URL cannot contain {wrong:?}; percent-encode it"));
        }
        let (secure, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            _ => return Err("a URL begins with `http://` or `https://`".to_owned()),
        };
        if rest.contains('#') {
            return Err("a URL that is sent has no `#`".to_owned());
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() {
            return Err("the URL names no host".to_owned());
        }
        if authority.contains('@') {
            return Err("a URL cannot have a user or a password; send a header".to_owned());
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { secure, authority, path: format!("{slash}{path}") })
    }

    /// The host without its port, and without the brackets of an IPv6 address.
    pub fn host(&self) -> &'a str {
        match self.authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, _)) => host,
            None => self.authority.rsplit_once(':').map_or(self.authority, |(host, _)| host),
        }
    }
}
