//! Tests of bundles through the command line.

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

const CATALOG: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 1.2.0}
spec:
  driver: purlin/echo
  inputs:
    values: {host: '${bundle.parameters.name}.db.local', size: '${bundle.parameters.size}'}
    secrets: {password: '${bundle.credentials.root}'}
  parameters: [{name: name, type: string, default: db}, {name: size, type: integer, description: GiB of disk}]
  credentials: [{name: root, description: of the administrator}]
  outputs: [{name: host}, {name: size}, {name: password, sensitive: true}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mysql, version: 2.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: 'two.local'}}
  outputs: [{name: host}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/blog, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs:
    values:
      title: '${bundle.parameters.title}'
      url: 'http://${installation.name}/${bundle.dependencies.db.outputs.host}'
  parameters: [{name: title, type: string}]
  outputs: [{name: url}]
  requires:
    - {name: db, bundle: {reference: acme/mysql, version: 1.x}}
";

/// A Deployment in a folder of bundles.
const BESIDE: &str = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {app: shop, env: prod}\n";

const BLOG: [&str; 6] = ["up", "--yes", "--bundle", "acme/blog", "--namespace", "dev"];

fn catalog() -> Project {
    Project::with(&[("catalog/all.yaml", CATALOG), ("catalog/shop.yaml", BESIDE)])
}

fn and<'a>(first: &[&'a str], second: &[&'a str]) -> Vec<&'a str> {
    [first, second].concat()
}

fn outputs(project: &Project) -> serde_json::Value {
    let out =
        project.run(&["outputs", "--app", "blog", "--env", "dev", "catalog/all.yaml", "--format", "json"]);
    serde_json::from_str(&out.status(0).out).expect("JSON")
}

#[test]
fn settings_of_a_bundle_are_recorded_and_kept_secret() {
    let project = catalog();
    let first = project.run(&and(&BLOG, &["--param", "title=News"])).status(2);
    assert!(first.err.contains("--credential-env blog/db.root=VARIABLE"), "{}", first.err);
    assert!(!project.path().join(".purlin").exists());
    project.write("answers.yaml", "blog/db.size: 20\nblog.title: Old\n");
    let mut command = project.command(&and(
        &BLOG,
        &["--params", "answers.yaml", "--param", "title=News", "--credential-env", "blog/db.root=ROOT"],
    ));
    command.env("ROOT", "correct-horse");
    let first = crate::project::ran(command).status(0);
    let resources = &outputs(&project)["resources"];
    let blog = resources["installation.default#blog"].clone();
    assert_eq!(blog, serde_json::json!({"title": "News", "url": "http://blog/db.db.local"}));
    assert_eq!(resources["installation.default#blog/db"]["size"], 20);
    // The answers are remembered.
    let again = project.run(&BLOG).status(0);
    assert!(again.err.contains("Nothing to change"), "{}", again.err);
    // The last answer applies until there is another one.
    project.run(&and(&BLOG, &["--param", "blog/db.size:=30"])).status(0);
    project.run(&and(&BLOG, &["--param", "title=Late"])).status(0);
    assert_eq!(outputs(&project)["resources"]["installation.default#blog/db"]["size"], 30);
    // A rollback uses the answers of its deployment.
    project
        .run(&["rollback", "1", "--yes", "--app", "blog", "--env", "dev", "-f", "catalog/all.yaml"])
        .status(0);
    let resources = &outputs(&project)["resources"];
    assert_eq!(resources["installation.default#blog/db"]["size"], 20);
    assert_eq!(resources["installation.default#blog"]["title"], "News");
    // The secret appears nowhere.
    let shown = format!("{}{}{}{}", first.out, first.err, again.out, again.err);
    assert!(!shown.contains("correct-horse"), "{shown}");
    let secret = b"correct-horse";
    for file in files(&project.path().join(".purlin")) {
        let bytes = std::fs::read(&file).expect("read");
        assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{}", file.display());
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_bundle_that_was_named_stays_until_that_is_taken_back() {
    let project = catalog();
    let answers = ["--param", "title=News", "--param", "db.size=1", "--credential", "blog/db.root=x"];
    // This requirement must be named in full: `db.size` sets nothing.
    project.run(&and(&BLOG, &answers)).status(2);
    let with = ["--param", "title=News", "--with", "db=acme/mysql:v2.0.0"];
    project.run(&and(&BLOG, &with)).status(0);
    let host =
        |project: &Project| outputs(project)["resources"]["installation.default#blog/db"]["host"].clone();
    assert_eq!(host(&project), "two.local");
    assert!(project.run(&BLOG).status(0).err.contains("Nothing to change"));
    let explained = project.run(&["explain", "blog/db", "--bundle", "acme/blog", "--namespace", "dev"]);
    assert!(explained.status(0).out.contains("`--with` named it in an earlier run"));
    let back = ["--with", "db=", "--param", "blog/db.size=1", "--credential", "blog/db.root=x"];
    project.run(&and(&BLOG, &back)).status(0);
    assert_eq!(host(&project), "db.db.local");
}

#[test]
fn installations_keep_their_version_and_newer_ones_are_offered() {
    let project = catalog();
    project.run(&and(&BLOG, &["--with", "db=acme/mysql:v2.0.0", "--param", "title=News"])).status(0);
    let answers = ["--with", "db=", "--param", "blog/db.size=1", "--credential", "blog/db.root=x"];
    project.run(&and(&BLOG, &answers)).status(0);
    let newer = CATALOG.replace("version: 1.2.0", "version: 1.3.0").replace(".db.local", ".new.local");
    project.write("catalog/newer.yaml", newer.split("---\n").next().expect("a bundle"));
    let stays = project.run(&BLOG).status(0);
    assert!(stays.err.contains("Nothing to change"), "{}", stays.err);
    let offer = "`blog/db` stays at acme/mysql:v1.2.0, which fits; `--with blog/db=acme/mysql:v1.3.0` takes the newer";
    assert!(stays.err.contains(offer), "{}", stays.err);
    let plan = ["plan", "--bundle", "acme/blog", "--namespace", "dev", "--format", "json"];
    let plan: serde_json::Value = serde_json::from_str(&project.run(&plan).status(0).out).expect("JSON");
    let offer = serde_json::json!({
        "installation": "blog/db", "installed": "acme/mysql:v1.2.0", "newer": "acme/mysql:v1.3.0"
    });
    assert_eq!(plan["offers"], serde_json::json!([offer]));
    project.run(&and(&BLOG, &["--with", "blog/db=acme/mysql:v1.3.0"])).status(0);
    assert_eq!(outputs(&project)["resources"]["installation.default#blog/db"]["host"], "db.new.local");
    let done = project.run(&BLOG).status(0);
    assert!(!done.err.contains("stays at"), "{}", done.err);
    // Destroying everything also deletes the answers.
    project.run(&["destroy", "--yes", "--app", "blog", "--env", "dev", "catalog/all.yaml"]).status(0);
    assert!(project.run(&BLOG).status(2).err.contains("error[unmapped]"));
}

#[test]
fn a_shared_installation_outlives_its_first_user() {
    let deployment = |names: &[&str]| {
        let one =
            |name: &&str| format!("    - {{name: {name}, bundle: acme/blog, parameters: {{title: x}}}}\n");
        let all: String = names.iter().map(one).collect();
        format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  app: shop\n  env: dev\n  requires:\n{all}"
        )
    };
    let project = Project::with(&[("all.yaml", CATALOG), ("app.yaml", &deployment(&["one", "two"]))]);
    let answers = ["--param", "one/db.size=1", "--credential", "one/db.root=x"];
    let up = project.run(&and(&["up", "--yes"], &answers)).status(0);
    assert!(up.err.contains("created installation.default#one/db ("), "{}", up.err);
    assert!(!up.err.contains("#two/db"), "{}", up.err);
    project.write("app.yaml", deployment(&["three", "two"]));
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("1 deleted") && up.err.contains("1 created"), "{}", up.err);
    assert!(up.err.contains("deleted installation.default#one ("), "{}", up.err);
    assert!(up.err.contains("created installation.default#three ("), "{}", up.err);
    assert!(!up.err.contains("updated"), "{}", up.err);
    project.write("app.yaml", deployment(&["three"]));
    let graph = project.run(&["graph"]).status(0).out;
    assert!(graph.contains("installation.default#one/db"), "{graph}");
}

#[test]
fn each_installed_bundle_has_its_own_environment() {
    let project = catalog();
    let two = ["up", "--yes", "--bundle", "acme/mysql:v2.0.0", "--name"];
    for name in ["one", "two"] {
        project.run(&and(&two, &[name])).status(0);
    }
    let known = project.run(&["env", "list", "-f", "catalog/all.yaml", "--format", "json"]).out;
    assert!(known.contains("\"one\"") && known.contains("\"two\""), "{known}");
    // Without `--bundle`, the message says what would be deleted.
    let forgotten = project.run(&["up", "--yes", "--app", "one", "catalog/all.yaml"]).status(2);
    assert!(forgotten.err.contains("--accept-missing=--bundle"), "{}", forgotten.err);
    project.run(&["destroy", "--yes", "--app", "one", "catalog/all.yaml"]).status(0);
}

#[test]
fn missing_values_are_requested_on_a_terminal() {
    let project = catalog();
    let typed =
        crate::terminal::typed(&project, &["up", "--bundle", "acme/blog"], "20\ncorrect-horse\nNews\ny\n");
    let Some(output) = typed else { return };
    let output = output.status(0);
    assert!(output.out.contains("The parameter `size` of `blog/db` (GiB of disk):"), "{}", output.out);
    assert!(
        output.out.contains("The credential `root` of `blog/db` (of the administrator):"),
        "{}",
        output.out
    );
    assert!(output.out.contains("The parameter `title` of `blog`:"), "{}", output.out);
    assert!(!output.out.contains("correct-horse"), "{}", output.out);
    // The user is not asked again.
    let again = project.run(&["up", "--yes", "--bundle", "acme/blog"]).status(0);
    assert!(again.err.contains("Nothing to change"), "{}", again.err);
}

#[test]
fn invalid_options_for_bundles_are_reported() {
    let project = catalog();
    project.write("list.yaml", "[1]\n");
    project.write("torn.txt", "a: [secret\n");
    let mut transcript = String::new();
    for words in [
        &["--bundle", "acme/blgo"][..],
        &["--bundle", "a b"],
        &["--bundle", "acme/blog", "--name", "a/b"],
        &["--bundle", "acme/blog", "--name", "a b"],
        &["--name", "blog"],
        &["--bundle", "acme/blog", "--param", "title"],
        &["--bundle", "acme/blog", "--param", "=x"],
        &["--bundle", "acme/blog", "--param", "titel=x"],
        &["--bundle", "acme/blog", "--param", "blog/db.size=correct-horse"],
        &["--bundle", "acme/blog", "--param", "blog/db.size:=[correct-horse"],
        &["--bundle", "acme/blog", "--credential", "blog.root=correct-horse"],
        &["--bundle", "acme/blog", "--credential-env", "blog/db.root=NOT_SET"],
        &["--bundle", "acme/blog", "--params", "list.yaml"],
        &["--bundle", "acme/blog", "--params", "torn.txt"],
        &["--bundle", "acme/blog", "--params", "lost.yaml"],
        &["--bundle", "acme/blog", "--with", "bd=acme/mysql:v2.0.0"],
        &["catalog/shop.yaml", "--param", "blog.title=x"],
    ] {
        let Ran { status, err, .. } = project.run(&and(&["plan"], words));
        assert_eq!(status, 2, "{words:?}: {err}");
        assert!(!err.contains("correct-horse"), "{err}");
        transcript.push_str(&format!("$ purlin plan {}\n{err}\n", words.join(" ")));
    }
    insta::assert_snapshot!(transcript);
}

const REQUIRING: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: database}
spec:
  type: database
  driver: purlin/echo
  requires:
    - name: server
      bundle: {reference: 'acme/server:v1.0.0', version: 1.x}
      parameters: {zone: '${values.zone}', size: \"${params.size ?? 'small'}\", net: \"${resources['network#main'].outputs.id}\"}
  inputs: {values: {url: 'db://${bundle.dependencies.server.outputs.host}/${context.res.id}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: network}
spec:
  type: network
  driver: purlin/echo
  requires: [{name: router, bundle: 'acme/router:v1.0.0', parameters: {zone: '${values.zone}'}}]
  inputs: {values: {id: 'net-of-${bundle.dependencies.router.outputs.name}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.4.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}, {name: size, type: string}, {name: net, type: string}]
  inputs: {values: {host: '${bundle.parameters.size}.${bundle.parameters.net}'}}
  outputs: [{name: host, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/router, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}]
  inputs: {values: {name: 'router-${bundle.parameters.zone}'}}
  outputs: [{name: name, type: string}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  values: {zone: north}
  shared:
    a: {type: database}
    b: {type: database, params: {size: big}}
";

/// Only a requirement reads the network, which brings it into the graph. The network itself
/// requires a router.
#[test]
fn requirements_of_definitions_are_installed_for_their_resources() {
    let project = Project::with(&[("all.yaml", REQUIRING)]);
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
    let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
    let of = |key: &str| outputs["resources"][key].clone();
    assert_eq!(of("database.default#shared.a")["url"], "db://small.net-of-router-north/shared.a");
    assert_eq!(of("database.default#shared.b")["url"], "db://big.net-of-router-north/shared.b");
    assert_eq!(of("installation.default#main/router")["name"], "router-north");
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("Nothing to change"), "{}", up.err);
    // Resources that are no longer required are deleted, after the ones that required them.
    project.write("all.yaml", REQUIRING.replace("    b: {type: database, params: {size: big}}\n", ""));
    let up = project.run(&["up", "--yes"]).status(0);
    let deleted = |key: &str| up.err.find(&format!("deleted {key}"));
    let (database, server) =
        (deleted("database.default#shared.b"), deleted("installation.default#shared.b/server"));
    assert!(database.is_some() && database < server, "{}", up.err);
    project.run(&["destroy", "--yes"]).status(0);
    assert_eq!(project.run(&["outputs"]).status(0).out, "workloads: {}\nresources: {}\n");
}

#[test]
fn errors_in_requirements_of_definitions_are_reported_before_anything_runs() {
    let mut transcript = String::new();
    for (from, to) in [
        ("dependencies.server.outputs.host", "dependencies.servre.outputs.host"),
        ("dependencies.server.outputs.host", "dependencies.server.outputs.port"),
        ("${bundle.dependencies.server.outputs.host}", "${bundle.parameters.host}"),
        ("'acme/router:v1.0.0'", "'acme/ruter:v1.0.0'"),
        ("size: \"${params.size ?? 'small'}\", ", ""),
        ("{zone: '${values.zone}'}}]", "{zone: \"${resources['database#shared.a'].outputs.url}\"}}]"),
        (
            "  requires: [{name: router, bundle: 'acme/router:v1.0.0', parameters: {zone: '${values.zone}'}}]\n",
            "",
        ),
        ("parameters: {zone: '${values.zone}'}}]", "outputs: {x: y}}]"),
    ] {
        assert!(REQUIRING.contains(from), "{from}");
        let project = Project::with(&[("all.yaml", &REQUIRING.replacen(from, to, 1))]);
        let Ran { status, err, .. } = project.run(&["up", "--yes"]);
        assert_eq!(status, 2, "{from}: {err}");
        assert!(!project.path().join(".purlin").exists(), "{from}");
        transcript.push_str(&format!("{from} → {to}\n{err}\n"));
    }
    insta::assert_snapshot!(transcript);
}

/// A resource requires the router, but only the server's requirement brings this resource into the
/// graph.
#[test]
fn users_can_set_values_that_definitions_leave_open() {
    let documents = REQUIRING
        .replace("size: \"${params.size ?? 'small'}\", ", "")
        .replace(", parameters: {zone: '${values.zone}'}}]", "}]");
    let project = Project::with(&[("all.yaml", &documents)]);
    let open = project.run(&["plan"]).status(2).err;
    for name in ["main/router.zone", "shared.a/server.size", "shared.b/server.size"] {
        assert!(open.contains(&format!("`--param {name}=VALUE`")), "{open}");
    }
    let settings = ["main/router.zone=east", "shared.a/server.size=big", "shared.b/server.size=small"];
    let words: Vec<&str> = settings.iter().flat_map(|one| ["--param", one]).collect();
    project.run(&[&["up", "--yes"][..], &words].concat()).status(0);
    let outputs = project.run(&["outputs"]).status(0).out;
    assert!(outputs.contains("db://big.net-of-router-east/shared.a"), "{outputs}");
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"), "it is remembered");
    let wrong = project.run(&["plan", "--param", "shared.a/server.sise=big"]).status(2).err;
    assert_eq!(wrong.matches("error[").count(), 1, "{wrong}");
    assert!(wrong.contains("unknown-answer") && wrong.contains("shared.a/server.size"), "{wrong}");
}

/// A requirement of the resource of a workload can be shared like any other.
#[test]
fn requirements_of_definitions_for_workloads_are_shared_with_other_applications() {
    let documents = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: database}
spec:
  type: database
  driver: purlin/echo
  requires: [{name: server, bundle: 'acme/server:v1.0.0', parameters: {zone: north}}]
  inputs: {values: {url: 'db://${bundle.dependencies.server.outputs.host}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: zone, type: string}]
  inputs: {values: {host: '${bundle.parameters.zone}'}}
  outputs: [{name: host, type: string}]
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {main: {image: x, variables: {URL: '${resources.db.url}'}}}
resources: {db: {type: database}}
";
    let project = Project::with(&[("all.yaml", documents)]);
    let of = |app: &str, words: &[&str]| project.run(&[words, &["--app", app, "--env", "dev"]].concat());
    of("one", &["up", "--yes"]).status(0);
    let second = of("two", &["up", "--yes", "--new-environment"]).status(0);
    assert!(!second.err.contains("left-out"), "{}", second.err);
    let listed = project.run(&["installations", "list", "--format", "json"]).status(0).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let installations = listed["installations"].as_array().expect("a list");
    let users = |one: &serde_json::Value| one["users"].as_array().map(Vec::len);
    assert_eq!(installations.iter().map(users).collect::<Vec<_>>(), [Some(1)], "{listed}");
    let refused = of("one", &["destroy", "--yes"]);
    assert!(refused.status == 2 && refused.err.contains("in-use"), "{}", refused.err);
    of("two", &["destroy", "--yes"]).status(0);
    of("one", &["destroy", "--yes"]).status(0);
}

/// A promoted output of a bundle with a driver is like an output of the driver. It appears in
/// `purlin outputs`, other applications can use it, and it is never older than the outputs of the
/// requirement that it reads.
#[test]
fn outputs_of_requirements_are_promoted_next_to_those_of_a_driver() {
    let documents = |host: &str| {
        format!(
            "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/server, version: 1.0.0}}
spec:
  driver: purlin/echo
  credentials: [{{name: root, type: string}}]
  inputs: {{values: {{host: {host}}}, secrets: {{password: '${{bundle.credentials.root}}'}}}}
  outputs: [{{name: host, type: string}}, {{name: password, type: string}}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/store, version: 1.0.0}}
spec:
  driver: purlin/echo
  inputs: {{values: {{bucket: media}}}}
  outputs: [{{name: bucket, type: string}}]
  requires:
    - name: server
      bundle: 'acme/server:v1.0.0'
      credentials: {{root: correct-horse}}
      outputs: {{address: 'tcp://${{outputs.host}}:80/$\\{{x}}', login: 'root:${{outputs.password}}'}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: site}}
spec:
  type: site
  driver: purlin/echo
  requires: [{{name: store, bundle: 'acme/store:v1.0.0'}}]
  inputs: {{values: {{reads: '${{bundle.dependencies.store.outputs.bucket}} ${{bundle.dependencies.store.outputs.address}}'}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared: {{site: {{type: site}}}}
"
        )
    };
    let project = Project::with(&[("all.yaml", &documents("a.local"))]);
    let of = |app: &str, words: &[&str]| project.run(&[words, &["--app", app, "--env", "dev"]].concat());
    let outputs = |app: &str, words: &[&str]| -> serde_json::Value {
        let words = [&["outputs", "--format", "json"], words].concat();
        serde_json::from_str(&of(app, &words).status(0).out).expect("JSON")
    };
    of("one", &["up", "--yes"]).status(0);
    let store = outputs("one", &[])["resources"]["installation.default#shared.site/store"].clone();
    assert_eq!((&store["bucket"], &store["address"]), (&"media".into(), &"tcp://a.local:80/${x}".into()));
    assert!(!store.to_string().contains("correct-horse"), "{store}");
    let shown = outputs("one", &["--show-secrets"]);
    assert_eq!(shown["resources"]["installation.default#shared.site/store"]["login"], "root:correct-horse");
    // Another application uses it.
    let site = |app: &str| outputs(app, &[])["resources"]["site.default#shared.site"]["reads"].clone();
    of("two", &["up", "--yes", "--new-environment"]).status(0);
    assert_eq!(site("two"), "media tcp://a.local:80/${x}");
    assert!(of("two", &["up", "--yes"]).status(0).err.contains("Nothing to change"));
    // Only the requirement changes.
    project.write("all.yaml", documents("b.local"));
    of("one", &["up", "--yes"]).status(0);
    let store = outputs("one", &[])["resources"]["installation.default#shared.site/store"].clone();
    assert_eq!(store["address"], "tcp://b.local:80/${x}");
    of("two", &["up", "--yes"]).status(0);
    assert_eq!(site("two"), "media tcp://b.local:80/${x}");
}

/// Promoted outputs of bundles with drivers, two levels deep: one with a parameter of the bundle
/// that promotes it, one that is a map, and one that a Deployment reads by the name of the
/// installation.
const PROMOTED: &str = "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/server, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: a.local, ports: [80, 443], meta: {zone: x}}}
  outputs: [{name: host, type: string}, {name: ports, type: array}, {name: meta, type: object}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/mid, version: 1.0.0}
spec:
  driver: purlin/echo
  parameters: [{name: suffix, type: string, default: \"it's\"}]
  inputs: {values: {own: mid}}
  outputs: [{name: own, type: string}]
  requires:
    - name: server
      bundle: {reference: 'acme/server:v1.0.0'}
      outputs:
        port: '${outputs.ports[1]}'
        all: {h: '${outputs.host | upper}', p: ['${outputs.ports[0]}', 5], z: '${outputs.meta.zone ?? \"none\"}'}
        suffixed: '${outputs.host}/${bundle.parameters.suffix | urlencode}'
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/top, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {own: top}}
  outputs: [{name: own, type: string}]
  requires:
    - name: mid
      bundle: {reference: 'acme/mid:v1.0.0'}
      outputs: {url: 'x://${outputs.suffixed}:${outputs.port}', copy: '${outputs.all}', named: '${installation.name} in ${context.env.id}'}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  requires: [{name: top, bundle: 'acme/top:v1.0.0'}]
  shared: {site: {type: site, params: {url: \"${resources['installation#top'].outputs.url}\", z: \"${resources['installation#top'].outputs.copy.z}\", n: \"${resources['installation#top'].outputs.named}\"}}}
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: site}
spec: {type: site, driver: purlin/echo, inputs: {values: {url: '${params.url}', z: '${params.z}', n: '${params.n}'}}, criteria: [{}]}
";

#[test]
fn a_deployment_reads_promoted_outputs() {
    let project = Project::with(&[("all.yaml", PROMOTED)]);
    let outputs = |project: &Project| -> serde_json::Value {
        let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
        serde_json::from_str::<serde_json::Value>(&outputs).expect("JSON")["resources"].take()
    };
    project.run(&["up", "--yes"]).status(0);
    let now = outputs(&project);
    let all = serde_json::json!({"h": "A.LOCAL", "p": [80, 5], "z": "x"});
    let url = |host: &str| format!("x://{host}/it%27s:443");
    assert_eq!(
        now["installation.default#top"],
        serde_json::json!({"own": "top", "url": url("a.local"), "copy": all, "named": "top in development"})
    );
    assert_eq!(
        now["site.default#shared.site"],
        serde_json::json!({"url": url("a.local"), "z": "x", "n": "top in development"})
    );
    assert!(project.run(&["up", "--yes"]).status(0).err.contains("Nothing to change"));
    // They change in the same run as the server.
    project.write("all.yaml", PROMOTED.replace("host: a.local", "host: b.local"));
    let up = project.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains("2 updated"), "{}", up.err);
    assert_eq!(outputs(&project)["site.default#shared.site"]["url"], url("b.local"));
    let wrong = PROMOTED.replace("outputs.url}", "outputs.urll}");
    project.write("all.yaml", wrong);
    let refused = project.run(&["plan"]).status(2).err;
    assert!(refused.contains("unknown-output") && refused.contains("did you mean `url`"), "{refused}");
    project.run(&["destroy", "--yes"]).status(0);
}

/// Each of forty bundles promotes the output of the next one twice. Computing it again for each
/// reader would not end.
#[test]
fn outputs_that_are_promoted_twice_at_each_level_are_computed_once() {
    const LEVELS: usize = 40;
    let level = |number: usize| {
        let next = number + 1;
        format!(
            "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/l{number}, version: 1.0.0}}
spec:
  driver: purlin/echo
  requires: [{{name: a, bundle: 'acme/l{next}:v1.0.0', outputs: {{x: '${{outputs.x}}${{outputs.x}}'}}}}]
---
"
        )
    };
    let mut documents: String = (0..LEVELS).map(level).collect();
    documents.push_str(&format!(
        "apiVersion: purlin.dev/v1
kind: Bundle
metadata: {{name: acme/l{LEVELS}, version: 1.0.0}}
spec: {{driver: purlin/echo, inputs: {{values: {{x: ''}}}}, outputs: [{{name: x, type: string}}]}}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {{requires: [{{name: top, bundle: 'acme/l0:v1.0.0'}}]}}
"
    ));
    let project = Project::with(&[("all.yaml", &documents)]);
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).out;
    let outputs: serde_json::Value = serde_json::from_str(&outputs).expect("JSON");
    assert_eq!(outputs["resources"]["installation.default#top"], serde_json::json!({"x": ""}));
}
