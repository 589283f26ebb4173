//! The record of an examination: tests and findings.

use std::collections::BTreeMap;

use crate::report::{Finding, Outcome, Status};
use crate::rules::RULES;

/// The number of findings that are kept per rule: more of the same are useless.
const MOST: usize = 8;

#[derive(Debug, Default)]
struct Page {
    tried: usize,
    failed: Vec<Finding>,
    advice: Vec<Finding>,
    skipped: Vec<String>,
}

/// The record.
#[derive(Debug)]
pub(crate) struct Findings {
    pages: BTreeMap<&'static str, Page>,
    only: Option<&'static str>,
}

impl Findings {
    pub(crate) fn new(only: Option<&'static str>) -> Self {
        Self { pages: BTreeMap::new(), only }
    }

    /// Whether a rule is requested.
    pub(crate) fn wants(&self, rule: &str) -> bool {
        self.only.is_none_or(|only| only == rule)
    }

    fn page(&mut self, rule: &'static str) -> &mut Page {
        self.pages.entry(rule).or_default()
    }

    pub(crate) fn tried(&mut self, rule: &'static str) {
        self.page(rule).tried += 1;
    }

    pub(crate) fn skip(&mut self, rule: &'static str, why: impl Into<String>) {
        let why = why.into();
        let page = self.page(rule);
        if !page.skipped.contains(&why) {
            page.skipped.push(why);
        }
    }

    pub(crate) fn fail(&mut self, rule: &'static str, finding: Finding) {
        keep(&mut self.page(rule).failed, finding);
    }

    /// Whether a rule is known to be broken.
    pub(crate) fn is_broken(&self, rule: &str) -> bool {
        self.pages.get(rule).is_some_and(|page| !page.failed.is_empty())
    }

    pub(crate) fn advise(&mut self, rule: &'static str, finding: Finding) {
        keep(&mut self.page(rule).advice, finding);
    }

    /// The outcome of each rule.
    pub(crate) fn close(mut self) -> Vec<Outcome> {
        let wanted = RULES.iter().filter(|rule| self.only.is_none_or(|only| only == rule.id));
        wanted
            .map(|rule| {
                let Page { tried, failed, advice, mut skipped } =
                    self.pages.remove(rule.id).unwrap_or_default();
                let status = match (failed.is_empty(), advice.is_empty(), tried) {
                    (false, ..) => Status::Failed,
                    (_, false, _) => Status::Advice,
                    (_, _, 0) => Status::Skipped,
                    _ => Status::Ok,
                };
                if status == Status::Skipped && skipped.is_empty() {
                    skipped.push("an earlier step failed".to_owned());
                }
                let findings = failed.into_iter().chain(advice).collect();
                Outcome { id: rule.id, title: rule.title, status, tried, skipped, findings }
            })
            .collect()
    }
}

fn keep(findings: &mut Vec<Finding>, finding: Finding) {
    let same = findings.iter().any(|known| known.case == finding.case && known.what == finding.what);
    if findings.len() < MOST && !same {
        findings.push(finding);
    }
}
