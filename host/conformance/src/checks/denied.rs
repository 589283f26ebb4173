//! Missing grants are reported.

use purlin_model::driver::{Failure, Inputs};
use purlin_model::grants::Capability;
use purlin_sandbox::CallError;

use crate::bench::{Bench, CallOptions};
use crate::test_case::TestCase;

pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, inputs: &Inputs, name: &str) {
    const RULE: &str = "denied";
    let Some(bare) = bench.bare.clone() else {
        bench.findings.skip(RULE, "the workspace grants it nothing");
        return;
    };
    if !bench.wants(test_case, RULE) && !bench.wants(test_case, "create.clean") {
        return;
    }
    let how = CallOptions { driver: Some(bare), ..CallOptions::default() };
    let done = bench.create(test_case, how, inputs, name).await;
    bench.findings.tried(RULE);
    let expected = "`denied`, with the capability and the target that are missing";
    match &done.answer {
        // It needs none of them.
        Ok(_) => {}
        Err(CallError::Failure(Failure::Denied { capability, target, .. })) => {
            if let Err(unknown) = capability.parse::<Capability>() {
                bench.fail(test_case, RULE, unknown.to_string(), expected);
            }
            if target.is_empty() {
                bench.fail(test_case, RULE, "it does not name the target", expected);
            }
        }
        Err(CallError::Failure(_)) => {
            let hint = "check the error: a folder that does not exist, or a connection that is refused without an attempt, means a missing grant";
            bench.fail_with(
                test_case,
                RULE,
                "without its grants, `create` fails with another failure",
                expected,
                Some(hint),
            );
        }
        Err(_) => {}
    }
    bench.clear(test_case).await;
}
