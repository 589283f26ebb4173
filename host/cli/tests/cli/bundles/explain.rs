//! `purlin bundle explain` shows which bundle each requirement gets, and why.

use purlin_systems::{Project, Ran};

const APP: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/app, version: 1.0.0}
spec:
  credentials: [{name: token, description: lets it into the cluster}]
  requires:
    - name: db
      bundle: {reference: 'acme/db:v1.0.0', version: 1.x}
      parameters: {name: app}
      sharing: {group: {name: team}}
    - name: web
      bundle: acme/web:v1.0.0
      parameters: {database: '${bundle.dependencies.db.outputs.address}'}
      sharing: {mode: none}
";

const OTHERS: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.2.0}
spec:
  parameters: [{name: name, type: string}]
  outputs: [{name: address, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 2.0.0}
spec: {}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/web, version: 1.0.0}
spec:
  parameters: [{name: database, type: string}]
";

fn project() -> Project {
    let project = Project::with(&[("app.yaml", APP)]);
    std::fs::create_dir(project.path().join("catalog")).expect("made");
    project.write("catalog/others.yaml", OTHERS);
    project
}

#[test]
fn every_choice_is_explained() {
    let Ran { status, out, err, .. } = project().run(&["bundle", "explain", "app.yaml", "--name", "shop"]);
    assert_eq!((status, &*err), (0, ""));
    insta::assert_snapshot!(out);
}

#[test]
fn json_lists_installations_in_the_order_of_their_creation() {
    let out = project().run(&["bundle", "explain", "acme/app", "--format", "json"]).out;
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let of = |field: &str| -> Vec<String> {
        let all = report["installations"].as_array().expect("a list").iter();
        all.map(|one| one[field].as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(of("name"), ["app/db", "app/web", "app"]);
    assert_eq!(of("bundle"), ["acme/db:v1.2.0", "acme/web:v1.0.0", "acme/app:v1.0.0"]);
    assert_eq!(report["installations"][0]["why"]["code"], "highest-in-range");
    assert_eq!(report["installations"][0]["lost"][0]["code"], "out-of-range");
    assert_eq!(report["unmapped"][0]["name"], "token");
}

#[test]
fn errors_have_a_place_and_a_correction() {
    let project = project();
    project.write(
        "loop.yaml",
        APP.replace("acme/app,", "acme/loop,").replace("acme/web:v1.0.0", "acme/loop:v1.0.0"),
    );
    let mut transcript = String::new();
    for words in [
        &["bundle", "explain", "acme/ap"][..],
        &["bundle", "explain", "acme/app:v3.0.0"],
        &["bundle", "explain", "a b"],
        &["bundle", "explain", "catalog"],
        &["bundle", "explain", "acme/app", "--with", "bd=acme/db:v2.0.0"],
        &["bundle", "explain", "acme/app", "--with", "db=acme/db:v2.0.0"],
        &["bundle", "explain", "acme/app", "--with", "db=acme/db:v7.0.0"],
        &["bundle", "explain", "acme/app", "--with", "db"],
        &["bundle", "explain", "acme/app", "--catalog", "lost"],
        &["bundle", "explain", "acme/loop"],
    ] {
        let Ran { status, err, .. } = project.run(words);
        assert_eq!(status, 2, "{words:?}: {err}");
        transcript.push_str(&format!("$ purlin {}\n{err}\n", words.join(" ")));
    }
    insta::assert_snapshot!(transcript);
}
