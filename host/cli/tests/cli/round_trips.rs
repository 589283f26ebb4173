//! Values keep every digit and every character on their way from a document through a definition, a
//! driver and the state to the outputs.

use purlin_systems::Project;
use purlin_systems::values::{Random, same};

/// Values in an ordinary run; `PURLIN_ROUND_TRIPS` sets another number.
const VALUES: usize = 4_000;
/// Values of one deployment.
const PER_RUN: usize = 4_000;
/// Values of one resource.
const PER_RESOURCE: usize = 250;

const PLATFORM: &str = r#"apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: kept}
spec:
  type: kept
  driver: purlin/echo
  inputs: {values: {all: "${params.all}"}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: sealed}
spec:
  type: sealed
  driver: purlin/echo
  inputs: {secrets: {all: "${params.all}"}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: templated}
spec:
  type: templated
  driver: purlin/template
  inputs:
    values:
      all: "${params.all}"
      templates: {outputs: "all: {{ .driver.values.all | toRawJson }}"}
  criteria: [{}]
"#;

#[test]
fn every_value_comes_back_unchanged() {
    let total =
        std::env::var("PURLIN_ROUND_TRIPS").ok().and_then(|number| number.parse().ok()).unwrap_or(VALUES);
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..total.div_ceil(PER_RUN) {
        deploy(&mut random, PER_RUN.min(total));
    }
}

fn deploy(random: &mut Random, values: usize) {
    let (mut shared, mut expected) = (Vec::new(), Vec::new());
    for number in 0..values.div_ceil(PER_RESOURCE) {
        let all: Vec<_> = (0..PER_RESOURCE).map(|_| random.value(0)).collect();
        let texts: Vec<_> = all.iter().map(|(text, _)| text.as_str()).collect();
        shared.push(format!(r#""k{number}":{{"type":"kept","params":{{"all":[{}]}}}}"#, texts.join(",")));
        let read = format!("${{resources['kept#shared.k{number}'].outputs.all}}");
        for (name, kind) in [("a", "kept"), ("s", "sealed")] {
            shared.push(format!(r#""{name}{number}":{{"type":"{kind}","params":{{"all":"{read}"}}}}"#));
        }
        // A template makes YAML, in which not every character may stand as it is.
        let numbers: Vec<_> = all.iter().filter(|(_, value)| value.is_number()).collect();
        let texts: Vec<_> = numbers.iter().map(|(text, _)| text.as_str()).collect();
        shared
            .push(format!(r#""t{number}":{{"type":"templated","params":{{"all":[{}]}}}}"#, texts.join(",")));
        let numbers: Vec<_> = numbers.into_iter().map(|(_, value)| value.clone()).collect();
        expected.push((all.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), numbers));
    }
    let deployment = format!(
        r#"{{"apiVersion":"purlin.dev/v1","kind":"Deployment","spec":{{"shared":{{{}}}}}}}"#,
        shared.join(",\n")
    );
    let project = Project::with(&[("platform.yaml", PLATFORM), ("app.yaml", &deployment)]);
    let documents = ["platform.yaml", "app.yaml"];
    project.run(&[&["up", "--yes"][..], &documents].concat()).status(0);
    let outputs = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    for (number, (all, numbers)) in expected.iter().enumerate() {
        for (key, values) in [
            (format!("kept.default#shared.k{number}"), all),
            (format!("sealed.default#shared.s{number}"), all),
            (format!("kept.default#shared.a{number}"), all),
            (format!("templated.default#shared.t{number}"), numbers),
        ] {
            let found = outputs["resources"][&key]["all"].as_array().expect("a list");
            assert_eq!(found.len(), values.len(), "{key}");
            for (found, value) in found.iter().zip(values) {
                assert!(same(found, value), "{key}: {value} became {found}");
            }
        }
    }
    // Nothing differs the second time either.
    let plan = project.run(&[&["plan", "--detailed-exitcode"][..], &documents].concat());
    assert_eq!(plan.status, 0, "{}", plan.out);
}
