//! Targets of connections: hosts and ports.

use std::fmt;

use super::PatternError;
use super::host::HostPattern;

const HELP: &str = "write HOST:PORT, such as `db.internal:5432`, `*.internal:8000-8099` or `[fd00::/8]:*`";

/// Hosts and ports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Which hosts.
    pub host: HostPattern,
    /// Which of their ports.
    pub port: PortPattern,
}

impl Endpoint {
    /// Reads `HOST:PORT`.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (host, port) = text
            .rsplit_once(':')
            .filter(|(host, _)| !host.contains(':') || host.ends_with(']'))
            .ok_or_else(|| PatternError::new(format!("`{text}` names no port"), HELP))?;
        Ok(Self { host: HostPattern::parse(host)?, port: PortPattern::parse(port)? })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortPattern {
    first: u16,
    last: u16,
}

impl PortPattern {
    /// All of them.
    pub const ANY: Self = Self { first: 1, last: u16::MAX };

    /// One port.
    pub const fn one(port: u16) -> Self {
        Self { first: port, last: port }
    }

    /// Reads a port, two separated by `-`, or `*`.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self::ANY);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<u16>().ok().filter(|port| is_plain && *port > 0)
        };
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(PatternError::new(format!("`{text}` is not a port"), HELP)),
        }
    }

    /// Whether a port is one of these.
    pub fn matches(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// Whether both have a port in common.
    pub fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl fmt::Display for PortPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("*"),
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_written_as_they_are_read() {
        for text in ["db:5432", "*:*", "*.a.b:80-90", "10.0.0.0/8:1", "[::1]:443", "[fd00::/8]:*"] {
            assert_eq!(Endpoint::parse(text).expect("an endpoint").to_string(), text);
        }
        assert!(PortPattern::parse("80-90").expect("ports").matches(90));
        assert!(!PortPattern::ANY.matches(0));
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        for wrong in [
            "",
            "db",
            "db:",
            "db:0",
            "db:65536",
            "db:9-8",
            "::1:443",
            "db:+1",
            ":1",
            "tcp://db:1",
            "db:1-2-3",
        ] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }
}
