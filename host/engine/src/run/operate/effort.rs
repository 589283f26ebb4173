//! The cost of an operation, for its failure report: the number and duration of its driver calls,
//! and the facts that the host observed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use purlin_model::driver::Failure;
use purlin_sandbox::{CallError, Facts};

use super::Task;
use crate::error::Cause;
use crate::failed::Defined;
use crate::plan::OperationKind;
use crate::values::evaluate;

/// The cost of an operation so far.
#[derive(Default)]
pub(crate) struct Effort {
    pub(super) facts: Facts,
    attempts: AtomicU32,
    micros: AtomicU64,
    was_asked_to_wait: AtomicBool,
    is_out_of_patience: AtomicBool,
}

impl Effort {
    /// Notes that the driver asked to be called again later.
    pub(super) fn asked_to_wait(&self) {
        self.was_asked_to_wait.store(true, Ordering::Relaxed);
    }

    /// Notes that all calls so far had no effects, so that they say nothing about those of the next one.
    pub(super) fn had_no_effects(&self) {
        self.was_asked_to_wait.store(false, Ordering::Relaxed);
    }

    /// Whether the driver asked to be called again later, in any attempt.
    pub(super) fn was_asked_to_wait(&self) -> bool {
        self.was_asked_to_wait.load(Ordering::Relaxed)
    }

    /// Notes that the driver asked for longer waits than the operator allows.
    pub(super) fn out_of_patience(&self) {
        self.is_out_of_patience.store(true, Ordering::Relaxed);
    }

    /// Notes the end of a call with its attempt number.
    pub(super) fn tried(&self, attempts: u32, took: Duration) {
        self.attempts.store(attempts, Ordering::Relaxed);
        self.micros.store(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Task<'_> {
    /// Adds everything that is known about the failure to its cause.
    pub(super) fn explained(self, cause: Cause) -> Cause {
        let definition = || self.node().map(|node| Defined::by(node.recipe));
        let failed = match cause {
            Cause::Call(failed) => failed,
            Cause::Workload { error, .. } => return Cause::Workload { error, definition: definition() },
            cause => return cause,
        };
        let mut failed = match Arc::try_unwrap(failed) {
            Ok(failed) => failed,
            Err(failed) => return Cause::Call(failed),
        };
        let attempts = self.effort.attempts.load(Ordering::Relaxed);
        if attempts > 0 {
            failed.attempts = attempts;
            failed.took = Duration::from_micros(self.effort.micros.load(Ordering::Relaxed));
        }
        let node = self.node();
        let record = match &self.operation.kind {
            OperationKind::Delete { id, .. } | OperationKind::Recover { id, .. } => self.recorded(id),
            OperationKind::Refresh => self.current(),
            _ => None,
        };
        let driver = match (&record, &node) {
            (Some(record), _) => self.driver_of(record),
            (None, Some(node)) => self.driver(node),
            (None, None) => return Cause::Call(Arc::new(failed)),
        };
        let Ok(driver) = driver else { return Cause::Call(Arc::new(failed)) };
        failed.most_wait = self.effort.is_out_of_patience.load(Ordering::Relaxed).then(|| driver.patience());
        let plan = &self.shared.plan;
        let resolved = match (&node, &plan.graph) {
            (Some(node), Some(graph)) => {
                evaluate::known_inputs(graph, *node, &self.shared.node_values, plan).ok()
            }
            _ => None,
        };
        if let CallError::Failure(Failure::InvalidInputs(invalid)) = &failed.error {
            let of = plan.graph.as_deref().zip(node);
            failed.invalid = plan.rules.reported(of, &**driver, resolved.as_ref(), invalid);
        }
        let inputs = record.as_deref().map(|record| &record.inputs).or(resolved.as_ref());
        let failed = failed.explained(&**driver, &self.effort.facts, inputs, definition());
        Cause::Call(Arc::new(failed.located(&plan.rules)))
    }
}
