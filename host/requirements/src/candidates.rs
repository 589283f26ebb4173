//! The bundles that may satisfy a requirement, the best one first (SPEC §6, steps 1, 3 and 4).

use std::fmt;
use std::sync::Arc;

use purlin_model::{BundleReference, Requirement, Setting, ValueKind};
use purlin_range::Range;
use semver::Version;
use serde::{Serialize, Serializer};

/// The published, versioned form of a reason in JSON (`bundle explain` in
/// `docs/src/reference/cli.md`): a code for programs, and a text for people.
#[derive(Serialize)]
struct Coded {
    code: &'static str,
    text: String,
}

/// Why a bundle was chosen.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Why {
    /// It is the requested one.
    Root,
    /// `--with` names it.
    Named,
    /// `--with` named it in an earlier run.
    NamedBefore,
    /// It is installed, and still fits.
    Installed,
    /// It is an existing installation of this namespace and name, and fits.
    Existing(Arc<str>),
    /// No other version in the range is higher.
    HighestInRange(Range),
    /// No version is in the range, so the reference itself is used.
    NoneInRange(Range),
    /// The reference names it, and no range is given.
    Reference,
    /// The reference names no version, and this is the highest release.
    HighestRelease,
    /// The reference names no version, and there is no release.
    Latest,
}

impl Why {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("it was requested"),
            Self::Named => f.write_str("`--with` names it"),
            Self::NamedBefore => f.write_str("`--with` named it in an earlier run"),
            Self::Installed => f.write_str("it is installed, and still fits"),
            Self::Existing(id) => write!(f, "`{id}` exists and fits"),
            Self::HighestInRange(range) => write!(f, "the highest version in `{range}`"),
            Self::NoneInRange(range) => {
                write!(f, "no version is in `{range}`, so the reference itself is used")
            }
            Self::Reference => f.write_str("the reference names this version"),
            Self::HighestRelease => f.write_str("the highest release; the reference names no version"),
            Self::Latest => f.write_str("there is no release, and this is the tag `latest`"),
        }
    }
}

/// As `code` and `text`.
impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Coded { code: self.code(), text: self.to_string() }.serialize(serializer)
    }
}

/// Why a bundle was not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its version is not in the range.
    OutOfRange,
    /// It is a prerelease, and nothing asks for one.
    Prerelease,
    /// Its tag is not a version.
    NoVersion,
    /// A better one fits.
    Lower,
    /// It is newer than the installed one, and was not requested.
    Newer,
    /// It does not have this output, parameter or credential.
    Lacks(ValueKind, Arc<str>),
    /// Its output may have values that the requirement does not accept, or its parameter or
    /// credential does not accept all that the requirement may give.
    OtherType(ValueKind, Arc<str>),
    /// It does not provide the interface with this id.
    LacksInterface(Arc<str>),
    /// The catalog does not have it.
    NotFound,
    /// It is named by a digest, and the catalog has none.
    NoDigest,
    /// It may not be shared.
    NotShared,
    /// It is made from another bundle.
    OtherBundle,
    /// Its version differs from the named one.
    OtherVersion,
    /// It is incomplete, or is about to change.
    NotReady,
    /// It has another value for something that the requirement gives.
    OtherValue(Setting, Arc<str>),
    /// Another one that fits is nearer: in the same namespace, or older.
    Farther,
}

impl Rejection {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange => "out-of-range",
            Self::Prerelease => "prerelease",
            Self::NoVersion => "no-version",
            Self::Lower => "lower",
            Self::Newer => "newer",
            Self::Lacks(ValueKind::Output, _) => "lacks-output",
            Self::Lacks(ValueKind::PARAMETER, _) => "lacks-parameter",
            Self::Lacks(ValueKind::CREDENTIAL, _) => "lacks-credential",
            Self::OtherType(..) => "other-type",
            Self::LacksInterface(_) => "lacks-interface",
            Self::NotFound => "not-found",
            Self::NoDigest => "no-digest",
            Self::NotShared => "not-shared",
            Self::OtherBundle => "other-bundle",
            Self::OtherVersion => "other-version",
            Self::NotReady => "not-ready",
            Self::OtherValue(..) => "other-value",
            Self::Farther => "farther",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange => f.write_str("not in the range"),
            Self::Prerelease => f.write_str("a prerelease"),
            Self::NoVersion => f.write_str("its tag is not a version"),
            Self::Lower => f.write_str("a higher version fits"),
            Self::Newer => f.write_str("newer than the installed one; `--with` selects it"),
            Self::Lacks(kind, name) => write!(f, "lacks the {} `{name}`", kind.word()),
            Self::OtherType(ValueKind::Output, name) => {
                write!(f, "its output `{name}` may have values that the requirement does not accept")
            }
            Self::OtherType(kind, name) => {
                write!(
                    f,
                    "its {} `{name}` does not accept every value that the requirement allows",
                    kind.word()
                )
            }
            Self::LacksInterface(id) => write!(f, "does not provide the interface `{id}`"),
            Self::NotFound => f.write_str("not in the catalog"),
            Self::NoDigest => f.write_str("bundles in folders have no digests"),
            Self::NotShared => f.write_str("it is not shared"),
            Self::OtherBundle => f.write_str("made from another bundle"),
            Self::OtherVersion => f.write_str("of another version than the reference names"),
            Self::NotReady => f.write_str("not ready to be used"),
            Self::OtherValue(part, name) => write!(f, "its {part} `{name}` differs, or is not known yet"),
            Self::Farther => f.write_str("another one that fits is nearer, or older"),
        }
    }
}

/// As `code` and `text`.
impl Serialize for Rejection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Coded { code: self.code(), text: self.to_string() }.serialize(serializer)
    }
}

/// The bundles that may be chosen, the best one first, and the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) fitting: Vec<(BundleReference, Why)>,
    pub(crate) lost: Vec<(BundleReference, Rejection)>,
}

/// The tag for a reference, and why: its own, else that of the highest release, else `latest`. None
/// if there is none of these.
pub fn choose(reference: &BundleReference, tags: &[Arc<str>]) -> Option<(BundleReference, Why)> {
    sorted(reference, None, tags).fitting.into_iter().next()
}

/// Divides the tags of the reference's repository into those that a requirement accepts and the
/// others.
pub(crate) fn candidates(
    requirement: &Requirement,
    named: Option<&BundleReference>,
    tags: &[Arc<str>],
) -> Candidates {
    let is_exact = |reference: &BundleReference| is_exact(reference, tags);
    match (named, &requirement.reference) {
        (Some(named), _) if is_exact(named) => {
            Candidates { fitting: vec![(named.clone(), Why::Named)], lost: Vec::new() }
        }
        (Some(named), _) => sorted(named, requirement.version.as_ref(), tags),
        (None, Some(reference)) => sorted(reference, requirement.version.as_ref(), tags),
        (None, None) => Candidates::default(),
    }
}

/// Whether a reference names one bundle. Without such a tag, `latest` means the highest release.
fn is_exact(reference: &BundleReference, tags: &[Arc<str>]) -> bool {
    !reference.is_open() || reference.tag.as_ref().is_some_and(|tag| tags.contains(tag))
}

fn sorted(reference: &BundleReference, range: Option<&Range>, tags: &[Arc<str>]) -> Candidates {
    let is_exact = is_exact(reference, tags);
    let mut found = Candidates::default();
    if is_exact && range.is_none() {
        found.fitting.push((reference.clone(), Why::Reference));
        return found;
    }
    let of =
        |tag: &Arc<str>| BundleReference { tag: Some(Arc::clone(tag)), digest: None, ..reference.clone() };
    let mut versions: Vec<(Version, &Arc<str>)> = Vec::new();
    let mut latest = None;
    for tag in tags {
        match purlin_range::lenient(tag) {
            Some(version) => versions.push((version, tag)),
            None if &**tag == "latest" => latest = Some(of(tag)),
            None => found.lost.push((of(tag), Rejection::NoVersion)),
        }
    }
    versions.sort_by(|(one, a), (other, b)| other.cmp_precedence(one).then_with(|| b.cmp(a)));
    for (version, tag) in versions {
        let admitted = match range {
            Some(range) if range.matches(&version) => Ok(Why::HighestInRange(range.clone())),
            Some(_) => Err(Rejection::OutOfRange),
            None if version.pre.is_empty() => Ok(Why::HighestRelease),
            None => Err(Rejection::Prerelease),
        };
        match admitted {
            Ok(why) => found.fitting.push((of(tag), why)),
            Err(why) => found.lost.push((of(tag), why)),
        }
    }
    match range {
        Some(range) if is_exact => {
            let is_listed = found.fitting.iter().any(|(one, _)| one.version() == reference.version());
            if !is_listed {
                found.lost.retain(|(one, _)| one != reference);
                found.fitting.push((reference.clone(), Why::NoneInRange(range.clone())));
            }
        }
        Some(_) => found.lost.extend(latest.map(|latest| (latest, Rejection::NoVersion))),
        None => found.fitting.extend(latest.map(|latest| (latest, Why::Latest))),
    }
    found
}

#[cfg(test)]
mod tests {
    use purlin_model::{Interface, Location, Sharing};

    use super::*;

    fn chosen(reference: &str, version: Option<&str>, tags: &[&str]) -> Option<String> {
        let requirement = Requirement {
            name: "d".into(),
            reference: Some(reference.parse().expect("a reference")),
            version: version.map(|range| Range::parse(range).expect("a range")),
            interface: Interface::default(),
            parameters: Vec::new(),
            credentials: Vec::new(),
            outputs: Vec::new(),
            sharing: Sharing::default(),
            location: Location::default(),
        };
        let tags: Vec<Arc<str>> = tags.iter().map(|tag| Arc::from(*tag)).collect();
        let found = candidates(&requirement, None, &tags);
        found.fitting.first().map(|(one, _)| one.tag.as_deref().unwrap_or_default().to_owned())
    }

    #[test]
    fn reasons_have_the_published_form() {
        let json = serde_json::to_string(&(Why::Root, Rejection::Lower)).expect("JSON");
        assert_eq!(
            json,
            r#"[{"code":"root","text":"it was requested"},{"code":"lower","text":"a higher version fits"}]"#
        );
    }

    /// The rows RES-01 to RES-16. The published implementation has strategies; the design has none:
    /// it takes the highest version in the range, and the reference itself only if there is none.
    #[test]
    fn versions_are_chosen_as_the_design_has_it() {
        const SOME: [&str; 5] = ["latest", "v1.0", "v1.1", "v1.2", "v1.3-beta1"];
        for (row, reference, version, tags, expected) in [
            ("RES-01", "mysql:5.7", None, &[][..], Some("5.7")),
            ("RES-02", "repo", None, &SOME, Some("v1.2")),
            ("RES-03", "repo", None, &["latest"], Some("latest")),
            ("RES-04", "repo", None, &["not-a-semver"], None),
            ("RES-06", "repo", Some(">=1.0 <1.3"), &SOME, Some("v1.2")),
            ("RES-07", "mysql:5.7", Some(">=1.0 <1.3"), &[], Some("5.7")),
            ("RES-08", "repo", Some(">=1.0 <1.3"), &SOME, Some("v1.2")),
            ("RES-11", "repo", Some(">=2.0"), &SOME, None),
            (
                "RES-12",
                "example.com/mysql:v1.2.3",
                Some(">=1.0.0"),
                &["v1.2.4", "v1.3.0", "v2.0.0"],
                Some("v2.0.0"),
            ),
            ("RES-16", "repo", Some(">=1.3.0-0"), &SOME, Some("v1.3-beta1")),
        ] {
            assert_eq!(chosen(reference, version, tags).as_deref(), expected, "{row}");
        }
    }
}
