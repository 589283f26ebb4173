//! What deletions would delete, as the drivers with a preview say. A deletion follows from the documents
//! and the records, and a preview that fails must not prevent it: the plan then warns that it does not
//! show the parts.

use std::sync::Arc;

use purlin_model::driver::{Failure, Inputs};
use purlin_model::{Context, Value};
use purlin_sandbox::CallError;

use crate::changes::answers::Total;
use crate::changes::ask::{self, Foreseen, Foresight};
use crate::changes::fate;
use crate::driver::recorded_name;
use crate::plan::{DriverSet, Operation, OperationKind, Step, Warning};
use crate::records::recorded::{Recorded, exists};

/// Asks the drivers of what is deleted with a call, and adds the forecasts to the steps. Nothing is asked
/// about what is only forgotten, goes with its host, or is going away already.
pub(super) async fn foresee(
    recorded: &Recorded,
    steps: &mut [Step],
    operations: &[Operation],
    set: &DriverSet,
    (context, parallelism): (&Context, usize),
    warnings: &mut Vec<Warning>,
) {
    let deletions = operations.iter().filter_map(|operation| {
        let step = operation.step;
        Some((step, deletion(recorded, steps.get(step as usize)?, operation, set)?))
    });
    let (asked, effects): (Vec<u32>, Vec<_>) = deletions.map(|(step, effect)| (step, Some(effect))).unzip();
    let total = Arc::new(Total::new(asked.len()));
    let forecasts = ask::foresee_all(effects, context, parallelism, &total).await;
    for (step, forecast) in asked.into_iter().zip(forecasts) {
        let (Some(step), Some(forecast)) = (steps.get_mut(step as usize), forecast) else { continue };
        match forecast {
            Ok(forecast) => {
                // Nothing reads the outputs of what is gone.
                step.deletion = forecast.map(|mut forecast| {
                    forecast.outputs = Value::map();
                    Box::new(forecast)
                });
            }
            Err(failed) if matches!(failed.error, CallError::Failure(Failure::NotFound(_))) => {}
            Err(failed) => {
                let message = format!(
                    "the plan does not show the parts that are deleted with it, or their data: {failed}"
                );
                warnings.push(Warning { key: step.key.clone(), message });
            }
        }
    }
}

/// The effect of an operation that deletes, if its driver foresees it.
fn deletion(recorded: &Recorded, step: &Step, operation: &Operation, set: &DriverSet) -> Option<Foreseen> {
    let OperationKind::Delete { id, call: true, .. } = &operation.kind else { return None };
    // By the time of the deletion, the current record may be an old copy.
    let record = recorded.get(id).or_else(|| recorded.current(&id.urn))?;
    if !exists(record) || record.external || fate::is_going(record) {
        return None;
    }
    let driver = set.get(&recorded_name(record)).filter(|driver| driver.previews())?;
    Some(Foreseen {
        key: step.key.clone(),
        urn: step.urn.clone(),
        inputs: Inputs::clone(&record.inputs),
        driver: Arc::clone(driver),
        name: None,
        record: Some(Arc::clone(record)),
        fate: Foresight::IsDeleted,
    })
}
