//! What a person says of requirements beside the documents (SPEC §6).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::BundleReference;

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
    /// The bundle for a requirement (`--with`), by the name of the requirement or by that of the installation
    /// that it ends in. None takes back what an earlier run said.
    pub with: BTreeMap<Arc<str>, Option<BundleReference>>,
    /// Parameters and credentials (`--param`, `--credential`), the later over the earlier.
    pub answers: Vec<Answer>,
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
}

impl Choices {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.with.is_empty() && self.answers.is_empty()
    }
}
