//! Makes records from nodes, and from other records.

use std::collections::BTreeSet;
use std::sync::Arc;

use purlin_graph::{Graph, Node};
use purlin_model::driver::{Inputs, Observed, Pending, RecordedPart, ResourceState};
use purlin_model::{Context, InstallationShare, Label, Lifecycle, Unfinished, Urn, Value};
use purlin_state::{DriverVersion, Record, Status};

use crate::changes::data_loss;
use crate::driver::Driver;
use crate::records::recorded::hosts;

/// The record of a node, without the parts that only its driver and the clock know.
pub(crate) fn record_of(
    graph: &Graph,
    node: Node<'_>,
    context: &Context,
    driver: &dyn Driver,
    inputs: Inputs,
    name: Label,
) -> Record {
    Record {
        urn: Urn::new(context, node.key),
        holds_data: data_loss::data_to_record(driver, node.key.type_name(), &inputs, None),
        parts: Arc::default(),
        superseded: None,
        status: Status::Ready,
        driver: version(driver),
        definition: node.recipe.name.clone(),
        name,
        inputs,
        state: ResourceState::default(),
        dependencies: dependencies(graph, node, context),
        digest: [0; 32],
        protect: node.lifecycle.protect,
        pinned: false,
        retain: node.lifecycle.retain,
        external: false,
        tainted: false,
        named: None,
        deleted_with: deleted_with(graph, node, context),
        perhaps_deleted_with: Box::default(),
        share: share(node, None),
        abandoned: false,
        created: 0,
        updated: 0,
        deployment: Arc::clone(&context.deployment),
    }
}

/// The data that other environments may see of the resource. A group that a user set manually is
/// kept.
pub(crate) fn share(node: Node<'_>, before: Option<&Record>) -> Option<Arc<InstallationShare>> {
    let share = &node.installation?.share;
    match before.and_then(|before| before.share.as_deref()).filter(|before| before.by_hand) {
        Some(before) if share.uses.is_none() => Some(Arc::new(InstallationShare {
            group: before.group.clone(),
            by_hand: true,
            ..InstallationShare::clone(share)
        })),
        _ => Some(Arc::clone(share)),
    }
}

pub(crate) fn dependencies(graph: &Graph, node: Node<'_>, context: &Context) -> Box<[Urn]> {
    let keys = graph.dependencies(node.id).iter().filter_map(|id| graph.key(*id));
    each_once(keys.map(|key| Urn::new(context, key)))
}

/// Dependencies in the form that records use: sorted and without duplicates.
pub(crate) fn each_once(dependencies: impl Iterator<Item = Urn>) -> Box<[Urn]> {
    dependencies.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(crate) fn deleted_with(graph: &Graph, node: Node<'_>, context: &Context) -> Option<Urn> {
    Some(Urn::new(context, graph.key(graph.deleted_with(node.id)?)?))
}

/// The record, changed to say that its host is uncertain: the previous host or one of these.
pub(crate) fn with_possible_hosts<'a>(
    record: &'a Record,
    others: impl IntoIterator<Item = &'a Urn>,
) -> Record {
    let mut all: Vec<Urn> = hosts(record).chain(others).cloned().collect();
    all.sort_unstable();
    all.dedup();
    Record { deleted_with: None, perhaps_deleted_with: all.into(), ..record.clone() }
}

/// The record after a change that was done in part, or whose extent is unknown: it keeps the inputs from
/// before, so that the next attempt changes the resource from the old inputs to the desired ones. Its
/// time is that of the change, which distinguishes the objects that it may need from earlier and later
/// objects of the same resources. `may_depend` rejects dependencies that would form a cycle.
pub(crate) fn between(before: &Record, changed: &Record, may_depend: impl Fn(&Urn) -> bool) -> Record {
    // It may need its old dependencies as well as its new ones.
    let new = changed.dependencies.iter().filter(|on| may_depend(on));
    let dependencies = each_once(before.dependencies.iter().chain(new).cloned());
    // Whether the resource moved to another host is unknown.
    let known = match before.deleted_with == changed.deleted_with {
        true => before.clone(),
        false => with_possible_hosts(before, changed.deleted_with.as_slice()),
    };
    let parts = RecordedPart::of_either(&before.parts, &changed.parts);
    Record { digest: [0; 32], dependencies, parts, updated: changed.updated, ..known }
}

/// The record, changed to say that its host is uncertain.
pub(crate) fn with_unknown_host(record: &Record) -> Record {
    with_possible_hosts(record, &[])
}

/// The old copy with this number that a resource leaves behind when `made` takes its place. The documents
/// that replace it decide whether it is retained, not those that were deployed before. A retained copy stays
/// recorded only as long as its host exists, and keeps nothing else alive.
pub(crate) fn old_copy(before: &Record, number: u32, made: &Record) -> Record {
    let mut old = Record { superseded: Some(number), retain: made.retain, ..before.clone() };
    if old.retain {
        old.dependencies = Box::default();
    }
    old
}

/// The id by which the documents name an existing object, if the driver uses a different one.
pub(crate) fn named(node: Node<'_>, state: &ResourceState) -> Option<Arc<str>> {
    let Lifecycle { import, observe, .. } = node.lifecycle;
    observe.as_ref().or(import.as_ref()).filter(|id| state.id.expose() != &***id).cloned()
}

pub(crate) fn version(driver: &dyn Driver) -> Arc<DriverVersion> {
    Arc::new(DriverVersion {
        name: driver.known_as().into(),
        version: driver.info().version.to_string().into(),
        digest: driver.digest().into(),
    })
}

/// The record of a resource whose deletion its driver calls pending. It is retained no more.
pub(crate) fn going(record: Record, pending: &Pending) -> Record {
    Record { status: Status::Partial(unfinished(pending, true)), retain: false, ..record }
}

/// The record of a resource that its driver calls pending. What was in doubt stays so until it is ready.
pub(crate) fn in_progress(record: Record, pending: &Pending) -> Record {
    let in_doubt = match &record.status {
        Status::Partial(Unfinished::InProgress { in_doubt, .. }) => *in_doubt,
        status => *status != Status::Ready,
    };
    let message = pending.message.clone();
    let status = Status::Partial(Unfinished::InProgress { message, deletes: false, in_doubt });
    Record { status, ..record }
}

/// What a driver calls pending, as a status.
pub(crate) fn unfinished(pending: &Pending, deletes: bool) -> Unfinished {
    Unfinished::InProgress { message: pending.message.clone(), deletes, in_doubt: false }
}

/// The record of an absent resource whose entry is kept. The id stays: the system may still show the
/// object for a while.
pub(crate) fn emptied(record: &Record) -> Record {
    Record {
        status: Status::Absent,
        state: ResourceState { id: record.state.id.clone(), ..ResourceState::default() },
        digest: [0; 32],
        tainted: false,
        // An absent resource has no dependencies, so nothing needs to be kept for it.
        dependencies: Box::default(),
        parts: Arc::default(),
        ..record.clone()
    }
}

/// Whether the driver reported each of these inputs. It never reports secrets.
pub(crate) fn reports_all(inputs: &Inputs, found: &Observed) -> bool {
    let is_empty = |value: &Value| value.as_map().is_none_or(|map| map.is_empty());
    let reported = found.values.as_ref().and_then(Value::as_map);
    let values = inputs.values.as_map();
    is_empty(&inputs.secrets)
        && reported.is_some_and(|reported| {
            values.is_none_or(|values| values.keys().all(|name| reported.contains_key(name)))
        })
}
