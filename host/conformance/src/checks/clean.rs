//! A failed create leaves nothing.

use purlin_model::driver::Failure;
use purlin_sandbox::CallError;

use super::life::Life;
use crate::bench::{Bench, How, Made};
use crate::trial::Trial;

pub(crate) async fn run(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "create.clean";
    if !bench.wants(trial, RULE) {
        return;
    }
    if !bench.driver.manifest().implements.read {
        bench.book.skip(RULE, "the driver does not implement `read`, so this cannot be checked");
        return;
    }
    let mut tried = false;
    // The host never passes inputs that `check` rejected; a driver that accepts them is not at
    // fault.
    for (inputs, _) in &trial.invalid {
        let name = life.name.as_str();
        let answer = bench.create(trial, How::default(), inputs, name).await.answer;
        if failed(&answer) {
            tried = true;
            nothing(bench, trial, life).await;
        }
        bench.clear(trial).await;
    }
    if let Some(bare) = bench.bare.clone() {
        let how = How { driver: Some(bare), ..How::default() };
        let answer = bench.create(trial, how, &life.inputs, &life.name).await.answer;
        if failed(&answer) {
            tried = true;
            nothing(bench, trial, life).await;
        }
        bench.clear(trial).await;
    }
    if !tried {
        bench.book.skip(RULE, "no `create` failed: the case has no `invalid` that it rejects");
    }
}

fn failed<R>(answer: &Result<R, CallError>) -> bool {
    matches!(answer, Err(CallError::Failure(failure)) if !matches!(failure, Failure::Partial { .. }))
}

pub(crate) async fn nothing(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "create.clean";
    bench.book.tried(RULE);
    let left = match bench.read(trial, None, &life.name, &life.inputs, None).await.answer {
        Ok(None) => return,
        Ok(Some(observed)) => {
            bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
            "after a failed `create`, the resource exists"
        }
        Err(CallError::Failure(_)) => "after a failed `create`, `read` fails",
        Err(_) => return,
    };
    let hint = "undo the changes before failing, or fail with `partial`";
    bench.fail_with(trial, RULE, left, "none", Some(hint));
}
