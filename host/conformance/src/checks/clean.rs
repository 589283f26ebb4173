//! A failed create leaves nothing.

use purlin_model::driver::ResourceState;
use purlin_sandbox::CallError;

use super::life::Life;
use super::read::UNREADABLE;
use crate::bench::{Bench, CallOptions, Made};
use crate::test_case::TestCase;

pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    const RULE: &str = "create.clean";
    if !bench.wants(test_case, RULE) {
        return;
    }
    if !test_case.schema.implements.read {
        bench.findings.skip(RULE, UNREADABLE);
        return;
    }
    let mut tried = false;
    // The host never passes inputs that `check` rejected; a driver that accepts them is not at
    // fault.
    for (inputs, _) in &test_case.invalid {
        let name = life.name.as_str();
        let answer = bench.create(test_case, CallOptions::default(), inputs, name).await.answer;
        tried |= leaves_nothing(bench, test_case, life, &answer).await;
        bench.clear(test_case).await;
    }
    if let Some(bare) = bench.bare.clone() {
        let how = CallOptions { driver: Some(bare), ..CallOptions::default() };
        let answer = bench.create(test_case, how, &life.inputs, &life.name).await.answer;
        tried |= leaves_nothing(bench, test_case, life, &answer).await;
        bench.clear(test_case).await;
    }
    if !tried {
        bench
            .findings
            .skip(RULE, "no `create` failed without effects: the case has no `invalid` that it rejects");
    }
}

/// Tests the rule after a `create`, if its answer promises that nothing was created. Returns whether it does.
pub(crate) async fn leaves_nothing(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    answer: &Result<ResourceState, CallError>,
) -> bool {
    const RULE: &str = "create.clean";
    if !matches!(answer, Err(CallError::Failure(failure)) if failure.did_nothing()) {
        return false;
    }
    bench.findings.tried(RULE);
    let left = match bench.read(test_case, None, &life.name, &life.inputs, None).await.answer {
        Ok(None) => return true,
        Ok(Some(observed)) => {
            bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
            "after a failed `create`, the resource exists"
        }
        Err(CallError::Failure(_)) => "after a failed `create`, `read` fails",
        Err(_) => return true,
    };
    let hint = "undo the changes before failing, or fail with `partial`";
    bench.fail_with(test_case, RULE, left, "none", Some(hint));
    true
}
