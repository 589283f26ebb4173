//! What a person says of requirements beside the documents (SPEC §6).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{BadReference, BundleReference, Existing, Urn, User};

/// Which of the two things that an installation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// A parameter.
    Parameter,
    /// A credential. Always secret.
    Credential,
}

impl Setting {
    /// What it is called on the command line, without dashes.
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

/// What a person says of requirements beside the documents, in this run or in an earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// What a requirement is to end in (`--with`), by the name of the requirement or by that of the installation
    /// that it ends in. None takes back what an earlier run said.
    pub with: BTreeMap<Arc<str>, Option<Wish>>,
    /// Parameters and credentials (`--param`, `--credential`), the later over the earlier.
    pub answers: Vec<Answer>,
    /// Whether what the deployment itself requires is made, whatever is there (`--bundle`).
    pub makes: bool,
}

/// What a person wants a requirement to end in: a bundle, or an installation that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    written: Arc<str>,
    bundle: Option<BundleReference>,
}

impl Wish {
    /// The bundle, where the text can mean one.
    pub fn bundle(&self) -> Option<&BundleReference> {
        self.bundle.as_ref()
    }

    /// The URN of the installation, where the text is one.
    pub fn urn(&self) -> Option<Urn> {
        Urn::parse(&self.written).ok()
    }

    /// The namespace, empty for the global one, and the name of the installation, where the text can mean one.
    pub fn installation(&self) -> Option<(&str, &str)> {
        let is_bundle =
            self.bundle.as_ref().is_some_and(|bundle| bundle.tag.is_some() || bundle.digest.is_some());
        if is_bundle { None } else { self.written.split_once('/') }
    }
}

impl FromStr for Wish {
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

impl From<BundleReference> for Wish {
    fn from(bundle: BundleReference) -> Self {
        Self { written: bundle.to_string().into(), bundle: Some(bundle) }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// A parameter or a credential that a person gave.
#[derive(Clone, PartialEq)]
pub struct Answer {
    /// Which of the two it is.
    pub part: Setting,
    /// `INSTALLATION.NAME`, or only `NAME` where but one installation is asked for.
    pub name: Arc<str>,
    /// The value.
    pub value: serde_json::Value,
    /// Whether it is text that becomes what the bundle declares, such as a number.
    pub is_text: bool,
}

/// Does not show the value: it may be a secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("part", &self.part).field("name", &self.name).finish_non_exhaustive()
    }
}

/// What was said now, and what an earlier run of the same environment was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// In this run. It goes before what documents say; what fits nothing is a fault.
    pub now: Choices,
    /// In earlier runs, by full names. It goes behind what documents say.
    pub before: Choices,
    /// What the last run made of requirements; none where nobody looked.
    pub installed: Option<Vec<Installed>>,
    /// The installations of this environment of which anything is recorded, by name, each with the one of another
    /// environment that it stands for; none where nobody looked.
    pub recorded: Option<BTreeMap<Arc<str>, Option<Urn>>>,
    /// The installations of other environments that this one sees.
    pub existing: Vec<Existing>,
    /// Who in other environments uses those of this one, by the name of the installation.
    pub users: BTreeMap<Arc<str>, Vec<User>>,
}

/// What a requirement ended in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// What the installation is called.
    pub name: Arc<str>,
    /// The requirement that it was made for, as `PARENT/REQUIREMENT`. Mostly the name.
    pub made_for: Arc<str>,
    /// The bundle that it was made from.
    pub reference: BundleReference,
    /// The same for requirements that are the same in every field but their name; none where nobody shares it.
    pub identity: Option<Arc<str>>,
    /// The URN of the installation of another environment that it stands for.
    pub uses: Option<Urn>,
}

impl Choices {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.with.is_empty() && self.answers.is_empty()
    }
}
