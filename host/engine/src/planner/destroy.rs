//! Plans the deletion of recorded resources, from the records alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::{Context, Diagnostic, Obstacle, Urn, Workspace};
use purlin_state::Record;

use super::undecided::Undecided;
use super::{
    Base, Decisions, Scope, deletions, drivers, losses, missing_accounts, operations, protection, to_delete,
    used,
};
use crate::driver::Drivers;
use crate::error::Error;
use crate::names::Role;
use crate::plan::{DriverSet, Plan};

/// The options of a deletion.
#[derive(Clone, Debug)]
pub struct DestroyOptions {
    /// The resources that the plan covers. Dependencies of an excluded resource are kept too.
    pub scope: Scope,
    /// Keeps resources that other environments use, until their last user is gone. Otherwise a plan
    /// that deletes them is an error.
    pub orphan_shared: bool,
    /// Deletes only resources that were handed over in this way and no longer have users.
    pub only_left: bool,
    /// The maximum number of concurrent driver calls.
    pub parallelism: usize,
}

impl Default for DestroyOptions {
    fn default() -> Self {
        let parallelism = Workspace::PARALLELISM;
        Self { scope: Scope::default(), orphan_shared: false, only_left: false, parallelism }
    }
}

/// Plans the deletion of recorded resources, dependents first. Drivers with a preview say what that deletes.
///
/// # Errors
/// [`Error::Documents`] with every protected resource that would be deleted, and with every
/// resource that a remaining one depends on; [`Error::Integrity`] if the records contradict each
/// other.
pub async fn destroy(
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    options: DestroyOptions,
) -> Result<Plan, Error> {
    let Base { mut recorded, mut prelude, fingerprint, protected, current, users, now, .. } = base;
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
    let mut warnings = Undecided::find(&recorded, now, drivers).await.creations;
    let mut going: Vec<Urn> = going.into_iter().collect();
    prelude.extend(used::keep(&mut recorded, &mut going, (&users, options.orphan_shared), &mut warnings)?);
    let operations::Built { mut steps, operations, .. } =
        operations::build(None, &recorded, scope.as_ref(), Decisions::default(), &[], &going, &mut warnings)?;
    let mut set = DriverSet::default();
    protection::check(&recorded, &steps, &operations, None, &set, protected.as_ref())?;
    let errors = drivers::of_records(to_delete(&recorded, &operations), "delete", drivers, &mut set).await;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    missing_accounts::check(&recorded, &steps, &operations, None, &set, context).await?;
    let about = (context, options.parallelism);
    deletions::foresee(&recorded, &mut steps, &operations, &set, about, &mut warnings).await;
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
        may_be_stale: false,
        ends_staleness: false,
    })
}

/// No driver is called for a paused resource, so it cannot be deleted.
fn paused(recorded: &crate::records::recorded::Recorded, going: &HashSet<Urn>) -> Vec<Diagnostic> {
    let paused = recorded.all_obstacles().filter(|obstacle| obstacle.obstacle == Obstacle::Paused);
    let keys =
        paused.filter(|obstacle| going.contains(&obstacle.urn)).filter_map(|obstacle| obstacle.urn.key());
    keys.map(|key| {
        Diagnostic::error("paused", format!("`{key}` is paused, so no driver can delete it"))
            .help(format!("end the pause and run `purlin up`, or leave it out with `--exclude '{key}'`"))
    })
    .collect()
}

/// Excluded resources stay, together with their dependencies. So do retained resources that live in
/// an old copy that stays.
fn keep_with_dependencies(
    recorded: &crate::records::recorded::Recorded,
    scope: &HashSet<Urn>,
    going: &mut HashSet<Urn>,
) {
    let mut staying: Vec<&Record> =
        recorded.recorded_or_perhaps_made().filter(|record| !scope.contains(&record.urn)).collect();
    let mut seen = HashSet::new();
    while let Some(record) = staying.pop() {
        if record.superseded.is_none() {
            going.remove(&record.urn);
        }
        let needed = record.dependencies.iter().filter_map(|urn| recorded.current(urn));
        let retained = recorded.retained_in(record, |record| record.superseded.is_some());
        let next = needed.chain(retained).map(|record| &**record);
        staying.extend(next.filter(|record| seen.insert(record.id())));
    }
}
