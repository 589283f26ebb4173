//! The check of a driver as JSON.

use purlin_host::internal::conformance::{CasesFrom, Finding, Left, Outcome};
use serde::Serialize;

/// The complete result.
#[derive(Serialize)]
pub(crate) struct CheckReport {
    pub(crate) format: u8,
    pub(crate) driver: String,
    pub(crate) version: String,
    pub(crate) digest: String,
    pub(crate) cases: Cases,
    /// The grants of the driver.
    pub(crate) grants: Vec<String>,
    pub(crate) ok: bool,
    /// Whether the user stopped the check.
    pub(crate) stopped: bool,
    pub(crate) rules: Vec<Rule>,
    /// Objects that were created and could not be deleted.
    pub(crate) left: Vec<Rest>,
    /// Objects of an earlier check that this one deleted.
    pub(crate) cleared: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Cases {
    /// `file` or `schema`.
    from: &'static str,
    names: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// `ok`, `advice`, `failed` or `skipped`.
    pub(crate) status: &'static str,
    /// How many cases exercised the rule.
    tried: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Found>,
}

#[derive(Serialize)]
pub(crate) struct Found {
    pub(crate) case: Option<String>,
    pub(crate) what: String,
    pub(crate) request: Option<serde_json::Value>,
    pub(crate) answer: Option<serde_json::Value>,
    pub(crate) right: String,
    pub(crate) hint: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Rest {
    pub(crate) case: String,
    pub(crate) id: String,
    pub(crate) why: String,
}

impl From<purlin_host::internal::conformance::ConformanceReport> for CheckReport {
    fn from(report: purlin_host::internal::conformance::ConformanceReport) -> Self {
        let from = match report.cases {
            CasesFrom::File => "file",
            CasesFrom::Schema => "schema",
        };
        Self {
            format: super::FORMAT,
            ok: report.is_good() && !report.stopped,
            driver: report.driver,
            version: report.version,
            digest: report.digest,
            cases: Cases { from, names: report.names },
            grants: report.grants,
            stopped: report.stopped,
            rules: report.outcomes.into_iter().map(Rule::from).collect(),
            left: report.left.into_iter().map(|Left { case, id, why }| Rest { case, id, why }).collect(),
            cleared: report.cleared,
        }
    }
}

impl Cases {
    /// A short description of the cases.
    pub(crate) fn phrase(&self) -> String {
        match self.from {
            "file" => format!("{} of check.yaml", crate::text::count(self.names.len(), "case")),
            _ => "1 case generated from its schema; a check.yaml gives real ones".to_owned(),
        }
    }
}

impl From<Outcome> for Rule {
    fn from(outcome: Outcome) -> Self {
        Self {
            id: outcome.rule.id,
            title: outcome.rule.title,
            status: outcome.status.word(),
            tried: outcome.tried,
            skipped: outcome.skipped,
            findings: outcome
                .findings
                .into_iter()
                .map(|Finding { case, what, request, answer, right, hint }| Found {
                    case,
                    what,
                    request,
                    answer,
                    right,
                    hint,
                })
                .collect(),
        }
    }
}
