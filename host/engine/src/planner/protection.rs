//! Rejects plans that delete or replace protected resources (SPEC §9): protected by
//! `lifecycle.protect`, by `purlin state protect`, or by their environment. All violations are
//! reported at once, before any call.

use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Key, Location, Obstacle, Urn};
use purlin_state::Record;

use crate::error::Error;
use crate::plan::{Action, Operation, OperationKind, Step, Warning};
use crate::recorded::{Recorded, exists};

/// The maximum number of resources named in the error of a protected environment.
const NAMED: usize = 10;

/// `environment` is the location that forbids deletions in the environment.
///
/// # Errors
/// [`Error::Documents`] with every protected resource that would be deleted or replaced.
pub(super) fn check(
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
    graph: Option<&Graph>,
    environment: Option<&Location>,
) -> Result<(), Error> {
    let mut refusals = Vec::new();
    let mut going = Vec::new();
    for operation in operations {
        let Some(step) = steps.get(operation.step as usize) else { continue };
        let (what, by_hand) = match (&operation.kind, step.action) {
            (OperationKind::Delete { id, .. }, Action::Delete) if id.superseded.is_none() => {
                let Some(record) = recorded.get(id).filter(|record| exists(record)) else { continue };
                going.push((&step.key, "deleted"));
                if !record.protect && !record.pinned {
                    continue;
                }
                ("deleted", record.pinned)
            }
            (OperationKind::Create { .. }, Action::Replace) => {
                going.push((&step.key, "replaced"));
                let node = operation.node.and_then(|node| graph?.node(node));
                let by_documents = node.as_ref().is_some_and(|node| node.lifecycle.protect);
                // The recorded protection still counts in this run, since the edit that causes the
                // replacement may also have removed the protection.
                let record = recorded.current(&step.urn);
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
                "deploy it once with `lifecycle.protect: false` and nothing else changed, or revert the change \
                 that replaces it"
                    .to_owned()
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
            && recorded.unmet(&step.urn).is_some_and(|unmet| unmet.obstacle == Obstacle::Paused)
    };
    let message = "it was paused, and is deleted because it left the documents";
    let paused = steps.iter().filter(is_paused);
    paused.map(|step| Warning { key: step.key.clone(), message: message.to_owned() }).collect()
}

fn of_environment(place: &Location, going: &[(&Key, &str)]) -> Diagnostic {
    let count = match going.len() {
        1 => "1 resource".to_owned(),
        count => format!("{count} resources"),
    };
    let message = format!("the environment is protected, and {count} would be deleted or replaced");
    let mut refusal = Diagnostic::error("protected", message).at(place).spanning("protect".len());
    for (key, what) in going.iter().take(NAMED) {
        refusal = refusal.fact(format!("`{key}` would be {what}"));
    }
    if let Some(more) = going.len().checked_sub(NAMED).filter(|more| *more > 0) {
        refusal = refusal.fact(format!("and {more} more"));
    }
    refusal.help("set `protect` to false here while they are deleted, or revert the change that deletes them")
}
