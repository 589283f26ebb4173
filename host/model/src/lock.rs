//! Approvals of third-party drivers (SPEC §8, versions): the file `purlin.lock`. This module knows
//! nothing of how drivers are found or queried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Location;

/// The approvals. A driver that is not listed here must not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Each driver by its name in the workspace, with every approved version.
    pub drivers: BTreeMap<Arc<str>, Vec<Pin>>,
    /// Whether the file has a fault, so that its content here is incomplete. Then nothing is
    /// approved.
    pub faulty: bool,
    /// Where it was written.
    pub location: Location,
}

/// One version of a driver at the time of its approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its own name, whatever its name in the workspace; none in a lock from before that was
    /// recorded.
    pub name: Option<Arc<str>>,
    /// Its own version number.
    pub version: semver::Version,
    /// The digest of the component.
    pub digest: Digest,
    /// Capabilities that its imports could use: `dirs`, `env`, `tcp`, …
    pub imports: BTreeSet<String>,
    /// The requested capabilities, as `capability pattern`.
    pub requested_capabilities: BTreeSet<String>,
    /// The grants at that time, in the form of [`crate::Grants::lines`]: `capability grant`.
    pub grants: BTreeSet<String>,
    /// Where it was written; nowhere for a new one.
    pub location: Location,
}

/// SHA-256 of a component, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Box<str>);

impl Digest {
    const PREFIX: &'static str = "sha256:";

    /// Reads 64 hex digits in lower case, optionally prefixed with `sha256:`. None for anything
    /// else.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(Self::PREFIX).unwrap_or(text);
        let is_hex = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| Self(hex.into()))
    }

    /// The digest with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }

    /// The digits alone.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sixty_four_digits() {
        let hex = "0123456789abcdef".repeat(4);
        let digest = Digest::parse(&format!("sha256:{hex}")).expect("a digest");
        assert_eq!(digest.hex(), hex);
        assert_eq!(Digest::parse(&hex), Some(digest.clone()));
        let bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef].repeat(4);
        assert_eq!(Digest::new(bytes.try_into().expect("32 bytes")), digest);
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for wrong in
            ["", "sha256:", "sha512:0", &hex[1..], &hex.to_uppercase(), &format!("sha256:sha256:{hex}")]
        {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
