//! Plans that find out the real state: the outcome of interrupted calls, and the resources
//! themselves.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::{Context, Reason, Unfinished, Urn};
use purlin_state::{Operation as Intended, Record};

use super::drivers;
use super::{Base, Scope};
use crate::driver::Drivers;
use crate::driver::recorded_name;
use crate::error::Error;
use crate::names::Role;
use crate::plan::{Action, DriverSet, Operation, OperationKind, Plan, Step};
use crate::records::recorded::exists;

/// Makes a plan that reads the resources in a scope and records the results. Paused resources, and
/// those whose drivers cannot read, are left out.
///
/// # Errors
/// [`Error::Documents`] if a driver is missing, [`Error::Names`] if a name in the scope matches
/// nothing.
pub async fn refresh(
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    scope: &Scope,
) -> Result<Plan, Error> {
    let scope = scope.resolve(context, None, &base.recorded, Role::Target).map_err(Error::Names)?;
    let is_in_scope = |urn: &Urn| scope.as_ref().is_none_or(|scope| scope.contains(urn));
    read(context, base, drivers, &is_in_scope).await
}

/// Makes a plan that reads the `wanted` resources and records the results.
///
/// # Errors
/// [`Error::Documents`] if a driver is missing.
pub async fn read(
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    wanted: &(dyn Fn(&Urn) -> bool + Sync),
) -> Result<Plan, Error> {
    // The outcome of an interrupted call must be found out first.
    let open = |record: &Record| base.recorded.pending(&record.id()).is_some();
    let due = |record: &&Arc<Record>| exists(record) && !base.is_paused(&record.urn) && !open(record);
    let is_wanted = |record: &&Arc<Record>| due(record) && wanted(&record.urn);
    let mut records: Vec<Arc<Record>> = base.recorded.all_current().filter(is_wanted).cloned().collect();
    records.sort_by(|a, b| a.urn.cmp(&b.urn));
    let mut set = DriverSet::default();
    let errors = drivers::of_records(records.iter().map(|record| &**record), "read", drivers, &mut set).await;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    records.retain(|record| {
        set.get(&recorded_name(record)).is_some_and(|driver| driver.implements_for(record).read)
    });
    let refresh = |record: Arc<Record>| (record.urn.clone(), Reason::Refreshed, OperationKind::Refresh);
    let calls = records.into_iter().map(refresh);
    Ok(upkeep(context, base, set, calls.collect()))
}

/// Makes a plan that finds out the outcome of interrupted calls: by the id that the driver
/// reported, or else by name, or else by repeating the call with the same idempotency key. Later
/// plans report the calls that stay undecided; Purlin never guesses (SPEC §10).
///
/// With `look_only`, no call has effects: a call that could be resolved only by repeating it is
/// assumed to have done nothing. Use this to look ahead, not to record the result.
///
/// # Errors
/// [`Error::Documents`] if a driver is missing.
pub async fn recover(
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    look_only: bool,
) -> Result<Plan, Error> {
    let mut set = DriverSet::default();
    let mut calls = Vec::new();
    let mut of: Vec<Arc<Record>> = Vec::new();
    for intent in base.recorded.all_pending() {
        let id = intent.id();
        let (record, why) = match &intent.operation {
            Intended::Create(record) => {
                (Some(Arc::new(Record::clone(record))), Unfinished::InterruptedCreate.into())
            }
            Intended::Update(record) => {
                (Some(Arc::new(Record::clone(record))), Unfinished::InterruptedUpdate.into())
            }
            Intended::Delete(id) => (base.recorded.get(id).cloned(), Reason::InterruptedDelete),
        };
        of.extend(record);
        calls.push((id.urn.clone(), why, OperationKind::Recover { id, look_only }));
    }
    let errors =
        drivers::of_records(of.iter().map(|record| &**record), "find out about", drivers, &mut set).await;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    Ok(upkeep(context, base, set, calls))
}

fn upkeep(
    context: &Context,
    base: Base,
    drivers: DriverSet,
    calls: Vec<(Urn, Reason, OperationKind)>,
) -> Plan {
    let mut steps = Vec::with_capacity(calls.len());
    let mut operations = Vec::with_capacity(calls.len());
    for (urn, why, kind) in calls {
        let Some(key) = urn.key() else { continue };
        let step = steps.len() as u32;
        steps.push(Step { reasons: vec![why], ..Step::new(key, urn, Action::Read) });
        operations.push(Operation { step, node: None, kind, after: Vec::new() });
    }
    let may_be_stale = base.staleness().is_some();
    Plan {
        context: context.clone(),
        steps,
        warnings: Vec::new(),
        suggestions: Vec::new(),
        offline: false,
        prelude: base.prelude,
        operations,
        graph: None,
        current: base.current,
        recorded: Arc::new(base.recorded),
        drivers,
        drafts: HashMap::new(),
        rules: Arc::default(),
        vault: Arc::default(),
        fingerprint: base.fingerprint,
        goes_on: false,
        may_be_stale,
        ends_staleness: false,
    }
}
