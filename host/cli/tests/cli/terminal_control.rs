//! Tests that output of drivers cannot control the terminal, whichever command shows it.

use purlin_systems::tools::component;
use purlin_systems::{Project, Ran};

/// The first character that would control a terminal or change the reading order.
fn acts(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{200f}' | '\u{feff}')
    })
}

#[track_caller]
fn is_still(verb: &[&str], ran: &Ran) {
    for (stream, text) in [("output", &ran.out), ("error", &ran.err)] {
        assert_eq!(acts(text), None, "{verb:?} on standard {stream}: {text:?}");
    }
}

fn project(deed: &str) -> Project {
    let project = Project::empty();
    let driver = format!("drivers: {{acme/bad: {{source: {}}}}}", component("guests").display());
    project.write("purlin.yaml", format!("apiVersion: purlin.dev/v1\nkind: Workspace\n{driver}\n"));
    project.write("app.yaml", documents(deed, 1));
    project
}

fn documents(deed: &str, n: u32) -> String {
    format!(
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: thing}}
spec:
  type: thing
  driver: acme/bad
  inputs: {{values: {{do: {deed}, n: {n}}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: reader}}
spec:
  type: reader
  driver: purlin/echo
  inputs: {{values: {{host: \"${{resources['thing.default#shared.a'].outputs.host}}\"}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {{name: d}}
spec:
  org: acme
  app: shop
  env: {{id: dev, type: development}}
  shared:
    a: {{type: thing}}
    b: {{type: reader}}
"
    )
}

const A: &str = "thing#shared.a";

#[test]
fn outputs_of_drivers_have_no_control_characters() {
    let project = project("paint");
    let up = project.run(&["up", "--yes"]).status(0);
    is_still(&["up", "--yes"], &up);
    assert!(up.err.contains("log "), "its lines are shown: {}", up.err);
    project.write("app.yaml", documents("paint", 2));
    for verb in [
        &["plan"][..],
        &["plan", "--full"],
        &["diff"],
        &["outputs"],
        &["outputs", "--show-secrets"],
        &["explain", A],
        &["graph"],
        &["graph", "--all"],
        &["graph", "--format", "dot"],
        &["graph", "--format", "mermaid"],
        &["state", "list"],
        &["state", "show", A],
        &["history"],
        &["refresh"],
        &["driver", "list"],
        &["export", "out"],
        &["up", "--yes", "-v"],
        &["state", "protect", A],
        &["destroy", "--yes"],
        &["state", "protect", "--off", A],
        &["destroy", "--yes"],
    ] {
        let ran = project.run(verb);
        is_still(verb, &ran);
        assert!(
            ran.status != 101 && ran.status != 2 || verb.first() == Some(&"destroy"),
            "{verb:?}: {}",
            ran.err
        );
        // This also holds for JSON, since its reader may print it.
        if !matches!(verb, ["graph", "--format", ..] | ["export", ..] | ["state", "protect", ..]) {
            let json = [verb, &["--format", "json"]].concat();
            is_still(&json, &project.run(&json));
        }
    }
}

#[test]
fn messages_of_drivers_have_no_control_characters() {
    for deed in ["paint-invalid", "paint-denied", "paint-partial", "paint-failed", "paint-panic"] {
        let project = project(deed);
        for verb in
            [&["up", "--yes"][..], &["up", "--yes", "--format", "json"], &["state", "list"], &["history"]]
        {
            let ran = project.run(verb);
            is_still(verb, &ran);
        }
        let up = project.run(&["up", "--yes"]);
        assert_eq!(up.status, 1, "{deed}: {}", up.err);
    }
}
