//! Deployments and bundles that require bundles.

use purlin_systems::{Project, Ran};

use super::{CATALOG, and};

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
fn requirements_of_a_deployment_are_created_and_deleted_in_order() {
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
    assert_eq!(
        of(middle),
        &serde_json::json!({"address": "mysql://db-blog.db.local:3306", "bucket": "of-News"})
    );
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

/// A bundle without a driver derives a secret value from a secret output of its requirement.
#[test]
fn values_made_from_a_secret_output_are_secret() {
    let wraps = "---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/wraps, version: 1.0.0}
spec:
  requires:
    - name: db
      bundle: {reference: 'acme/mysql', version: 1.x}
      parameters: {size: 1}
      credentials: {root: correct-horse}
      outputs: {login: 'root:${outputs.password}', host: '${outputs.host}'}
";
    let project = Project::with(&[("all.yaml", &format!("{CATALOG}{wraps}"))]);
    let up = project.run(&["up", "--yes", "--bundle", "acme/wraps", "--format", "json"]).status(0);
    let outputs = |words: &[&str]| {
        let words = and(&["outputs", "--bundle", "acme/wraps", "--format", "json"], words);
        project.run(&words).status(0).out
    };
    let shown = outputs(&[]);
    assert!(
        shown.contains("\"host\": \"db.db.local\"") || shown.contains("\"host\":\"db.db.local\""),
        "{shown}"
    );
    assert!(!format!("{shown}{}{}", up.out, up.err).contains("correct-horse"), "{shown}");
    assert!(outputs(&["--show-secrets"]).contains("root:correct-horse"), "{}", outputs(&["--show-secrets"]));
}

#[test]
fn an_installation_is_explained_and_shown_in_the_graph() {
    let project = Project::with(&[("all.yaml", DEPLOYED)]);
    let mut transcript = String::new();
    for words in [
        &["graph"][..],
        &["explain", "installation#blog/storage/database"],
        &["graph", "--format", "mermaid"],
    ] {
        let Ran { status, out, err, .. } = project.run(words);
        assert_eq!((status, &*err), (0, ""));
        transcript.push_str(&format!("$ purlin {}\n{out}\n", words.join(" ")));
    }
    insta::assert_snapshot!(transcript);
}

#[test]
fn errors_in_requirements_are_reported_before_anything_runs() {
    let mut transcript = String::new();
    for (from, to) in [
        ("      credentials: {root: correct-horse}\n", ""),
        ("bundle: acme/blog,", "bundle: acme/blogs,"),
        ("outputs.url}\"", "outputs.uri}\""),
        ("'${values.title}'", "'${bundle.parameters.title}'"),
        ("{name: blog, bundle", "{name: 'a(b', bundle"),
        ("{name: title, type: string, default: Hello}", "{name: title, type: integer}"),
        ("parameters: {title: '${values.title}'}", "outputs: {x: y}"),
        ("{name: blog, bundle", "{name: shared.page, bundle"),
    ] {
        assert!(DEPLOYED.contains(from), "{from}");
        let mut documents = DEPLOYED.replace(from, to);
        if to.contains("shared.page") {
            documents = documents.replace("{type: page, params", "{type: installation, params");
        }
        let project = Project::with(&[("all.yaml", &documents)]);
        let Ran { status, err, .. } = project.run(&["up", "--yes"]);
        assert_eq!(status, 2, "{from}: {err}");
        assert!(!project.path().join(".purlin").exists(), "{from}");
        transcript.push_str(&format!("{from} → {to}\n{err}\n"));
    }
    insta::assert_snapshot!(transcript);
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
