//! Calls with an unknown outcome. Each plan reports them, and a run that covers one fails until the
//! user settles it.

use std::collections::HashSet;
use std::sync::Arc;

use purlin_model::{Key, Reason, Urn};

use crate::plan::{Action, Operation, OperationKind, Step, Warning};
use crate::recorded::Recorded;

/// The warnings about calls with an unknown outcome.
pub(super) fn warnings(recorded: &Recorded) -> Vec<Warning> {
    let warning = |intent: &Arc<purlin_state::Intent>| {
        let key = intent.id().urn.key()?;
        let message = format!(
            "an earlier run was interrupted while creating it, and it is unknown whether it exists; check, and \
             run `purlin state settle {key}` with `--made ID` or `--not-made`"
        );
        matches!(intent.operation, purlin_state::Operation::Create(_)).then_some(Warning { key, message })
    };
    recorded.all_pending().filter_map(warning).collect()
}

/// Adds resources that an interrupted call may have created and that the documents no longer
/// contain. They cannot be deleted until the user settles whether they exist, so a run that covers
/// one fails.
pub(super) fn creations(
    recorded: &Recorded,
    is_described: impl Fn(&Key) -> bool,
    scope: Option<&HashSet<Urn>>,
    steps: &mut Vec<Step>,
    operations: &mut Vec<Operation>,
) {
    for made in recorded.perhaps_made() {
        let urn = made.urn.clone();
        let in_scope = scope.is_none_or(|scope| scope.contains(&urn));
        let (true, Some(key)) = (in_scope, urn.key()) else { continue };
        if is_described(&key) {
            continue;
        }
        let step = steps.iter().position(|step| step.urn == urn).unwrap_or_else(|| {
            let reasons = vec![Reason::MayExist];
            steps.push(Step { reasons, ..Step::new(key, urn.clone(), Action::Read) });
            steps.len() - 1
        });
        let is_undecided = |operation: &Operation| {
            operation.step as usize == step && matches!(operation.kind, OperationKind::Undecided)
        };
        if operations.iter().any(is_undecided) {
            continue;
        }
        // If the resource exists, it needs its dependencies.
        let own = operations.len() as u32;
        for operation in operations.iter_mut() {
            if matches!(&operation.kind, OperationKind::Delete { id, .. } if made.dependencies.contains(&id.urn))
            {
                operation.after.push(own);
            }
        }
        let after = Vec::new();
        operations.push(Operation { step: step as u32, node: None, kind: OperationKind::Undecided, after });
    }
}
