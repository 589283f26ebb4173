//! The hosts of a grant: a name, all names below one, an address, a network, or any.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::PatternError;

const HELP: &str = "write a name such as `db.internal` or `*.example.com`, an address, a network such as `10.0.0.0/8`, or `*`";

/// Hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// Every name, and every address that needs no grant by address.
    Any,
    /// One name, in lower case.
    Name(Box<str>),
    /// All names below one, at any depth, excluding the name itself; without the `*.`, in lower
    /// case.
    Below(Box<str>),
    /// Addresses. A single address is a network with only that address.
    Network(IpNet),
}

impl HostPattern {
    /// Reads a pattern. An IPv6 address or network may be in brackets.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Network(address.into()));
        }
        if bare.contains('/') {
            return network(bare).map(Self::Network);
        }
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let name = name.to_ascii_lowercase();
        if !is_name(&name) {
            return Err(PatternError::new(format!("`{text}` is not a host"), HELP));
        }
        Ok(if below { Self::Below(name.into()) } else { Self::Name(name.into()) })
    }

    /// Whether a name matches. Case is ignored.
    pub fn matches_name(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own.eq_ignore_ascii_case(name),
            Self::Below(own) => {
                let split = name.len().checked_sub(own.len());
                split.and_then(|at| name.split_at_checked(at)).is_some_and(|(before, end)| {
                    end.eq_ignore_ascii_case(own) && before.len() > 1 && before.ends_with('.')
                })
            }
            Self::Network(_) => false,
        }
    }

    /// Whether an address matches, itself or by its network.
    pub fn names_address(&self, address: IpAddr) -> bool {
        matches!(self, Self::Network(network) if network.contains(&address))
    }

    /// Whether it is a pattern of names.
    pub fn is_of_names(&self) -> bool {
        !matches!(self, Self::Network(_))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Network(network) => {
                let is_single = network.prefix_len() == network.max_prefix_len();
                match (network, is_single) {
                    (IpNet::V4(v4), true) => write!(f, "{}", v4.addr()),
                    (IpNet::V4(v4), false) => write!(f, "{v4}"),
                    (IpNet::V6(v6), true) => write!(f, "[{}]", v6.addr()),
                    (IpNet::V6(v6), false) => write!(f, "[{v6}]"),
                }
            }
        }
    }
}

/// Reads a network or a single address.
///
/// # Errors
/// If it is neither, or has bits after its prefix length, which would have another meaning than
/// intended.
pub fn network(text: &str) -> Result<IpNet, PatternError> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.into());
    }
    let Ok(network) = text.parse::<IpNet>() else {
        return Err(PatternError::new(
            format!("`{text}` is not an address or network"),
            "write an address, or a network such as `10.0.0.0/8`",
        ));
    };
    if network != network.trunc() {
        let message = format!("`{text}` has bits outside its network, which is `{}`", network.trunc());
        return Err(PatternError::new(message, "write the network's first address"));
    }
    Ok(network)
}

/// A host name of ASCII letters, digits, `-` and `_`. An address in another notation (`127.1`,
/// `0x7f000001`) is not a name.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    name.len() <= 253 && name.split('.').all(is_label) && !is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        HostPattern::parse(text).expect("a pattern")
    }

    #[test]
    fn names_match_themselves_and_patterns_only_names_below() {
        assert!(pattern("DB.internal").matches_name("db.Internal"));
        for not in ["db.internal.evil.com", "xdb.internal", "db.internal.", "db"] {
            assert!(!pattern("db.internal").matches_name(not), "{not}");
        }
        let below = pattern("*.example.com");
        assert!(below.matches_name("a.example.com") && below.matches_name("a.b.EXAMPLE.com"));
        for not in ["example.com", ".example.com", "aexample.com", "example.com.a", "ä.example.co"] {
            assert!(!below.matches_name(not), "{not}");
        }
        assert!(!pattern("10.0.0.0/8").matches_name("10.0.0.1"));
    }

    #[test]
    fn addresses_are_named_by_networks_only() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(pattern("10.0.0.0/8").names_address(address("10.9.8.7")));
        assert!(!pattern("10.0.0.0/8").names_address(address("11.0.0.0")));
        assert!(pattern("[fd00::/8]").names_address(address("fd12::1")));
        assert!(!pattern("*").names_address(address("127.0.0.1")));
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for wrong in [
            "",
            "a b",
            "127.1",
            "0x7f000001",
            "2130706433",
            "*.",
            "*.*.com",
            "a..b",
            "-a",
            "a-",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "bücher.example",
            "a:b",
            "a/b",
            "http://a",
            "user@a",
        ] {
            assert!(HostPattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns_are_written_as_they_are_read() {
        for text in ["*", "a.b", "*.a.b", "10.0.0.1", "10.0.0.0/8", "[::1]", "[fd00::/8]", "_srv.a"] {
            assert_eq!(pattern(text).to_string(), text);
        }
    }
}
