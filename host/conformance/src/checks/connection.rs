//! Connections: another way to reach the same system does not make another resource.

use purlin_model::driver::{Checked, Inputs};
use purlin_model::{Map, Value};
use purlin_sandbox::{CallError, Change};

use super::life::Life;
use crate::bench::{Bench, CallOptions, is_broken};
use crate::merge::same;
use crate::test_case::TestCase;

const RULE: &str = "connection.rotated";

pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase, life: &Life) {
    let rotated = match &test_case.rotate {
        Some(rotated) => rotated.connection.clone(),
        None => other_secrets(&life.inputs.connection),
    };
    if same(&rotated, &life.inputs.connection) {
        bench.findings.skip(
            RULE,
            format!("{}: the case has no `rotate`, and no secret in its connection", test_case.name),
        );
        return;
    }
    if !bench.wants(test_case, RULE) {
        return;
    }
    bench.findings.tried(RULE);
    let inputs = Inputs { connection: rotated, ..life.inputs.clone() };
    if !quiet(bench, test_case, life, &inputs).await || test_case.rotate.is_none() {
        return;
    }
    reached(bench, test_case, life, &inputs).await;
    bench.clear(test_case).await;
}

/// The same connection with other secrets: it reaches nothing.
fn other_secrets(value: &Value) -> Value {
    match value {
        Value::Secret(_) => match value.exposed() {
            Value::String(text) => Value::from(format!("{text}-rotated").as_str()).into_secret(),
            _ => value.clone(),
        },
        Value::Map(map) => {
            let items = map.iter().map(|(key, item)| (key.clone(), other_secrets(item)));
            Value::Map(items.collect::<Map>())
        }
        Value::List(items) => Value::List(items.iter().map(other_secrets).collect()),
        other => other.clone(),
    }
}

/// The calls that a plan makes have the same answers as with the first connection. If answers
/// differ with the first connection too, other rules check that.
async fn quiet(bench: &mut Bench, test_case: &TestCase, life: &Life, inputs: &Inputs) -> bool {
    let mut answers = Vec::new();
    for inputs in [&life.inputs, inputs] {
        answers.push(
            match bench.check(test_case, CallOptions::default(), inputs, Some(&life.inputs)).await.answer {
                Ok(checked) => Some(checked),
                Err(error) if is_broken(&error) => return true,
                Err(_) => None,
            },
        );
    }
    let is_as_made = |checked: &Option<Checked>| {
        checked.as_ref().is_some_and(|checked| {
            same(&checked.values, &life.inputs.values) && same(&checked.secrets, &life.inputs.secrets)
        })
    };
    if let [first, second] = answers.as_slice()
        && is_as_made(first)
        && !is_as_made(second)
    {
        bench.fail(
            test_case,
            RULE,
            "with another connection, `check` gives another answer",
            "the same answer",
        );
        return false;
    }
    let first = bench.name(test_case, CallOptions::default(), &life.inputs).await.answer;
    let second = bench.name(test_case, CallOptions::default(), inputs).await.answer;
    if let (Ok(first), Ok(second)) = (first, second)
        && first.expose() == life.name
        && second.expose() != life.name
    {
        let hint = "do not derive the name from `connection`";
        bench.fail_with(
            test_case,
            RULE,
            "with another connection, it has another name",
            "the same name",
            Some(hint),
        );
        return false;
    }
    true
}

/// An object created with the first connection is read, left unchanged, and deleted with the
/// second.
async fn reached(bench: &mut Bench, test_case: &TestCase, life: &Life, inputs: &Inputs) {
    let Ok(state) = bench.create(test_case, CallOptions::default(), &life.inputs, &life.name).await.answer
    else {
        return;
    };
    if test_case.schema.implements.update {
        let change = Change { state: &state, before: &life.inputs, after: inputs, name: &life.name };
        if let Ok(impact) = bench.impact(test_case, change).await.answer
            && !impact.replaces.is_empty()
        {
            let what = "another connection to the same system would replace the resource";
            let hint = "mark with `x-purlin-replaces` only the inputs that distinguish systems";
            bench.fail_with(test_case, RULE, what, "no pointer that replaces", Some(hint));
            return;
        }
    }
    if test_case.schema.implements.read {
        let id = Some(state.id.expose());
        for (how, id, recorded) in [("by its id and record", id, Some(&state)), ("by its name", None, None)] {
            let first = bench.read(test_case, id, &life.name, &life.inputs, recorded).await.answer;
            // `read.finds` checks an object that the first connection does not find.
            let Ok(Some(first)) = first else { continue };
            let what = match bench.read(test_case, id, &life.name, inputs, recorded).await.answer {
                Ok(Some(found)) if found.state.id.expose() == first.state.id.expose() => {
                    let value = (super::life::changed(&found, first.values.as_ref()), "values");
                    let outputs = (&found.state.outputs, &first.state.outputs);
                    let output =
                        (super::life::differing_output(&test_case.schema, outputs.0, outputs.1), "outputs");
                    match [value, output].into_iter().find_map(|(name, part)| Some((name?, part))) {
                        Some((name, part)) => format!("it has another `{part}.{name}`"),
                        None => continue,
                    }
                }
                Ok(Some(_)) => "it has another id".to_owned(),
                Ok(None) => "it is not found".to_owned(),
                Err(CallError::Failure(failure)) => format!("`read` fails: {failure}"),
                Err(_) => return,
            };
            bench.fail(
                test_case,
                RULE,
                format!("read {how} with another connection, {what}"),
                "the same as with the first connection",
            );
            return;
        }
    }
    if let Err(CallError::Failure(_)) = bench.delete(test_case, &state, inputs).await.answer {
        bench.fail(test_case, RULE, "it cannot be deleted with another connection", "done");
    }
}
