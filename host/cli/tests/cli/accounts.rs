//! Tests of the accounts and the labels of a workspace.

use purlin_systems::project::{Project, Ran};
use purlin_systems::tools::component;
use serde_json::{Value, json};

/// A project with an account, and a resource whose driver reads it.
fn project(fields: &str, named: &str) -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {{app: shop, env: dev}}
  labels: {{owner: platform-team, cost: '42'}}
  secret_stores:
    kept: {{file: ./kept}}
    secluded: {{file: ./kept}}
  accounts:
    guests-dev:
      type: guests
      fields: {fields}
    other: {{type: other}}
  drivers:
    acme/guests: {{source: {}, grants: {{secrets: [kept]}}}}
",
            component("guests").display()
        ),
    );
    project.write("kept/token", "t0p-s3cret-token");
    project.write(
        "app.yaml",
        format!(
            "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: account}}
spec: {{type: account, driver: acme/guests, driver_account: {named}, inputs: {{values: {{a: 1}}}}, criteria: [{{}}]}}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {{shared: {{one: {{type: account}}}}}}
"
        ),
    );
    project
}

const FIELDS: &str =
    "{region: here, token: {store: kept, ref: token}, of_others: {store: secluded, ref: token}}";

fn outputs(project: &Project) -> Value {
    let shown = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    shown["resources"]["account.default#shared.one"].clone()
}

fn shows(ran: &Ran, text: &str) {
    assert!(ran.err.contains(text) || ran.out.contains(text), "{text} is missing in {}{}", ran.out, ran.err);
}

#[test]
fn a_driver_gets_the_fields_that_its_schema_names_and_the_labels() {
    let project = project(FIELDS, "guests-dev");
    project.run(&["validate"]).status(0);
    let ran = project.run(&["-vv", "up", "--yes"]).status(0);
    assert!(!format!("{}{}", ran.out, ran.err).contains("t0p-s3cret"), "{}{}", ran.out, ran.err);
    assert_eq!(
        outputs(&project),
        json!({
            "account": {"region": "here", "size": 7, "type": "guests"},
            "labels": {"cost": "42", "owner": "platform-team"},
            "sensitive": ["/account/token"],
            "token": "t0p-s3cret-token",
        })
    );
    let recorded = project.run(&["state", "show", "account#shared.one", "--format", "json"]).status(0);
    assert!(!recorded.out.contains("t0p-s3cret") && recorded.out.contains("guests-dev"), "{}", recorded.out);
}

/// An account is always the current one, also for a resource that left the documents.
#[test]
fn a_rotated_account_changes_nothing_and_reaches_every_call() {
    let project = project(FIELDS, "guests-dev");
    project.run(&["up", "--yes"]).status(0);
    project.write("kept/token", "n3w-token");
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    project.run(&["refresh"]).status(0);
    assert_eq!(outputs(&project)["token"], "n3w-token");
    project.write("kept/token", "expired");
    let refused = project.run(&["destroy", "--yes"]).status(1);
    assert!(!format!("{}{}", refused.out, refused.err).contains("expired\""), "{}", refused.err);
    project.write("kept/token", "fresh");
    project.run(&["destroy", "--yes"]).status(0);
}

#[test]
fn what_is_wrong_with_an_account_is_said_before_anything_runs() {
    for (fields, named, code, help) in [
        (FIELDS, "guests-de", "missing-account", "did you mean `guests-dev`?"),
        (
            "{region: here, token: {store: secluded, ref: token}}",
            "guests-dev",
            "secret-store",
            "grant them in purlin.yaml",
        ),
        ("{region: 4, token: x}", "guests-dev", "invalid-inputs", "account.region"),
        ("{region: here}", "guests-dev", "invalid-inputs", "account.token"),
        (FIELDS, "other", "invalid-inputs", "account.region"),
    ] {
        let project = project(fields, named);
        for command in [&["validate"][..], &["up", "--yes"]] {
            let ran = project.run(command).status(2);
            shows(&ran, code);
            shows(&ran, help);
        }
    }
    // The store of an account is checked before, too, but its secret is read only now.
    let project = project(FIELDS, "guests-dev");
    std::fs::remove_file(project.path().join("kept/token")).expect("removed");
    project.run(&["validate"]).status(0);
    shows(&project.run(&["up", "--yes"]), "account.token` reads `token` from the secret store `kept`");
}
