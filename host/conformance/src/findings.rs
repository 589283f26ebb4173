//! The record of an examination: tests and findings.

use std::collections::BTreeMap;

use crate::report::{Finding, Outcome, Status};
use crate::rules::RULES;

/// The number of findings that are kept per rule: more of the same are useless.
const MOST: usize = 8;

#[derive(Debug, Default)]
struct RuleFindings {
    tried: usize,
    failed: Vec<Finding>,
    advice: Vec<Finding>,
    skipped: Vec<String>,
}

/// What was tested for each rule, and what was found.
#[derive(Debug)]
pub(crate) struct Findings {
    by_rule: BTreeMap<&'static str, RuleFindings>,
    only: Option<&'static str>,
}

impl Findings {
    pub(crate) fn new(only: Option<&'static str>) -> Self {
        Self { by_rule: BTreeMap::new(), only }
    }

    /// Whether a rule is requested.
    pub(crate) fn wants(&self, rule: &str) -> bool {
        self.only.is_none_or(|only| only == rule)
    }

    /// The only rule that is examined, if it is one.
    pub(crate) fn only(&self) -> Option<&'static str> {
        self.only
    }

    fn of(&mut self, rule: &'static str) -> &mut RuleFindings {
        self.by_rule.entry(rule).or_default()
    }

    pub(crate) fn tried(&mut self, rule: &'static str) {
        self.of(rule).tried += 1;
    }

    pub(crate) fn skip(&mut self, rule: &'static str, why: impl Into<String>) {
        let why = why.into();
        let of_rule = self.of(rule);
        if !of_rule.skipped.contains(&why) {
            of_rule.skipped.push(why);
        }
    }

    pub(crate) fn fail(&mut self, rule: &'static str, finding: Finding) {
        keep(&mut self.of(rule).failed, finding);
    }

    /// Whether a rule is known to be broken.
    pub(crate) fn is_broken(&self, rule: &str) -> bool {
        self.by_rule.get(rule).is_some_and(|of_rule| !of_rule.failed.is_empty())
    }

    pub(crate) fn advise(&mut self, rule: &'static str, finding: Finding) {
        keep(&mut self.of(rule).advice, finding);
    }

    /// The outcome of each rule.
    pub(crate) fn close(mut self) -> Vec<Outcome> {
        let wanted = RULES.iter().filter(|rule| self.only.is_none_or(|only| only == rule.id));
        wanted
            .map(|rule| {
                let RuleFindings { tried, failed, advice, mut skipped } =
                    self.by_rule.remove(rule.id).unwrap_or_default();
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
