//! Answers that are lost on their way to the driver: the request may have been carried out.

use purlin_model::driver::Failure;
use purlin_model::driver::Inputs;
use purlin_sandbox::CallError;

use super::cut::{self, Recovery, Updated};
use super::life::Life;
use crate::bench::{Bench, Blame, How, Made};
use crate::trial::Trial;
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

fn wants(bench: &mut Bench, trial: &Trial, rule: &'static str, answers: usize) -> bool {
    if answers == 0 {
        bench.book.skip(rule, NO_SERVER);
        return false;
    }
    bench.wants(trial, rule)
}

pub(crate) async fn create(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "create.lost";
    let implements = bench.driver.manifest().implements;
    if !wants(bench, trial, RULE, life.answers) {
        return;
    }
    if !implements.read {
        bench.book.skip(RULE, "the driver does not implement `read`, so this cannot be checked");
        return;
    }
    cut::each(bench, trial, RULE, answers(life.answers), async |bench, cut| {
        made(bench, trial, life, cut).await;
        true
    })
    .await;
}

async fn made(bench: &mut Bench, trial: &Trial, life: &Life, cut: Cut) {
    const RULE: &str = "create.lost";
    let when = cut::when(cut, life.answers);
    let key = bench.key();
    let how = How { key: Some(key.clone()), cut: Some(cut), blame: Blame::Rule(RULE), ..How::default() };
    let done = bench.create(trial, how, &life.inputs, &life.name).await;
    let checkpoint = done.seen.checkpoints.last().cloned();
    match done.answer {
        Err(CallError::Failure(Failure::Undecided(_))) => {
            Recovery { rule: RULE, when: &when, key, checkpoint }.run(bench, trial, life).await;
        }
        Err(CallError::Failure(Failure::Partial { .. })) | Ok(_) => {}
        Err(CallError::Failure(_)) => {
            let found = bench.read(trial, None, &life.name, &life.inputs, None).await.answer;
            if let Ok(Some(observed)) = found {
                let what = format!(
                    "{when}, it reports that it created nothing, but it created `{}`",
                    observed.state.id
                );
                let hint = "end with `undecided` when the answer to a request with effects is lost";
                bench.fail_with(trial, RULE, what, "`undecided`, or the resource", Some(hint));
                bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
            }
        }
        Err(_) => {}
    }
    cut::one_at_most(bench, trial, life, RULE, &when).await;
}

pub(crate) async fn update(bench: &mut Bench, trial: &Trial, life: &Life, after: &Inputs, updated: &Updated) {
    const RULE: &str = "update.lost";
    if wants(bench, trial, RULE, updated.answers) {
        cut::each(bench, trial, RULE, answers(updated.answers), async |bench, cut| {
            cut::interrupted(bench, trial, (life, after, updated), RULE, cut).await
        })
        .await;
    }
}

pub(crate) async fn delete(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "delete.lost";
    if wants(bench, trial, RULE, life.last_answers) {
        cut::each(bench, trial, RULE, answers(life.last_answers), async |bench, cut| {
            gone(bench, trial, life, cut).await
        })
        .await;
    }
}

async fn gone(bench: &mut Bench, trial: &Trial, life: &Life, cut: Cut) -> bool {
    const RULE: &str = "delete.lost";
    let Ok(state) = bench.create(trial, How::default(), &life.inputs, &life.name).await.answer else {
        return false;
    };
    let when = cut::when(cut, life.last_answers);
    let how = How { cut: Some(cut), blame: Blame::Rule(RULE), ..How::default() };
    if let Err(CallError::Failure(_)) = bench.delete_with(trial, how, &state, &life.inputs).await.answer {
        let again = bench.delete(trial, &state, &life.inputs).await.answer;
        if matches!(again, Err(CallError::Failure(_))) {
            bench.fail(trial, RULE, format!("{when}, it cannot be deleted"), "done");
            return true;
        }
    }
    if bench.driver.manifest().implements.read
        && let Ok(Some(observed)) = bench.read(trial, None, &life.name, &life.inputs, None).await.answer
    {
        bench.fail(trial, RULE, format!("{when} and deleted again, it still exists"), "none");
        bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
    }
    true
}
