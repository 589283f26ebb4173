//! Cancellation by an operator.

use std::time::Duration;

use purlin_sandbox::CallError;

use super::life::Life;
use crate::bench::{Bench, Blame, How};
use crate::trial::Trial;

/// The maximum duration of a cancelled call.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "cancel";
    if !bench.wants(trial, RULE) {
        return;
    }
    // On a slow machine everything takes longer, which is not the driver's fault.
    let time = Some(PATIENCE.max(life.took * 10));
    let how = How { cancelled: true, time, blame: Blame::Nobody, ..How::default() };
    let done = bench.create(trial, how, &life.inputs, &life.name).await;
    bench.book.tried(RULE);
    let right = "an answer or a failure within ten seconds";
    match &done.answer {
        Ok(_) => {}
        Err(CallError::Failure(_)) => {
            if bench.driver.manifest().implements.read {
                super::clean::nothing(bench, trial, life).await;
            }
        }
        Err(CallError::TimeLimit { .. }) => {
            let hint = "call `operation.cancelled` in each iteration";
            bench.fail_with(trial, RULE, "it continues after it was cancelled", right, Some(hint));
        }
        Err(_) => {
            bench.fail(trial, RULE, "it ends without an answer when it is cancelled", right);
        }
    }
    bench.clear(trial).await;
}
