//! Tests of recorded contexts, declared environments, and their values.

use purlin_systems::{Project, Ran};

const PLATFORM: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db-dev}
spec:
  type: db
  driver: purlin/echo
  inputs: {values: {host: 'dev.${values.domain}', size: '${values.size}', where: '${context.namespace}'}}
  criteria: [{env_type: development}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db-prod}
spec:
  type: db
  driver: purlin/echo
  inputs: {values: {host: 'prod.${values.domain}', size: '${values.size}', where: '${context.namespace}'}}
  criteria: [{env_type: production}]
";

const SHOP: &str = "
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {name: shop}
spec:
  app: shop
  values: {domain: example.com, size: 1}
  shared:
    main: {type: db}
";

/// A project without declared environments.
fn shop() -> Project {
    Project::with(&[("platform.yaml", PLATFORM), ("shop.yaml", SHOP)])
}

/// A project with declared environments.
fn declared(environments: &str) -> Project {
    let project = shop();
    project.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{env: dev}}\n  environments:\n{environments}"
        ),
    );
    project
}

const TWO: &str =
    "    prod:\n      type: production\n      values: {domain: example.org, size: 8}\n    dev: {}\n";

fn stderr(project: &Project, ran: &Ran) -> String {
    ran.err.replace(&project.path().display().to_string(), "PROJECT")
}

/// The recorded inputs of the database.
#[track_caller]
fn inputs(project: &Project, context: &[&str]) -> serde_json::Value {
    let arguments = [&["state", "show", "db#shared.main", "--format", "json"], context].concat();
    project.run(&arguments).status(0).json()["resource"]["inputs"]["values"].clone()
}

#[track_caller]
fn up(project: &Project, arguments: &[&str]) -> Ran {
    project.run(&[&["up", "--yes"], arguments].concat()).status(0)
}

#[track_caller]
fn refused(project: &Project, arguments: &[&str]) -> String {
    let before = project.run(&["state", "list", "--all", "--format", "json"]).out;
    let ran = project.run(arguments).status(2);
    assert_eq!(project.run(&["state", "list", "--all", "--format", "json"]).out, before, "nothing changed");
    stderr(project, &ran)
}

#[test]
fn a_forgotten_type_cannot_replace_production() {
    let project = shop();
    up(&project, &["--env", "prod", "--env-type", "production"]);
    insta::assert_snapshot!(refused(&project, &["up", "--yes", "--env", "prod"]));
    for command in [&["plan"][..], &["plan", "--offline"], &["import", "--yes", "db#shared.main", "x"]] {
        let arguments = [command, &["--env", "prod"]].concat();
        assert!(refused(&project, &arguments).contains("env-type-changed"), "{command:?}");
    }
    up(&project, &["--env", "prod", "--env-type", "production"]);
}

#[test]
fn a_type_without_a_definition_is_reported() {
    let project = shop();
    up(&project, &["--env", "prod", "--env-type", "production"]);
    let text = refused(&project, &["up", "--yes", "--env", "prod", "--env-type", "prdouction"]);
    assert!(text.contains("env-type-changed") && !text.contains("no-match"), "{text}");
}

#[test]
fn a_meant_change_of_the_type_is_recorded() {
    let project = shop();
    up(&project, &["--env", "x", "--env-type", "development"]);
    up(&project, &["--env", "x", "--env-type", "production", "--change-env-type"]);
    assert_eq!(inputs(&project, &["--env", "x"])["host"], "prod.example.com");
    up(&project, &["--env", "x", "--env-type", "production"]);
    // Changing it back is a change, too.
    assert!(refused(&project, &["rollback", "1", "--yes", "--env", "x"]).contains("env-type-changed"));
    project.run(&["rollback", "1", "--yes", "--env", "x", "--change-env-type"]).status(0);
    assert_eq!(inputs(&project, &["--env", "x"])["host"], "dev.example.com");
}

#[test]
fn a_change_without_any_other_is_recorded_too() {
    let project = shop();
    // Nothing reads the type in this platform.
    project.edit("platform.yaml", "criteria: [{env_type: development}]", "criteria: [{}]");
    up(&project, &["--env-type", "one"]);
    refused(&project, &["up", "--yes", "--env-type", "two"]);
    up(&project, &["--env-type", "two", "--change-env-type"]);
    up(&project, &["--env-type", "two"]);
}

#[test]
fn another_namespace_is_an_error() {
    let project = shop();
    up(&project, &["--namespace", "here"]);
    insta::assert_snapshot!(refused(&project, &["up", "--yes"]));
    up(&project, &["--namespace", "there", "--change-namespace"]);
    assert_eq!(inputs(&project, &[])["where"], "there");
}

#[test]
fn the_same_documents_under_another_name_are_an_error() {
    let project = shop();
    up(&project, &[]);
    project.edit("shop.yaml", "app: shop", "app: shoop");
    insta::assert_snapshot!(refused(&project, &["up", "--yes"]));
    up(&project, &["--new-environment"]);
    // It is known from then on.
    up(&project, &[]);
    project.edit("shop.yaml", "app: shoop", "app: shop");
    assert!(refused(&project, &["plan", "--org", "acme"]).contains("org-changed"));
    up(&project, &[]);
}

#[test]
fn a_destroyed_environment_may_return_with_another_context() {
    let project = shop();
    up(&project, &["--env-type", "production"]);
    let text = refused(&project, &["destroy", "--yes", "--env-type", "development"]);
    assert!(text.contains("env-type-changed") && text.contains("`production`"), "{text}");
    // The type need not be given: the record contains it.
    project.run(&["destroy", "--yes"]).status(0);
    up(&project, &["--env-type", "development"]);
}

#[test]
fn declared_environments_have_their_types_and_values() {
    let project = declared(TWO);
    up(&project, &["--env", "prod"]);
    let inputs = inputs(&project, &["--env", "prod"]);
    assert_eq!((&inputs["host"], &inputs["size"]), (&"prod.example.org".into(), &8.into()));
    up(&project, &[]);
    insta::assert_snapshot!(
        "contradiction",
        refused(&project, &["plan", "--env", "prod", "--env-type", "development"])
    );
    project.edit("shop.yaml", "  app: shop\n", "  app: shop\n  env: {id: prod, type: development}\n");
    insta::assert_snapshot!("contradiction_of_a_deployment", refused(&project, &["plan"]));
}

#[test]
fn an_environment_that_is_not_declared_is_an_error() {
    let project = declared(TWO);
    insta::assert_snapshot!(refused(&project, &["up", "--yes", "--env", "prdo"]));
    for command in ["plan", "graph", "validate"] {
        let text = refused(&project, &[command, "--env", "prdo"]);
        assert!(text.contains("unknown-environment"), "{command}: {text}");
    }
    up(&project, &["--env", "preview-1", "--new-environment"]);
    up(&project, &["--env", "preview-1"]);
    project.run(&["destroy", "--yes", "--env", "preview-1"]).status(0);
}

#[test]
fn nothing_is_deleted_in_a_protected_environment() {
    let project = declared("    prod: {type: production, protect: true}\n    dev: {}\n");
    up(&project, &["--env", "prod"]);
    up(&project, &[]);
    insta::assert_snapshot!(refused(&project, &["destroy", "--yes", "--env", "prod"]));
    project.edit("shop.yaml", "    main: {type: db}\n", "    other: {type: db}\n");
    let text = refused(&project, &["up", "--yes", "--env", "prod"]);
    assert!(
        text.contains("purlin.yaml:6:") && text.contains("`db.default#shared.main` would be deleted"),
        "{text}"
    );
    // The other environments are not protected.
    up(&project, &[]);
    project.edit("purlin.yaml", "protect: true", "protect: false");
    up(&project, &["--env", "prod"]);
    project.run(&["destroy", "--yes", "--env", "prod"]).status(0);
}

#[test]
fn the_later_value_counts() {
    let project = declared(TWO);
    project.write("one.yaml", "domain: one.test\nsize: 2\n");
    project.write("two.json", "{\"domain\": \"two.test\"}");
    let files = ["--values", "one.yaml", "--values", "two.json"];
    up(&project, &[&["--env", "prod"], &files[..]].concat());
    let found = inputs(&project, &["--env", "prod"]);
    assert_eq!((&found["host"], &found["size"]), (&"prod.two.test".into(), &2.into()));
    up(&project, &[&["--env", "prod", "--set", "size=3", "--set", "domain=set.test"], &files[..]].concat());
    let found = inputs(&project, &["--env", "prod"]);
    // A number stays a number.
    assert_eq!((&found["host"], &found["size"]), (&"prod.set.test".into(), &3.into()));
    // The earlier values come back with their documents.
    project.run(&["rollback", "1", "--yes", "--env", "prod"]).status(0);
    let found = inputs(&project, &["--env", "prod"]);
    assert_eq!((&found["host"], &found["size"]), (&"prod.two.test".into(), &2.into()));
}

#[test]
fn a_saved_plan_keeps_its_values() {
    let project = shop();
    project.run(&["plan", "--out", "p", "--set", "domain=set.test", "--set", "size:=5"]).status(0);
    project.run(&["apply", "p", "--yes"]).status(0);
    let found = inputs(&project, &[]);
    assert_eq!((&found["host"], &found["size"]), (&"dev.set.test".into(), &5.into()));
}

#[test]
fn impossible_values_are_reported() {
    let project = shop();
    insta::assert_snapshot!("a_slip", refused(&project, &["plan", "--set", "domian=correct-horse"]));
    insta::assert_snapshot!("another_type", refused(&project, &["plan", "--set", "size=correct-horse"]));
    let odd = project.run(&["plan", "--set", "elsewhere=correct-horse"]).status(0);
    assert!(odd.err.contains("no placeholder reads `values.elsewhere`"), "{}", odd.err);
    assert!(!odd.err.contains("correct-horse"), "{}", odd.err);
    for (text, expected) in [
        ("- domain\n", "is not a map"),
        ("domain: [\n", "values.yaml:1:9"),
        ("", "is empty"),
        ("a: 1\n---\nb: 2\n", "several documents"),
        ("domain: ${valuse.x}\n", "values.yaml:1:11"),
        ("domian: x\n", "did you mean `domain`?"),
    ] {
        project.write("values.yaml", text);
        let ran = project.run(&["plan", "--values", "values.yaml"]);
        assert_eq!(ran.status, 2, "{text}: {}", ran.err);
        assert!(ran.err.contains(expected), "{text}: {}", ran.err);
    }
    assert!(refused(&project, &["plan", "--values", "none.yaml"]).contains("none.yaml"));
    assert!(refused(&project, &["plan", "--values", "shop.yaml"]).contains("-f"));
    assert!(refused(&project, &["plan", "--set", "size"]).contains("NAME=VALUE"));
}

#[test]
fn a_missing_value_is_reported_with_a_correction() {
    let project = shop();
    project.edit("shop.yaml", "  values: {domain: example.com, size: 1}\n", "");
    let text = refused(&project, &["plan"]);
    assert!(text.contains("--set domain=VALUE") && text.contains("platform.yaml:8:"), "{text}");
}

#[test]
fn an_option_against_the_deployment_has_a_place() {
    let project = shop();
    insta::assert_snapshot!(refused(&project, &["plan", "--app", "web"]));
}

#[test]
fn environments_are_listed_and_shown() {
    let project = declared(
        "    prod: {type: production, protect: true, values: {domain: example.org, size: 8}}\n    stage: {type: staging}\n    dev: {}\n",
    );
    up(&project, &["--env", "prod", "--set", "size=9"]);
    up(&project, &["--env", "extra", "--env-type", "development", "--new-environment"]);
    project.run(&["state", "lock", "--env", "extra", "--reason", "moving"]).status(0);
    let list = project.run(&["env", "list", "--format", "json"]).status(0).json();
    let of = |name: &str| {
        let all = list["environments"].as_array().expect("a list");
        all.iter().find(|one| one["env"] == name).cloned().unwrap_or_else(|| panic!("{name} in {list}"))
    };
    assert_eq!(list["format"], 1);
    assert_eq!((&of("prod")["type"], &of("prod")["protected"]), (&"production".into(), &true.into()));
    assert_eq!((&of("prod")["last"]["number"], &of("prod")["last"]["user"]), (&1.into(), &"ada".into()));
    assert_eq!((&of("stage")["type"], &of("stage")["last"]), (&"staging".into(), &serde_json::Value::Null));
    assert_eq!(
        (&of("extra")["declared"], &of("extra")["closed"]["reason"]),
        (&false.into(), &"moving".into())
    );
    let text = project.run(&["env", "list"]).status(0).out;
    assert!(text.contains("extra") && text.contains("undeclared, closed"), "{text}");

    let shown = project.run(&["env", "show", "prod", "--format", "json"]).status(0).json();
    let values = &shown["environment"]["values"];
    assert_eq!(values[0]["value"], "example.org");
    assert_eq!((&values[1]["hidden"], &values[1]["value"]), (&true.into(), &serde_json::Value::Null));
    let text = project.run(&["env", "show", "prod"]).status(0).out;
    assert!(text.contains("[hidden]") && text.contains("production") && text.contains("db"), "{text}");
    let text = project.run(&["env", "show", "prod", "--show-secrets"]).status(0).out;
    assert!(text.contains('9') && !text.contains("[hidden]"), "{text}");
    // An environment without deployments has the values of the documents.
    let text = project.run(&["env", "show", "stage"]).status(0).out;
    assert!(text.contains("example.com") && text.contains("never"), "{text}");
    let wrong = project.run(&["env", "show", "prdo"]).status(2).err;
    assert!(wrong.contains("did you mean `prod`?"), "{wrong}");
}

/// Of previews, only the live ones are shown.
#[test]
fn destroyed_environments_are_left_out_of_lists() {
    let project = shop();
    for preview in ["preview-1", "preview-2"] {
        up(&project, &["--env", preview]).status(0);
    }
    project.run(&["destroy", "--yes", "--env", "preview-1"]).status(0);
    let list = project.run(&["env", "list"]).status(0);
    assert!(!list.out.contains("preview-1") && list.out.contains("preview-2"), "{}", list.out);
    assert!(list.err.contains("1 destroyed environment left out; `--all` lists all"), "{}", list.err);
    let all = project.run(&["env", "list", "--all", "--format", "json"]).status(0).json();
    let names: Vec<&str> = all["environments"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["env"].as_str())
        .collect();
    assert!(names.contains(&"preview-1"), "{names:?}");
    // Its history stays, and it may return.
    assert!(project.run(&["history", "--env", "preview-1"]).status(0).out.contains("destroy"));
    up(&project, &["--env", "preview-1"]).status(0);
    assert!(project.run(&["env", "list"]).status(0).out.contains("preview-1"));
}

#[test]
fn a_command_runs_in_the_folder_that_is_named() {
    let project = shop();
    let mut command = project.command(&["plan", "--chdir"]);
    command.arg(project.path()).current_dir(std::env::temp_dir());
    let there = purlin_systems::project::ran(command).status(0).out;
    assert_eq!(there, project.run(&["-C", ".", "plan"]).status(0).out);
    let ran = project.run(&["plan", "-C", "nowhere"]).status(2);
    assert!(ran.err.contains("cannot run in `nowhere`"), "{}", ran.err);
}

/// A password, a database that reads it, and a file.
const SECRETS: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: password}
spec:
  type: password
  driver: purlin/random
  inputs: {values: {length: 20}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: db}
spec:
  type: db
  driver: purlin/echo
  inputs: {secrets: {password: '${resources[\"password#shared.main\"].outputs.password}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: note}
spec:
  type: note
  driver: purlin/file
  inputs: {values: {path: /out/a.txt, content: x}}
  criteria: [{}]
";

#[test]
fn a_password_is_rotated_in_a_protected_environment_by_naming_it() {
    let project = declared("    prod: {protect: true}\n    dev: {}\n");
    project.edit(
        "purlin.yaml",
        "spec:\n",
        "spec:\n  drivers: {purlin/file: {grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}}}\n",
    );
    std::fs::create_dir(project.path().join("out")).expect("a folder");
    project.write("platform.yaml", SECRETS);
    project.edit("shop.yaml", "    main: {type: db}\n", "    main: {type: db}\n    note: {type: note}\n");
    up(&project, &["--env", "prod"]);
    let password = |project: &Project| {
        let shown =
            ["state", "show", "db#shared.main", "--env", "prod", "--show-secrets", "--format", "json"];
        project.run(&shown).status(0).json()["resource"]["inputs"]["secrets"]["password"].clone()
    };
    let before = password(&project);
    assert!(before.as_str().is_some_and(|text| text.len() == 20), "{before}");
    let rotate = ["up", "--yes", "--env", "prod", "--replace", "password#shared.main"];
    let ran = project.run(&rotate).status(0);
    assert!(ran.err.contains("replaced password.default#shared.main"), "{}", ran.err);
    assert_ne!(password(&project), before);
    // What exists outside of the state stays protected, and the advice fits what was asked.
    let text = refused(&project, &["up", "--yes", "--env", "prod", "--replace", "note#shared.note"]);
    assert!(text.contains("1 resource would be replaced"), "{text}");
    assert!(
        text.contains("set `protect` to false here while they are replaced, or leave out `--replace`"),
        "{text}"
    );
    // So does a password that the documents protect themselves.
    project.write(
        "own.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  lifecycle: {password#shared.main: {protect: true}}\n",
    );
    let text = refused(&project, &rotate);
    assert!(text.contains("nothing else changed, or leave out `--replace`"), "{text}");
}
