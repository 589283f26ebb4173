//! Changes: which ones happen in place, and which replace.

use purlin_model::Value;
use purlin_model::driver::{Failure, Impact, Inputs, Observed, ResourceState};
use purlin_sandbox::{CallError, Change};

use super::check::CASE_OR_DRIVER;
use super::cut::Updated;
use super::life::{self, Life};
use crate::bench::{Bench, CallOptions, is_broken};
use crate::merge::{self, same};
use crate::test_case::TestCase;

const BESIDE: &str = "replace.beside";
const UPDATING: [&str; 5] = ["impact.stable", "update.works", "update.repeat", "update.cut", "update.lost"];

pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    if test_case.replace.is_none() {
        bench.findings.skip(BESIDE, format!("{}: the case has no `replace`", test_case.name));
    }
    if !test_case.schema.implements.update {
        for rule in UPDATING.into_iter().chain(["impact.agrees"]) {
            bench.findings.skip(rule, "the driver does not implement `update`: every change replaces");
        }
        if let Some(wanted) = &test_case.replace
            && let Some(after) = checked(bench, test_case, life, wanted, BESIDE).await
        {
            beside(bench, test_case, life, &after, false).await;
            bench.clear(test_case).await;
        }
        return;
    }
    if let Some(wanted) = &test_case.update
        && let Some(after) = checked(bench, test_case, life, wanted, "update.works").await
        && let Some(updated) = update(bench, test_case, life, wanted, &after).await
    {
        super::cut::update(bench, test_case, life, &after, &updated).await;
        super::lost::update(bench, test_case, life, &after, &updated).await;
    }
    if test_case.update.is_none() {
        for rule in UPDATING {
            bench.findings.skip(rule, format!("{}: the case has no `update`", test_case.name));
        }
    }
    if let Some(wanted) = &test_case.replace
        && let Some(after) = checked(bench, test_case, life, wanted, "impact.agrees").await
    {
        replace(bench, test_case, life, &after).await;
    }
    if test_case.update.is_none() && test_case.replace.is_none() {
        bench
            .findings
            .skip("impact.agrees", format!("{}: the case has no `update` and no `replace`", test_case.name));
    }
    bench.clear(test_case).await;
}

/// The changed inputs in the host's form.
async fn checked(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    wanted: &Inputs,
    rule: &'static str,
) -> Option<Inputs> {
    if bench.stop.is_requested() {
        return None;
    }
    match bench.check(test_case, CallOptions::default(), wanted, Some(&life.inputs)).await.answer {
        Ok(checked) => Some(merge::checked(wanted, &checked)),
        Err(error) => {
            if !is_broken(&error) {
                let hint = Some(CASE_OR_DRIVER);
                bench.fail_with(
                    test_case,
                    rule,
                    "`check` rejects the inputs after the change",
                    "accepted inputs",
                    hint,
                );
            }
            None
        }
    }
}

/// The effect of the change: the driver's answer, with the schema's effects.
async fn impact(bench: &mut Bench, test_case: &TestCase, change: Change<'_>) -> Option<Impact> {
    match bench.impact(test_case, change).await.answer {
        Ok(impact) => Some(impact),
        Err(error) => {
            if !is_broken(&error) {
                bench.fail(test_case, "impact.agrees", "`update-impact` fails", "the impact of the change");
            }
            None
        }
    }
}

/// The observations; none if it failed.
async fn update(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    wanted: &Inputs,
    after: &Inputs,
) -> Option<Updated> {
    let created = bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer;
    let state = created.ok()?;
    let change = Change { state: &state, before: &life.inputs, after, name: &life.name };
    let impact = impact(bench, test_case, change).await?;
    bench.findings.tried("impact.agrees");
    if !impact.replaces.is_empty() {
        let hint = "correct the case if this change does replace";
        let expected = "no pointer that replaces";
        bench.fail_with(
            test_case,
            "impact.agrees",
            "the case calls this an update, but it would replace",
            expected,
            Some(hint),
        );
        bench.clear(test_case).await;
        return None;
    }
    let foreseen = super::preview::update(bench, test_case, wanted, change).await;
    let how = CallOptions { key: Some(bench.key()), ..CallOptions::default() };
    let done = bench.update(test_case, how.clone(), change).await;
    bench.findings.tried("update.works");
    let updated = match done.answer {
        Ok(updated) => updated,
        Err(error) => {
            if !is_broken(&error) {
                let what = "`update-impact` allows this in place, but `update` fails";
                bench.fail(test_case, "update.works", what, "done");
            }
            bench.clear(test_case).await;
            return None;
        }
    };
    super::preview::kept(bench, test_case, foreseen.as_ref(), &updated);
    life::outputs(bench, test_case, &updated);
    stable(bench, test_case, &impact, &state, &updated);
    let seen = shows(bench, test_case, life, after, &updated).await;
    if bench.wants(test_case, "update.repeat") {
        repeat(bench, test_case, life, how, change, (&updated, seen.as_ref())).await;
    }
    bench.clear(test_case).await;
    let (host_calls, answers) = (done.seen.host_calls, done.seen.answers);
    Some(Updated { host_calls, answers, read_values: seen.and_then(|seen| seen.values) })
}

fn stable(
    bench: &mut Bench,
    test_case: &TestCase,
    impact: &Impact,
    before: &ResourceState,
    after: &ResourceState,
) {
    const RULE: &str = "impact.stable";
    if !bench.wants(test_case, RULE) {
        return;
    }
    bench.findings.tried(RULE);
    for place in &impact.stable_outputs {
        let kept = match (output_at(before, place), output_at(after, place)) {
            (Some(before), Some(after)) => same(&before, &after),
            (None, None) => true,
            _ => false,
        };
        if !kept {
            bench.fail(
                test_case,
                RULE,
                format!("the output `{place}` was reported as stable, but is not"),
                "the same value",
            );
        }
    }
}

/// What is at a place in `{"outputs":…,"secrets":…}`.
fn output_at(state: &ResourceState, place: &str) -> Option<Value> {
    let rest = place.strip_prefix("/outputs").or_else(|| place.strip_prefix("/secrets"))?;
    let names = rest.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    names.into_iter().try_fold(state.outputs.clone(), |value, name| value.exposed().get(&name))
}

/// `read` shows the requested values. Returns its observations.
async fn shows(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    after: &Inputs,
    state: &ResourceState,
) -> Option<Observed> {
    const RULE: &str = "update.works";
    if !test_case.schema.implements.read {
        return None;
    }
    let answer = bench.read(test_case, Some(state.id.expose()), &life.name, after, Some(state)).await.answer;
    if !bench.wants(test_case, RULE) {
        return answer.ok().flatten();
    }
    match &answer {
        Ok(Some(observed)) => {
            if let Some(name) =
                life::differing_output(&test_case.schema, &observed.state.outputs, &state.outputs)
            {
                let what = format!("after `update`, `read` finds another output `{name}`");
                bench.fail(test_case, RULE, what, "the outputs that `update` returned");
            }
            let value = |values: &Value, key: &str| values.as_map().and_then(|map| map.get(key).cloned());
            let observed_values = observed.values.as_ref().and_then(Value::as_map);
            for (key, seen) in observed_values.into_iter().flatten() {
                // An earlier difference is drift, which another rule checks.
                let before = (
                    life.read_values.as_ref().and_then(|values| value(values, key)),
                    value(&life.inputs.values, key),
                );
                let is_drift = matches!(&before, (Some(earlier), wanted) if !wanted.as_ref().is_some_and(|wanted| same(earlier, wanted)));
                if !is_drift && !value(&after.values, key).is_some_and(|wanted| same(&wanted, seen)) {
                    let what = format!("after `update`, `values.{key}` is not the requested value");
                    bench.fail(test_case, RULE, what, "the values that `check` returned");
                }
            }
        }
        Ok(None) => bench.fail(test_case, RULE, "after `update`, it is not found", "the resource"),
        Err(CallError::Failure(_)) => {
            bench.fail(test_case, RULE, "after `update`, `read` fails", "the resource")
        }
        Err(_) => {}
    }
    answer.ok().flatten()
}

async fn repeat(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    how: CallOptions,
    change: Change<'_>,
    (updated, seen): (&ResourceState, Option<&Observed>),
) {
    const RULE: &str = "update.repeat";
    let answer = bench.update(test_case, how, change).await.answer;
    bench.findings.tried(RULE);
    let again = match answer {
        Ok(again) => again,
        Err(error) => {
            if !is_broken(&error) {
                bench.fail(test_case, RULE, "the repeated update fails", "done");
            }
            return;
        }
    };
    // Random values may be drawn again, unless they can be observed.
    let Some(seen) = seen else { return };
    if let Some(name) = life::differing_output(&test_case.schema, &again.outputs, &updated.outputs) {
        let what = format!("the repeated update returns another output `{name}`");
        bench.fail(test_case, RULE, what, "the outputs of the first update");
    }
    let answer =
        bench.read(test_case, Some(again.id.expose()), &life.name, change.after, Some(&again)).await.answer;
    if let Ok(Some(observed)) = &answer {
        let output = life::differing_output(&test_case.schema, &observed.state.outputs, &seen.state.outputs);
        if let Some(name) = output.or_else(|| life::changed(observed, seen.values.as_ref())) {
            let what = format!("the repeated update changes `{name}`");
            bench.fail(test_case, RULE, what, "the result of the first update");
        }
    } else if matches!(answer, Ok(None)) {
        bench.fail(
            test_case,
            RULE,
            "after the repeated update, it is gone",
            "the result of the first update",
        );
    }
}

async fn replace(bench: &mut Bench, test_case: &TestCase, life: &Life, after: &Inputs) {
    const RULE: &str = "impact.agrees";
    let Ok(state) = bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer
    else {
        return;
    };
    let change = Change { state: &state, before: &life.inputs, after, name: &life.name };
    let impact = impact(bench, test_case, change).await;
    bench.clear(test_case).await;
    let Some(impact) = impact else { return };
    if bench.wants(test_case, RULE) {
        bench.findings.tried(RULE);
        if impact.replaces.is_empty() {
            let what = "the case calls this a replacement, but it would be done in place";
            let hint =
                Some("correct the case, add `x-purlin-replaces` to the schema, or correct `update-impact`");
            bench.fail_with(test_case, RULE, what, "the pointers that replace", hint);
            return;
        }
        let (before, after) = (merge::document(&life.inputs), merge::document(after));
        for pointer in &impact.replaces {
            if before.pointer(pointer).is_none() && after.pointer(pointer).is_none() {
                let what = format!("`{pointer}` does not exist in the inputs");
                bench.fail(test_case, RULE, what, "a pointer to an input");
            }
        }
    }
    beside(bench, test_case, life, after, impact.delete_before_replace).await;
    bench.clear(test_case).await;
}

/// The new one is created beside the old one, or the driver reports that this is impossible.
async fn beside(bench: &mut Bench, test_case: &TestCase, life: &Life, after: &Inputs, old_goes_first: bool) {
    if !bench.wants(test_case, BESIDE) {
        return;
    }
    let (Ok(old), Ok(name)) = (
        bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer,
        bench.name(test_case, CallOptions::default(), after).await.answer,
    ) else {
        return;
    };
    bench.findings.tried(BESIDE);
    let how = || CallOptions { replaces: Some(old.id.clone()), ..CallOptions::default() };
    if old_goes_first {
        bench.delete(test_case, &old, &life.inputs).await;
    }
    let mut answer = bench.create(test_case, how(), after, name.expose()).await.answer;
    let needs_room = matches!(answer, Err(CallError::Failure(Failure::NeedsDeleteBefore(_))));
    if needs_room && !old_goes_first {
        bench.delete(test_case, &old, &life.inputs).await;
        answer = bench.create(test_case, how(), after, name.expose()).await.answer;
    }
    let new = match answer {
        Ok(new) => new,
        Err(CallError::Failure(failure)) => {
            let what = match needs_room || old_goes_first {
                true => format!("after the old one was deleted, the new one cannot be created: {failure}"),
                false => format!("next to the old one, the new one cannot be created: {failure}"),
            };
            let hint = "if both cannot exist at once, fail with `needs-delete-before`";
            bench.fail_with(test_case, BESIDE, what, "the new one, or `needs-delete-before`", Some(hint));
            return;
        }
        Err(_) => return,
    };
    if needs_room || old_goes_first {
        return;
    }
    if new.id.expose() == old.id.expose() {
        let hint =
            "`replaces` has the id of the old one: create another object, or fail with `needs-delete-before`";
        bench.fail_with(test_case, BESIDE, "the new one has the id of the old one", "another id", Some(hint));
        return;
    }
    still_exists(bench, test_case, (&old, &life.inputs, &life.name), "creating the new one").await;
    bench.delete(test_case, &old, &life.inputs).await;
    still_exists(bench, test_case, (&new, after, name.expose()), "deleting the old one").await;
}

/// One of the two still exists, unchanged.
async fn still_exists(
    bench: &mut Bench,
    test_case: &TestCase,
    (state, inputs, name): (&ResourceState, &Inputs, &str),
    after: &str,
) {
    if !test_case.schema.implements.read {
        return;
    }
    let what = match bench.read(test_case, Some(state.id.expose()), name, inputs, Some(state)).await.answer {
        Ok(Some(found)) => {
            match life::differing_output(&test_case.schema, &found.state.outputs, &state.outputs) {
                Some(output) => format!("{after} changes the output `{output}` of the other one"),
                None => return,
            }
        }
        Ok(None) => format!("{after} removes the other one"),
        Err(CallError::Failure(_)) => format!("after {after}, `read` of the other one fails"),
        Err(_) => return,
    };
    bench.fail(test_case, BESIDE, what, "two independent resources");
}
