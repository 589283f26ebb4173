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
    let named = if named.is_empty() { String::new() } else { format!("driver_account: {named}, ") };
    project.write(
        "app.yaml",
        format!(
            "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: account}}
spec: {{type: account, driver: acme/guests, {named}inputs: {{values: {{a: 1}}}}, criteria: [{{}}]}}
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
        ("{region: 4, token: x}", "guests-dev", "invalid-inputs", "correct `accounts.guests-dev.fields`"),
        (FIELDS, "", "invalid-inputs", "give the definition a `driver_account: NAME`"),
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
    let ran = project.run(&["up", "--yes"]).status(2);
    shows(&ran, "`account.token` reads `token` from the secret store `kept`");
    shows(&ran, "purlin.yaml:");
    assert!(!project.path().join(".purlin").join("environments").exists(), "nothing was done: {}", ran.err);
}

/// Nothing is deleted with half of what it needs.
#[test]
fn what_a_recorded_account_lacks_is_said_before_anything_is_deleted() {
    let project = project(FIELDS, "guests-dev");
    project.run(&["up", "--yes"]).status(0);
    let workspace = std::fs::read_to_string(project.path().join("purlin.yaml")).expect("there");
    for (from, to, code) in [
        ("guests-dev:", "guests-next:", "missing-account"),
        ("secrets: [kept]", "secrets: [secluded]", "secret-store"),
    ] {
        project.write("purlin.yaml", workspace.replace(from, to));
        let ran = project.run(&["destroy", "--yes"]).status(2);
        shows(&ran, code);
        shows(&ran, "`account.default#shared.one` needs it");
        assert_eq!(
            project.run(&["state", "list", "--format", "json"]).status(0).out.matches("\"key\"").count(),
            2
        );
    }
    project.write("purlin.yaml", &workspace);
    project.run(&["destroy", "--yes"]).status(0);
}

#[test]
fn the_names_of_secrets_in_an_account_are_checked_where_they_are_written() {
    for (leaf, message) in [
        ("{store: kept}", "lacks `ref`"),
        ("{ref: token}", "lacks `store`"),
        ("{store: kept, ref: ''}", "`ref` of a secret is a text"),
        ("{store: kept, ref: 7}", "`ref` of a secret is a text"),
        ("{store: kept, ref: token, verison: 3}", "`verison` does not belong"),
        ("{store: kept, ref: token, version: [3]}", "`version` of a secret"),
        ("{value: x}", "`value` does not belong"),
        ("{deep: [{store: kept}]}", "lacks `ref`"),
        ("{store: nope, ref: token}", "unknown-store"),
        ("'gh_Sup3r${Secret'", "placeholders mean nothing in an account"),
    ] {
        let project =
            project(&format!("{{region: here, token: x, pat: gh_N3ighbour, other: {leaf}}}"), "guests-dev");
        let ran = project.run(&["validate"]).status(2);
        shows(&ran, message);
        shows(&ran, "purlin.yaml:12:");
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("Sup3r") && !all.contains("N3ighbour"), "{all}");
    }
}

/// Who writes a driver sees and gives its account like its connection.
#[test]
fn the_account_of_a_driver_is_shown_and_given_by_hand() {
    let project = project(FIELDS, "guests-dev");
    let guests = component("guests").display().to_string();
    project.run(&["driver", "inspect", &guests]).status(0).prints("account.region");
    let account = r#"{"name": "by-hand", "region": "there", "token": "t0p", "of_others": "t0p"}"#;
    let run = ["driver", "run", &guests, "create", "--key", "account#shared.one", "--account", account];
    let made = project.run(&run).status(0).json();
    assert_eq!(made["state"]["outputs"]["account"], json!({"region": "there", "size": 7}), "{made:#}");
    assert!(!made.to_string().contains("t0p"), "{made:#}");
}

/// A project whose driver has no account in its schema, but a connection.
fn connected(fields: &str, connection: &str) -> Project {
    let project = project(fields, "guests-dev");
    let document = std::fs::read_to_string(project.path().join("app.yaml")).expect("there");
    let document = document.replace("type: account", "type: connected");
    project.write("app.yaml", document.replace("values: {a: 1}", &format!("connection: {connection}")));
    project
}

#[test]
fn an_account_fills_in_a_connection_but_never_the_system_that_it_leads_to() {
    let fields = "{token: {store: kept, ref: token}, timeout: 5, server: elsewhere, of_others: 1}";
    let project = connected(fields, "{server: here}");
    project.run(&["validate"]).status(0);
    let ran = project.run(&["-vv", "up", "--yes"]).status(0);
    assert!(!format!("{}{}", ran.out, ran.err).contains("t0p-s3cret"), "{}{}", ran.out, ran.err);
    let shown = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    assert_eq!(
        shown["resources"]["connected.default#shared.one"],
        json!({
            "account": {"name": "guests-dev"},
            "connection": {"server": "here", "timeout": 5},
            "labels": {"cost": "42", "owner": "platform-team"},
            "sensitive": ["/connection/token"],
            "token": "t0p-s3cret-token",
        })
    );
    let recorded = project
        .run(&["state", "show", "connected#shared.one", "--format", "json", "--show-secrets"])
        .status(0);
    let connection = &recorded.json()["inputs"]["connection"];
    assert_eq!(connection.get("token"), None, "the secret of an account is not recorded: {connection}");
    project.write("kept/token", "n3w-token");
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    project.run(&["refresh"]).status(0);
    let shown = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    assert_eq!(shown["resources"]["connected.default#shared.one"]["token"], "n3w-token");

    let guests = component("guests").display().to_string();
    let run = ["driver", "run", &guests, "create", "--key", "connected#shared.one"];
    let by_hand = [
        &run[..],
        &["--account", r#"{"token": "t0p", "server": "there"}"#, "--connection", r#"{"server": "here"}"#],
    ];
    let made = project.run(&by_hand.concat()).status(0).json();
    assert_eq!(made["state"]["outputs"]["connection"], json!({"server": "here", "timeout": 30}), "{made:#}");
    assert!(!made.to_string().contains("t0p"), "{made:#}");
}

#[test]
fn what_is_wrong_with_an_account_of_a_connection_is_said_before_anything_runs() {
    for (fields, connection, code, help) in [
        ("{of_others: 1}", "{server: here, token: x}", "missing-account", "it reads `timeout`, `token`"),
        (
            "{timeout: 5}",
            "{server: here}",
            "invalid-inputs",
            "the account `guests-dev` does not have it either",
        ),
        ("{token: x}", "{}", "invalid-inputs", "connection.server"),
        (
            "{token: x}",
            "{server: here, token: y}",
            "invalid-inputs",
            "remove it from `inputs.connection`, or from `accounts.guests-dev.fields`",
        ),
        (
            "{token: x, timeout: long}",
            "{server: here}",
            "invalid-inputs",
            "correct `accounts.guests-dev.fields`",
        ),
        (
            "{token: {store: secluded, ref: token}}",
            "{server: here}",
            "secret-store",
            "grant them in purlin.yaml",
        ),
    ] {
        let project = connected(fields, connection);
        for command in [&["validate"][..], &["up", "--yes"]] {
            let ran = project.run(command).status(2);
            shows(&ran, code);
            shows(&ran, help);
        }
    }
}
