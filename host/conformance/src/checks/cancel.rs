//! Cancellation by an operator.

use purlin_sandbox::CallError;

use super::life::Life;
use crate::bench::{Bench, Blame, CallOptions};
use crate::test_case::TestCase;

pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    const RULE: &str = "cancel";
    if !bench.wants(test_case, RULE) {
        return;
    }
    // On a slow machine everything takes longer, which is not the driver's fault.
    let time = Some(bench.patience.cancelled.max(life.took * 10));
    let how = CallOptions { cancelled: true, time, blame: Blame::Nobody, ..CallOptions::default() };
    let done = bench.create(test_case, how, &life.inputs, &life.name).await;
    bench.findings.tried(RULE);
    let expected = "an answer or a failure within ten seconds";
    match &done.answer {
        Ok(_) => {}
        Err(CallError::Failure(_)) => {
            if test_case.schema.implements.read {
                super::clean::leaves_nothing(bench, test_case, life, &done.answer).await;
            }
        }
        Err(CallError::TimeLimit { .. }) => {
            let hint = "call `operation.cancelled` in each iteration";
            bench.fail_with(test_case, RULE, "it continues after it was cancelled", expected, Some(hint));
        }
        Err(_) => {
            bench.fail(test_case, RULE, "it ends without an answer when it is cancelled", expected);
        }
    }
    bench.clear(test_case).await;
}
