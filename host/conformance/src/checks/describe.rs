//! A driver's description of itself.

use purlin_model::driver::DriverInfo;
use purlin_sandbox::{DriverSetup, LoadError, Sandbox};
use purlin_schema::Describes;
use serde_json::json;

use crate::Error;
use crate::bench::Bench;
use crate::report::Finding;
use crate::schema;

fn finding(what: String, expected: &str, hint: Option<&str>) -> Finding {
    let request = Some(json!({"function": "describe"}));
    Finding {
        case: None,
        what,
        request,
        answer: None,
        expected: expected.to_owned(),
        hint: hint.map(str::to_owned),
    }
}

pub(crate) async fn run(
    bench: &mut Bench,
    sandbox: &Sandbox,
    component: &[u8],
    setup: &DriverSetup,
) -> Result<(), Error> {
    let info = bench.driver.info().clone();
    if bench.findings.wants("describe.same") || bench.findings.wants("describe.alone") {
        check_answers(bench, sandbox, component, setup, &info).await?;
    }
    if bench.findings.wants("schema.valid") {
        schemas(bench, &info);
    }
    Ok(())
}

async fn check_answers(
    bench: &mut Bench,
    sandbox: &Sandbox,
    component: &[u8],
    setup: &DriverSetup,
    info: &DriverInfo,
) -> Result<(), Error> {
    let ask = || sandbox.ask(component.to_vec().into(), None, &setup.name, &setup.limits);
    match ask().await {
        Err(LoadError::Describe(error)) => {
            bench.findings.tried("describe.alone");
            let what = format!("in an instance without access to anything, it does not answer: {error}");
            let hint = "move these calls into the functions that need them";
            bench.findings.fail("describe.alone", finding(what, "an answer without calls", Some(hint)));
        }
        Err(other) => return Err(other.into()),
        Ok(alone) => {
            bench.findings.tried("describe.alone");
            for answer in [alone, ask().await?] {
                bench.findings.tried("describe.same");
                if let Some(field) = difference(info, &answer) {
                    let what = format!("the second answer differs in its {field}");
                    bench.findings.fail("describe.same", finding(what, "the same each time", None));
                }
            }
        }
    }
    Ok(())
}

fn difference(a: &DriverInfo, b: &DriverInfo) -> Option<&'static str> {
    let same = [
        ("name", a.name == b.name),
        ("version", a.version == b.version),
        ("description", a.description == b.description),
        ("types", a.types == b.types),
        ("requested capabilities", a.requested_capabilities == b.requested_capabilities),
        ("notes", a.notes == b.notes),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(field, _)| field)
}

fn schemas(bench: &mut Bench, info: &DriverInfo) {
    const RULE: &str = "schema.valid";
    for one in &info.types {
        for (side, schema) in [(Describes::Inputs, &one.inputs), (Describes::Outputs, &one.outputs)] {
            bench.findings.tried(RULE);
            let of = format!("the schema of the {side} of `{}`", one.type_name);
            if let Err(error) = schema::compile(side, schema) {
                let what = format!("{of} is not a valid schema: {error}");
                let hint = "a validator for JSON Schema 2020-12 gives details, with `wit/driver-schema.json`";
                bench.findings.fail(RULE, finding(what, "a JSON Schema of 2020-12", Some(hint)));
                continue;
            }
            for fault in schema::bad_examples(schema) {
                let what = format!("{of} has {fault}");
                bench.findings.fail(RULE, finding(what, "valid examples and defaults", None));
            }
        }
    }
}
