//! Carrying out one step: resolve, check, call, write down.

use std::sync::Arc;

use purlin_graph::Node;
use purlin_model::Urn;
use purlin_model::driver::{Failure, Inputs, ResourceState, Subject};
use purlin_sandbox::CallError;
use purlin_state::{Change, DriverVersion, Record, Status};
use tokio::sync::SemaphorePermit;

use crate::apply::Shared;
use crate::driver::{Call, Driver};
use crate::error::Cause;
use crate::evaluate::{self, Known};
use crate::order;
use crate::plan::{Action, Step};
use crate::planner::{self, recorded_name, requirement_name};
use crate::{digest, plan::Prepared};

/// What a step came to: what was really done, or why not.
pub(crate) type Outcome = Result<Action, Cause>;

/// The right to call drivers, given back before a result is written down: waiting for the disk
/// keeps nobody else from calling.
type Turn<'a> = Option<SemaphorePermit<'a>>;

/// Carries out step `index`. Nothing counts before the store has it.
pub(crate) async fn carry_out(shared: &Arc<Shared>, index: u32, turn: Turn<'_>) -> Outcome {
    let Some(step) = shared.plan.steps.get(index as usize) else { return Ok(Action::None) };
    match step.action {
        Action::None => {
            match (&step.prepared, step.node.and_then(|node| shared.plan.graph.as_ref()?.node(node))) {
                (Some(prepared), Some(node)) => {
                    keep(shared, step, Some((&**driver(shared, &node)?, prepared.digest))).await
                }
                _ => keep(shared, step, None).await,
            }
        }
        Action::Create | Action::Update => provision(shared, step, turn).await,
        Action::Delete => delete(shared, step, turn).await,
    }
}

/// Leaves a resource alone. What is only written down about it (what it depends on, what end it
/// is to meet, and with `anew` the driver and the digest that it is known by) follows the graph, or
/// the record would name resources that are gone.
async fn keep(shared: &Shared, step: &Step, anew: Option<(&dyn Driver, [u8; 32])>) -> Outcome {
    let Some(node) = shared.plan.graph.as_ref().and_then(|graph| graph.node(step.node?)) else {
        return Ok(Action::None);
    };
    let Some(record) = shared.plan.records.get(&step.urn) else { return Ok(Action::None) };
    shared.board.settle(node.id, Known::settled(&record.inputs, &record.state));
    let dependencies = dependencies(shared, step);
    let (protect, retain) = (node.recipe.lifecycle.protect, node.recipe.lifecycle.retain);
    let digest = anew.map_or(record.digest, |(_, digest)| digest);
    if dependencies == record.dependencies
        && (protect, retain, digest) == (record.protect, record.retain, record.digest)
    {
        return Ok(Action::None);
    }
    let driver = anew.map_or_else(|| record.driver.clone(), |(driver, _)| version(driver));
    let record = Record { driver, dependencies, protect, retain, digest, ..Record::clone(record) };
    commit(shared, Change::Put(Box::new(record))).await?;
    Ok(Action::None)
}

fn version(driver: &dyn Driver) -> DriverVersion {
    DriverVersion {
        name: driver.known_as().into(),
        version: driver.manifest().version.to_string().into(),
        digest: driver.digest().into(),
    }
}

fn driver<'a>(shared: &'a Shared, node: &Node<'_>) -> Result<&'a Arc<dyn Driver>, Cause> {
    let slot = requirement_name(&node.recipe.driver);
    shared.plan.drivers.get(&slot).ok_or_else(|| Cause::NoDriver(format!("no driver `{slot}`")))
}

async fn provision(shared: &Arc<Shared>, step: &Step, turn: Turn<'_>) -> Outcome {
    let Some(graph) = shared.plan.graph.as_ref() else { return Ok(Action::None) };
    let Some(node) = step.node.and_then(|node| graph.node(node)) else { return Ok(Action::None) };
    let driver = driver(shared, &node)?;
    let record = shared.plan.records.get(&step.urn);
    let mut call = call(shared, step);
    let prepared = match &step.prepared {
        Some(prepared) => Prepared::clone(prepared),
        None => {
            let inputs = evaluate::inputs(graph, node, &shared.board).map_err(Cause::Inputs)?;
            let digest = digest::of(&inputs, driver.known_as(), driver.digest());
            if let Some(record) = record
                && record.digest == digest
                && record.status == Status::Ready
            {
                // What it reads did not change after all.
                return keep(shared, step, None).await;
            }
            let inputs = check(&**driver, &call, inputs, record.map(|r| &r.inputs)).await?;
            if let Some(record) = record
                && planner::is_as_wanted(record, &inputs, &**driver)
            {
                return keep(shared, step, Some((&**driver, digest))).await;
            }
            Prepared { inputs, digest }
        }
    };
    call.idempotency_key = idempotency_key(step, &prepared.digest, record.map(|record| &**record));
    let name = match record {
        Some(record) => record.name.clone(),
        None if driver.manifest().implements.name => driver.name(&call, &prepared.inputs).await?,
        None => step.urn.guresid().as_str().to_owned(),
    };
    shared.count_call();
    let result = match record {
        None => driver.create(&call, &prepared.inputs, &name).await,
        Some(record) => {
            let (state, before) = (&record.state, &record.inputs);
            let change = purlin_sandbox::Change { state, before, after: &prepared.inputs, name: &name };
            replaceable(&**driver, &call, change).await?;
            driver.update(&call, change).await
        }
    };
    drop(turn);
    let (state, status, failure) = match result {
        Ok(state) => (state, Status::Ready, None),
        Err(CallError::Failure(Failure::Partial { state, message })) => {
            let failure = Failure::Partial { state: state.clone(), message: message.clone() };
            (*state, Status::Partial { message }, Some(CallError::Failure(failure)))
        }
        Err(error) => return Err(error.into()),
    };
    let action = if record.is_some() { Action::Update } else { Action::Create };
    let known = Known::settled(&prepared.inputs, &state);
    let record = remember(shared, step, &**driver, prepared, state, status, name);
    commit(shared, Change::Put(Box::new(record))).await?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    shared.board.settle(node.id, known);
    Ok(action)
}

/// Inputs that were unknown at plan time are checked here for the first time.
async fn check(
    driver: &dyn Driver,
    call: &Call,
    mut inputs: Inputs,
    previous: Option<&Inputs>,
) -> Result<Inputs, Cause> {
    if driver.manifest().implements.check {
        let checked = driver.check(call, &inputs, previous).await?;
        inputs.values = checked.values;
        inputs.secrets = checked.secrets;
    }
    Ok(inputs)
}

/// Refuses what cannot be changed in place, now that all inputs are known.
async fn replaceable(
    driver: &dyn Driver,
    call: &Call,
    change: purlin_sandbox::Change<'_>,
) -> Result<(), Cause> {
    if !driver.manifest().implements.update_impact || change.before == change.after {
        return Ok(());
    }
    let impact = driver.update_impact(call, change).await?;
    match impact.replaces.first() {
        None => Ok(()),
        Some(pointer) => Err(Cause::Replacement { pointer: pointer.clone() }),
    }
}

async fn delete(shared: &Arc<Shared>, step: &Step, turn: Turn<'_>) -> Outcome {
    let Some(record) = shared.plan.records.get(&step.urn) else { return Ok(Action::None) };
    if record.retain {
        commit(shared, Change::Remove(step.urn.clone())).await?;
        return Ok(Action::Delete);
    }
    let slot = recorded_name(record);
    let Some(driver) = shared.plan.drivers.get(&slot) else {
        return Err(Cause::NoDriver(format!("no driver `{slot}`")));
    };
    let mut call = call(shared, step);
    call.idempotency_key = idempotency_key(step, &record.digest, Some(record));
    shared.count_call();
    let result = driver.delete(&call, &record.state, &record.inputs).await;
    drop(turn);
    match result {
        // Gone already is gone.
        Ok(()) | Err(CallError::Failure(Failure::NotFound(_))) => {}
        Err(error) => return Err(error.into()),
    }
    commit(shared, Change::Remove(step.urn.clone())).await?;
    Ok(Action::Delete)
}

fn remember(
    shared: &Shared,
    step: &Step,
    driver: &dyn Driver,
    prepared: Prepared,
    state: ResourceState,
    status: Status,
    name: String,
) -> Record {
    let now = (shared.clock)();
    let recipe = step.node.and_then(|node| Some(Arc::clone(shared.plan.graph.as_ref()?.node(node)?.recipe)));
    let lifecycle = recipe.as_ref().map(|recipe| &recipe.lifecycle);
    Record {
        urn: step.urn.clone(),
        status,
        driver: version(driver),
        definition: recipe.as_ref().and_then(|recipe| recipe.name.clone()),
        name,
        inputs: prepared.inputs,
        state,
        dependencies: dependencies(shared, step),
        digest: prepared.digest,
        protect: lifecycle.is_some_and(|lifecycle| lifecycle.protect),
        retain: lifecycle.is_some_and(|lifecycle| lifecycle.retain),
        created: shared.plan.records.get(&step.urn).map_or(now, |record| record.created),
        updated: now,
        deployment: Arc::clone(&shared.plan.context.deployment),
    }
}

fn dependencies(shared: &Shared, step: &Step) -> Vec<Urn> {
    match (step.node, shared.plan.graph.as_ref()) {
        (Some(node), Some(graph)) => {
            order::dependency_urns(graph, &shared.plan.step_of, &shared.plan.steps, node)
        }
        _ => Vec::new(),
    }
}

fn call(shared: &Arc<Shared>, step: &Step) -> Call {
    let (events, key, action) = (shared.events.clone(), step.key.clone(), step.action);
    Call {
        subject: Subject {
            urn: step.urn.clone(),
            key: step.key.clone(),
            context: shared.plan.context.clone(),
        },
        idempotency_key: String::new(),
        cancel: shared.cancel.clone(),
        progress: Arc::new(move |message, percent| events.progress(&key, action, message, percent)),
    }
}

/// The same for a repeated attempt at the same change of the same thing, another after any change.
fn idempotency_key(step: &Step, digest: &[u8; 32], record: Option<&Record>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 idempotency key v1");
    hasher.update(step.urn.as_str().as_bytes());
    hasher.update(step.action.as_str().as_bytes());
    hasher.update(digest);
    hasher.update(&record.map_or(0, |record| record.updated).to_le_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

async fn commit(shared: &Shared, change: Change) -> Result<(), Cause> {
    shared.store.commit(vec![change]).await.map_err(|error| Cause::State(Arc::new(error)))
}
