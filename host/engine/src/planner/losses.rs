//! The steps that lose data (SPEC §9). A step loses data if it deletes a resource that holds data
//! according to its driver, at creation or now, or if such a resource is deleted with its host, or if
//! its driver foresees that a part with data goes, with its resource or without it, or if such a part is
//! recorded. Forgotten, retained and observed resources lose nothing.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_graph::{Graph, Node};
use purlin_model::Urn;
use purlin_state::{Record, RecordId};

use crate::changes::data_loss::{DataLossReader, LostData};
use crate::driver::recorded_name;
use crate::driver::{Driver, Drivers, Needed};
use crate::plan::{DriverSet, Loss, Operation, OperationKind, Step};
use crate::records::recorded::{Recorded, exists};

/// Marks the steps that lose data, and allows the losses that the documents allow
/// (`lifecycle.allow_data_loss`).
pub(super) async fn mark(
    recorded: &Recorded,
    steps: &mut [Step],
    operations: &[Operation],
    graph: Option<&Graph>,
    drivers: &dyn Drivers,
    set: &DriverSet,
) {
    for step in steps.iter_mut() {
        let Some(what) = LostData::of_parts(step.parts()) else { continue };
        // A resource without a record has no parts yet.
        let record = recorded.current(&step.urn);
        let allowed = record.is_some_and(|record| is_allowed(graph, step, record));
        step.loss = Some(Box::new(Loss { what, allowed }));
    }
    let going = going(recorded, steps, operations);
    if going.is_empty() {
        return;
    }
    // A guest needs no driver to be deleted, but without a driver it is unknown what the guest
    // holds.
    let mut others: HashMap<Arc<str>, Option<Arc<dyn Driver>>> = HashMap::new();
    for (_, record) in &going {
        let slot = recorded_name(record);
        if !set.contains_key(&slot) && !others.contains_key(&slot) {
            let driver = drivers.find(Needed::Recorded(&record.driver.name, &record.driver.version)).await;
            others.insert(slot, driver.ok());
        }
    }
    let mut holding = DataLossReader::default();
    for (step, record) in going {
        let slot = recorded_name(&record);
        let driver = set.get(&slot).or_else(|| others.get(&slot)?.as_ref());
        // Both the current driver and the driver that made the resource count: the current one may
        // be a different driver with the same name, and the earlier one may not have declared it
        // yet.
        let declared = driver.and_then(|driver| {
            let schema = driver.info().schema(record.urn.key()?.type_name())?;
            holding.of(schema, &record.inputs)
        });
        let deletion = steps.get(step as usize).and_then(|step| step.deletion.as_deref());
        let lost = LostData::of(&record)
            .or(declared)
            .or_else(|| LostData::of_deleted(&record, deletion))
            .or_else(|| driver.is_none().then_some(LostData::Unknown));
        let (Some(what), Some(step)) = (lost, steps.get_mut(step as usize)) else { continue };
        let allowed = is_allowed(graph, step, &record);
        step.loss = Some(Box::new(Loss { what, allowed }));
    }
}

/// Whether the documents allow that the data of a recorded resource is lost.
fn is_allowed(graph: Option<&Graph>, step: &Step, record: &Record) -> bool {
    let node = graph.and_then(|graph| graph.node(graph.find(step.key.as_str())?));
    // The setting of a different definition says nothing about this resource.
    let made_by_it = |node: &Node<'_>| record.definition == node.recipe.name;
    node.filter(made_by_it).is_some_and(|node| node.lifecycle.allow_data_loss)
}

/// The records that are really deleted, each with its step.
fn going(recorded: &Recorded, steps: &[Step], operations: &[Operation]) -> Vec<(u32, Arc<Record>)> {
    // By the time of the deletion, the current record may be an old copy.
    let record = |id: &RecordId| recorded.get(id).or_else(|| recorded.current(&id.urn)).cloned();
    let counts = |record: &Arc<Record>| exists(record) && !record.external;
    let mut going = Vec::new();
    let mut company = Vec::new();
    for operation in operations {
        let OperationKind::Delete { id, call: true, also, .. } = &operation.kind else { continue };
        going.extend(record(id).filter(counts).map(|record| (operation.step, record)));
        company.extend(also);
    }
    if company.is_empty() {
        return going;
    }
    let mut deleted: HashMap<&RecordId, u32> = HashMap::new();
    for operation in operations {
        if let OperationKind::Delete { id, .. } = &operation.kind {
            deleted.insert(id, operation.step);
        }
    }
    let named: HashMap<&Urn, u32> = (0u32..).zip(steps).map(|(index, step)| (&step.urn, index)).collect();
    for id in company {
        let step = deleted.get(id).or_else(|| named.get(&id.urn));
        if let (Some(step), Some(record)) = (step, record(id).filter(counts)) {
            going.push((*step, record));
        }
    }
    going
}
