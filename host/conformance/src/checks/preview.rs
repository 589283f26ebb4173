//! Previews: what the driver says that an effect would make.

use purlin_model::Value;
use purlin_model::driver::{Forecast, Inputs, ResourceState};
use purlin_sandbox::{Change, Effect};

use crate::bench::{Bench, is_broken};
use crate::merge::same;
use crate::test_case::TestCase;

const RULE: &str = "preview.keeps";

/// The forecast of a creation; none if there is none to hold the driver to.
pub(crate) async fn create(
    bench: &mut Bench,
    test_case: &TestCase,
    inputs: &Inputs,
    name: &str,
) -> Option<Forecast> {
    let foreseen = foresee(bench, test_case, Effect::Create { inputs, name, replaces: None }).await?;
    if test_case.schema.implements.read
        && let Ok(Some(_)) = bench.read(test_case, None, name, inputs, None).await.answer
    {
        bench.fail(test_case, RULE, "after `preview`, `read` finds the resource", "no effects");
    }
    Some(foreseen)
}

/// The forecast of a change.
pub(crate) async fn update(bench: &mut Bench, test_case: &TestCase, change: Change<'_>) -> Option<Forecast> {
    foresee(bench, test_case, Effect::Update(change)).await
}

async fn foresee(bench: &mut Bench, test_case: &TestCase, effect: Effect<'_>) -> Option<Forecast> {
    if !bench.driver.previews() {
        bench.findings.skip(RULE, "the driver does not export `purlin:preview`");
        return None;
    }
    if !bench.wants(test_case, RULE) {
        return None;
    }
    let first = match bench.preview(test_case, effect).await.answer {
        Ok(first) => first?,
        Err(error) => {
            if !is_broken(&error) {
                bench.fail(test_case, RULE, "`preview` fails for inputs that `check` accepted", "a forecast");
            }
            return None;
        }
    };
    bench.findings.tried(RULE);
    if let Ok(Some(again)) = bench.preview(test_case, effect).await.answer
        && (again.outputs != first.outputs || again.parts != first.parts)
    {
        bench.fail(test_case, RULE, "the same request returned another forecast before", "the same forecast");
    }
    Some(first)
}

/// What was certain is what the effect returned.
pub(crate) fn kept(
    bench: &mut Bench,
    test_case: &TestCase,
    foreseen: Option<&Forecast>,
    state: &ResourceState,
) {
    let outputs = foreseen.and_then(|foreseen| foreseen.outputs.exposed().as_map());
    let returned = state.outputs.exposed().as_map();
    for (name, value) in outputs.into_iter().flatten().filter(|(_, value)| !value.has_unknown()) {
        let actual: Option<&Value> = returned.and_then(|returned| returned.get(name));
        if !actual.is_some_and(|actual| same(actual, value)) {
            let what = format!("the output `{name}` was certain in the forecast, and is another one");
            bench.fail(test_case, RULE, what, "the value of the forecast");
        }
    }
}
