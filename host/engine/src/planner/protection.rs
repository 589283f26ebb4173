//! Rejects plans that delete or replace protected resources (SPEC §9): protected by
//! `lifecycle.protect`, by `purlin state protect`, or by their environment. All violations are
//! reported at once, before any call.

use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Grants, Location, Obstacle, Reason, Urn};
use purlin_state::Record;

use crate::changes::fate;
use crate::driver::Driver;
use crate::driver::requirement_name;
use crate::error::Error;
use crate::plan::{Action, DriverSet, Operation, OperationKind, Step, Warning};
use crate::records::recorded::{Recorded, exists};

/// The maximum number of resources named in the error of a protected environment.
const NAMED: usize = 10;

/// `environment` is the location that forbids deletions in the environment. It protects what exists:
/// a resource that is only generated, such as a password, may be replaced by naming it.
///
/// # Errors
/// [`Error::Documents`] with every protected resource that would be deleted or replaced.
pub(super) fn check(
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
    graph: Option<&Graph>,
    drivers: &DriverSet,
    environment: Option<&Location>,
) -> Result<(), Error> {
    let mut refusals = Vec::new();
    let mut going = Vec::new();
    for operation in operations {
        let Some(step) = steps.get(operation.step as usize) else { continue };
        let (what, by_hand) = match (&operation.kind, step.action) {
            (OperationKind::Delete { id, .. }, Action::Delete) if id.superseded.is_none() => {
                let Some(record) = recorded.get(id).filter(|record| exists(record)) else { continue };
                going.push(step);
                if !record.protect && !record.pinned {
                    continue;
                }
                ("deleted", record.pinned)
            }
            (OperationKind::Create { .. }, Action::Replace) => {
                let node = operation.node.and_then(|node| graph?.node(node));
                let by_documents = node.as_ref().is_some_and(|node| node.lifecycle.protect);
                // The recorded protection still counts in this run, since the edit that causes the
                // replacement may also have removed the protection.
                let record = recorded.current(&step.urn);
                let driver = node.and_then(|node| drivers.get(&requirement_name(&node.recipe.driver)));
                let is_generated = record.zip(driver).is_some_and(|(record, of)| is_generated(record, &**of));
                if !(is_generated && step.reasons.contains(&Reason::ReplaceRequested)) {
                    going.push(step);
                }
                let by_hand = record.is_some_and(|record| record.pinned);
                if !by_documents && !record.is_some_and(|record| record.pinned || record.protect) {
                    continue;
                }
                ("replaced", by_hand)
            }
            _ => continue,
        };
        let mut refusal =
            Diagnostic::error("protected", format!("`{}` is protected and would be {what}", step.key));
        for reason in &step.reasons {
            refusal = refusal.fact(reason.to_string());
        }
        refusals.push(refusal.help(match (by_hand, step.action) {
            (true, _) => format!("`purlin state protect --off '{}'` removes the protection", step.key),
            (false, Action::Replace) => {
                let way_out = instead([step].into_iter(), "replaces it");
                format!("deploy it once with `lifecycle.protect: false` and nothing else changed{way_out}")
            }
            (false, _) => "deploy it once with `lifecycle.protect: false`; then it can be deleted".to_owned(),
        }));
    }
    if let Some(place) = environment.filter(|_| !going.is_empty()) {
        refusals.push(of_environment(place, &going));
    }
    if refusals.is_empty() { Ok(()) } else { Err(Error::Documents(refusals)) }
}

/// Warnings for resources that are no longer protected, since nothing else would report it.
pub(super) fn ended(recorded: &Recorded, graph: &Graph, context: &Context) -> Vec<Warning> {
    let protects = |record: &Arc<Record>| record.protect && !record.pinned;
    if !recorded.all_current().any(protects) {
        return Vec::new();
    }
    let open = graph.nodes().filter(|node| !node.lifecycle.protect);
    let ended = open.filter(|node| recorded.current(&Urn::new(context, node.key)).is_some_and(protects));
    let message = "it is no longer protected: no document sets `lifecycle.protect: true` any longer";
    ended.map(|node| Warning { key: node.key.clone(), message: message.to_owned() }).collect()
}

/// Warnings for resources that are deleted although they are paused: the documents that paused them
/// no longer contain them.
pub(super) fn no_longer_paused(recorded: &Recorded, steps: &[Step]) -> Vec<Warning> {
    let is_paused = |step: &&Step| {
        step.action == Action::Delete
            && recorded.obstacle_of(&step.urn).is_some_and(|obstacle| obstacle.obstacle == Obstacle::Paused)
    };
    let message = "it was paused, and is deleted because it left the documents";
    let paused = steps.iter().filter(is_paused);
    paused.map(|step| Warning { key: step.key.clone(), message: message.to_owned() }).collect()
}

/// Whether a resource holds no data and is nothing outside of the state: its driver may reach nothing
/// that it could change.
fn is_generated(record: &Record, driver: &dyn Driver) -> bool {
    let asks_for_nothing = driver.info().requested_capabilities.is_empty();
    record.holds_data.is_none()
        && fate::made_it(driver, record)
        && asks_for_nothing
        && driver.grants().is_some_and(|grants| *grants == Grants::default())
}

/// What to do instead of lifting a protection, according to the reasons of the steps. Nothing for a
/// `destroy`, which is not run then.
fn instead<'a>(mut steps: impl Iterator<Item = &'a Step> + Clone, does: &str) -> String {
    let is = |step: &&Step, reason: &Reason| step.reasons.contains(reason);
    if steps.clone().all(|step| is(&step, &Reason::ReplaceRequested)) {
        return ", or leave out `--replace`".to_owned();
    }
    if steps.clone().all(|step| is(&step, &Reason::Tainted)) {
        return ", or remove the mark with `purlin state taint --off`".to_owned();
    }
    match steps.any(|step| is(&step, &Reason::Destroyed)) {
        true => String::new(),
        false => format!(", or revert the change that {does}"),
    }
}

fn of_environment(place: &Location, going: &[&Step]) -> Diagnostic {
    let count = match going.len() {
        1 => "1 resource".to_owned(),
        count => format!("{count} resources"),
    };
    let is_deleted = |step: &&Step| step.action == Action::Delete;
    let (what, does) = match (going.iter().any(is_deleted), going.iter().all(is_deleted)) {
        (_, true) => ("deleted", "deletes them"),
        (true, false) => ("deleted or replaced", "deletes and replaces them"),
        (false, false) => ("replaced", "replaces them"),
    };
    let message = format!("the environment is protected, and {count} would be {what}");
    let mut refusal = Diagnostic::error("protected", message).at(place).spanning("protect".len());
    for step in going.iter().take(NAMED) {
        let what = if is_deleted(step) { "deleted" } else { "replaced" };
        refusal = refusal.fact(format!("`{}` would be {what}", step.key));
    }
    if let Some(more) = going.len().checked_sub(NAMED).filter(|more| *more > 0) {
        refusal = refusal.fact(format!("and {more} more"));
    }
    let way_out = instead(going.iter().copied(), does);
    refusal.help(format!("set `protect` to false here while they are {what}{way_out}"))
}
