//! The result of an examination.

use serde_json::Value as Json;

use crate::rules::Rule;

/// How a driver keeps the contract.
#[derive(Clone, Debug)]
pub struct ConformanceReport {
    /// The driver's own name.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the component, in hex.
    pub digest: String,
    /// The origin of its cases.
    pub cases: CasesFrom,
    /// Names of the cases.
    pub names: Vec<String>,
    /// The operator's grants, one per line.
    pub grants: Vec<String>,
    /// Each rule, in the order of the table.
    pub outcomes: Vec<Outcome>,
    /// Created objects that could not be deleted.
    pub left: Vec<Left>,
    /// Remains of an earlier examination that this one deleted.
    pub cleared: Vec<String>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl ConformanceReport {
    /// Whether no rule is broken, and nothing is left.
    pub fn is_good(&self) -> bool {
        self.left.is_empty() && !self.outcomes.iter().any(|outcome| outcome.status == Status::Failed)
    }

    /// How many rules have this status.
    pub fn count(&self, status: Status) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.status == status).count()
    }
}

/// The origin of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasesFrom {
    /// Their author wrote them.
    File,
    /// They were generated from the input schema.
    Schema,
}

/// The outcome of a rule.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rule.
    pub rule: &'static Rule,
    /// How it came out.
    pub status: Status,
    /// Why it was skipped, entirely or in part.
    pub skipped: Vec<String>,
    /// How often it was tested.
    pub tried: usize,
    /// Faults and possible improvements.
    pub findings: Vec<Finding>,
}

/// The status of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is kept.
    Ok,
    /// It is kept, and something could be better.
    Advice,
    /// It is broken.
    Failed,
    /// It could not be tested.
    Skipped,
}

impl Status {
    /// The status as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Advice => "advice",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A fault or a possible improvement.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The case; none if it is about the driver in general.
    pub case: Option<String>,
    /// What happened.
    pub what: String,
    /// The call, without secrets; none if there was none.
    pub request: Option<Json>,
    /// The answer, without secrets.
    pub answer: Option<Json>,
    /// The correct behaviour.
    pub right: String,
    /// What may help.
    pub hint: Option<String>,
}

/// A created object that could not be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The case.
    pub case: String,
    /// Its provider id.
    pub id: String,
    /// Why.
    pub why: String,
}
