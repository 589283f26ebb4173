//! Checks that the accounts which a plan needs are available, before anything is done: those that are recorded
//! with what it changes or deletes, and those that the documents name.

use std::collections::HashSet;
use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::driver::Inputs;
use purlin_model::{Context, Diagnostic, Key};

use crate::driver::{Driver, recorded_name, requirement_name};
use crate::error::Error;
use crate::plan::{DriverSet, Operation, OperationKind, Step};
use crate::records::recorded::{Recorded, exists};
use crate::values::accounts;

/// # Errors
/// [`Error::Documents`] with a fault for each account that a driver cannot have, and the resource that needs
/// it.
pub(super) async fn check(
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
    graph: Option<&Graph>,
    set: &DriverSet,
    context: &Context,
) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let mut faults = Vec::new();
    for operation in operations {
        let Some(step) = steps.get(operation.step as usize) else { continue };
        let (record, prepared) = match &operation.kind {
            OperationKind::Delete { id, call: true, .. } => (recorded.get(id), None),
            OperationKind::Create { prepared, .. } => (None, prepared.as_deref()),
            OperationKind::Update { prepared, .. } => (recorded.current(&step.urn), prepared.as_deref()),
            _ => continue,
        };
        let record = record.filter(|record| exists(record));
        let by = record.and_then(|record| {
            set.get(&recorded_name(record)).or_else(|| driver_of(set, &record.driver.name))
        });
        let of_record = by.zip(record.map(|record| &record.inputs));
        let node = operation.node.and_then(|node| graph?.node(node));
        let of_documents = node
            .and_then(|node| set.get(&requirement_name(&node.recipe.driver)))
            .zip(prepared.map(|prepared| &prepared.inputs));
        for (driver, inputs) in of_record.into_iter().chain(of_documents) {
            let needed =
                (driver.known_as().to_owned(), step.key.type_name().to_owned(), inputs.account.clone());
            if seen.insert(needed) {
                faults.extend(fault(&**driver, &step.key, inputs, context).await);
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
}

fn driver_of<'a>(set: &'a DriverSet, name: &str) -> Option<&'a Arc<dyn Driver>> {
    set.values().find(|driver| driver.known_as() == name)
}

async fn fault(driver: &dyn Driver, key: &Key, inputs: &Inputs, context: &Context) -> Option<Diagnostic> {
    let fault = accounts::fault(driver, key.type_name(), inputs, context).await?;
    Some(fault.fact(format!("`{key}` needs it")))
}
