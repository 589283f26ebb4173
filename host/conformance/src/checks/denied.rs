//! Missing grants are reported.

use purlin_model::driver::{Failure, Inputs};
use purlin_sandbox::CallError;

use crate::bench::{Bench, How};
use crate::trial::Trial;

pub(crate) async fn run(bench: &mut Bench, trial: &Trial, inputs: &Inputs, name: &str) {
    const RULE: &str = "denied";
    let Some(bare) = bench.bare.clone() else {
        bench.book.skip(RULE, "the workspace grants it nothing");
        return;
    };
    if !bench.wants(trial, RULE) && !bench.wants(trial, "create.clean") {
        return;
    }
    let how = How { driver: Some(bare), ..How::default() };
    let done = bench.create(trial, how, inputs, name).await;
    bench.book.tried(RULE);
    let right = "`denied`, with the capability and the target that are missing";
    match &done.answer {
        // It needs none of them.
        Ok(_) => {}
        Err(CallError::Failure(Failure::Denied { capability, target, .. })) => {
            let known = ["http", "tcp", "udp", "dns", "env", "dirs", "secrets"];
            if !known.contains(&capability.as_str()) {
                bench.fail(trial, RULE, format!("there is no capability `{capability}`"), right);
            }
            if target.is_empty() {
                bench.fail(trial, RULE, "it does not name the target", right);
            }
        }
        Err(CallError::Failure(_)) => {
            let hint = "check the error: a folder that does not exist, or a connection that is refused without an attempt, means a missing grant";
            bench.fail_with(
                trial,
                RULE,
                "without its grants, `create` fails with another failure",
                right,
                Some(hint),
            );
        }
        Err(_) => {}
    }
    bench.clear(trial).await;
}
