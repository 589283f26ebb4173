//! Deployments as plain data. The documents of a deployment are never shown, since they may contain
//! secrets. Their digest is not shown either, since a weak secret could be guessed from it.

use std::collections::{HashMap, HashSet};

use purlin_state::{Deployment, Outcome};
use serde::Serialize;

use crate::text;

/// The history of an environment, with the newest deployment first.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    pub(crate) format: u8,
    pub(crate) deployments: Vec<Entry>,
}

/// One deployment, with the version of the format.
#[derive(Debug, Serialize)]
pub(crate) struct DeploymentReport {
    pub(crate) format: u8,
    pub(crate) deployment: Details,
}

/// One deployment in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) started: String,
    pub(crate) ended: Option<String>,
    pub(crate) outcome: Outcome,
    /// The first deployment with the same documents, possibly this one; null if it had no
    /// documents.
    pub(crate) documents: Option<u64>,
    /// For a rollback: the deployment whose documents it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollback_of: Option<u64>,
    pub(crate) done: ActionCounts,
    /// The number of failed steps.
    pub(crate) failed: usize,
    /// Its duration in milliseconds; for people.
    #[serde(skip)]
    pub(crate) took: Option<u64>,
}

/// One deployment with its steps.
#[derive(Debug, Serialize)]
pub(crate) struct Details {
    #[serde(flatten)]
    pub(crate) entry: Entry,
    pub(crate) steps: Vec<Step>,
}

/// A step. A replacement consists of two: creating the new resource, and deleting the old one.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) urn: String,
    pub(crate) key: String,
    pub(crate) action: String,
    pub(crate) succeeded: bool,
}

/// The number of resources per action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ActionCounts {
    pub(crate) create: usize,
    pub(crate) update: usize,
    pub(crate) replace: usize,
    pub(crate) delete: usize,
    pub(crate) read: usize,
    pub(crate) adopt: usize,
}

impl ActionCounts {
    fn new(deployment: &Deployment) -> Self {
        let mut done = Self::default();
        let of = |action: &'static str| {
            let of = deployment.steps.iter().filter(move |(_, word, ok)| *ok && **word == *action);
            of.map(|(urn, ..)| urn).collect::<HashSet<_>>()
        };
        let replaced = of("replace");
        done.create = of("create").len();
        done.update = of("update").len();
        // The deletion of the old resource is part of its replacement.
        done.delete = of("delete").difference(&replaced).count();
        done.read = of("read").len();
        done.adopt = of("adopt").len();
        done.replace = replaced.len();
        done
    }
}

/// The first deployment of each set of documents.
pub(crate) struct Firsts<'a>(HashMap<&'a [u8; 32], u64>);

impl<'a> Firsts<'a> {
    pub(crate) fn of(history: &'a [Deployment]) -> Self {
        let mut firsts = HashMap::new();
        for deployment in history {
            if let Some(documents) = &deployment.documents {
                firsts.entry(documents).or_insert(deployment.number);
            }
        }
        Self(firsts)
    }
}

impl Entry {
    pub(crate) fn new(deployment: &Deployment, firsts: &Firsts<'_>) -> Self {
        let Deployment {
            id,
            number,
            holder,
            ended,
            outcome,
            steps,
            documents,
            rollback_of,
            rejected: _,
            rollouts: _,
        } = deployment;
        Self {
            number: *number,
            id: id.to_string(),
            command: holder.command.clone(),
            user: holder.user.clone(),
            host: holder.host.clone(),
            pid: holder.pid,
            started: text::moment(holder.since),
            ended: ended.map(text::moment),
            outcome: *outcome,
            documents: documents.as_ref().and_then(|documents| firsts.0.get(documents).copied()),
            rollback_of: *rollback_of,
            done: ActionCounts::new(deployment),
            failed: steps.iter().filter(|(_, _, ok)| !ok).count(),
            took: ended.map(|ended| ended.saturating_sub(holder.since)),
        }
    }
}

impl Details {
    pub(crate) fn new(deployment: &Deployment, firsts: &Firsts<'_>) -> Self {
        let steps = deployment.steps.iter().map(|(urn, action, succeeded)| Step {
            urn: urn.to_string(),
            key: super::state::key(urn),
            action: action.to_string(),
            succeeded: *succeeded,
        });
        Self { entry: Entry::new(deployment, firsts), steps: steps.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_model::Urn;
    use purlin_state::Holder;

    #[test]
    fn a_replacement_counts_once() {
        let urn = |id: &str| {
            Urn::parse(&format!("urn:purlin:dev/acme::shop::shared::dns.default::shared.{id}"))
                .expect("a URN")
        };
        let step = |id, action: &str, ok| (urn(id), action.into(), ok);
        let deployment = Deployment {
            id: "1".into(),
            number: 5,
            holder: Holder { user: "ada".into(), host: "m".into(), pid: 1, command: "c".into(), since: 5 },
            ended: Some(7),
            outcome: Outcome::Failed,
            steps: vec![
                step("a", "replace", true),
                step("a", "delete", true),
                step("b", "delete", true),
                step("c", "create", false),
            ],
            documents: Some([0xab; 32]),
            rollback_of: None,
            rejected: None,
            rollouts: Default::default(),
        };
        let history = [Deployment { number: 4, ..deployment.clone() }, deployment.clone()];
        let entry = Entry::new(&deployment, &Firsts::of(&history));
        assert_eq!(entry.done, ActionCounts { replace: 1, delete: 1, ..ActionCounts::default() });
        assert_eq!((entry.failed, entry.took), (1, Some(2)));
        assert_eq!(entry.documents, Some(4), "the number of the deployment that had them first");
    }
}
