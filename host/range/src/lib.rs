//! Version ranges in the grammar of Masterminds/semver, version 3 (SPEC §6).
//!
//! A range is one or more alternatives, joined by `||`; a version matches the range if it matches
//! one of them. An alternative is one or more comparisons, separated by spaces or commas; a version
//! must satisfy all of them:
//!
//! | comparison | matches |
//! |---|---|
//! | `1.2.3`, `=1.2.3` | this version |
//! | `1.2`, `1.2.x`, `1.x`, `*` | every version that begins like this |
//! | `!=1.2.3`, `!=1.2` | every other version |
//! | `>1.2.3`, `>=1.2.3`, `<1.2.3`, `<=1.2.3` | by precedence; `>1.2` begins at 1.3.0, `<=1.2` ends before 1.3.0 |
//! | `1.2 - 2.3.4` | `>=1.2 <=2.3.4` |
//! | `~1.2.3`, `~1.2`, `~1` | the same minor version; the same major version for `~1` |
//! | `^1.2.3`, `^0.2.3`, `^0.0.3` | the same leftmost part that is not zero |
//!
//! A prerelease matches only if a comparison of its alternative names a prerelease: `>=1.2.0-0`
//! admits prereleases of 1.2.0 and of all higher versions. A part that is omitted, or written as
//! `x`, `X` or `*`, matches any number.
//!
//! The published implementation accepts four things that are errors here: a number with a leading
//! zero, a part that mixes digits and wildcards (`1x`), a number after a wildcard (`1.x.3`), and
//! `<`, `<=`, `>` or `!=` before only a wildcard. Besides, `^*` matches every release here, as its
//! documentation says.

mod parse;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use semver::Version;

pub use parse::{RangeError, lenient};

/// A set of versions, as written. Two ranges are equal if their texts are equal.
#[derive(Clone, Debug)]
pub struct Range {
    text: Arc<str>,
    alternatives: Vec<Alternative>,
}

/// Comparisons that must all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    comparisons: Vec<Comparison>,
    /// Whether one of them names a prerelease, so that prereleases can match.
    prereleases: bool,
}

/// A comparison with a version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    /// The version; omitted parts are zero.
    version: Version,
    given: Precision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Tilde,
    Caret,
}

/// How many parts of a version were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Nothing,
    Major,
    Minor,
    Patch,
}

impl Range {
    /// Parses a range. An empty text matches all releases, like `*`.
    ///
    /// # Errors
    /// A [`RangeError`] with its place if the text does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        Ok(Self { text: text.trim().into(), alternatives: parse::alternatives(text)? })
    }

    /// Whether a version is in the range. Build metadata is ignored.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|alternative| alternative.matches(version))
    }

    /// The highest of these versions that is in the range.
    pub fn highest<'a>(&self, versions: impl IntoIterator<Item = &'a Version>) -> Option<&'a Version> {
        let matching = versions.into_iter().filter(|version| self.matches(version));
        matching.max_by(|one, other| one.cmp_precedence(other))
    }

    /// The range as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Range {}

impl std::hash::Hash for Range {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text)
    }
}

impl Alternative {
    fn matches(&self, version: &Version) -> bool {
        (version.pre.is_empty() || self.prereleases)
            && self.comparisons.iter().all(|comparison| comparison.matches(version))
    }
}

impl Comparison {
    fn matches(&self, version: &Version) -> bool {
        let is_above = version.cmp_precedence(&self.version).is_ge();
        let order = self.compare(version);
        match self.operator {
            Operator::Equal if self.given == Precision::Patch => order.is_eq(),
            Operator::Equal | Operator::Tilde => is_above && self.is_close(version),
            // `!=1.2-beta` excludes only the prereleases `beta` of 1.2.
            Operator::NotEqual => {
                order.is_ne() || self.given == Precision::Minor && version.pre != self.version.pre
            }
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => is_above,
            Operator::Less => !is_above,
            Operator::LessOrEqual => order.is_le(),
            Operator::Caret => is_above && self.is_compatible(version),
        }
    }

    /// Compares the given parts with those of a version.
    fn compare(&self, version: &Version) -> Ordering {
        let own = &self.version;
        match self.given {
            Precision::Nothing => Ordering::Equal,
            Precision::Major => version.major.cmp(&own.major),
            Precision::Minor => (version.major, version.minor).cmp(&(own.major, own.minor)),
            Precision::Patch => version.cmp_precedence(own),
        }
    }

    /// Whether a version differs only in the patch, or in parts that were not given.
    fn is_close(&self, version: &Version) -> bool {
        let own = &self.version;
        // By definition, `~0.0.0` matches every version.
        let is_any = self.given == Precision::Patch && (own.major, own.minor, own.patch) == (0, 0, 0);
        match self.given {
            Precision::Nothing => true,
            Precision::Major => version.major == own.major,
            Precision::Minor | Precision::Patch => {
                is_any || (version.major, version.minor) == (own.major, own.minor)
            }
        }
    }

    /// Whether a version has the same leftmost nonzero part, among the given parts.
    fn is_compatible(&self, version: &Version) -> bool {
        let own = &self.version;
        let same_major = version.major == own.major;
        let same_minor = same_major && version.minor == own.minor;
        match self.given {
            Precision::Nothing => true,
            Precision::Major => same_major,
            _ if own.major > 0 => same_major,
            Precision::Minor => same_minor,
            Precision::Patch if own.minor > 0 => same_minor,
            Precision::Patch => same_minor && version.patch == own.patch,
        }
    }
}
