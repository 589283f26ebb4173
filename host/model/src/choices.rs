//! A person's choices for requirements, beside the documents (SPEC §6).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::{BadReference, BundleReference, Existing, InstallationUse, Urn, User};

/// The two kinds of settings of an installation.
///
/// It serialises in the published, versioned form: `part` of `bundle explain` in
/// `docs/src/reference/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// A parameter.
    Parameter,
    /// A credential. Always secret.
    Credential,
}

impl Setting {
    /// The name of its command line option, without dashes.
    pub fn option(self) -> &'static str {
        match self {
            Self::Parameter => "param",
            Self::Credential => "credential",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parameter => "parameter",
            Self::Credential => "credential",
        })
    }
}

/// A person's choices for requirements, beside the documents, in this run or in an earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// The choice for a requirement (`--with`), by the name of the requirement or by that of its
    /// installation. None revokes the choice of an earlier run.
    pub with: BTreeMap<Arc<str>, Option<RequirementChoice>>,
    /// Parameters and credentials (`--param`, `--credential`); later ones override earlier ones.
    pub answers: Vec<Answer>,
    /// Whether the deployment's own requirements are created, whatever exists (`--bundle`).
    pub makes: bool,
}

/// A person's choice for a requirement: a bundle, or an existing installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementChoice {
    written: Arc<str>,
    bundle: Option<BundleReference>,
}

impl RequirementChoice {
    /// The bundle, if the text can mean one.
    pub fn bundle(&self) -> Option<&BundleReference> {
        self.bundle.as_ref()
    }

    /// The URN of the installation, if the text is one.
    pub fn urn(&self) -> Option<Urn> {
        Urn::parse(&self.written).ok()
    }

    /// The namespace, empty for the global one, and the name of the installation, if the text can
    /// mean one.
    pub fn installation(&self) -> Option<(&str, &str)> {
        let is_bundle =
            self.bundle.as_ref().is_some_and(|bundle| bundle.tag.is_some() || bundle.digest.is_some());
        if is_bundle { None } else { self.written.split_once('/') }
    }
}

impl FromStr for RequirementChoice {
    type Err = BadReference;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        // An installation of the global namespace, or a URN.
        let is_global = written.strip_prefix('/').is_some_and(|name| !name.is_empty());
        let bundle = match is_global || Urn::parse(written).is_ok() {
            true => None,
            false => Some(written.parse()?),
        };
        Ok(Self { written: written.into(), bundle })
    }
}

impl From<BundleReference> for RequirementChoice {
    fn from(bundle: BundleReference) -> Self {
        Self { written: bundle.to_string().into(), bundle: Some(bundle) }
    }
}

impl fmt::Display for RequirementChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// A parameter or a credential from a person.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// Its kind.
    pub part: Setting,
    /// `INSTALLATION.NAME`, or only `NAME` if only one installation is requested.
    pub name: Arc<str>,
    /// The value.
    pub value: serde_json::Value,
    /// Whether it is text that is converted to the declared type, such as a number.
    pub is_text: bool,
}

/// Does not show the value, which may be a secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("part", &self.part).field("name", &self.name).finish_non_exhaustive()
    }
}

/// The choices of this run, and those of an earlier run of the same environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequirementContext {
    /// In this run. They override the documents; a choice that fits nothing is a fault.
    pub now: Choices,
    /// In earlier runs, by full names. The documents override them.
    pub before: Choices,
    /// The last run's result for requirements; none if it was not read.
    pub installed: Option<Vec<Installed>>,
    /// The recorded installations of this environment, by name, each with its use of the one of
    /// another environment that it represents; none if the records were not read.
    pub recorded: Option<BTreeMap<Arc<str>, Option<InstallationUse>>>,
    /// The installations of other environments that are visible to this one.
    pub existing: Vec<Existing>,
    /// Users in other environments of this environment's installations, by the name of the
    /// installation.
    pub users: BTreeMap<Arc<str>, Vec<User>>,
    /// Installations of this environment that were handed over to their users, by name.
    pub handed_over: BTreeSet<Arc<str>>,
}

/// An installation that requirements resulted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The name of the installation.
    pub name: Arc<str>,
    /// The name of its root.
    pub root: Arc<str>,
    /// The requirements that it satisfies, sorted.
    pub claims: Vec<Claim>,
    /// The bundle that it was created from.
    pub reference: BundleReference,
    /// The URN of the installation of another environment that it represents.
    pub uses: Option<Urn>,
}

/// A requirement that an installation satisfies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// The requirement, as `PARENT/REQUIREMENT`. Usually the name of the installation.
    pub made_for: Arc<str>,
    /// Equal for requirements that differ only in their names; `None` if the installation is not
    /// shared.
    pub identity: Option<Arc<str>>,
}

impl Choices {
    /// Whether there are no choices.
    pub fn is_empty(&self) -> bool {
        self.with.is_empty() && self.answers.is_empty()
    }
}
