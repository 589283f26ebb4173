//! The audit as plain data.

use std::fmt::Write as _;

use purlin_model::Urn;
use purlin_state::{AuditAction, AuditEntry, AuditTrail, DatabaseUser, Environment};
use serde::Serialize;

use super::FORMAT;
use crate::text;

/// The audits of environments.
#[derive(Debug, Serialize)]
pub(crate) struct Audit {
    format: u8,
    pub(crate) audits: Vec<Trail>,
}

/// The audit of one environment.
#[derive(Debug, Serialize)]
pub(crate) struct Trail {
    /// `None` for what concerns the state as a whole.
    pub(crate) environment: Option<Environment>,
    /// The newest first.
    pub(crate) entries: Vec<Entry>,
    /// Where the chain of entries is broken.
    pub(crate) faults: Vec<String>,
    /// The number of entries that are kept; for people.
    #[serde(skip)]
    pub(crate) kept: usize,
    /// The digest of the newest entry; for people.
    #[serde(skip)]
    pub(crate) last: Option<String>,
}

/// One change of the state.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) time: String,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) command: String,
    pub(crate) database_user: Option<DatabaseUser>,
    pub(crate) action: AuditAction,
    pub(crate) subjects: Vec<String>,
    pub(crate) deployment: Option<String>,
    pub(crate) resources: Option<u64>,
    pub(crate) reason: Option<String>,
    before: String,
    digest: String,
}

impl Audit {
    pub(crate) fn new(audits: Vec<Trail>) -> Self {
        Self { format: FORMAT, audits }
    }
}

impl Trail {
    /// The newest entries since a moment, in milliseconds since 1970, and at most so many.
    pub(crate) fn new(environment: &Environment, trail: &AuditTrail, since: u64, most: usize) -> Self {
        let newest = trail.entries.iter().rev();
        let shown = newest.filter(|entry| entry.by.since >= since).take(most);
        Self {
            environment: Some(environment).filter(|one| **one != Environment::fleet()).cloned(),
            entries: shown.map(Entry::new).collect(),
            faults: trail.faults.iter().map(ToString::to_string).collect(),
            kept: trail.entries.len(),
            last: trail.entries.last().map(|last| hex(&last.digest)),
        }
    }

    /// What it is about, in words.
    pub(crate) fn name(&self) -> String {
        self.environment.as_ref().map_or_else(|| Environment::fleet().to_string(), ToString::to_string)
    }
}

impl Entry {
    fn new(entry: &AuditEntry) -> Self {
        let AuditEntry {
            number,
            by,
            database_user,
            action,
            subjects,
            deployment,
            resources,
            reason,
            before,
            digest,
        } = entry;
        Self {
            number: *number,
            time: text::moment(by.since),
            user: by.user.clone(),
            host: by.host.clone(),
            pid: by.pid,
            command: by.command.clone(),
            database_user: database_user.clone(),
            action: *action,
            subjects: subjects.iter().map(ToString::to_string).collect(),
            deployment: deployment.as_deref().map(str::to_owned),
            resources: Some(*resources).filter(|_| *action == AuditAction::Run),
            reason: reason.as_deref().map(str::to_owned),
            before: hex(before),
            digest: hex(digest),
        }
    }

    /// What was done, in a few words.
    pub(crate) fn what(&self) -> String {
        let command = self.command.strip_prefix("purlin ").unwrap_or(&self.command);
        if let Some(resources) = self.resources {
            let resources = usize::try_from(resources).unwrap_or(usize::MAX);
            return format!("{command}: {}", text::count(resources, "resource"));
        }
        let subjects: Vec<String> = self
            .subjects
            .iter()
            .map(|subject| {
                Urn::parse(subject).map_or_else(|_| subject.clone(), |urn| super::state::key(&urn))
            })
            .collect();
        let words = self.action.as_str().replace('-', " ");
        if subjects.is_empty() { words } else { format!("{words} {}", subjects.join(", ")) }
    }
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
