//! Creates and updates resources.

use std::sync::Arc;

use purlin_graph::Node;
use purlin_model::driver::{Failure, Impact, Pending, ResourceState, broken_output};
use purlin_model::{Finding, Reason, Unfinished, Urn};
use purlin_sandbox::CallError;
use purlin_state::{Change, Durable, Operation, Record, RecordId, Status};

use super::call::{patiently, repeatedly};
use super::read::read_if_exists;
use super::{CallPermit, Completed, Outcome, Task, nothing};
use crate::changes::fate::{self, Case, Fate};
use crate::changes::{ask, data_loss, diff, digest, ignore};
use crate::driver::{Call, Driver, Effect, ReadRequest};
use crate::error::Cause;
use crate::plan::{Action, InsteadOf, OperationKind, Prepared};
use crate::records::making::{each_once, named, old_copy, reports_all, share, unfinished, with_unknown_host};
use crate::records::recorded::exists;
use crate::run::exclusion::Side;
use crate::run::run_state::RunState;
use crate::values::evaluate::{self, NodeValues};
use crate::values::predict;
use crate::values::rules::{SchemaRules, connection};
use crate::values::workload;

/// What to do, now that all inputs are known.
enum Decision {
    Keep(Option<Prepared>),
    Update(Prepared),
    Create(Prepared),
}

impl Task<'_> {
    /// Creates a resource. If one exists whose inputs were unknown during planning, it may turn out
    /// that it can be kept.
    pub(super) async fn create(
        self,
        planned: Option<&Prepared>,
        instead_of: InsteadOf,
        certain: bool,
        permit: CallPermit,
    ) -> Outcome {
        let Some(node) = self.node() else { return Ok(nothing()) };
        let driver = self.driver(&node)?;
        let mut call = self.call();
        let there = self.current();
        let record = there.as_deref().filter(|record| exists(record));
        let decision = match planned {
            Some(planned) => Decision::Create(planned.clone()),
            None => self.decide(node, &**driver, &call, record, certain, false).await?,
        };
        let (done, decision) = self.once_done(node, &**driver, &call, record, decision).await?;
        let record = done.as_ref().or(record);
        match decision {
            Decision::Keep(prepared) => self.keep_as_foreseen(&**driver, record, prepared.as_ref()),
            Decision::Update(prepared) => match record {
                Some(record) => self.change(node, &**driver, call, record, (prepared, false), permit).await,
                None => Ok(nothing()),
            },
            Decision::Create(prepared) => {
                // Only now it is decided that the old one goes.
                if let (Some(old), OperationKind::Create { makes_room: Some(dependents), .. }) =
                    (record, &self.operation.kind)
                {
                    self.make_room(old, dependents).await?;
                    return Box::pin(self.create(planned, InsteadOf::Deleted, certain, permit)).await;
                }
                let name = match driver.implements(&self.step.key).name {
                    true => driver.name(&call, &prepared.inputs).await?,
                    false => self.step.urn.guresid().as_str().into(),
                };
                // The one that this run deleted to make room counts, as in the plan.
                let before = self.shared.plan.recorded.current(&self.step.urn);
                let before = before.filter(|before| exists(before) && fate::made_it(&**driver, before));
                let replaces = before.map(|before| &before.state.id);
                let effect = Effect::Create { inputs: &prepared.inputs, name: name.expose(), replaces };
                let foreseen = self.step.forecast.as_deref();
                let foreseen = (foreseen, planned.is_some());
                let agreed = self.agreed(&**driver, &call, effect, &Arc::default(), foreseen).await?;
                call.token = agreed.token;
                let Some(made) = self.record(node, &**driver, prepared.inputs.clone(), name) else {
                    return Ok(nothing());
                };
                let made = Record { digest: prepared.digest, ..made };
                // The manual protection also survives a deletion that makes room.
                let pinned = there.as_deref().is_some_and(|record| record.pinned);
                let made = Record { pinned, parts: agreed.parts, ..made };
                // Held until the new resource is recorded. No deletion runs meanwhile, so the
                // search by name finds no object that this run is deleting.
                let side = self.shared.sides.enter(driver.known_as(), Side::Making).await;
                if record.is_none()
                    && instead_of == InsteadOf::Nothing
                    && let Some(found) = self.found_by_name(node, &**driver, &made).await?
                {
                    drop(side);
                    return self.take_over(node, &**driver, call, &found, permit).await;
                }
                let id = self.intend(Operation::Create(Box::new(made.clone())), &**driver, &mut call).await?;
                // The resource that is deleted once the new one exists. The id of another driver's
                // resource means nothing to this driver.
                let replaced = record.filter(|_| matches!(instead_of, InsteadOf::Copy(_)));
                // If the documents demand that the new resource comes first, the creation does so
                // or fails.
                let may_go_first = node.lifecycle.delete_before_replace != Some(false);
                let known = replaced.filter(|record| fate::made_it(&**driver, record));
                let replaces = known.map(|record| &record.state.id);
                let result = patiently(self.shared, self.effort, driver.patience(), || {
                    driver.create(&call, &prepared.inputs, made.name.expose(), replaces)
                })
                .await;
                if let (true, Err(CallError::Failure(Failure::NeedsDeleteBefore(_))), Some(old)) =
                    (may_go_first, &result, replaced)
                {
                    // Nothing was created. The old resource is deleted now instead of after this
                    // call.
                    drop(side);
                    self.written(vec![self.withdrawn(id)]).await?;
                    self.make_room(old, &[]).await?;
                    return Box::pin(self.create(planned, InsteadOf::Deleted, certain, permit)).await;
                }
                drop(permit);
                let rules = &self.shared.plan.rules;
                let (key, inputs) = (&self.step.key, &prepared.inputs);
                let certain =
                    predict::outputs(rules, &**driver, key, inputs, None, &[], self.step.promised());
                let (made, failure) =
                    match finish(made, result, &certain, &**driver, rules, self.step.key.type_name()) {
                        Ok(finished) => finished,
                        Err(error) => return Err(self.failed(id, error).await),
                    };
                let mut changes = Vec::with_capacity(3);
                if let (Some(record), InsteadOf::Copy(number)) = (record, instead_of) {
                    changes.push(Change::Put(Box::new(old_copy(record, number, &made))));
                }
                if let (Some(record), InsteadOf::Forgotten) = (record, instead_of) {
                    changes.extend(self.shared.left_behind(&record.id()));
                }
                // The grace begins when the creation ends, since the object may be that new.
                let now = self.shared.moments.next();
                let made = Record { created: now, updated: now, ..made };
                // Other records with the same id are allowed here: resources may be swapping names.
                changes.push(Change::Put(Box::new(made.clone())));
                changes.push(Change::Settle(id));
                let durable = self.shared.submit(changes)?;
                drop(side);
                let action = if record.is_some() || instead_of == InsteadOf::Deleted {
                    Action::Replace
                } else {
                    Action::Create
                };
                self.provisioned(node, &**driver, made, action, (durable, failure)).await
            }
        }
    }

    /// Deletes the old resource before the new one is created, and before it its dependents that are
    /// replaced too, whose operations follow.
    async fn make_room(self, old: &Record, dependents: &[u32]) -> Result<(), Cause> {
        let plan = &self.shared.plan;
        for index in dependents {
            let Some(operation) = plan.operations.get(*index as usize) else { continue };
            let Some(step) = plan.steps.get(operation.step as usize) else { continue };
            // A retained resource is only forgotten, and only for its successor.
            if !matches!(operation.kind, OperationKind::Create { instead_of: InsteadOf::Copy(_), .. }) {
                continue;
            }
            let dependent = Task { index: *index, operation, step, ..self };
            // The new one is not in the way.
            if dependent.is_replaced(&step.urn) {
                continue;
            }
            dependent.delete_now(&RecordId::current(step.urn.clone())).await?;
        }
        self.delete_now(&old.id()).await
    }

    async fn delete_now(self, id: &RecordId) -> Result<(), Cause> {
        match Box::pin(self.delete(id, true, true, None)).await?.durable {
            Some(durable) => Ok(durable.await?),
            None => Ok(()),
        }
    }

    /// Looks for an existing resource without a record, when more may exist than is recorded. A
    /// driver finds only this resource's own object by its name.
    async fn found_by_name(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        made: &Record,
    ) -> Result<Option<Record>, Cause> {
        if !self.shared.plan.may_be_stale || !driver.implements(&self.step.key).read {
            return Ok(None);
        }
        let known = self.known_as(made);
        let request = ReadRequest {
            id: None,
            name: made.name.expose(),
            inputs: &made.inputs,
            state: None,
            known: &known,
        };
        let Some(found) = read_if_exists(driver, &self.call(), request).await? else { return Ok(None) };
        // The host is uncertain until the resource matches the documents.
        let (state, digest) = (found.state.clone(), [0; 32]);
        let wanted = with_unknown_host(&Record { state, digest, ..made.clone() });
        let mut record = self.refreshed(driver, &wanted, &found);
        let has_params = made.inputs.params.as_map().is_some_and(|params| !params.is_empty());
        let reports_inputs = reports_all(&wanted.inputs, &found);
        let can_update = driver.implements(&self.step.key).update;
        // The original inputs are unknown, so the resource is updated to the desired ones. If it
        // has a host, that must be certain too.
        if can_update && (has_params || !reports_inputs) || made.deleted_with.is_some() && !reports_inputs {
            record.status = Status::Partial(Unfinished::InterruptedCreate);
        }
        // The resource cannot live in an object that was created a moment ago, so its real host is
        // no longer known.
        record.tainted = made.deleted_with.as_ref().is_some_and(|host| self.shared.has_made(host));
        // An object that is already recorded is not the one.
        let mut changes = vec![Change::Put(Box::new(record.clone()))];
        changes.extend(self.may_need(node, &record));
        let Ok(durable) = self.shared.claim(&record, |_| true, changes)? else { return Ok(None) };
        durable.await?;
        self.shared.note_found(made.urn.clone());
        self.observed(Finding::FoundByName, Vec::new());
        Ok(Some(record))
    }

    /// The changes for the dependents of a found resource that are in an unknown state: they may
    /// depend on it already. Records never form a cycle.
    fn may_need(self, node: Node<'_>, found: &Record) -> Vec<Change> {
        let RunState { plan, .. } = &**self.shared;
        let Some(graph) = plan.graph.as_ref() else { return Vec::new() };
        let dependents = graph.dependents(node.id).iter().filter_map(|id| {
            let id = RecordId::current(Urn::new(&plan.context, graph.key(*id)?));
            if found.dependencies.iter().any(|urn| !self.shared.may_depend(&id.urn, urn)) {
                return None;
            }
            let record = self.recorded(&id).filter(|record| exists(record) && record.digest == [0; 32])?;
            let dependencies = record.dependencies.iter().chain([&self.step.urn]).cloned();
            let dependencies = each_once(dependencies);
            Some(Change::Put(Box::new(Record { dependencies, ..Record::clone(&record) })))
        });
        dependents.collect()
    }

    /// Updates a found resource in place to match the documents, as far as that is possible.
    async fn take_over(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        call: Call,
        found: &Record,
        permit: CallPermit,
    ) -> Outcome {
        let decision = self.decide(node, driver, &call, Some(found), false, false).await?;
        let (done, decision) = self.once_done(node, driver, &call, Some(found), decision).await?;
        let found = done.as_ref().unwrap_or(found);
        match decision {
            Decision::Keep(prepared) => self.keep_as_foreseen(driver, Some(found), prepared.as_ref()),
            Decision::Update(prepared) => {
                self.change(node, driver, call, found, (prepared, false), permit).await
            }
            Decision::Create(_) => Ok(nothing()),
        }
    }

    /// Updates a resource in place, unless it turns out that nothing changed.
    pub(super) async fn update(
        self,
        planned: Option<&Prepared>,
        always: bool,
        permit: CallPermit,
    ) -> Outcome {
        let Some(node) = self.node() else { return Ok(nothing()) };
        let driver = self.driver(&node)?;
        let call = self.call();
        let Some(record) = self.current() else { return Ok(nothing()) };
        if !exists(&record) {
            return Err(self.deleted_meanwhile());
        }
        let decision = match planned {
            Some(planned) => Decision::Update(planned.clone()),
            None => self.decide(node, &**driver, &call, Some(&record), false, always).await?,
        };
        let (done, decision) = self.once_done(node, &**driver, &call, Some(&record), decision).await?;
        let record = done.map_or(record, Arc::new);
        match decision {
            Decision::Keep(prepared) => self.keep_as_foreseen(&**driver, Some(&record), prepared.as_ref()),
            Decision::Update(prepared) => {
                let prepared = (prepared, planned.is_some());
                self.change(node, &**driver, call, &record, prepared, permit).await
            }
            Decision::Create(_) => Ok(nothing()),
        }
    }

    /// Leaves a resource alone that needs no change after all. Its dependents may be planned with outputs
    /// that its driver promised.
    fn keep_as_foreseen(
        self,
        driver: &dyn Driver,
        record: Option<&Record>,
        prepared: Option<&Prepared>,
    ) -> Outcome {
        let promised = self.step.promised();
        let broken = record.and_then(|record| broken_output(promised?, &record.state.outputs));
        match broken {
            Some(path) => Err(Cause::Inconsistent { driver: driver.known_as().to_owned(), path }),
            None => self.keep(prepared),
        }
    }

    /// A resource in progress that is as the documents ask only needs time: it is waited for, and decided
    /// about again. Other inputs do not wait: what never becomes ready could not be corrected otherwise.
    async fn once_done(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        call: &Call,
        record: Option<&Record>,
        decision: Decision,
    ) -> Result<(Option<Record>, Decision), Cause> {
        match (record, decision) {
            (Some(record), Decision::Update(prepared))
                if fate::is_on_its_way(record) && prepared.inputs == record.inputs =>
            {
                let done = Box::pin(self.is_done(driver, record, None)).await?;
                let decision = self.decide(node, driver, call, Some(&done), false, false).await?;
                Ok((Some(done), decision))
            }
            (_, decision) => Ok((None, decision)),
        }
    }

    /// The record of a resource in progress, once it is done. `first` is what its driver just said.
    pub(super) async fn is_done(
        self,
        driver: &dyn Driver,
        record: &Record,
        first: Option<&Pending>,
    ) -> Result<Record, Cause> {
        match self.ready(driver, record, first).await? {
            (record, None) => Ok(record),
            (_, Some(failure)) => Err(failure),
        }
    }

    /// Decides with inputs that were unknown when the plan was made. The result may be less than
    /// planned, but never more.
    async fn decide(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        call: &Call,
        record: Option<&Record>,
        certain: bool,
        always: bool,
    ) -> Result<Decision, Cause> {
        let Some(graph) = self.shared.plan.graph.as_ref() else { return Ok(Decision::Keep(None)) };
        let RunState { node_values, plan, .. } = &**self.shared;
        let inputs = evaluate::read_inputs(graph, node, node_values, plan).await;
        let mut inputs = inputs.map_err(Cause::Inputs)?;
        if let Some(record) = record {
            // The plan already rejected paths that do not exist.
            ignore::keep_recorded(&node.lifecycle.ignore_changes, &record.inputs, &mut inputs);
        }
        let rules = &plan.rules;
        rules.connect(driver, node.key.type_name(), &mut inputs);
        let reads_params = rules.reads_params(driver, node);
        let digest = digest::of(&inputs, reads_params, driver.known_as(), driver.digest());
        let reached = record.and_then(|record| {
            let inputs = connection::brought_up_to_date(driver.info(), record, &inputs, reads_params)?;
            Some(Record { inputs, ..record.clone() })
        });
        let is_out_of_date = reached.is_some();
        let record = reached.as_ref().or(record);
        if let Some(record) = record
            && !(certain || always)
            && fate::is_unchanged(record, driver, &inputs, &digest)
        {
            let prepared = || Prepared { inputs: record.inputs.clone(), digest, stable: Vec::new() };
            return Ok(Decision::Keep(is_out_of_date.then(prepared)));
        }
        // These values were unknown when the plan was made.
        let mut violations = rules.params(graph, node, &inputs.params);
        violations.extend(rules.inputs(graph, node, driver, &inputs));
        if !violations.is_empty() {
            return Err(Cause::Inputs(violations));
        }
        rules.fill(driver, node.key.type_name(), &mut inputs, record.map(|record| &record.inputs));
        if driver.implements(&self.step.key).check {
            let current = self.current();
            let draft = self.shared.plan.drafts.get(&node.id).map(|draft| &draft.inputs);
            let previous = draft.or(current.as_deref().map(|record| &record.inputs));
            let checked = driver.check(call, &inputs, previous).await?;
            inputs.values = checked.values;
            inputs.secrets = checked.secrets;
        }
        let Some(record) = record else {
            return Ok(Decision::Create(Prepared { inputs, digest, stable: Vec::new() }));
        };
        // The plan already decided the order of the replacement.
        let name = record.name.expose();
        let before = fate::compared(record, &inputs);
        let impact = match fate::made_it(driver, record) {
            true => ask::impact(driver, call, &record.state, &before, &inputs, name, certain).await?,
            false => Impact::default(),
        };
        let impact = fate::promised(record, impact);
        let mut changes = diff::inputs(Some(&before), &inputs);
        let case = Case {
            record,
            driver,
            inputs: &inputs,
            impact: &impact,
            lifecycle: node.lifecycle,
            definition: node.recipe.name.as_deref(),
            forced: certain.then_some(Reason::ReplaceRequested),
            always,
        };
        let (fate, reasons) = fate::decide(&case, &mut changes);
        let Impact { stable_outputs: stable, .. } = impact;
        let prepared = Prepared { inputs, digest, stable };
        match fate {
            Fate::Keep => Ok(Decision::Keep(Some(prepared))),
            Fate::Update => Ok(Decision::Update(prepared)),
            Fate::Replace { .. } if self.step.action == Action::Replace => Ok(Decision::Create(prepared)),
            Fate::Replace { .. } => Err(Cause::MoreThanPlanned { reasons }),
        }
    }

    /// Changes a resource in place. The inputs come with whether the plan foresaw just this change.
    async fn change(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        mut call: Call,
        record: &Record,
        (prepared, is_as_planned): (Prepared, bool),
        permit: CallPermit,
    ) -> Outcome {
        let name = record.name.clone();
        let Some(changed) = self.record(node, driver, prepared.inputs.clone(), name) else {
            return Ok(nothing());
        };
        let changed = Record {
            digest: prepared.digest,
            state: record.state.clone(),
            created: record.created,
            pinned: record.pinned,
            share: share(node, Some(record)),
            named: named(node, &record.state),
            holds_data: data_loss::data_to_record(
                driver,
                self.step.key.type_name(),
                &prepared.inputs,
                Some(record),
            ),
            ..changed
        };
        // If the recorded host was replaced or is no longer recorded, the resource may still live
        // in the previous object.
        let is_elsewhere = match &changed.deleted_with {
            Some(host) if record.deleted_with.as_ref() == Some(host) => !self.shared.has_current_host(record),
            Some(host) => *record.perhaps_deleted_with == [host.clone()] && self.is_younger(host, record),
            None => false,
        };
        let changed = if is_elsewhere { with_unknown_host(&changed) } else { changed };
        let rules = &self.shared.plan.rules;
        let (key, inputs, stable) = (&self.step.key, &prepared.inputs, &prepared.stable);
        let promised = self.step.promised();
        let certain = predict::outputs(rules, driver, key, inputs, Some(record), stable, promised);
        let before = fate::compared(record, &prepared.inputs);
        let change = purlin_sandbox::Change {
            state: &record.state,
            before: &before,
            after: &prepared.inputs,
            name: record.name.expose(),
        };
        let planned = (self.step.forecast.as_deref(), is_as_planned);
        let agreed = self.agreed(driver, &call, Effect::Update(change), &record.parts, planned).await?;
        call.token = agreed.token;
        let changed = Record { parts: agreed.parts, ..changed };
        let id = self.intend(Operation::Update(Box::new(changed.clone())), driver, &mut call).await?;
        let result =
            repeatedly(self.shared, self.effort, driver.patience(), || driver.update(&call, change)).await;
        drop(permit);
        // The desired inputs are not the actual ones.
        let changed = match &result {
            Err(CallError::Failure(Failure::Partial { .. })) => Record {
                deployment: Arc::clone(&changed.deployment),
                // This driver wrote the state and the cookie.
                driver: changed.driver.clone(),
                protect: changed.protect,
                share: changed.share.clone(),
                retain: changed.retain,
                holds_data: changed.holds_data.clone().or_else(|| record.holds_data.clone()),
                ..self.between(record, &changed)
            },
            _ => changed,
        };
        let (changed, failure) =
            match finish(changed, result, &certain, driver, rules, self.step.key.type_name()) {
                Ok(finished) => finished,
                Err(error) => {
                    let is_missing = matches!(error, CallError::Failure(Failure::NotFound(_)));
                    let cause = self.failed(id, error).await;
                    if is_missing {
                        self.note_missing(driver, record).await?;
                    }
                    return Err(cause);
                }
            };
        let durable = self.shared.submit(vec![Change::Put(Box::new(changed.clone())), Change::Settle(id)])?;
        self.provisioned(node, driver, changed, Action::Update, (durable, failure)).await
    }

    /// Reports the result of a call, and waits for a resource in progress.
    async fn provisioned(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        made: Record,
        action: Action,
        (durable, failure): (Durable, Option<Cause>),
    ) -> Outcome {
        if let Some(Cause::Call(failed)) = &failure
            && let CallError::Failure(Failure::Pending { pending, .. }) = &failed.error
            && fate::is_on_its_way(&made)
        {
            durable.await?;
            let ready = Box::pin(self.is_done(driver, &made, Some(pending))).await?;
            let known = NodeValues::settled(&ready.inputs, &ready.state);
            self.shared.node_values.fill(node.id, known);
            return Ok(Completed { action, durable: None });
        }
        let known = NodeValues::settled(&made.inputs, &made.state);
        self.finished(node, known, action, durable, failure).await
    }

    /// Reports the result. Dependents may begin as soon as the result is on its way to the disk,
    /// since their own intents come after it.
    async fn finished(
        self,
        node: Node<'_>,
        known: NodeValues,
        action: Action,
        durable: Durable,
        failure: Option<Cause>,
    ) -> Outcome {
        if let Some(failure) = failure {
            durable.await?;
            return Err(failure);
        }
        self.shared.node_values.fill(node.id, known);
        Ok(Completed { action, durable: Some(durable) })
    }
}

pub(super) fn id_taken(driver: &dyn Driver, record: &Record, holder: &Record) -> Cause {
    let (id, other) = (record.state.id.clone(), holder.urn.clone());
    Cause::IdTaken { driver: driver.known_as().to_owned(), id, other }
}

/// Why a state that a driver returned does not count as complete: its outputs break a promise of the
/// resource type or of the driver.
pub(super) fn broken_promise(
    driver: &dyn Driver,
    rules: &SchemaRules,
    type_name: &str,
    state: &ResourceState,
) -> Option<Cause> {
    let faults = rules.outputs(driver, type_name, &state.outputs);
    (!faults.is_empty()).then(|| Cause::Outputs { driver: driver.known_as().to_owned(), faults })
}

/// The record of a resource that exists, but not as promised. Nothing is lost, and a later run
/// changes or deletes it.
pub(super) fn partial(record: Record, cause: &Cause) -> Record {
    let status = Status::Partial(Unfinished::Failed { message: cause.to_string() });
    Record { status, ..record }
}

/// The record of a call's result, and the reason if the result still counts as a failure. An error
/// means that there is nothing to record.
pub(super) fn finish(
    record: Record,
    result: Result<ResourceState, CallError>,
    certain: &purlin_model::Value,
    driver: &dyn Driver,
    rules: &SchemaRules,
    type_name: &str,
) -> Result<(Record, Option<Cause>), CallError> {
    match result {
        Ok(state) => {
            let driver_name = || driver.known_as().to_owned();
            let broken = || broken_promise(driver, rules, type_name, &state);
            let cause = match broken_output(certain, &state.outputs) {
                Some(path) => Some(Cause::Inconsistent { driver: driver_name(), path }),
                None => broken().or_else(|| {
                    record.urn.key().and_then(|key| {
                        let error = workload::check(&key, &record.inputs.params, &state.outputs).err()?;
                        Some(Cause::Workload { error, definition: None })
                    })
                }),
            };
            let record = Record { state, ..record };
            Ok(match cause {
                None => (record, None),
                Some(cause) => (partial(record, &cause), Some(cause)),
            })
        }
        Err(error) => {
            let (state, status) = match &error {
                CallError::Failure(Failure::Partial { state, problem }) => {
                    (state, Status::Partial(Unfinished::Failed { message: problem.to_string() }))
                }
                CallError::Failure(Failure::Pending { state: Some(state), pending }) => {
                    let status = match driver.implements_for(&record).read {
                        true => unfinished(pending, false),
                        // Nobody can look whether it is ready.
                        false => Unfinished::Failed {
                            message: format!(
                                "the driver has no `read`, and is not done: {}",
                                pending.message
                            ),
                        },
                    };
                    (state, Status::Partial(status))
                }
                _ => return Err(error),
            };
            let record = Record { state: ResourceState::clone(state), status, ..record };
            Ok((record, Some(Cause::from(error))))
        }
    }
}
