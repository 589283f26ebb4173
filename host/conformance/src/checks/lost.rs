//! Answers that are lost on their way to the driver: the request may have been carried out.

use purlin_model::driver::Failure;
use purlin_model::driver::Inputs;
use purlin_sandbox::CallError;

use super::cut::{self, Recovery, Updated};
use super::life::Life;
use super::read::UNREADABLE;
use crate::bench::{Bench, Blame, CallOptions, Made};
use crate::test_case::TestCase;
use crate::watch::Cut;

const NO_SERVER: &str = "the driver receives no answers over the network";

/// Each answer of a call in turn.
fn answers(of: usize) -> Vec<Cut> {
    cut::instants(of)
        .into_iter()
        .map(|cut| match cut {
            Cut::At(n) => Cut::Answer(n),
            other => other,
        })
        .collect()
}

fn wants(bench: &mut Bench, test_case: &TestCase, rule: &'static str, answers: usize) -> bool {
    if answers == 0 {
        bench.findings.skip(rule, NO_SERVER);
        return false;
    }
    bench.wants(test_case, rule)
}

pub(crate) async fn create(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    const RULE: &str = "create.lost";
    let implements = test_case.schema.implements;
    if !wants(bench, test_case, RULE, life.answers) {
        return;
    }
    if !implements.read {
        bench.findings.skip(RULE, UNREADABLE);
        return;
    }
    cut::each(bench, test_case, RULE, answers(life.answers), async |bench, cut| {
        made(bench, test_case, life, cut).await;
        true
    })
    .await;
}

async fn made(bench: &mut Bench, test_case: &TestCase, life: &Life, cut: Cut) {
    const RULE: &str = "create.lost";
    let when = cut::when(cut, life.answers);
    let key = bench.key();
    let how = CallOptions {
        key: Some(key.clone()),
        cut: Some(cut),
        blame: Blame::Rule(RULE),
        ..CallOptions::default()
    };
    let done = bench.create(test_case, how, &life.inputs, &life.name).await;
    let checkpoint = done.seen.checkpoints.last().cloned();
    match done.answer {
        Err(CallError::Failure(Failure::Undecided(_))) => {
            Recovery { rule: RULE, when: &when, key, checkpoint }.run(bench, test_case, life).await;
        }
        Err(CallError::Failure(Failure::Partial { .. } | Failure::Pending { .. })) | Ok(_) => {}
        Err(CallError::Failure(_)) => {
            let found = bench.read(test_case, None, &life.name, &life.inputs, None).await.answer;
            if let Ok(Some(observed)) = found {
                let what = format!(
                    "{when}, it reports that it created nothing, but it created `{}`",
                    observed.state.id
                );
                let hint = "end with `undecided` when the answer to a request with effects is lost";
                bench.fail_with(test_case, RULE, what, "`undecided`, or the resource", Some(hint));
                bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
            }
        }
        Err(_) => {}
    }
    cut::one_at_most(bench, test_case, life, RULE, &when).await;
}

pub(crate) async fn update(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    after: &Inputs,
    updated: &Updated,
) {
    const RULE: &str = "update.lost";
    if wants(bench, test_case, RULE, updated.answers) {
        cut::each(bench, test_case, RULE, answers(updated.answers), async |bench, cut| {
            cut::interrupted(bench, test_case, (life, after, updated), RULE, cut).await
        })
        .await;
    }
}

pub(crate) async fn delete(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    const RULE: &str = "delete.lost";
    if wants(bench, test_case, RULE, life.last_answers) {
        cut::each(bench, test_case, RULE, answers(life.last_answers), async |bench, cut| {
            gone(bench, test_case, life, cut).await
        })
        .await;
    }
}

async fn gone(bench: &mut Bench, test_case: &TestCase, life: &Life, cut: Cut) -> bool {
    const RULE: &str = "delete.lost";
    let Ok(state) = bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer
    else {
        return false;
    };
    let when = cut::when(cut, life.last_answers);
    let how = CallOptions { cut: Some(cut), blame: Blame::Rule(RULE), ..CallOptions::default() };
    if let Err(CallError::Failure(_)) = bench.delete_with(test_case, how, &state, &life.inputs).await.answer {
        let again = bench.delete(test_case, &state, &life.inputs).await.answer;
        if matches!(again, Err(CallError::Failure(_))) {
            bench.fail(test_case, RULE, format!("{when}, it cannot be deleted"), "done");
            return true;
        }
    }
    if test_case.schema.implements.read
        && let Ok(Some(observed)) = bench.read(test_case, None, &life.name, &life.inputs, None).await.answer
    {
        bench.fail(test_case, RULE, format!("{when} and deleted again, it still exists"), "none");
        bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
    }
    true
}
