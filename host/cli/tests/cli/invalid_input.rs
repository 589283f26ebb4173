//! Tests of invalid input of every kind: a clear message, exit status 2, no driver call, no state.

use crate::lock::replaced;
use purlin_systems::Project;
use purlin_systems::tools::component;

const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: nginx}}\n";

fn definition(id: &str, type_name: &str, rest: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {id}}}\nspec:\n  type: {type_name}\n  driver: purlin/echo\n{rest}"
    )
}

/// Runs `up`, asserts that it fails, and returns the message.
#[track_caller]
fn refused(project: &Project) -> String {
    let plan = project.run(&["plan"]).status(2);
    assert_eq!(plan.out, "");
    let ran = project.run(&["up", "--yes"]).status(2);
    assert_eq!(ran.out, "");
    assert!(!project.has_state(), "no state is written");
    assert!(!ran.err.contains("created"), "nothing was made");
    // Programs get the same message, in one document.
    let json = project.run(&["up", "--yes", "--format", "json"]).status(2).events();
    assert_eq!(json.len(), 1);
    assert_eq!((&json[0]["format"], &json[0]["event"]), (&1.into(), &"error".into()));
    assert!(json[0]["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
    ran.err.replace(&project.path().display().to_string(), "PROJECT")
}

#[track_caller]
fn with_score(more: &str, definitions: &[String]) -> String {
    let mut project = vec![("web.yaml".to_owned(), format!("{SCORE}{more}"))];
    project.extend(
        definitions.iter().enumerate().map(|(n, text)| (format!("definition-{n}.yaml"), text.clone())),
    );
    let files: Vec<(&str, &str)> =
        project.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    refused(&Project::with(&files))
}

#[test]
fn an_undefined_type_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {db: {type: postgress}}\n",
        &[definition("db", "postgres", "  criteria: [{}]\n")]
    ));
}

#[test]
fn a_resource_that_no_definition_matches_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {db: {type: postgres}}\n",
        &[
            definition("prod", "postgres", "  criteria: [{env_type: production}, {class: large}]\n"),
            definition("off", "postgres", "  criteria: []\n")
        ]
    ));
}

#[test]
fn a_missing_definition_names_what_was_read() {
    let score = format!("{SCORE}resources: {{db: {{type: postgres}}, cache: {{type: redis}}}}\n");
    let definition = definition("db", "postgres", "  criteria: [{}]\n");
    let project = Project::with(&[("apps/web.yaml", &score), ("platform/db.yaml", &definition)]);
    for (words, note) in [
        (&["validate", "apps"][..], Some("= note: only `apps` was read\n")),
        (&["plan", "-f", "apps/web.yaml", "apps"], Some("only `apps/web.yaml` and `apps` were read\n")),
        (&["validate"], None),
        (&["validate", "."], None),
        (&["graph", "."], None),
    ] {
        let err = project.run(words).status(2).err;
        assert_eq!(err.matches(" read\n").count(), usize::from(note.is_some()), "{words:?}: {err}");
        assert!(note.is_none_or(|note| err.contains(note)), "{words:?}: {err}");
    }
}

#[test]
fn two_definitions_with_an_equal_criterion_are_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {db: {type: postgres}}\n",
        &[
            definition("one", "postgres", "  criteria: [{}]\n"),
            definition("two", "postgres", "  criteria: [{}]\n")
        ]
    ));
}

#[test]
fn a_loop_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {one: {type: a}}\n",
        &[
            definition("a", "a", "  inputs: {values: {x: \"${resources.b.outputs.y}\"}}\n  criteria: [{}]\n"),
            definition("b", "b", "  inputs: {values: {y: \"${resources.a.outputs.x}\"}}\n  criteria: [{}]\n"),
        ]
    ));
}

#[test]
fn a_selector_that_starts_nowhere_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {one: {type: a}}\n",
        &[definition(
            "a",
            "a",
            "  inputs: {values: {x: \"${resources['b<workload>c'].outputs.y}\"}}\n  criteria: [{}]\n"
        )]
    ));
}

#[test]
fn an_unknown_output_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {one: {type: a}}\n",
        &[
            definition(
                "a",
                "a",
                "  inputs: {values: {x: \"${resources.b.outputs.hots}\"}}\n  criteria: [{}]\n"
            ),
            definition("b", "b", "  inputs: {values: {host: h}}\n  criteria: [{}]\n"),
        ]
    ));
}

#[test]
fn an_unknown_context_key_is_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {one: {type: a}}\n",
        &[definition(
            "a",
            "a",
            "  inputs: {values: {x: \"${context.env.name}\", y: \"${contxt.env.id}\"}}\n  criteria: [{}]\n"
        )]
    ));
}

#[test]
fn invalid_placeholders_are_rejected() {
    insta::assert_snapshot!(with_score(
        "resources: {one: {type: a}}\n",
        &[definition(
            "a",
            "a",
            "  inputs: {values: {x: \"${resources.b.outputs\", y: \"${}\", z: \"${resources['b}\"}}\n  criteria: [{}]\n"
        )]
    ));
}

#[test]
fn secrets_and_secret_refs_at_once_are_rejected() {
    insta::assert_snapshot!(with_score(
        "",
        &[definition(
            "a",
            "a",
            "  inputs:\n    secrets: {p: x}\n    secret_refs: {q: {value: y}}\n  criteria: [{}]\n"
        )]
    ));
}

#[test]
fn a_yaml_bomb_is_rejected() {
    let mut bomb = String::from(
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: a}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n",
    );
    for n in 1..12 {
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")));
    }
    insta::assert_snapshot!(refused(&Project::with(&[("bomb.yaml", &bomb)])));
}

#[test]
fn a_file_of_50_megabytes_is_rejected() {
    let project = Project::with(&[("web.yaml", SCORE)]);
    project.write("large.yaml", "a: b\n".repeat(10 << 20));
    insta::assert_snapshot!(refused(&project));
}

#[test]
fn a_file_that_is_not_utf_8_is_rejected() {
    let project = Project::with(&[("web.yaml", SCORE)]);
    project.write("latin.yaml", b"apiVersion: score.dev/v1b1\nmetadata: {name: caf\xe9}\n");
    insta::assert_snapshot!(refused(&project));
}

fn with_driver(component: &[u8]) -> String {
    let workspace =
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    acme/db: {source: driver.wasm}\n";
    let definition = definition("db", "postgres", "  criteria: [{}]\n").replace("purlin/echo", "acme/db");
    let score = format!("{SCORE}resources: {{db: {{type: postgres}}}}\n");
    let project =
        Project::with(&[("purlin.yaml", workspace), ("db.yaml", &definition), ("web.yaml", &score)]);
    project.write("driver.wasm", component);
    // Commands that do not call the driver still work.
    project.run(&["graph"]).status(0);
    project.run(&["plan", "--offline"]).status(0);
    refused(&project)
}

#[test]
fn a_driver_that_is_not_a_component_is_rejected() {
    insta::assert_snapshot!(with_driver(b"#!/bin/sh\necho no\n"));
}

#[test]
fn a_driver_of_another_contract_is_rejected() {
    let component = std::fs::read(component("guests")).expect("the adversary");
    let other = replaced(&component, b"purlin:driver/lifecycle@0.3.0", b"purlin:driver/lifecycle@0.7.0");
    insta::assert_snapshot!(with_driver(&other));
}

#[test]
fn an_unknown_driver_is_rejected() {
    let definition = definition("db", "postgres", "  criteria: [{}]\n").replace("purlin/echo", "purlin/ecko");
    insta::assert_snapshot!(with_score("resources: {db: {type: postgres}}\n", &[definition]));
}

#[test]
fn inputs_that_a_driver_rejects_are_reported() {
    let definition =
        definition("db", "postgres", "  inputs: {values: {kind: pasword, length: many}}\n  criteria: [{}]\n")
            .replace("purlin/echo", "purlin/random");
    insta::assert_snapshot!(with_score("resources: {db: {type: postgres}}\n", &[definition]));
}

#[test]
fn a_wrong_command_line_is_rejected() {
    let project = Project::empty();
    for (arguments, message) in [
        (&["upp"][..], "there is no command `purlin upp`"),
        (&["up", "--yes", "--paralelism", "3"], "did you mean `--parallelism`?"),
        (&["up", "--yes", "--parallelism", "0"], "takes a whole number of 1 or more, not `0`"),
        (&["graph", "--format", "png"], "takes `tree`, `json`, `dot`, `mermaid`, `svg` or `html`, not `png`"),
        (&["explain", "postgres"], "no document asks for `postgres`"),
        (&["explain", "post gres#x"], "no document asks for `post gres#x`"),
        (&["state", "show", "x"], "nothing is recorded as `x`"),
        (&["validate", "nowhere.yaml"], "nowhere.yaml"),
        (&["up", "--yes", "--env", "a/b"], "cannot be the name of the environment"),
        (&["init", "--app", "A B"], "such as `a-b`"),
    ] {
        let ran = project.run(arguments).status(2);
        assert_eq!(ran.out, "", "{arguments:?}");
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
    }
    assert!(!project.has_state());
}
