//! What was approved of drivers that did not come with Purlin (SPEC §8, versions): the file
//! `purlin.lock`. It knows nothing of how drivers are found or asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Location;

/// What was approved. A driver that does not stand here is not to be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Each driver by the name that the workspace has for it, with every version approved.
    pub drivers: BTreeMap<Arc<str>, Vec<Pin>>,
    /// Whether the file has a fault, so that what stands here is not all that it says. Nothing is
    /// approved then.
    pub faulty: bool,
    /// Where it was written.
    pub location: Location,
}

/// One version of a driver as it was when it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The name that it gives itself, whatever the workspace calls it; none in a lock of before that
    /// was written down.
    pub name: Option<Arc<str>>,
    /// The version that it says it is.
    pub version: semver::Version,
    /// What the component is.
    pub digest: Digest,
    /// Capabilities that its imports could use: `dirs`, `env`, `tcp`, …
    pub imports: BTreeSet<String>,
    /// Capabilities that it asks for, as `capability pattern`.
    pub wishes: BTreeSet<String>,
    /// What it was granted, as [`crate::Grants::lines`] says it: `capability grant`.
    pub grants: BTreeSet<String>,
    /// Where it was written; of a new one, nowhere.
    pub location: Location,
}

/// SHA-256 of a component, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Box<str>);

impl Digest {
    const PREFIX: &'static str = "sha256:";

    /// Reads 64 hex digits in lower case, with `sha256:` before them or not. None for anything
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
