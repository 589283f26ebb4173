//! Previews: what the driver says that an effect would make.

use purlin_model::driver::{Forecast, Inputs, Observed, ResourceState, broken_output};
use purlin_sandbox::{Change, Effect};

use super::check::unknown_places;
use super::life;
use crate::bench::{Bench, CallOptions, is_broken};
use crate::merge;
use crate::test_case::TestCase;

const RULE: &str = "preview.keeps";

/// The forecast of a creation; none if there is none to hold the driver to.
pub(crate) async fn create(
    bench: &mut Bench,
    test_case: &TestCase,
    inputs: &Inputs,
    name: &str,
) -> Option<Forecast> {
    if !applies(bench, test_case) {
        return None;
    }
    let foreseen = foresee(bench, test_case, Effect::Create { inputs, name, replaces: None }).await;
    if let Some(foreseen) = &foreseen {
        for (places, partly) in partly_unknown(bench, test_case, &test_case.inputs, inputs).await {
            let effect = Effect::Create { inputs: &partly, name: "", replaces: None };
            stays(bench, test_case, effect, &places, foreseen).await;
        }
    }
    if test_case.schema.implements.read
        && let Ok(Some(_)) = bench.read(test_case, None, name, inputs, None).await.answer
    {
        bench.fail(test_case, RULE, "after `preview`, `read` finds the resource", "no effects");
    }
    foreseen
}

/// The forecast of a change to the inputs `wanted`, which `check` made those of the change.
pub(crate) async fn update(
    bench: &mut Bench,
    test_case: &TestCase,
    wanted: &Inputs,
    change: Change<'_>,
) -> Option<Forecast> {
    if !applies(bench, test_case) {
        return None;
    }
    let Change { state, before, after, name } = change;
    let found = found(bench, test_case, state, before, name).await;
    let foreseen = foresee(bench, test_case, Effect::Update(change)).await;
    if let Some(foreseen) = &foreseen {
        for (places, partly) in partly_unknown(bench, test_case, wanted, after).await {
            let effect = Effect::Update(Change { after: &partly, ..change });
            stays(bench, test_case, effect, &places, foreseen).await;
        }
    }
    untouched(bench, test_case, state, before, name, found).await;
    foreseen
}

/// Holds the driver to the rule before a deletion, of which it promises no outputs.
pub(crate) async fn delete(
    bench: &mut Bench,
    test_case: &TestCase,
    state: &ResourceState,
    inputs: &Inputs,
    name: &str,
) {
    if applies(bench, test_case) {
        let found = found(bench, test_case, state, inputs, name).await;
        foresee(bench, test_case, Effect::Delete { state, inputs, data_loss_allowed: false }).await;
        untouched(bench, test_case, state, inputs, name, found).await;
    }
}

/// What was certain is what the effect returned.
pub(crate) fn kept(
    bench: &mut Bench,
    test_case: &TestCase,
    foreseen: Option<&Forecast>,
    state: &ResourceState,
) {
    if let Some(place) = foreseen.and_then(|foreseen| broken_output(&foreseen.outputs, &state.outputs)) {
        let what = format!("the output `{place}` was certain in the forecast, and is another one");
        bench.fail(test_case, RULE, what, "the value of the forecast");
    }
}

/// Whether the driver has a preview, and the rule is wanted.
fn applies(bench: &mut Bench, test_case: &TestCase) -> bool {
    if !bench.driver.previews() {
        bench.findings.skip(RULE, "the driver does not export `purlin:preview`");
        return false;
    }
    bench.wants(test_case, RULE)
}

/// The forecast, which a second look repeats.
async fn foresee(bench: &mut Bench, test_case: &TestCase, effect: Effect<'_>) -> Option<Forecast> {
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
    let is_same = match bench.preview(test_case, effect).await.answer {
        Ok(again) => again.is_some_and(|again| Forecast { token: first.token.clone(), ..again } == first),
        // A call without an answer is a matter of another rule.
        Err(error) => is_broken(&error),
    };
    if !is_same {
        bench.fail(test_case, RULE, "the same request returned another forecast before", "the same forecast");
    }
    Some(first)
}

/// What a plan asks about while other resources are still to be made: the inputs with some, and with all,
/// of their places unknown, as `check` returns them, and the names of these places. `known` are the inputs
/// without unknown places.
async fn partly_unknown(
    bench: &mut Bench,
    test_case: &TestCase,
    wanted: &Inputs,
    known: &Inputs,
) -> Vec<(String, Inputs)> {
    let mut partly = Vec::new();
    for (places, inputs) in unknown_places(wanted) {
        // `previous` keeps what the driver draws at random. If it rejects unknown inputs, `check.unknown` is broken.
        let checked = bench.check(test_case, CallOptions::default(), &inputs, Some(known)).await.answer;
        let Ok(checked) = checked else { continue };
        let inputs = merge::checked(&inputs, &checked);
        // Otherwise `check` decided differently, and the known inputs are not the same with more of them known.
        let agrees = [(&inputs.values, &known.values), (&inputs.secrets, &known.secrets)]
            .iter()
            .all(|(partly, known)| broken_output(partly, known).is_none());
        if agrees {
            partly.push((places.names(), inputs));
        }
    }
    partly
}

/// Each certain output stays as it was once all inputs are known.
async fn stays(
    bench: &mut Bench,
    test_case: &TestCase,
    effect: Effect<'_>,
    places: &str,
    foreseen: &Forecast,
) {
    match bench.preview(test_case, effect).await.answer {
        Ok(Some(partly)) => {
            if let Some(place) = broken_output(&partly.outputs, &foreseen.outputs) {
                let what = format!(
                    "the output `{place}` is certain while {places} are not known, and is another one when they are"
                );
                bench.fail(test_case, RULE, what, "only outputs that do not depend on unknown inputs");
            }
        }
        Err(error) if !is_broken(&error) => {
            let what = format!("`preview` fails while {places} are not known");
            bench.fail(test_case, RULE, what, "a forecast without the outputs that depend on them");
        }
        Ok(None) | Err(_) => {}
    }
}

/// The resource as `read` finds it; none if it cannot be compared.
async fn found(
    bench: &mut Bench,
    test_case: &TestCase,
    state: &ResourceState,
    inputs: &Inputs,
    name: &str,
) -> Option<Observed> {
    if !test_case.schema.implements.read {
        return None;
    }
    bench.read(test_case, Some(state.id.expose()), name, inputs, Some(state)).await.answer.ok().flatten()
}

/// The resource is as `read` found it before.
async fn untouched(
    bench: &mut Bench,
    test_case: &TestCase,
    state: &ResourceState,
    inputs: &Inputs,
    name: &str,
    before: Option<Observed>,
) {
    let Some(before) = before else { return };
    let answer = bench.read(test_case, Some(state.id.expose()), name, inputs, Some(state)).await.answer;
    let changed = match answer {
        Ok(None) => "after `preview`, `read` finds no resource".to_owned(),
        Ok(Some(after)) => {
            let output =
                life::differing_output(&test_case.schema, &after.state.outputs, &before.state.outputs);
            match output.or_else(|| life::changed(&after, before.values.as_ref())) {
                Some(name) => format!("after `preview`, `read` finds another `{name}`"),
                None => return,
            }
        }
        Err(_) => return,
    };
    bench.fail(test_case, RULE, changed, "no effects");
}
