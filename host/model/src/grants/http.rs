//! The requests of a grant: `[METHODS ]SCHEME://HOST[:PORT][/PATH]`.

use std::fmt;

use super::PatternError;
use super::endpoint::PortPattern;
use super::host::HostPattern;

const HELP: &str =
    "write a URL such as `https://api.example/v1/*`, optionally with methods: `GET,POST https://api.example`";

/// Requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpGrant {
    /// Which methods.
    pub methods: MethodPattern,
    /// Over which scheme.
    pub scheme: Scheme,
    /// To which hosts.
    pub host: HostPattern,
    /// To which of their ports.
    pub port: PortPattern,
    /// For which paths.
    pub path: PathPattern,
}

/// How a request travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In clear.
    Http,
    /// Over TLS.
    Https,
}

/// Methods: all, or some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MethodPattern(Vec<Box<str>>);

/// Paths: one, or all with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPattern {
    text: Box<str>,
    is_prefix: bool,
}

impl HttpGrant {
    /// Reads a grant. The default port is the scheme's, the default path is every path.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (methods, url) = match text.split_once(' ') {
            Some((methods, url)) => (MethodPattern::parse(methods)?, url.trim_start()),
            None => (MethodPattern::default(), text),
        };
        let wrong = |what: &str| PatternError::new(format!("`{text}` {what}"), HELP);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("is not a URL"))?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(wrong("is neither `http://` nor `https://`")),
        };
        // A network contains a slash; it is in brackets or before a port.
        let split = match rest.strip_prefix('[').and_then(|rest| rest.find(']')) {
            Some(end) => rest.get(end..).and_then(|rest| rest.find('/')).map(|at| end + at),
            None => rest.find('/'),
        };
        let (authority, path) = rest.split_at_checked(split.unwrap_or(rest.len())).unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(wrong("has a user, which no request may have"));
        }
        let own = PortPattern::one(scheme.port());
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, PortPattern::parse(port)?)
            }
            _ => (authority, own),
        };
        Ok(Self { methods, scheme, host: HostPattern::parse(host)?, port, path: PathPattern::parse(path)? })
    }
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.methods.0.is_empty() {
            write!(f, "{} ", self.methods.0.join(","))?;
        }
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != PortPattern::one(self.scheme.port()) {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "{}", self.path)
    }
}

impl Scheme {
    /// The default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl MethodPattern {
    /// Reads methods separated by `,`, or `*`.
    ///
    /// # Errors
    /// If one of them is not a method.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self::default());
        }
        let is_method =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
        match text.split(',').find(|name| !is_method(name)) {
            None => Ok(Self(text.split(',').map(Into::into).collect())),
            Some(wrong) => Err(PatternError::new(format!("`{wrong}` is not a method"), HELP)),
        }
    }

    /// Whether a method is one of these.
    pub fn matches(&self, method: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|own| **own == *method)
    }
}

impl PathPattern {
    /// Reads a path, exact, or with a `*` at its end for any suffix. None is every path.
    ///
    /// # Errors
    /// If it does not begin with `/`, or is ambiguous.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let text = if text.is_empty() { "/*" } else { text };
        let (path, is_prefix) = match text.strip_suffix('*') {
            Some(path) => (path, true),
            None => (text, false),
        };
        let is_text = |b: u8| b.is_ascii_graphic() && !matches!(b, b'*' | b'?' | b'#' | b'\\' | b'"');
        if !path.starts_with('/') || !path.bytes().all(is_text) || !is_plain_path(path) {
            let help = "write a path such as `/v1/buckets` or `/v1/*`, without `..`, `?` and `#`";
            return Err(PatternError::new(format!("`{text}` is not the path of a grant"), help));
        }
        Ok(Self { text: path.into(), is_prefix })
    }

    /// Whether a path (without its query) matches. A path that servers may interpret differently
    /// never does, unless every path does.
    pub fn matches(&self, path: &str) -> bool {
        if self.is_prefix && &*self.text == "/" {
            return path.starts_with('/');
        }
        let fits = if self.is_prefix { path.starts_with(&*self.text) } else { *path == *self.text };
        fits && is_plain_path(path)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.is_prefix { f.write_str("*") } else { Ok(()) }
    }
}

/// Whether all servers interpret a path in the same way. Rejects a path that would differ for a
/// server that decodes once more, accepts a wrong escape, folds wide letters, or drops spaces and
/// text after `;`. Takes linear time.
pub fn is_plain_path(path: &str) -> bool {
    path.split('/').all(is_plain_segment)
}

fn is_plain_segment(segment: &str) -> bool {
    let Some(bytes) = decoded(segment.as_bytes()) else { return false };
    let Ok(text) = std::str::from_utf8(&bytes) else { return false };
    // Some servers decode a remaining escape again.
    let is_escape = |at: usize| {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        matches!(rest, [b'u' | b'U', ..])
            || matches!(rest, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    };
    if text.char_indices().any(|(at, c)| c == '%' && is_escape(at)) {
        return false;
    }
    if text.chars().map(folded).any(|c| matches!(c, '/' | '\\') || c.is_control()) {
        return false;
    }
    let name = text.split(';').next().unwrap_or_default();
    let mut bare = name.chars().map(folded).filter(|c| !c.is_whitespace());
    !matches!((bare.next(), bare.next(), bare.next()), (Some('.'), None | Some('.'), None))
}

/// The letter to which a wide or small form of a letter with a meaning in paths is folded.
fn folded(c: char) -> char {
    match c {
        '\u{ff0e}' | '\u{fe52}' | '\u{2024}' => '.',
        '\u{ff0f}' | '\u{2044}' | '\u{2215}' => '/',
        '\u{ff3c}' | '\u{fe68}' => '\\',
        c => c,
    }
}

/// Percent-decoded once; none if an escape is invalid.
fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            out.push(*first);
            rest = after;
            continue;
        }
        let [high, low, after @ ..] = after else { return None };
        out.push(digit(*high)? * 16 + digit(*low)?);
        rest = after;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> HttpGrant {
        HttpGrant::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn grants_are_written_in_full() {
        for (text, full) in [
            ("https://api.example/v1/*", "https://api.example/v1/*"),
            ("https://api.example", "https://api.example/*"),
            ("https://api.example:443/x", "https://api.example/x"),
            ("GET,POST http://*.a.b:8080-8090/", "GET,POST http://*.a.b:8080-8090/"),
            ("* http://[::1]:9/a", "http://[::1]:9/a"),
            ("http://[fd00::/8]/a", "http://[fd00::/8]/a"),
            ("http://127.0.0.1/a*", "http://127.0.0.1/a*"),
        ] {
            assert_eq!(grant(text).to_string(), full);
            assert_eq!(grant(full), grant(text));
        }
    }

    #[test]
    fn invalid_grants_are_rejected() {
        for wrong in [
            "",
            "api.example",
            "ftp://a",
            "https://",
            "https://a b",
            "https://u@a/",
            "https://a/../b",
            "get https://a",
            "https://a/*/b",
            "https://a/?q",
            "https://a/%2e%2e/b",
            "https://a:x",
            "https://a/b\\c",
            "GET,, https://a",
            "HTTPS://a",
        ] {
            assert!(HttpGrant::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn paths_in_disguise_match_only_a_grant_of_every_path() {
        let path = |text: &str| grant(&format!("https://a{text}")).path;
        assert!(path("/v1/*").matches("/v1/a/b") && path("/v1/*").matches("/v1/"));
        assert!(path("/v1/*").matches("/v1/100%25") && path("/v1/*").matches("/v1/a..b"));
        for plain in ["/v1/...", "/v1/.well-known", "/v1/a%20b", "/v1/%E2%82%AC", "/v1/a%25", "/v1/50%25off"]
        {
            assert!(path("/v1/*").matches(plain), "{plain}");
        }
        assert!(!path("/v1/*").matches("/v1") && !path("/v1/*").matches("/v10"));
        assert!(path("/v1").matches("/v1") && !path("/v1").matches("/v1/"));
        for disguised in [
            "/v1/../admin",
            "/v1/%2e%2e/admin",
            "/v1/.%2E/admin",
            "/v1/%252e%252e/x",
            "/v1/a%2f..%2fb",
            "/v1/a%5cb",
            "/v1/a\\b",
            "/v1/..;x=1/admin",
            "/v1/a%00",
            "/v1/..",
            "/v1/.",
            "/v1/%25252e%25252e/x",
            "/v1/%c0%ae%c0%ae/x",
            "/v1/%u002e%u002e/x",
            "/v1/%25u002e/x",
            "/v1/\u{ff0e}\u{ff0e}/x",
            "/v1/%ef%bc%8e%ef%bc%8e/x",
            "/v1/a%ef%bc%8fb",
            "/v1/..%20/x",
            "/v1/.%20./x",
            "/v1/.%09./x",
            "/v1/%C2%A0../x",
            "/v1/a%0db",
            "/v1/%2",
            "/v1/%zz",
        ] {
            assert!(!path("/v1/*").matches(disguised), "{disguised}");
            assert!(path("").matches(disguised), "{disguised}");
        }
        assert!(!path("").matches("*") && !path("").matches("http://b/"));
    }
}
