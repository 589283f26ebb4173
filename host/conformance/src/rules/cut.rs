//! Calls that are cut off, and what the next run does about them.

use std::time::{Duration, Instant};

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Label, Value};
use purlin_sandbox::{CallError, Change};

use super::life::{self, Life};
use crate::bench::{Bench, Blame, How, Made, is_broken};
use crate::trial::Trial;
use crate::watch::Cut;

/// Instants that are tried of one call, at most.
const MOST: usize = 40;
/// Time that is spent on one call, after some instants were tried.
const ENOUGH: Duration = Duration::from_secs(30);
const FEWEST: usize = 6;
/// What the outside is given to come to rest, at most.
const LONGEST_SETTLE: Duration = Duration::from_secs(1);

/// Instants of a call that calls the host so often, all of them or evenly chosen.
pub(crate) fn instants(asked: usize) -> Vec<Cut> {
    let count = asked.min(MOST);
    let mut at: Vec<usize> =
        (0..count).map(|n| 1 + n * asked.saturating_sub(1) / count.saturating_sub(1).max(1)).collect();
    at.dedup();
    at.into_iter().map(Cut::At).collect()
}

/// Words for an instant.
pub(crate) fn when(cut: Cut, asked: usize) -> String {
    match cut {
        Cut::At(n) => format!("at its call {n} of {asked} to the host"),
        Cut::BeforeCheckpoint => "before its checkpoint was kept".to_owned(),
        Cut::AfterCheckpoint => "after its checkpoint was kept".to_owned(),
    }
}

pub(crate) async fn create(bench: &mut Bench, trial: &Trial, life: &Life) {
    const RULE: &str = "create.cut";
    if !bench.wants(trial, RULE) {
        return;
    }
    let implements = bench.driver.manifest().implements;
    if !implements.read && !implements.repeat_create {
        bench.book.skip(RULE, "without `read` and `repeat-create` a person is asked");
        return;
    }
    let mut all = instants(life.asked);
    if life.reports_checkpoint {
        all.extend([Cut::BeforeCheckpoint, Cut::AfterCheckpoint]);
    }
    let begun = Instant::now();
    let mut tried = 0;
    for cut in spread(all) {
        if bench.stop.is_requested() || (tried >= FEWEST && begun.elapsed() > ENOUGH) {
            break;
        }
        tried += 1;
        let how = How { cut: Some(cut), ..How::default() };
        once(bench, trial, life, how, &when(cut, life.asked)).await;
    }
    for quarter in 1..4u32 {
        if bench.stop.is_requested() || begun.elapsed() > ENOUGH {
            break;
        }
        let time = (life.took * quarter / 4).max(Duration::from_micros(50));
        let how = How { time: Some(time), ..How::default() };
        once(bench, trial, life, how, &format!("after {quarter} quarters of its time")).await;
    }
    if tried == 0 {
        bench.book.tried(RULE);
    }
}

/// The same in an order in which the first few are spread over the whole.
fn spread(all: Vec<Cut>) -> Vec<Cut> {
    let step = (all.len() / FEWEST).max(1);
    (0..step).flat_map(|first| all.iter().skip(first).step_by(step).copied().collect::<Vec<_>>()).collect()
}

async fn once(bench: &mut Bench, trial: &Trial, life: &Life, how: How, when: &str) {
    const RULE: &str = "create.cut";
    let key = bench.key();
    let how = How { key: Some(key.clone()), blame: Blame::Nobody, ..how };
    let done = bench.create(trial, how, &life.inputs, &life.name).await;
    bench.book.tried(RULE);
    if matches!(done.answer, Err(CallError::Cancelled | CallError::TimeLimit { .. })) {
        // A server goes on with what it was asked: after a crash, too, somebody else's turn is later.
        tokio::time::sleep(life.took.min(LONGEST_SETTLE)).await;
        let checkpoint = done.seen.checkpoints.last().cloned();
        recovered(bench, trial, life, key, checkpoint, when).await;
    }
    // What is there is deleted; then there is nothing more of it.
    for Made { state, inputs } in bench.alive.clone() {
        bench.delete(trial, &state, &inputs).await;
    }
    if bench.driver.manifest().implements.read {
        let more = bench.read(trial, None, &life.name, &life.inputs, None).await.answer;
        if let Ok(Some(observed)) = more {
            let what = format!(
                "cut off {when} and found again, there is another one beside it: `{}`",
                observed.state.id
            );
            bench.fail(trial, RULE, what, "exactly one");
            bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
        } else if more.is_err_and(|error| !is_broken(&error)) {
            bench.fail(
                trial,
                RULE,
                format!("cut off {when}, found again and deleted, something is left in its way"),
                "none",
            );
        }
    }
    bench.clear(trial).await;
}

/// Does what the host does after a crash.
async fn recovered(
    bench: &mut Bench,
    trial: &Trial,
    life: &Life,
    key: String,
    checkpoint: Option<Label>,
    when: &str,
) {
    const RULE: &str = "create.cut";
    let implements = bench.driver.manifest().implements;
    if implements.read {
        let id = checkpoint.as_ref().map(Label::expose);
        match bench.read(trial, id, &life.name, &life.inputs, None).await.answer {
            Ok(Some(observed)) => {
                bench.alive.push(Made { state: observed.state.clone(), inputs: life.inputs.clone() });
                if let Some(key) = life::changed(&observed, life.told.as_ref()) {
                    let what =
                        format!("cut off {when}, half of it is there: `values.{key}` is not as it should be");
                    let hint = "write beside and rename, or use a transaction";
                    bench.fail_with(trial, RULE, what, "the whole of it, or nothing", Some(hint));
                }
                return;
            }
            Ok(None) => {}
            Err(error) => {
                if !is_broken(&error) {
                    let what = format!("cut off {when}, nobody finds out what became of it: `read` fails");
                    let hint = "half of a thing has to look like none, or like the thing";
                    bench.fail_with(trial, RULE, what, "what is there, or none", Some(hint));
                }
                return;
            }
        }
    }
    let how = How { key: Some(key), ..How::default() };
    let answer = bench.create(trial, how, &life.inputs, &life.name).await.answer;
    if answer.is_err_and(|error| !is_broken(&error)) {
        let what = format!("cut off {when}, it cannot be made any more");
        let hint = "what an earlier attempt left must not stand in the way of the next";
        bench.fail_with(trial, RULE, what, "the resource", Some(hint));
    }
}

/// What an update showed.
pub(crate) struct Updated {
    /// How often it called the host.
    pub(crate) asked: usize,
    /// The values that `read` told afterwards.
    pub(crate) told: Option<Value>,
}

/// An update that is cut off, and made again.
pub(crate) async fn update(bench: &mut Bench, trial: &Trial, life: &Life, after: &Inputs, updated: &Updated) {
    const RULE: &str = "update.cut";
    if !bench.wants(trial, RULE) {
        return;
    }
    let begun = Instant::now();
    let mut tried = 0;
    for cut in spread(instants(updated.asked)) {
        if bench.stop.is_requested() || (tried >= FEWEST && begun.elapsed() > ENOUGH) {
            break;
        }
        tried += 1;
        let Ok(state) = bench.create(trial, How::default(), &life.inputs, &life.name).await.answer else {
            break;
        };
        let when = when(cut, updated.asked);
        let key = bench.key();
        let change = Change { state: &state, before: &life.inputs, after, name: &life.name };
        let how = How { key: Some(key.clone()), cut: Some(cut), blame: Blame::Nobody, ..How::default() };
        let first = bench.update(trial, how, change).await.answer;
        bench.book.tried(RULE);
        if matches!(first, Err(CallError::Cancelled)) {
            again(bench, trial, life, change, key, (&when, updated.told.as_ref())).await;
        }
        bench.clear(trial).await;
    }
    if tried == 0 {
        bench.book.tried(RULE);
    }
}

async fn again(
    bench: &mut Bench,
    trial: &Trial,
    life: &Life,
    change: Change<'_>,
    key: String,
    (when, told): (&str, Option<&Value>),
) {
    const RULE: &str = "update.cut";
    let how = How { key: Some(key), ..How::default() };
    let state: ResourceState = match bench.update(trial, how, change).await.answer {
        Ok(state) => state,
        Err(error) => {
            if !is_broken(&error) {
                bench.fail(trial, RULE, format!("cut off {when}, the same update fails"), "done");
            }
            return;
        }
    };
    if !bench.driver.manifest().implements.read {
        return;
    }
    let answer =
        bench.read(trial, Some(state.id.expose()), &life.name, change.after, Some(&state)).await.answer;
    match &answer {
        Ok(Some(observed)) => {
            if let Some(key) = life::changed(observed, told) {
                let what = format!("cut off {when} and repeated, `values.{key}` is not as it should be");
                bench.fail(trial, RULE, what, "what the update makes when nobody cuts it off");
            }
        }
        Ok(None) => {
            bench.fail(trial, RULE, format!("cut off {when} and repeated, it is gone"), "what was asked for");
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_all_or_evenly_chosen() {
        assert!(instants(0).is_empty());
        assert_eq!(instants(1), [Cut::At(1)]);
        assert_eq!(instants(3), [Cut::At(1), Cut::At(2), Cut::At(3)]);
        let many = instants(1000);
        assert_eq!((many.len(), many.first(), many.last()), (MOST, Some(&Cut::At(1)), Some(&Cut::At(1000))));
        let mut spread = spread(many.clone());
        assert_eq!(spread.len(), many.len());
        spread.sort_by_key(|cut| match cut {
            Cut::At(n) => *n,
            _ => 0,
        });
        assert_eq!(spread, many);
    }
}
