//! The result of an examination. As JSON, it has a stable format (SPEC §11).

use serde::Serialize;
use serde_json::Value as Json;

/// How a driver keeps the contract.
#[derive(Clone, Debug, Serialize)]
pub struct ConformanceReport {
    /// The version of the JSON format.
    pub format: u8,
    /// The driver's own name.
    pub driver: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the component, in hex.
    pub digest: String,
    /// Its cases.
    pub cases: Cases,
    /// The operator's grants, one per line.
    pub grants: Vec<String>,
    /// Whether no rule is broken, nothing is left, and the examination was not stopped.
    pub ok: bool,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Each rule, in the order of the table.
    pub rules: Vec<Outcome>,
    /// Created objects that could not be deleted.
    pub left: Vec<Left>,
    /// Remains of an earlier examination that this one deleted.
    pub cleared: Vec<String>,
}

impl ConformanceReport {
    /// How many rules have this status.
    pub fn count(&self, status: Status) -> usize {
        self.rules.iter().filter(|outcome| outcome.status == status).count()
    }
}

/// The cases of a driver.
#[derive(Clone, Debug, Serialize)]
pub struct Cases {
    /// Their origin.
    pub from: CasesFrom,
    /// Their names.
    pub names: Vec<String>,
}

/// The origin of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CasesFrom {
    /// Their author wrote them.
    File,
    /// They were generated from the input schema.
    Schema,
}

/// The outcome of a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The id of the rule.
    pub id: &'static str,
    /// The title of the rule.
    pub title: &'static str,
    /// How it came out.
    pub status: Status,
    /// How often it was tested.
    pub tried: usize,
    /// Why it was skipped, entirely or in part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Faults and possible improvements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The status of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

/// A fault or a possible improvement.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub expected: String,
    /// What may help.
    pub hint: Option<String>,
}

/// A created object that could not be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// The case.
    pub case: String,
    /// Its provider id.
    pub id: String,
    /// Why.
    pub why: String,
}
