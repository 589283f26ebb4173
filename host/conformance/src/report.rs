//! What came of an examination.

use serde_json::Value as Json;

use crate::rule::Rule;

/// How a driver keeps the contract.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the driver calls itself.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the component, in hex.
    pub digest: String,
    /// What it was tried with.
    pub cases: CasesFrom,
    /// Names of the cases.
    pub names: Vec<String>,
    /// What the operator granted it, a line each.
    pub grants: Vec<String>,
    /// Each rule, in the order of the table.
    pub outcomes: Vec<Outcome>,
    /// What was made and could not be deleted.
    pub left: Vec<Left>,
    /// What an earlier examination had left, and this one deleted.
    pub cleared: Vec<String>,
    /// Whether somebody stopped it before its end.
    pub stopped: bool,
}

impl Report {
    /// Whether no rule is broken, and nothing is left.
    pub fn is_good(&self) -> bool {
        self.left.is_empty() && !self.outcomes.iter().any(|outcome| outcome.status == Status::Failed)
    }

    /// How many rules came out like that.
    pub fn count(&self, status: Status) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.status == status).count()
    }
}

/// Where the cases come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasesFrom {
    /// Their author wrote them.
    File,
    /// They were made from the input schema.
    Schema,
}

/// What came of a rule.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rule.
    pub rule: &'static Rule,
    /// How it came out.
    pub status: Status,
    /// Why it was left out, whole or in part.
    pub skipped: Vec<String>,
    /// How often it was put to the test.
    pub tried: usize,
    /// What is wrong, or could be better.
    pub findings: Vec<Finding>,
}

/// How a rule came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is kept.
    Ok,
    /// It is kept, and something could be better.
    Advice,
    /// It is broken.
    Failed,
    /// It could not be put to the test.
    Skipped,
}

impl Status {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Advice => "advice",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Something that is wrong, or could be better.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The case; none where it is about the driver as such.
    pub case: Option<String>,
    /// What happened.
    pub what: String,
    /// The call, secrets left out; none where there was none.
    pub request: Option<Json>,
    /// The answer, secrets left out.
    pub answer: Option<Json>,
    /// What would be right.
    pub right: String,
    /// What may help.
    pub hint: Option<String>,
}

/// Something that was made and could not be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The case.
    pub case: String,
    /// Its provider id.
    pub id: String,
    /// Why.
    pub why: String,
}
