//! Calls that are cut off, and the recovery by the next run.

use std::time::{Duration, Instant};

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Label, Value};
use purlin_sandbox::{CallError, Change};

use super::life::{self, Life};
use crate::bench::{Bench, Blame, CallOptions, Made, is_broken};
use crate::test_case::TestCase;
use crate::watch::Cut;

/// The maximum number of tried instants of one call.
const MOST: usize = 40;
/// The number of instants that are tried however long they take.
const FEWEST: usize = 4;
/// The maximum time for the system to come to rest.
const LONGEST_SETTLE: Duration = Duration::from_secs(1);
/// The pause after a run that made no progress.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// No run begins later than this after the first.
const LAST_RUN: Duration = Duration::from_secs(5);

/// Instants of a call that calls the host this many times: all of them or evenly chosen ones.
pub(crate) fn instants(total: usize) -> Vec<Cut> {
    let count = total.min(MOST);
    let mut at: Vec<usize> =
        (0..count).map(|n| 1 + n * total.saturating_sub(1) / count.saturating_sub(1).max(1)).collect();
    at.dedup();
    at.into_iter().map(Cut::At).collect()
}

/// Words for an instant.
pub(crate) fn when(cut: Cut, total: usize) -> String {
    match cut {
        Cut::At(n) => format!("cut off at its call {n} of {total} to the host"),
        Cut::BeforeCheckpoint => "cut off before its checkpoint was kept".to_owned(),
        Cut::AfterCheckpoint => "cut off after its checkpoint was kept".to_owned(),
        Cut::Answer(n) => format!("with the answer {n} of {total} lost"),
    }
}

pub(crate) async fn create(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    const RULE: &str = "create.cut";
    if !bench.wants(test_case, RULE) {
        return;
    }
    let implements = test_case.schema.implements;
    if !implements.read && !implements.repeat_create {
        bench.findings.skip(RULE, "without `read` and `repeat-create`, a person has to decide");
        return;
    }
    let mut all = instants(life.host_calls);
    if life.reports_checkpoint {
        all.extend([Cut::BeforeCheckpoint, Cut::AfterCheckpoint]);
    }
    each(bench, test_case, RULE, all, async |bench, cut| {
        once(bench, test_case, life, cut, &when(cut, life.host_calls)).await;
        true
    })
    .await;
}

/// The same in an order in which the first few are spread over the whole range.
fn spread(all: Vec<Cut>) -> Vec<Cut> {
    let step = (all.len() / FEWEST).max(1);
    (0..step).flat_map(|first| all.iter().skip(first).step_by(step).copied().collect::<Vec<_>>()).collect()
}

async fn once(bench: &mut Bench, test_case: &TestCase, life: &Life, cut: Cut, when: &str) {
    const RULE: &str = "create.cut";
    let key = bench.key();
    let how = CallOptions {
        key: Some(key.clone()),
        cut: Some(cut),
        blame: Blame::Nobody,
        ..CallOptions::default()
    };
    let done = bench.create(test_case, how, &life.inputs, &life.name).await;
    bench.findings.tried(RULE);
    if matches!(done.answer, Err(CallError::Cancelled)) {
        // A server continues its work: after a real crash, the next run also starts later.
        tokio::time::sleep(life.took.min(LONGEST_SETTLE)).await;
        let checkpoint = done.seen.checkpoints.last().cloned();
        Recovery { rule: RULE, when, key, checkpoint }.run(bench, test_case, life).await;
    }
    one_at_most(bench, test_case, life, RULE, when).await;
}

/// Deletes the found object; then there is no other.
pub(crate) async fn one_at_most(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    rule: &'static str,
    when: &str,
) {
    for Made { state, inputs } in bench.alive.clone() {
        bench.delete(test_case, &state, &inputs).await;
    }
    if test_case.schema.implements.read {
        let more = bench.read(test_case, None, &life.name, &life.inputs, None).await.answer;
        if let Ok(Some(observed)) = more {
            let what = format!("{when}, a second one is found next to it: `{}`", observed.state.id);
            bench.fail(test_case, rule, what, "exactly one");
            bench.alive.push(Made { state: observed.state, inputs: life.inputs.clone() });
        } else if more.is_err_and(|error| !is_broken(&error)) {
            let what = format!("{when}, after it is found and deleted, `read` fails");
            bench.fail(test_case, rule, what, "none");
        }
    }
    bench.clear(test_case).await;
}

/// The host's recovery of a create with an unknown outcome.
pub(crate) struct Recovery<'a> {
    pub(crate) rule: &'static str,
    /// Words for what happened.
    pub(crate) when: &'a str,
    pub(crate) key: String,
    pub(crate) checkpoint: Option<Label>,
}

/// Why a run made no progress.
struct Stuck {
    what: String,
    expected: &'static str,
    hint: &'static str,
}

impl Recovery<'_> {
    /// Runs one after another, as operators start them. A slow server may still be working for the
    /// interrupted call, so only a lasting fault is the driver's. Once the rule is broken, more
    /// examples are not worth the wait.
    pub(crate) async fn run(&self, bench: &mut Bench, test_case: &TestCase, life: &Life) {
        let mut pause = life.took.clamp(FIRST_PAUSE, LONGEST_SETTLE);
        let begun = Instant::now();
        loop {
            let Some(stuck) = self.once(bench, test_case, life).await else { return };
            let is_known = bench.findings.is_broken(self.rule);
            if is_known || begun.elapsed() > LAST_RUN || bench.stop.is_requested() {
                bench.fail_with(test_case, self.rule, stuck.what, stuck.expected, Some(stuck.hint));
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn once(&self, bench: &mut Bench, test_case: &TestCase, life: &Life) -> Option<Stuck> {
        let when = self.when;
        if test_case.schema.implements.read {
            let id = self.checkpoint.as_ref().map(Label::expose);
            match bench.read(test_case, id, &life.name, &life.inputs, None).await.answer {
                Ok(Some(observed)) => {
                    let half = life::changed(&observed, life.read_values.as_ref());
                    let made = Made { state: observed.state, inputs: life.inputs.clone() };
                    if !bench.alive.iter().any(|known| known.state.id.expose() == made.state.id.expose()) {
                        bench.alive.push(made);
                    }
                    let key = half?;
                    let what = format!("{when}, it is incomplete: `values.{key}` is wrong");
                    let hint = "write to a temporary name and rename, or use a transaction";
                    return Some(Stuck { what, expected: "the complete resource, or none", hint });
                }
                Ok(None) => {}
                Err(error) => {
                    let what = format!("{when}, its outcome cannot be determined: `read` fails");
                    let hint = "an incomplete resource has to be reported as missing or as existing";
                    return (!is_broken(&error)).then_some(Stuck {
                        what,
                        expected: "the resource, or none",
                        hint,
                    });
                }
            }
        }
        let how = CallOptions { key: Some(self.key.clone()), ..CallOptions::default() };
        let answer = bench.create(test_case, how, &life.inputs, &life.name).await.answer;
        answer.is_err_and(|error| !is_broken(&error)).then(|| Stuck {
            what: format!("{when}, it cannot be created again"),
            expected: "the resource",
            hint: "remains of an earlier attempt must not block the next one",
        })
    }
}

/// The observations of an update.
pub(crate) struct Updated {
    /// How often it called the host.
    pub(crate) host_calls: usize,
    /// How many answers of servers it received.
    pub(crate) answers: usize,
    /// The values that `read` returned afterwards.
    pub(crate) read_values: Option<Value>,
}

/// An update that is cut off, and repeated.
pub(crate) async fn update(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    after: &Inputs,
    updated: &Updated,
) {
    const RULE: &str = "update.cut";
    if !bench.wants(test_case, RULE) {
        return;
    }
    each(bench, test_case, RULE, instants(updated.host_calls), async |bench, cut| {
        interrupted(bench, test_case, (life, after, updated), RULE, cut).await
    })
    .await;
}

/// Tries some of the ways to interrupt a call, as many as there is time for. `once` returns whether
/// to continue.
pub(crate) async fn each(
    bench: &mut Bench,
    test_case: &TestCase,
    rule: &'static str,
    all: Vec<Cut>,
    once: impl AsyncFn(&mut Bench, Cut) -> bool,
) {
    bench.findings.tried(rule);
    let begun = Instant::now();
    for (tried, cut) in spread(all).into_iter().enumerate() {
        if bench.stop.is_requested() || (tried >= FEWEST && begun.elapsed() > bench.patience.cuts) {
            break;
        }
        let goes_on = once(bench, cut).await;
        bench.clear(test_case).await;
        if !goes_on {
            break;
        }
    }
}

/// An update that is interrupted, and repeated.
pub(crate) async fn interrupted(
    bench: &mut Bench,
    test_case: &TestCase,
    (life, after, updated): (&Life, &Inputs, &Updated),
    rule: &'static str,
    cut: Cut,
) -> bool {
    let Ok(state) = bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer
    else {
        return false;
    };
    let when = when(cut, if matches!(cut, Cut::Answer(_)) { updated.answers } else { updated.host_calls });
    let key = bench.key();
    let change = Change { state: &state, before: &life.inputs, after, name: &life.name };
    let blame = if matches!(cut, Cut::Answer(_)) { Blame::Rule(rule) } else { Blame::Nobody };
    let how = CallOptions { key: Some(key.clone()), cut: Some(cut), blame, ..CallOptions::default() };
    let first = bench.update(test_case, how, change).await.answer;
    if matches!(first, Err(CallError::Cancelled | CallError::Failure(_))) {
        again(bench, test_case, life, change, key, (rule, &when, updated.read_values.as_ref())).await;
    }
    true
}

async fn again(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    change: Change<'_>,
    key: String,
    (rule, when, read_values): (&'static str, &str, Option<&Value>),
) {
    let how = CallOptions { key: Some(key), ..CallOptions::default() };
    let state: ResourceState = match bench.update(test_case, how, change).await.answer {
        Ok(state) => state,
        Err(error) => {
            if !is_broken(&error) {
                bench.fail(test_case, rule, format!("{when}, the same update fails"), "done");
            }
            return;
        }
    };
    if !test_case.schema.implements.read {
        return;
    }
    let answer =
        bench.read(test_case, Some(state.id.expose()), &life.name, change.after, Some(&state)).await.answer;
    match &answer {
        Ok(Some(observed)) => {
            if let Some(key) = life::changed(observed, read_values) {
                let what = format!("{when} and repeated, `values.{key}` is wrong");
                bench.fail(test_case, rule, what, "the same as after an undisturbed update");
            }
        }
        Ok(None) => {
            bench.fail(test_case, rule, format!("{when} and repeated, it is gone"), "the requested resource");
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
