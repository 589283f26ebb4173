//! Plans to delete what is recorded, from the record alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{Context, Diagnostic, Obstacle, Reason, Urn};

use super::{
    Base, Decisions, Role, Scope, drivers, losses, operations, protection, to_delete, undecided, used,
};
use crate::driver::Drivers;
use crate::error::Error;
use crate::plan::{Action, DriverSet, Operation, Plan, Step, Work};

/// What is deleted.
#[derive(Clone, Debug, Default)]
pub struct DestroyOptions {
    /// Which resources it is about. What an excluded one depends on stays too.
    pub scope: Scope,
    /// Leaves in place what others use in other environments: it goes when the last of them does. Otherwise nothing
    /// that they use may go.
    pub orphan_shared: bool,
    /// Deletes what was handed over so, and nobody uses any more; nothing else.
    pub only_left: bool,
}

/// Plans to delete what is recorded, dependents first.
///
/// # Errors
/// [`Error::Documents`] with everything protected that would go, and with everything that others,
/// which stay, depend on; [`Error::Integrity`] when the records contradict each other.
pub async fn destroy(
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    options: DestroyOptions,
) -> Result<Plan, Error> {
    let Base { mut recorded, mut prelude, fingerprint, protected, current, users, .. } = base;
    let scope = options.scope.resolve(context, None, &recorded, Role::Target).map_err(Error::Names)?;
    let mut going: HashSet<Urn> = recorded.all_current().map(|record| record.urn.clone()).collect();
    if let Some(scope) = &scope {
        if options.scope.targets.is_empty() {
            keep_with_dependencies(&recorded, scope, &mut going);
        } else {
            going.retain(|urn| scope.contains(urn));
        }
    }
    if options.only_left {
        let left = used::left(&recorded, &users);
        going.retain(|urn| left.contains(urn));
    }
    let paused = paused(&recorded, &going);
    if !paused.is_empty() {
        return Err(Error::Documents(paused));
    }
    let mut warnings = undecided(&recorded);
    let mut going: Vec<Urn> = going.into_iter().collect();
    prelude.extend(used::keep(&mut recorded, &mut going, (&users, options.orphan_shared), &mut warnings)?);
    let operations::Built { mut steps, mut operations, .. } =
        operations::build(None, &recorded, scope.as_ref(), Decisions::default(), &[], &going, &mut warnings)?;
    protection::check(&recorded, &steps, &operations, None, protected.as_ref())?;
    undecided_creations(&recorded, scope.as_ref(), &mut steps, &mut operations);
    let mut set = DriverSet::default();
    let errors = drivers::of_records(to_delete(&recorded, &operations), "delete", drivers, &mut set).await;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    losses::mark(&recorded, &mut steps, &operations, None, drivers, &set).await;
    Ok(Plan {
        context: context.clone(),
        steps,
        warnings,
        suggestions: Vec::new(),
        offline: false,
        prelude,
        operations,
        graph: None,
        current,
        recorded: Arc::new(recorded),
        drivers: set,
        drafts: HashMap::new(),
        rules: Arc::default(),
        vault: Arc::default(),
        fingerprint,
        goes_on: false,
        doubted: false,
        ends_doubt: false,
    })
}

/// What an interrupted call may have created, and nobody knows: it cannot be deleted, and whoever deletes
/// everything has to be told so.
fn undecided_creations(
    recorded: &crate::recorded::Recorded,
    scope: Option<&HashSet<Urn>>,
    steps: &mut Vec<Step>,
    operations: &mut Vec<Operation>,
) {
    for made in recorded.perhaps_made() {
        let urn = made.urn.clone();
        let in_scope = scope.is_none_or(|scope| scope.contains(&urn));
        let (true, Some(key)) = (in_scope, urn.key()) else { continue };
        let step = steps.iter().position(|step| step.urn == urn).unwrap_or_else(|| {
            let reasons = vec![Reason::MayExist];
            steps.push(Step { reasons, ..Step::new(key, urn.clone(), Action::Read) });
            steps.len() - 1
        });
        // If it is there, it needs what it was made from.
        let own = operations.len() as u32;
        for operation in operations.iter_mut() {
            if matches!(&operation.work, Work::Delete { id, .. } if made.dependencies.contains(&id.urn)) {
                operation.after.push(own);
            }
        }
        let after = Vec::new();
        operations.push(Operation { step: step as u32, node: None, work: Work::Undecided, after });
    }
}

/// No driver is called for a paused resource, so that it cannot be deleted.
fn paused(recorded: &crate::recorded::Recorded, going: &HashSet<Urn>) -> Vec<Diagnostic> {
    let paused = recorded.all_unmet().filter(|unmet| unmet.obstacle == Obstacle::Paused);
    let keys = paused.filter(|unmet| going.contains(&unmet.urn)).filter_map(|unmet| unmet.urn.key());
    keys.map(|key| {
        Diagnostic::error("paused", format!("`{key}` is paused, so that no driver can delete it"))
            .help(format!("end the pause and run `purlin up`, or leave it out with `--exclude '{key}'`"))
    })
    .collect()
}

/// What is left out stays, and what it depends on with it.
fn keep_with_dependencies(
    recorded: &crate::recorded::Recorded,
    scope: &HashSet<Urn>,
    going: &mut HashSet<Urn>,
) {
    let mut stack: Vec<Urn> = going.iter().filter(|urn| !scope.contains(*urn)).cloned().collect();
    let perhaps_made = recorded.perhaps_made().filter(|made| !scope.contains(&made.urn));
    stack.extend(perhaps_made.flat_map(|made| made.dependencies.iter().cloned()));
    while let Some(urn) = stack.pop() {
        going.remove(&urn);
        if let Some(record) = recorded.current(&urn) {
            stack.extend(record.dependencies.iter().filter(|urn| going.contains(*urn)).cloned());
        }
    }
}
