//! Refuses to delete or replace what is protected (SPEC §9, `lifecycle.protect`): all of it at
//! once, before anything is called.

use purlin_graph::Graph;
use purlin_model::Diagnostic;

use crate::error::Error;
use crate::plan::{Action, Operation, Step, Work};
use crate::recorded::{Recorded, exists};

/// # Errors
/// [`Error::Documents`] with everything protected that would go.
pub(super) fn check(
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
    graph: Option<&Graph>,
) -> Result<(), Error> {
    let mut refusals = Vec::new();
    for operation in operations {
        let Some(step) = steps.get(operation.step as usize) else { continue };
        let (what, by_hand) = match (&operation.work, step.action) {
            (Work::Delete { id, .. }, Action::Delete) if id.superseded.is_none() => {
                let Some(record) = recorded.get(id).filter(|record| exists(record)) else { continue };
                if !record.protect && !record.pinned {
                    continue;
                }
                ("deleted", record.pinned)
            }
            (Work::Create { .. }, Action::Replace) => {
                let node = operation.node.and_then(|node| graph?.node(node));
                let by_documents = node.as_ref().is_some_and(|node| node.lifecycle.protect);
                let by_hand = recorded.current(&step.urn).is_some_and(|record| record.pinned);
                if !by_documents && !by_hand {
                    continue;
                }
                ("replaced", by_hand)
            }
            _ => continue,
        };
        let mut refusal =
            Diagnostic::error("protected", format!("`{}` is protected and would be {what}", step.key));
        for reason in &step.reasons {
            refusal = refusal.fact(reason.clone());
        }
        refusals.push(refusal.help(match (by_hand, step.action) {
            (true, _) => format!("`purlin state protect --off '{}'` lifts the protection", step.key),
            (false, Action::Replace) => {
                "set `lifecycle.protect` to false, or take back what replaces it".to_owned()
            }
            (false, _) => "deploy it once with `lifecycle.protect: false`; then it can go".to_owned(),
        }));
    }
    if refusals.is_empty() { Ok(()) } else { Err(Error::Documents(refusals)) }
}
