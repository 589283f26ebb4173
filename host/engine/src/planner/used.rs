//! Resources that other environments use stay (SPEC §6): a resource in use is never deleted or
//! replaced.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::{Diagnostic, Key, Urn};
use purlin_state::{Change, Record};

use crate::error::Error;
use crate::plan::{Action, Step, Warning, ends};
use crate::records::recorded::Recorded;

/// The users of an environment's installations in other environments, in words for people, by the
/// URN of the installation.
pub type Users = HashMap<Urn, Vec<Arc<str>>>;

/// The maximum number of users that a message names.
const NAMED: usize = 10;

/// Keeps the resources that other environments use, and their dependencies, if they are handed
/// over: by `hand_over`, or in an earlier run.
///
/// # Errors
/// [`Error::Documents`] with every other resource in use that would be deleted.
pub(super) fn keep(
    recorded: &mut Recorded,
    going: &mut Vec<Urn>,
    (users, hand_over): (&Users, bool),
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Change>, Error> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let is_used = |urn: &&Urn| users.contains_key(*urn);
    let mut used: Vec<&Urn> = going.iter().filter(is_used).collect();
    used.sort_unstable();
    let mut refusals = Vec::new();
    let mut stack: Vec<Urn> = Vec::new();
    for urn in used {
        let Some(record) = recorded.current(urn) else { continue };
        if hand_over || record.abandoned {
            stack.push(urn.clone());
        } else if let Some(key) = urn.key() {
            let help = "destroy these first, or hand it over with `--orphan-shared`: it then exists until the last of them is gone";
            refusals.push(refused(&key, "deleted", urn, users).help(help));
        }
    }
    if !refusals.is_empty() {
        return Err(Error::Documents(refusals));
    }
    let mut goes: HashSet<Urn> = going.iter().cloned().collect();
    let mut changes = Vec::new();
    while let Some(urn) = stack.pop() {
        if !goes.remove(&urn) {
            continue;
        }
        let Some(record) = recorded.current(&urn) else { continue };
        let homes = record.deleted_with.iter().chain(&record.perhaps_deleted_with);
        stack.extend(record.dependencies.iter().chain(homes).cloned());
        if let Some(key) = urn.key() {
            let message = match users.get(&urn) {
                Some(users) => format!("it is kept until its last user is gone: {}", list(users)),
                None => "it is kept, because a resource that others use depends on it".to_owned(),
            };
            warnings.push(Warning { key, message });
        }
        if !record.abandoned {
            changes.push(Change::Put(Box::new(Record { abandoned: true, ..Record::clone(record) })));
        }
    }
    going.retain(|urn| goes.contains(urn));
    // Makes the order of the changes deterministic.
    changes.sort_by_key(|change| match change {
        Change::Put(record) => record.urn.clone().as_str().to_owned(),
        _ => String::new(),
    });
    changes.iter().for_each(|change| recorded.apply(change.clone()));
    Ok(changes)
}

/// # Errors
/// [`Error::Documents`] with every resource in use that would be replaced.
pub(super) fn check(steps: &[Step], graph: &Graph, users: &Users) -> Result<(), Error> {
    if users.is_empty() {
        return Ok(());
    }
    let mut refusals = Vec::new();
    for step in steps {
        let is_deleted = step.action == Action::Delete;
        if is_deleted || !users.contains_key(&step.urn) || !ends(step, Some(graph)) {
            continue;
        }
        let mut refusal = refused(&step.key, "replaced", &step.urn, users);
        for reason in &step.reasons {
            refusal = refusal.fact(reason.to_string());
        }
        let help =
            "revert the change that replaces it, or have these use another installation first, with `--with`";
        refusals.push(refusal.help(help));
    }
    if refusals.is_empty() { Ok(()) } else { Err(Error::Documents(refusals)) }
}

/// The resources that were handed over and no longer have users, with their dependencies, except
/// those that a remaining resource needs.
pub(super) fn left(recorded: &Recorded, users: &Users) -> HashSet<Urn> {
    // A resource that an interrupted deletion left absent counts too: only its record remains to be
    // deleted.
    let is_left = |record: &&Arc<Record>| record.abandoned;
    let mut left: HashSet<Urn> =
        recorded.all_current().filter(is_left).map(|record| record.urn.clone()).collect();
    let stays = |record: &&Arc<Record>| !left.contains(&record.urn) || users.contains_key(&record.urn);
    let mut stack: Vec<Urn> = recorded.all_current().filter(stays).map(|record| record.urn.clone()).collect();
    let mut seen: HashSet<Urn> = HashSet::new();
    while let Some(urn) = stack.pop() {
        if !seen.insert(urn.clone()) {
            continue;
        }
        left.remove(&urn);
        if let Some(record) = recorded.current(&urn) {
            let homes = record.deleted_with.iter().chain(&record.perhaps_deleted_with);
            stack.extend(record.dependencies.iter().chain(homes).cloned());
        }
    }
    left
}

/// The fault of a change to a resource that other environments use, such as `deleted`.
pub fn in_use(name: impl std::fmt::Display, change: &str) -> Diagnostic {
    Diagnostic::error("in-use", format!("`{name}` is used elsewhere and would be {change}"))
}

fn refused(key: &Key, what: &str, urn: &Urn, users: &Users) -> Diagnostic {
    let users = users.get(urn).map(Vec::as_slice).unwrap_or_default();
    let mut refusal = in_use(key, what);
    for user in users.iter().take(NAMED) {
        refusal = refusal.fact(format!("{user} uses it"));
    }
    match users.len().checked_sub(NAMED).filter(|more| *more > 0) {
        Some(more) => refusal.fact(format!("and {more} more")),
        None => refusal,
    }
}

fn list(users: &[Arc<str>]) -> String {
    const LISTED: usize = 3;
    let mut all: Vec<&str> = users.iter().take(LISTED).map(|user| &**user).collect();
    let more = users.len().saturating_sub(LISTED);
    let rest = format!("{more} more");
    if more > 0 {
        all.push(&rest);
    }
    all.join(", ")
}
