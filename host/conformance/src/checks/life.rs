//! A normal life: created, found, deleted.

use std::time::Duration;

use purlin_model::driver::{Inputs, Observed, ResourceState, TypeSchema, keywords};
use purlin_model::{Label, Value};
use purlin_schema::Describes;
use serde_json::Value as Json;

use super::read::NO_READ;
use crate::bench::{Bench, CallOptions};
use crate::merge::same;
use crate::schema;
use crate::test_case::TestCase;

/// Outputs that only `create` returns stay unchanged.
const ONCE: &str = "outputs.once";

/// The observations of a life.
pub(crate) struct Life {
    pub(crate) inputs: Inputs,
    pub(crate) name: String,
    /// How often `create` called the host.
    pub(crate) host_calls: usize,
    pub(crate) took: Duration,
    /// How many answers of servers `create` received.
    pub(crate) answers: usize,
    /// How many `delete` received.
    pub(crate) last_answers: usize,
    pub(crate) reports_checkpoint: bool,
    /// The values that `read` returned when all was well.
    pub(crate) read_values: Option<Value>,
}

/// None if nothing can be created.
pub(crate) async fn run(
    bench: &mut Bench,
    test_case: &TestCase,
    inputs: Inputs,
    name: String,
) -> Option<Life> {
    let foreseen = super::preview::create(bench, test_case, &inputs, &name).await;
    let key = bench.key();
    let how = CallOptions { key: Some(key.clone()), ..CallOptions::default() };
    let done = bench.create(test_case, how.clone(), &inputs, &name).await;
    bench.findings.tried("create.works");
    let state = match done.answer {
        Ok(state) => state,
        Err(error) => {
            if !crate::bench::is_broken(&error) {
                let hint = match &error {
                    purlin_sandbox::CallError::Failure(purlin_model::driver::Failure::Denied { .. }) => {
                        Some("grant it in purlin.yaml, in the driver's entry")
                    }
                    _ => Some("correct the case, its system, or the driver"),
                };
                bench.fail_with(
                    test_case,
                    "create.works",
                    "it does not create the resource of the case",
                    "the resource",
                    hint,
                );
            }
            return None;
        }
    };
    let mut life = Life {
        host_calls: done.seen.host_calls,
        took: done.took,
        answers: done.seen.answers,
        last_answers: 0,
        reports_checkpoint: !done.seen.checkpoints.is_empty(),
        inputs,
        name,
        read_values: None,
    };
    super::preview::kept(bench, test_case, foreseen.as_ref(), &state);
    outputs(bench, test_case, &state);
    write_once(bench, test_case, &state);
    checkpoint(bench, test_case, &state, done.seen.checkpoints.last());
    life.read_values = found(bench, test_case, &life, &state).await;
    repeat(bench, test_case, &life, how, &state).await;
    life.last_answers = gone(bench, test_case, &life, &state).await;
    Some(life)
}

/// Outputs match the schema.
pub(crate) fn outputs(bench: &mut Bench, test_case: &TestCase, state: &ResourceState) {
    const RULE: &str = "create.outputs";
    if !bench.wants(test_case, RULE) {
        return;
    }
    let schema = &test_case.schema.outputs;
    let Ok(compiled) = schema::compile(Describes::Outputs, schema) else { return };
    bench.findings.tried(RULE);
    let plain = state.outputs.reveal_marked(&mut |_, _| {});
    if schema.get(keywords::OUTPUTS).is_none_or(|outputs| outputs != "inputs")
        && let Some(fault) = schema::violation(&compiled, &plain.into())
    {
        bench.fail(
            test_case,
            RULE,
            format!("its outputs do not match their schema: {fault}"),
            "outputs that match",
        );
    }
    let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
    for (name, _) in properties.filter(|(_, property)| property.get("writeOnly") == Some(&true.into())) {
        let there = state.outputs.as_map().and_then(|map| map.get(name.as_str()));
        if there.is_some_and(|value| !matches!(value, Value::Secret(_))) {
            let what = format!("the output `{name}` is secret in the schema, but returned in plain text");
            bench.fail(test_case, RULE, what, "in the state's `secrets`");
        }
    }
}

/// `create` returns the required outputs that only it can return.
fn write_once(bench: &mut Bench, test_case: &TestCase, state: &ResourceState) {
    let names: Vec<&str> = keywords::write_once_outputs(&test_case.schema.outputs).collect();
    if names.is_empty() {
        bench
            .findings
            .skip(ONCE, format!("{}: the schema of outputs has no `x-purlin-write-once`", test_case.name));
        return;
    }
    if !bench.wants(test_case, ONCE) {
        return;
    }
    bench.findings.tried(ONCE);
    let required = test_case.schema.outputs.get("required").and_then(Json::as_array);
    let is_required = |name: &&str| required.is_some_and(|names| names.iter().any(|one| one == name));
    for name in names.into_iter().filter(is_required) {
        let output = state.outputs.as_map().and_then(|map| map.get(name));
        if output.is_none_or(|value| matches!(value.exposed(), Value::Null)) {
            let what = format!("`create` does not return the output `{name}`, which no other call returns");
            bench.fail(test_case, ONCE, what, "the output");
        }
    }
}

fn checkpoint(bench: &mut Bench, test_case: &TestCase, state: &ResourceState, last: Option<&Label>) {
    const RULE: &str = "create.checkpoint";
    if !test_case.schema.implements.read {
        bench.findings.skip(RULE, "the driver does not implement `read`, so a checkpoint would not help");
        return;
    }
    if !bench.wants(test_case, RULE) {
        return;
    }
    bench.findings.tried(RULE);
    match last {
        Some(last) if last.expose() != state.id.expose() => {
            let what = format!("its last checkpoint was `{last}`, but its id differs");
            bench.fail(test_case, RULE, what, "the id that it returns");
        }
        Some(_) => {}
        None => {
            let hint = "call `operation.checkpoint` with the id, before creating the object if the id is already known";
            bench.advise(
                test_case,
                RULE,
                "`create` reports no checkpoint",
                "a checkpoint as soon as the id is known",
                hint,
            );
        }
    }
}

/// `read` finds it, in each of the host's ways.
async fn found(bench: &mut Bench, test_case: &TestCase, life: &Life, state: &ResourceState) -> Option<Value> {
    if !test_case.schema.implements.read {
        for rule in ["read.finds", "read.values"] {
            bench.findings.skip(rule, NO_READ);
        }
        return None;
    }
    let mut read_values = None;
    let id = Some(state.id.expose());
    for (how, id, recorded) in [
        ("by its id and record", id, Some(state)),
        ("by its id and record again", id, Some(state)),
        ("by its id alone", id, None),
        ("by its name", None, None),
    ] {
        let answer = bench.read(test_case, id, &life.name, &life.inputs, recorded).await.answer;
        if read_values.is_none()
            && let Ok(Some(observed)) = &answer
        {
            read_values = observed.values.clone();
        }
        compare(bench, test_case, how, answer, state, &life.inputs.values);
    }
    read_values
}

/// The first value of `read` that differs from its earlier one.
pub(crate) fn changed(observed: &Observed, earlier: Option<&Value>) -> Option<String> {
    differing(observed.values.as_ref()?, earlier?)
}

/// Compares the answer of `read` with the existing object.
pub(crate) fn compare(
    bench: &mut Bench,
    test_case: &TestCase,
    how: &str,
    answer: Result<Option<Observed>, purlin_sandbox::CallError>,
    state: &ResourceState,
    values: &Value,
) {
    const FINDS: &str = "read.finds";
    if bench.wants(test_case, FINDS) {
        bench.findings.tried(FINDS);
        match &answer {
            Ok(None) => bench.fail(test_case, FINDS, format!("read {how}, it is not found"), "the resource"),
            Ok(Some(observed)) if observed.state.id.expose() != state.id.expose() => {
                bench.fail(
                    test_case,
                    FINDS,
                    format!("read {how}, it has another id"),
                    &format!("`{}`", state.id),
                );
            }
            Ok(Some(observed)) => {
                if let Some(name) =
                    differing_output(&test_case.schema, &observed.state.outputs, &state.outputs)
                {
                    let what = format!("read {how}, it has another output `{name}`");
                    bench.fail(test_case, FINDS, what, "the outputs that `create` or `update` returned");
                }
            }
            Err(error) if !crate::bench::is_broken(error) => {
                bench.fail(test_case, FINDS, format!("read {how}, it fails"), "the resource");
            }
            Err(_) => {}
        }
    }
    if bench.wants(test_case, ONCE)
        && let Ok(Some(observed)) = &answer
    {
        for name in keywords::write_once_outputs(&test_case.schema.outputs) {
            let of = |outputs: &Value| outputs.as_map().and_then(|map| map.get(name).cloned());
            let output =
                of(&observed.state.outputs).filter(|output| !matches!(output.exposed(), Value::Null));
            if output.is_some_and(|output| !of(&state.outputs).is_some_and(|first| same(&output, &first))) {
                let what = format!("read {how}, the output `{name}` differs from that of `create`");
                bench.fail(test_case, ONCE, what, "the same, or nothing");
            }
        }
    }
    if bench.wants(test_case, "read.values")
        && let Ok(Some(observed)) = &answer
    {
        drift(bench, test_case, how, observed, values);
    }
}

/// Whether it wrongly appears changed by somebody.
fn drift(bench: &mut Bench, test_case: &TestCase, how: &str, observed: &Observed, values: &Value) {
    const RULE: &str = "read.values";
    let Some(observed_values) = observed.values.as_ref().and_then(Value::as_map) else {
        bench.findings.skip(RULE, "`read` returns no values");
        return;
    };
    bench.findings.tried(RULE);
    for (key, value) in observed_values {
        let wanted = values.as_map().and_then(|map| map.get(key));
        if !wanted.is_some_and(|wanted| same(wanted, value)) {
            let what = match wanted {
                Some(_) => format!("read {how}, `values.{key}` differs from that of `check`"),
                None => format!("read {how}, it has `values.{key}`, which `check` did not return"),
            };
            let hint = "let `check` return it as the system does, or leave it out of the values of `read`";
            bench.fail_with(test_case, RULE, what, "the values that `check` returned, or fewer", Some(hint));
        }
    }
}

/// The first output that differs. `outputs.once` is the rule for those that only `create` returns.
pub(crate) fn differing_output(schema: &TypeSchema, observed: &Value, expected: &Value) -> Option<String> {
    let (mut observed, mut expected) = (observed.clone(), expected.clone());
    for outputs in [&mut observed, &mut expected] {
        if let Value::Map(map) = outputs {
            for name in keywords::write_once_outputs(&schema.outputs) {
                map.remove(name);
            }
        }
    }
    differing(&observed, &expected)
}

/// The first entry that differs.
fn differing(a: &Value, b: &Value) -> Option<String> {
    let (a, b) = (a.as_map()?, b.as_map()?);
    let differs = |key: &&std::sync::Arc<str>| match (a.get(*key), b.get(*key)) {
        (Some(a), Some(b)) => !same(a, b),
        _ => true,
    };
    a.keys().chain(b.keys()).find(differs).map(ToString::to_string)
}

async fn repeat(
    bench: &mut Bench,
    test_case: &TestCase,
    life: &Life,
    how: CallOptions,
    state: &ResourceState,
) {
    const RULE: &str = "create.repeat";
    if !test_case.schema.implements.repeat_create {
        bench.findings.skip(RULE, "the driver does not promise `repeat-create`");
        return;
    }
    if !bench.wants(test_case, RULE) {
        return;
    }
    let answer = bench.create(test_case, how, &life.inputs, &life.name).await.answer;
    bench.findings.tried(RULE);
    let expected = "the id that the first attempt returned";
    match answer {
        Ok(again) if again.id.expose() != state.id.expose() => {
            let hint = "recognise the existing object by name or key, or do not promise `repeat-create`";
            bench.fail_with(test_case, RULE, "the same key created another object", expected, Some(hint));
        }
        Ok(_) => {}
        Err(error) if !crate::bench::is_broken(&error) => {
            bench.fail(test_case, RULE, "a repeated `create` with the same key fails", expected);
        }
        Err(_) => {}
    }
}

/// Deletes it; then it is gone. Returns how many answers of servers that took.
async fn gone(bench: &mut Bench, test_case: &TestCase, life: &Life, state: &ResourceState) -> usize {
    const GONE: &str = "delete.gone";
    super::preview::delete(bench, test_case, state, &life.inputs, &life.name).await;
    let done = bench.delete(test_case, state, &life.inputs).await;
    let (deleted, answers) = (done.answer, done.seen.answers);
    if bench.wants(test_case, GONE) {
        bench.findings.tried(GONE);
        if let Err(error) = &deleted
            && !crate::bench::is_broken(error)
        {
            bench.fail(test_case, GONE, "it cannot be deleted", "done");
        }
    }
    if deleted.is_err() {
        return answers;
    }
    if test_case.schema.implements.read && bench.wants(test_case, GONE) {
        for (how, id, recorded) in [("id", Some(state.id.expose()), Some(state)), ("name", None, None)] {
            let answer = bench.read(test_case, id, &life.name, &life.inputs, recorded).await.answer;
            if matches!(answer, Ok(Some(_))) {
                bench.fail(
                    test_case,
                    GONE,
                    format!("after `delete`, it is still found by its {how}"),
                    "none",
                );
                bench.alive.push(crate::bench::Made { state: state.clone(), inputs: life.inputs.clone() });
            } else if answer.is_err_and(|error| !crate::bench::is_broken(&error)) {
                bench.fail(test_case, GONE, format!("after `delete`, `read` by its {how} fails"), "none");
            }
        }
    }
    if bench.wants(test_case, "delete.repeat") {
        let again = bench.delete(test_case, state, &life.inputs).await.answer;
        bench.findings.tried("delete.repeat");
        if again.is_err_and(|error| !crate::bench::is_broken(&error)) {
            bench.fail(test_case, "delete.repeat", "deleting a deleted resource fails", "done");
        }
    }
    bench.clear(test_case).await;
    answers
}
