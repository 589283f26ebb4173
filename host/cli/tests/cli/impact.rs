//! Tests of the impact of changed definitions on all environments (`purlin impact`), compared with
//! a plan of each environment.

use std::collections::BTreeMap;

use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

const PURLIN: &str = "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {app: shop}
  environments:
    dev: {type: development}
    stage: {type: staging}
    prod: {type: production}
    prod2: {type: production}
  drivers:
    purlin/file:
      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}
  secret_stores:
    keys: {file: ./keys}
";

/// A definition of a type with `purlin/file`. Changing the path replaces the resource; changing the
/// content does not.
fn file(id: &str, path: &str, content: &str, criteria: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {id}}}\nspec:\n  type: {}\n  driver: \
         purlin/file\n  inputs: {{values: {{path: '/out/${{context.env.id}}-${{context.res.id}}{path}', content: \
         '{content}'}}}}\n  criteria: [{criteria}]\n---\n",
        id.split('-').next().unwrap_or_default()
    )
}

fn deployment(types: &[&str]) -> String {
    let shared: serde_json::Map<String, Value> =
        types.iter().map(|one| ((*one).to_owned(), json!({"type": one}))).collect();
    json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}}).to_string()
}

/// Four environments with their resource types.
const FLEET: [(&str, &[&str]); 4] =
    [("dev", &["db"]), ("stage", &["db", "cache"]), ("prod", &["db", "cache"]), ("prod2", &["queue"])];

fn fleet(platform: &str) -> Project {
    let project = Project::with(&[("purlin.yaml", PURLIN), ("platform/all.yaml", platform)]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    project.write("keys/token", "secret-1");
    for (env, types) in FLEET {
        project.write(&format!("apps/{env}.yaml"), deployment(types));
        up(&project, env);
    }
    project
}

fn up(project: &Project, env: &str) {
    let app = format!("apps/{env}.yaml");
    let _ = project.run(&["up", "--yes", "--env", env, "platform", &app]).status(0);
}

fn before() -> String {
    ["db", "cache", "queue"].map(|id| file(id, "", "one", "{}")).concat()
}

/// The affected environments, each with the actions on its resources.
fn impact(project: &Project, arguments: &[&str]) -> (BTreeMap<String, BTreeMap<String, String>>, Value) {
    let ran = project.run(&[&["impact", "platform", "--format", "json"][..], arguments].concat()).status(0);
    let mut events = ran.events();
    let summary = events.pop().expect("a summary");
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let resources = |event: &Value| {
        let all = event["resources"].as_array().expect("a list").iter();
        all.map(|one| (text(one, "key"), text(one, "action"))).collect()
    };
    (events.iter().map(|event| (text(event, "env"), resources(event))).collect(), summary)
}

/// The same result, computed from a plan of each environment.
fn alone(project: &Project) -> BTreeMap<String, BTreeMap<String, String>> {
    let plan = |env: &str| -> BTreeMap<String, String> {
        let app = format!("apps/{env}.yaml");
        let plan =
            project.run(&["plan", "--env", env, "--format", "json", "platform", &app]).status(0).json();
        let steps = plan["steps"].as_array().expect("steps").iter();
        let text = |step: &Value, field: &str| step[field].as_str().unwrap_or_default().to_owned();
        let steps = steps.map(|step| (text(step, "key"), text(step, "action")));
        steps.filter(|(_, action)| action != "none").collect()
    };
    let plans = FLEET.iter().map(|(env, _)| ((*env).to_owned(), plan(env)));
    plans.filter(|(_, steps)| !steps.is_empty()).collect()
}

#[test]
fn an_impact_matches_the_plans_of_single_environments() {
    let project = fleet(&before());
    let cases = [
        before(),
        // An update, and replacements.
        before().replace("content: 'one'", "content: 'two'"),
        file("db", "-2", "one", "{}") + &file("cache", "", "two", "{}") + &file("queue", "", "one", "{}"),
        // A definition that wins in some of the environments, one that matches nothing, and one
        // that is removed.
        before() + &file("db-prod", "", "big", "{env_type: production}"),
        before() + &file("dns-new", "", "x", "{}") + &file("db-other", "", "x", "{app_id: other}"),
        before() + &file("cache-stage", "-s", "one", "{env_id: stage}"),
        // Only comments and the position changed.
        format!("# The platform.\n---\n{}", before()),
    ];
    for (number, platform) in cases.iter().enumerate() {
        project.write("platform/all.yaml", platform);
        let (affected, summary) = impact(&project, &[]);
        assert_eq!(affected, alone(&project), "case {number}");
        let (checked, _) = impact(&project, &["--check"]);
        assert_eq!(affected, checked, "case {number}");
        assert_eq!(summary["environments"], 4);
        assert_eq!(summary["unchanged"], 4 - affected.len(), "case {number}: {summary}");
    }
    // In a separate file, and then without that file.
    project.write("platform/all.yaml", before());
    project.write("platform/more.yaml", file("db-prod", "-x", "one", "{env_type: production}"));
    assert_eq!(impact(&project, &[]).0, alone(&project));
    std::fs::remove_file(project.path().join("platform/more.yaml")).expect("removed");
    assert!(impact(&project, &[]).0.is_empty());
}

#[test]
fn an_impact_leaves_out_changes_that_any_deployment_would_make() {
    let project = fleet(&before());
    // Marked but not deployed: the next deployment replaces it regardless of the platform.
    let _ = project.run(&["state", "taint", "--env", "dev", "shared.db"]).status(0);
    project.write("platform/all.yaml", before() + &file("cache-stage", "", "two", "{env_id: stage}"));
    let (affected, _) = impact(&project, &[]);
    assert_eq!(affected.keys().collect::<Vec<_>>(), ["stage"]);
}

#[test]
fn secrets_of_stores_are_taken_to_be_as_they_were() {
    let secret = |name: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: db}}\nspec:\n  type: db\n  driver: \
             purlin/file\n  inputs:\n    values: {{path: '/out/${{context.env.id}}.txt'}}\n    secret_refs: {{content: \
             {{store: keys, ref: {name}}}}}\n  criteria: [{{}}]\n---\n"
        )
    };
    let rest = ["cache", "queue"].map(|id| file(id, "", "one", "{}")).concat();
    let granted = PURLIN.replace("grants: {", "grants: {secrets: [keys], ");
    let project =
        Project::with(&[("purlin.yaml", &granted), ("platform/all.yaml", &(secret("token") + &rest))]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    project.write("keys/token", "secret-1");
    for (env, types) in FLEET {
        project.write(&format!("apps/{env}.yaml"), deployment(types));
        up(&project, env);
    }
    // The impact can be computed without access to the secret store.
    std::fs::remove_file(project.path().join("keys/token")).expect("removed");
    project.write("platform/all.yaml", secret("token") + &rest.replace("'one'", "'two'"));
    let (affected, _) = impact(&project, &[]);
    let of_stage: Vec<_> = affected["stage"].keys().map(String::as_str).collect();
    assert_eq!(of_stage, ["cache.default#shared.cache"]);
    project.write("platform/all.yaml", secret("other") + &rest);
    let (affected, _) = impact(&project, &[]);
    assert_eq!(affected.keys().collect::<Vec<_>>(), ["dev", "prod", "stage"], "another secret");
}

#[test]
fn people_see_groups_and_scripts_a_status() {
    let project = fleet(&before());
    let ran = |arguments: &[&str]| -> Ran { project.run(&[&["impact", "platform"][..], arguments].concat()) };
    assert_eq!(ran(&[]).status(0).out, "4 environments: unchanged 4\n");
    project.write("platform/all.yaml", before().replace("/out/", "/out/new-"));
    let text = ran(&[]).status(0).out;
    for words in [
        "1 environment: replace\n",
        "± replace db.default#shared.db  `/values/path` cannot be changed in place",
        "values.path: \"/out/dev-shared.db\" → \"/out/new-dev-shared.db\" (forces replacement)",
        "in development: dev of default/shop",
        "4 environments: replace 4\n",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    for effect in ["replace", "update,replace"] {
        let _ = ran(&["--fail-on", effect]).status(3);
    }
    let _ = ran(&["--fail-on", "delete,create,update,loses-data,rejected,unknown"]).status(0);
    let markdown = ran(&["--format", "markdown"]).status(0).out;
    let head = "<!-- purlin:impact -->\n### Impact on 4 environments\n\nReplace 4.\n";
    assert!(markdown.starts_with(head), "{markdown}");

    // A rejected environment is reported, and the others are still planned.
    project.write("platform/all.yaml", before().replace("'one'", "'${values.size}'"));
    let text = ran(&["--fail-on", "rejected"]).status(3).out;
    assert!(text.contains("4 environments: rejected 4") && text.contains("size"), "{text}");
    let _ = ran(&["--format", "json", "nothing-here"]).status(2);
    assert!(ran(&["-"]).status(2).err.contains("cannot be compared with the recorded documents"));
}

/// A Deployment and the Score file that it names may be named separately, whatever the environment
/// was deployed from.
#[test]
fn a_score_file_and_its_deployment_are_named_apart() {
    let deployment =
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {workloads: [{score: web/score.yaml}]}\n";
    let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: 'web:1'}}\n";
    let workload = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: workload}\nspec:\n  type: workload\n  \
                    driver: purlin/echo\n  inputs: {values: {image: '${params.spec.containers.main.image ?? \"none\"}'}}\n  criteria: [{}]\n";
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: shop, env: dev}}\n",
        ),
        ("app/deployment.yaml", deployment),
        ("app/web/score.yaml", score),
        ("platform/workload.yaml", workload),
    ]);
    let summary = |path: &str| {
        let done = project.run(&["impact", path, "--format", "json"]).status(0);
        let events = done.events();
        events.last().map(|one| (one["unchanged"].clone(), one["rejected"].clone())).expect("a summary")
    };
    for inputs in [&["."][..], &["app/deployment.yaml", "platform"], &["app", "platform"]] {
        let _ = project.run(&[&["up", "--yes"], inputs].concat()).status(0);
        for path in ["app/deployment.yaml", "app/web/score.yaml", "app/web", "app", "platform", "."] {
            assert_eq!(summary(path), (1.into(), 0.into()), "{path} of {inputs:?}");
        }
    }
}

/// If no environment was deployed from the documents, nothing can be said about them, and a check
/// in CI must not succeed.
#[test]
fn paths_that_no_environment_reads_are_rejected() {
    let project = Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: shop, env: dev}}\n",
        ),
        (
            "platform/note.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec: {type: note, driver: purlin/echo, criteria: [{}]}\n",
        ),
        (
            "app/app.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {main: {type: note}}}\n",
        ),
        (
            "other/note.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec: {type: note, driver: purlin/echo, criteria: [{}]}\n",
        ),
    ]);
    // Without deployments, there is nothing to report, except that a folder has no document.
    std::fs::create_dir(project.path().join("empty")).expect("made");
    let _ = project.run(&["impact", "other"]).status(0);
    let none = project.run(&["rollout", "start", "--yes", "other"]).status(2);
    assert!(
        none.err.contains("no environment that is selected was deployed from these files"),
        "{}",
        none.err
    );
    for command in [&["impact"][..], &["rollout", "start", "--yes"]] {
        for paths in [&["empty"][..], &["other", "empty"]] {
            let done = project.run(&[command, paths].concat()).status(2);
            assert!(done.err.contains("no environment was deployed from `empty`"), "{}", done.err);
        }
    }
    let _ = project.run(&["up", "--yes", "app", "platform"]).status(0);
    for command in [&["impact"][..], &["rollout", "start", "--yes"]] {
        let done = project.run(&[command, &["other"]].concat()).status(2);
        assert!(done.err.contains("no environment was deployed from `other`"), "{}", done.err);
        let _ = project.run(&[command, &["platform"]].concat()).status(0);
    }
}

/// Which documents are accepted does not depend on the command: definitions that moved to another file are
/// still there, and those that are gone need the same consent.
#[test]
fn documents_are_accepted_and_rejected_as_by_a_plan() {
    let project = fleet(&before());
    let plan = |accept: &[&str]| {
        project.run(&[&["plan", "--env", "prod", "platform", "apps/prod.yaml"][..], accept].concat()).status
    };
    let ran = |arguments: &[&str]| -> Ran { project.run(&[&["impact"][..], arguments].concat()) };
    // The file is emptied, and its definitions are in another one.
    project.write("platform/all.yaml", "");
    project.write("platform/moved.yaml", before());
    assert_eq!(plan(&[]), 0);
    assert_eq!(ran(&["platform"]).status(0).out, "4 environments: unchanged 4\n");
    let _ = project.run(&["rollout", "start", "--yes", "platform"]).status(0);
    // A definition that no environment uses is gone with its file.
    project.write("platform/moved.yaml", before() + &file("other", "", "one", "{app_id: other}"));
    for env in ["dev", "stage", "prod", "prod2"] {
        up(&project, env);
    }
    project.write("platform/all.yaml", before());
    project.write("platform/moved.yaml", "# Nothing.\n");
    let accept = ["--accept-missing", "platform/moved.yaml"];
    assert_eq!((plan(&[]), plan(&accept)), (2, 0));
    let text = ran(&["platform"]).status(3).out;
    assert!(text.contains("or accept this with `--accept-missing platform/moved.yaml`"), "{text}");
    let accepted = ran(&["platform", accept[0], accept[1]]).status(0);
    assert_eq!(accepted.out, "4 environments: unchanged 4\n");
}

/// A file that was renamed is named by both of its names, or by its folder.
#[test]
fn files_that_are_gone_can_be_named() {
    let project = fleet(&before());
    let (old, new) = ("platform/all.yaml", "platform/new.yaml");
    std::fs::rename(project.path().join(old), project.path().join(new)).expect("renamed");
    let ran = |paths: &[&str]| -> Ran { project.run(&[&["impact"][..], paths].concat()) };
    for paths in [&["platform"][..], &[old, new]] {
        assert_eq!(ran(paths).status(0).out, "4 environments: unchanged 4\n");
    }
    let text = ran(&[new]).status(3).out;
    let help = "`platform/all.yaml` was deployed and no longer exists: if its documents were moved, name it too, or \
                its folder";
    assert!(text.contains(help), "{text}");
    let text = ran(&[old]).status(3).out;
    assert!(text.contains("no definition matches `db.default#shared.db`"), "{text}");
    let wrong = ran(&["platform/nothing.yaml"]).status(2);
    assert!(wrong.err.contains("no environment was deployed from `platform/nothing.yaml`"), "{}", wrong.err);
}

#[test]
fn environments_are_selected_by_type_and_name() {
    let project = fleet(&before());
    project.write("platform/all.yaml", before().replace("'one'", "'two'"));
    let named = |arguments: &[&str]| -> Vec<String> {
        let mut events = project
            .run(&[&["impact", "platform", "--format", "json"][..], arguments].concat())
            .status(0)
            .events();
        let summary = events.pop().expect("a summary");
        assert_eq!(summary["environments"], events.len());
        events.iter().map(|event| format!("{} {}", event["env"], event["type"]).replace('"', "")).collect()
    };
    assert_eq!(named(&[]), ["prod production", "prod2 production", "dev development", "stage staging"]);
    for (arguments, expected) in [
        (&["--type", "production"][..], &["prod production", "prod2 production"][..]),
        (&["--type", "staging", "--type", "development"], &["dev development", "stage staging"]),
        (&["--environments", "prod"], &["prod production"]),
        (&["--environments", "shop/*", "--type", "staging"], &["stage staging"]),
        (&["--environments", "default/shop/prod*"], &["prod production", "prod2 production"]),
        (&["--environments", "stage", "--environments", "dev"], &["dev development", "stage staging"]),
    ] {
        assert_eq!(named(arguments), expected, "{arguments:?}");
    }
    for arguments in [["--type", "prodution"], ["--environments", "other/*"]] {
        let none = project.run(&[&["impact", "platform"][..], &arguments].concat()).status(2);
        assert!(none.err.contains("none of the 4 recorded environments matches"), "{}", none.err);
    }
}

#[test]
fn environments_that_do_not_use_the_change_are_not_counted() {
    let project = fleet(&before());
    let text = project.run(&["impact", "apps/dev.yaml"]).status(0).out;
    assert_eq!(text, "1 environment: unchanged 1; 3 others use none of these documents\n");
    project.write("apps/dev.yaml", deployment(&["db", "cache"]));
    let events = project.run(&["impact", "apps", "--format", "json"]).status(0).events();
    assert_eq!(events[1]["environments"], 4, "the folder contains the documents of all: {events:?}");
    let events = project.run(&["impact", "apps/dev.yaml", "--format", "json"]).status(0).events();
    assert_eq!((&events[0]["env"], &events[0]["effect"]), (&json!("dev"), &json!("create")));
    assert_eq!((&events[1]["environments"], &events[1]["unused"]), (&json!(1), &json!(3)));
}

#[test]
fn a_change_that_is_rejected_wherever_it_matters_fails() {
    let project = fleet(&before());
    let ran = |arguments: &[&str]| -> Ran { project.run(&[&["impact", "platform"][..], arguments].concat()) };
    // Rejected in two environments, and without an effect on the others.
    let wrong = before() + &file("cache-2", "", "${values.size}", "{app_id: shop}");
    project.write("platform/all.yaml", &wrong);
    let text = ran(&[]).status(3).out;
    assert!(text.ends_with("4 environments: unchanged 2, rejected 2\n"), "{text}");
    let _ = ran(&["--accept-rejected"]).status(0);
    let _ = ran(&["--accept-rejected", "--fail-on", "rejected"]).status(3);
    // It changes something elsewhere.
    project.write("platform/all.yaml", wrong + &file("db-dev", "", "two", "{env_id: dev}"));
    let text = ran(&[]).status(0).out;
    assert!(text.ends_with("unchanged 1, update 1, rejected 2\n"), "{text}");
    let _ = ran(&["--fail-on", "rejected"]).status(3);
}

/// The values of environments with the same changes may differ.
#[test]
fn values_are_shown_before_and_after() {
    let secret = before().replacen("values: {path", "secrets: {content: hunter-1}, values: {path", 1);
    let secret = secret.replacen(", content: 'one'", "", 1);
    let project = fleet(&secret);
    let changed = secret.replace("hunter-1", "hunter-2").replace("/out/", "/out/new-");
    project.write("platform/all.yaml", changed.replace("'one'", "'```'"));
    let ran = |arguments: &[&str]| -> String {
        let ran = project.run(&[&["impact", "platform"][..], arguments].concat()).status(0);
        assert!(!ran.out.contains("hunter"), "{ran}");
        ran.out
    };
    let lines = [
        "secrets.content: [secret] → [secret] (changed)",
        "prod of default/shop: \"/out/prod-shared.db\" → \"/out/new-prod-shared.db\" (forces replacement)",
        "stage of default/shop: \"/out/stage-shared.db\" → \"/out/new-stage-shared.db\" (forces replacement)",
        "values.content: \"one\" → \"```\"",
    ];
    let (text, markdown) = (ran(&[]), ran(&["--format", "markdown"]));
    for line in lines {
        assert!(text.contains(line) && markdown.contains(line), "{line}:\n{text}\n{markdown}");
    }
    // The text of others ends no fence.
    assert!(markdown.contains("\n````text\n") && markdown.contains("\n````\n\n</details>\n"), "{markdown}");
    let json = ran(&["--format", "json"]);
    assert!(json.contains(r#"{"path":"/secrets/content","before":"[secret]","after":"[secret]""#), "{json}");
}
