//! The inputs that `check` accepts, returns and rejects.

use std::time::Duration;

use purlin_model::Value;
use purlin_model::driver::{Checked, Failure, Inputs};
use purlin_sandbox::{CallError, Driver};
use purlin_schema::Describes;
use serde_json::json;

use crate::bench::{Bench, Blame, CallOptions, is_broken};
use crate::merge::{self, same};
use crate::schema;
use crate::test_case::TestCase;

/// The maximum number of places that are tried as unknown.
const MOST_UNKNOWN: usize = 12;
/// The hint for inputs that the case contains and the driver rejects.
pub(crate) const CASE_OR_DRIVER: &str = "correct the case or the driver";
/// Why most of it is skipped.
const NOT_IMPLEMENTED: &str = "the driver does not implement `check`";

/// The checked inputs; none if they were rejected.
pub(crate) async fn run(bench: &mut Bench, test_case: &TestCase) -> Option<Inputs> {
    let done = bench.check(test_case, CallOptions::default(), &test_case.inputs, None).await;
    let checked = match done.answer {
        Ok(checked) => checked,
        Err(error) => {
            if !is_broken(&error) {
                let expected = "accepted inputs";
                let hint = CASE_OR_DRIVER;
                bench.fail_with(
                    test_case,
                    "check.accepts",
                    "it rejects the inputs of the case",
                    expected,
                    Some(hint),
                );
            }
            return None;
        }
    };
    bench.findings.tried("check.accepts");
    let inputs = merge::checked(&test_case.inputs, &checked);
    agrees(bench, test_case, &inputs);
    if !test_case.schema.implements.check {
        for rule in ["check.fixpoint", "check.previous", "check.unknown", "check.faults", "limits"] {
            bench.findings.skip(rule, NOT_IMPLEMENTED);
        }
        hostile(bench, test_case).await;
        return Some(inputs);
    }
    again(bench, test_case, &inputs, &checked).await;
    if bench.wants(test_case, "check.unknown") {
        unknown(bench, test_case).await;
    }
    if bench.wants(test_case, "check.faults") {
        faults(bench, test_case).await;
    }
    hostile(bench, test_case).await;
    Some(inputs)
}

fn equal(a: &Checked, b: &Checked) -> bool {
    same(&a.values, &b.values) && same(&a.secrets, &b.secrets)
}

/// The inputs and results of `check` fit the schema.
fn agrees(bench: &mut Bench, test_case: &TestCase, checked: &Inputs) {
    const RULE: &str = "schema.agrees";
    let Ok(compiled) = schema::compile(Describes::Inputs, &test_case.schema.inputs) else { return };
    bench.findings.tried(RULE);
    for (which, inputs) in [("accepts", &test_case.inputs), ("returns", checked)] {
        if let Some(fault) = schema::violation(&compiled, &merge::document(inputs).into()) {
            let what = format!("`check` {which} inputs that do not match its schema: {fault}");
            bench.fail(test_case, RULE, what, "a schema that accepts the same inputs as the driver");
        }
    }
}

async fn again(bench: &mut Bench, test_case: &TestCase, inputs: &Inputs, checked: &Checked) {
    if bench.wants(test_case, "check.fixpoint") {
        for previous in [None, Some(inputs)] {
            let done = bench.check(test_case, CallOptions::default(), inputs, previous).await;
            bench.findings.tried("check.fixpoint");
            match done.answer {
                Ok(more) if !equal(checked, &more) => {
                    bench.fail(
                        test_case,
                        "check.fixpoint",
                        "checking its result changes the result",
                        "the same result",
                    );
                }
                Err(CallError::Failure(_)) => {
                    bench.fail(test_case, "check.fixpoint", "it rejects its own result", "the same result");
                }
                _ => {}
            }
        }
    }
    if bench.wants(test_case, "check.previous") {
        let done = bench.check(test_case, CallOptions::default(), &test_case.inputs, Some(inputs)).await;
        bench.findings.tried("check.previous");
        if done.answer.is_ok_and(|kept| !equal(checked, &kept)) {
            let what = "the same inputs with `previous` give another result than before";
            let hint = "take a random default from `previous` if that contains it";
            bench.fail_with(test_case, "check.previous", what, "the values of `previous`", Some(hint));
        }
    }
    if bench.wants(test_case, "quiet")
        && let Some(bare) = bench.bare.clone()
    {
        let usual = bench.check(test_case, CallOptions::default(), &test_case.inputs, Some(inputs)).await;
        let how = CallOptions { driver: Some(bare), ..CallOptions::default() };
        let done = bench.check(test_case, how, &test_case.inputs, Some(inputs)).await;
        let differs = match (&usual.answer, &done.answer) {
            (Ok(usual), Ok(other)) => !equal(usual, other),
            (Ok(_), Err(error)) => !is_broken(error),
            _ => false,
        };
        if differs {
            bench.fail(
                test_case,
                "quiet",
                "without its grants, `check` gives another answer",
                "the same answer",
            );
        }
    }
}

/// Places of inputs: the part, and the key in it.
pub(crate) struct Places(Vec<(&'static str, String)>);

impl Places {
    /// The pointers to them, for people.
    pub(crate) fn names(&self) -> String {
        let names = self.0.iter().map(|(part, key)| format!("`/{part}/{}`", merge::escaped(key)));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The inputs with each of their places unknown, and with all of them.
pub(crate) fn unknown_places(inputs: &Inputs) -> Vec<(Places, Inputs)> {
    let mut places: Vec<(&'static str, String)> = Vec::new();
    for (part, value) in [("values", &inputs.values), ("secrets", &inputs.secrets)] {
        places.extend(TestCase::keys(value).into_iter().map(|key| (part, key)));
    }
    places.truncate(MOST_UNKNOWN);
    let mut sets: Vec<Vec<(&'static str, String)>> = places.iter().map(|place| vec![place.clone()]).collect();
    if places.len() > 1 {
        sets.push(places);
    }
    let with_unknown = |places: Vec<(&'static str, String)>| {
        let inputs = places.iter().fold(inputs.clone(), |inputs, (part, key)| {
            merge::at(&inputs, part, key, Some(Value::unknown()))
        });
        (Places(places), inputs)
    };
    sets.into_iter().map(with_unknown).collect()
}

async fn unknown(bench: &mut Bench, test_case: &TestCase) {
    const RULE: &str = "check.unknown";
    for (places, inputs) in unknown_places(&test_case.inputs) {
        let done = bench.check(test_case, CallOptions::default(), &inputs, None).await;
        bench.findings.tried(RULE);
        let names = places.names();
        match done.answer {
            Ok(checked) => {
                for (part, key) in &places.0 {
                    let whole = if *part == "values" { &checked.values } else { &checked.secrets };
                    let there = whole.as_map().and_then(|map| map.get(key.as_str()).cloned());
                    if !there
                        .as_ref()
                        .is_some_and(|value| matches!(value.exposed(), Value::Unknown(_) | Value::Null))
                    {
                        let what = format!(
                            "`/{part}/{}` is unknown, and is returned as another value",
                            merge::escaped(key)
                        );
                        bench.fail(test_case, RULE, what, "`null` in that place");
                    }
                }
            }
            Err(CallError::Failure(Failure::InvalidInputs(_))) => {
                let what = format!("it rejects inputs of which {names} are not known yet");
                let hint = "do not check inputs listed in `unknown`, or anything that depends on them";
                bench.fail_with(
                    test_case,
                    RULE,
                    what,
                    "`null` in that place, and the rest checked",
                    Some(hint),
                );
            }
            Err(CallError::Failure(_)) => {
                bench.fail(
                    test_case,
                    RULE,
                    format!("it fails when {names} are not known yet"),
                    "`null` in that place",
                );
            }
            Err(_) => {}
        }
    }
}

/// Wrong inputs: those of the case, and those that the schema rejects, alone and together.
async fn faults(bench: &mut Bench, test_case: &TestCase) {
    const RULE: &str = "check.faults";
    let compiled = schema::compile(Describes::Inputs, &test_case.schema.inputs).ok();
    for (inputs, at) in &test_case.invalid {
        // The host rejects what the schema rejects, and names it.
        let held =
            compiled.as_ref().map(|compiled| schema::violations(compiled, &merge::document(inputs).into()));
        let held = held.unwrap_or_default();
        let left = |place: &&String| !held.iter().any(|pointer| about(pointer, place));
        let left: Vec<String> = at.iter().filter(left).cloned().collect();
        if left.is_empty() {
            bench.findings.tried(RULE);
        } else {
            refused(bench, test_case, inputs, &left).await;
        }
    }
    let Some(compiled) = compiled else { return };
    let wrong = schema::refused(&test_case.schema.inputs, &compiled, &test_case.inputs);
    for one in &wrong {
        refused(bench, test_case, &one.inputs, &[one.pointer()]).await;
    }
    // One fault per place.
    let mut places: Vec<&schema::Wrong> = Vec::new();
    for one in &wrong {
        if !places.iter().any(|known| (known.part, &known.key) == (one.part, &one.key)) {
            places.push(one);
        }
    }
    if let [first, second, ..] = places.as_slice() {
        let both = second.also(&first.inputs);
        refused(bench, test_case, &both, &[first.pointer(), second.pointer()]).await;
    }
    if test_case.invalid.is_empty() && wrong.is_empty() {
        bench.findings.skip(RULE, "the schema rejects nothing, and the case has no `invalid`");
    }
}

async fn refused(bench: &mut Bench, test_case: &TestCase, inputs: &Inputs, at: &[String]) {
    const RULE: &str = "check.faults";
    let done = bench.check(test_case, CallOptions::default(), inputs, None).await;
    bench.findings.tried(RULE);
    let named = at.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" and ");
    let expected = format!("`invalid-inputs` that names {named}");
    match done.answer {
        Ok(_) => {
            bench.fail(test_case, RULE, format!("it accepts inputs that are wrong at {named}"), &expected)
        }
        Err(CallError::Failure(Failure::InvalidInputs(faults))) => {
            for place in at {
                if !faults.iter().any(|fault| about(&fault.pointer, place)) {
                    bench.fail(
                        test_case,
                        RULE,
                        format!("it does not report `{place}`, which is wrong"),
                        &expected,
                    );
                }
            }
            for fault in &faults {
                if !exists(&fault.pointer) {
                    let what = format!("`{}` does not point into the inputs", fault.pointer);
                    bench.fail(
                        test_case,
                        RULE,
                        what,
                        "a pointer into `values`, `secrets`, `params` or `connection`",
                    );
                }
                if fault.message.trim().is_empty() {
                    bench.fail(
                        test_case,
                        RULE,
                        format!("it has no message for `{}`", fault.pointer),
                        "a message",
                    );
                }
            }
        }
        Err(CallError::Failure(_)) => {
            bench.fail(
                test_case,
                RULE,
                format!("it fails with another failure for inputs that are wrong at {named}"),
                &expected,
            );
        }
        Err(_) => {}
    }
}

/// Whether a fault is about a place: at it, in it, or in its parents.
fn about(pointer: &str, place: &str) -> bool {
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    !pointer.is_empty() && (within(place, pointer) || within(pointer, place))
}

fn exists(pointer: &str) -> bool {
    ["/values", "/secrets", "/params", "/connection"]
        .iter()
        .any(|part| pointer.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        || pointer.is_empty()
}

/// Unexpected texts.
fn texts() -> Vec<String> {
    vec![
        String::new(),
        "\u{0}\u{1b}[31m\u{202e}\u{feff}".to_owned(),
        "ä€𝒳日本語\u{301} 'quote\" `tick` $(x) ${x} {{ x }} %s ../..\\".to_owned(),
        "x".repeat(64 << 10),
        "𝒳".repeat(16 << 10),
    ]
}

async fn hostile(bench: &mut Bench, test_case: &TestCase) {
    const RULE: &str = "text.any";
    if !bench.wants(test_case, RULE) {
        return;
    }
    let keys: Vec<String> = TestCase::keys(&test_case.inputs.values);
    let compiled = schema::compile(Describes::Inputs, &test_case.schema.inputs).ok();
    for text in texts() {
        let strange = |inputs: &Inputs| {
            let params = json!({"text": text, text.clone(): [text], "deep": {"er": {"x": null}}});
            Inputs { params: params.into(), account: Some(text.as_str().into()), ..inputs.clone() }
        };
        let mut all = vec![strange(&test_case.inputs)];
        all.extend(keys.iter().take(MOST_UNKNOWN).map(|key| {
            merge::at(&strange(&test_case.inputs), "values", key, Some(Value::string(text.as_str())))
        }));
        for inputs in all {
            let subject = Some(test_case.stranger(&text));
            let how = CallOptions { subject, blame: Blame::Rule(RULE), ..CallOptions::default() };
            let done = bench.check(test_case, how.clone(), &inputs, None).await;
            bench.findings.tried(RULE);
            // The host calls no `name` with inputs that the schema rejects.
            let document = merge::document(&inputs).into();
            let fits = compiled.as_ref().is_none_or(|schema| schema.fits(&document) == Ok(Some(true)));
            if let (true, Ok(checked)) = (fits, done.answer) {
                bench.name(test_case, how, &merge::checked(&inputs, &checked)).await;
            }
        }
    }
}

/// Less memory and time than usual.
pub(crate) async fn small(bench: &mut Bench, test_case: &TestCase, drivers: &[Driver]) {
    const RULE: &str = "limits";
    if !test_case.schema.implements.check || !bench.wants(test_case, RULE) {
        return;
    }
    let usual = bench.check(test_case, CallOptions::default(), &test_case.inputs, None).await;
    let Ok(checked) = usual.answer else { return };
    let previous = merge::checked(&test_case.inputs, &checked);
    let usual = bench.check(test_case, CallOptions::default(), &test_case.inputs, Some(&previous)).await;
    let Ok(checked) = usual.answer else { return };
    let mut hows: Vec<(&str, CallOptions)> = drivers
        .iter()
        .map(|driver| {
            (
                "memory",
                CallOptions { driver: Some(driver.clone()), blame: Blame::Nobody, ..CallOptions::default() },
            )
        })
        .collect();
    for time in [usual.took / 4, usual.took / 2] {
        let time = Some(time.max(Duration::from_micros(50)));
        hows.push(("time", CallOptions { time, blame: Blame::Nobody, ..CallOptions::default() }));
    }
    for (what, how) in hows {
        let done = bench.check(test_case, how, &test_case.inputs, Some(&previous)).await;
        bench.findings.tried(RULE);
        let differs = match &done.answer {
            Ok(other) => !equal(&checked, other),
            Err(CallError::Failure(_)) => true,
            Err(_) => false,
        };
        if differs {
            let hint = "let it end if a limit is reached; do not continue with less";
            let what = format!("with less {what}, `check` gives another answer");
            bench.fail_with(
                test_case,
                RULE,
                what,
                "the same answer, or the end of the call by the host",
                Some(hint),
            );
        }
    }
}
