//! `purlin bundle explain` as people and programs meet it.

use crate::project::{Project, Ran};

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
fn programs_get_the_same_in_the_order_in_which_it_would_be_made() {
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
fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
    let project = project();
    project.write(
        "loop.yaml",
        APP.replace("acme/app,", "acme/loop,").replace("acme/web:v1.0.0", "acme/loop:v1.0.0"),
    );
    let mut told = String::new();
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
        told.push_str(&format!("$ purlin {}\n{err}\n", words.join(" ")));
    }
    insta::assert_snapshot!(told);
}

const DEPLOYED: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 1.2.0}
spec:
  driver: purlin/echo
  inputs:
    values: {host: '${bundle.parameters.name}.db.local'}
    secrets: {password: '${bundle.credentials.root}'}
  parameters: [{name: name, type: string}]
  credentials: [{name: root}]
  outputs: [{name: host}, {name: password, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/storage, version: 1.0.0}
spec:
  parameters: [{name: bucket, type: string}]
  outputs: [{name: bucket}]
  requires:
    - name: database
      bundle: {reference: 'acme/mysql:v1.0.0', version: 1.x}
      parameters: {name: 'db-${installation.root.name}'}
      credentials: {root: correct-horse}
      outputs: {address: 'mysql://${outputs.host}:3306'}
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/blog, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs:
    values:
      title: '${bundle.parameters.title}'
      files: '${bundle.dependencies.storage.outputs.bucket}'
      database: '${bundle.dependencies.storage.outputs.address}'
      url: 'http://${installation.name}'
  parameters: [{name: title, type: string, default: Hello}]
  outputs: [{name: url}, {name: database}]
  requires:
    - name: storage
      bundle: acme/storage
      parameters: {bucket: 'of-${bundle.parameters.title}'}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  app: shop
  env: dev
  values: {title: News}
  requires:
    - {name: blog, bundle: acme/blog, parameters: {title: '${values.title}'}}
  shared:
    page: {type: page, params: {of: \"${resources['installation#blog'].outputs.url}\"}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: page}
spec: {type: page, driver: purlin/echo, inputs: {values: {of: '${params.of}'}}, criteria: [{}]}
";

#[test]
fn what_a_deployment_requires_is_made_and_deleted_in_the_right_order() {
    let project = Project::with(&[("all.yaml", DEPLOYED)]);
    let up = project.run(&["up", "--yes"]);
    assert_eq!(up.status, 0, "{}", up.err);
    let made = |text: &str| -> Vec<String> {
        let done = text.lines().filter_map(|line| line.split_once("] ")?.1.split_whitespace().nth(1));
        done.filter(|key| !key.starts_with("base-env")).map(str::to_owned).collect()
    };
    let (deep, middle) = ("installation.default#blog/storage/database", "installation.default#blog/storage");
    let order = [deep, middle, "installation.default#blog", "page.default#shared.page"];
    assert_eq!(made(&up.err), order, "{}", up.err);
    let outputs = project.run(&["outputs", "--format", "json"]).out;
    let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
    let of = |key: &str| &outputs["resources"][key];
    assert_eq!(of("installation.default#blog")["database"], "mysql://db-blog.db.local:3306");
    assert_eq!(of("installation.default#blog")["files"], "of-News");
    assert_eq!(of(middle)["bucket"], "of-News");
    assert_eq!(of("page.default#shared.page")["of"], "http://blog");
    let everything = std::fs::read_dir(project.path().join(".purlin")).expect("a state");
    assert!(everything.count() > 0);
    for words in [&["plan"][..], &["outputs"], &["graph"], &["explain", "blog/storage/database"]] {
        let Ran { out, err, .. } = project.run(words);
        assert!(!format!("{out}{err}").contains("correct-horse"), "{words:?}: {out}{err}");
    }
    assert!(project.run(&["plan", "--detailed-exitcode"]).status == 0);
    let destroyed = project.run(&["destroy", "--yes"]);
    let back: Vec<&str> = order.into_iter().rev().collect();
    assert_eq!(made(&destroyed.err), back, "{}", destroyed.err);
}

#[test]
fn an_installation_is_explained_and_shown_in_the_graph() {
    let project = Project::with(&[("all.yaml", DEPLOYED)]);
    let mut told = String::new();
    for words in [
        &["graph"][..],
        &["explain", "installation#blog/storage/database"],
        &["graph", "--format", "mermaid"],
    ] {
        let Ran { status, out, err, .. } = project.run(words);
        assert_eq!((status, &*err), (0, ""));
        told.push_str(&format!("$ purlin {}\n{out}\n", words.join(" ")));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn whatever_is_wrong_with_requirements_is_told_before_anything_runs() {
    let mut told = String::new();
    for (from, to) in [
        ("      credentials: {root: correct-horse}\n", ""),
        ("bundle: acme/blog,", "bundle: acme/blogs,"),
        ("outputs.url}\"", "outputs.uri}\""),
        ("'${values.title}'", "'${bundle.parameters.title}'"),
        ("{name: blog, bundle", "{name: 'a(b', bundle"),
        ("{name: title, type: string, default: Hello}", "{name: title, type: integer}"),
        ("parameters: {title: '${values.title}'}", "outputs: {x: y}"),
    ] {
        assert!(DEPLOYED.contains(from), "{from}");
        let project = Project::with(&[("all.yaml", &DEPLOYED.replace(from, to))]);
        let Ran { status, err, .. } = project.run(&["up", "--yes"]);
        assert_eq!(status, 2, "{from}: {err}");
        assert!(!project.path().join(".purlin").exists(), "{from}");
        told.push_str(&format!("{from} → {to}\n{err}\n"));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_steps_of_another_tool_can_be_planned_and_not_run() {
    let porter = "schemaVersion: 1.0.1\nname: mysql\nversion: 0.1.4\nregistry: localhost:5000\nmixins: [exec]\noutputs: [{name: host, type: string, default: x}]\ninstall:\n  - exec: {command: ./helpers.sh}\n";
    let deployment = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  requires: [{name: db, bundle: 'localhost:5000/mysql:v0.1.4'}]\n";
    let project = Project::with(&[("porter.yaml", porter), ("app.yaml", deployment)]);
    assert_eq!(project.run(&["plan"]).status, 0);
    let Ran { status, err, .. } = project.run(&["up", "--yes"]);
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("error[needs-driver]"), "{err}");
    assert_eq!(project.run(&["status", "--format", "json"]).out.matches("installation").count(), 0);
}
