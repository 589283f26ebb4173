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

/// Numbers from a seed (xorshift).
struct Rng(u64);

impl Rng {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        from[(self.0 % from.len() as u64) as usize]
    }
}

/// Definitions of every type: one that always matches, and up to two others with different criteria.
fn random_platform(rng: &mut Rng) -> String {
    const CRITERIA: [&str; 8] = [
        "{env_type: production}",
        "{env_type: development}",
        "{app_id: shop}",
        "{app_id: other}",
        "{env_id: stage}",
        "{env_id: prod2}",
        "{res_id: shared.db}",
        "{res_id: shared.cache, env_type: staging}",
    ];
    let mut text = String::new();
    for kind in ["db", "cache", "queue"] {
        let (one, two) = (rng.pick(&CRITERIA), rng.pick(&CRITERIA));
        let others = if one == two { vec![one] } else { vec![one, two] };
        let all = others.into_iter().enumerate().map(|(n, criterion)| (format!("{kind}-{n}"), criterion));
        for (id, criterion) in all.chain([(kind.to_owned(), "{}")]) {
            if criterion == "{}" || rng.pick(&["", "yes"]) == "yes" {
                text.push_str(&file(
                    &id,
                    rng.pick(&["", "-a"]),
                    rng.pick(&["one", "two", "three"]),
                    criterion,
                ));
            }
        }
    }
    text
}

#[test]
fn an_impact_matches_the_plans_of_random_fleets() {
    let seeds = std::env::var("PURLIN_IMPACT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut affected_environments = 0;
    for seed in 1..=seeds {
        let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ seed);
        let project = fleet(&random_platform(&mut rng));
        for number in 0..6 {
            let platform = random_platform(&mut rng);
            project.write("platform/all.yaml", &platform);
            let (affected, _) = impact(&project, &[]);
            assert_eq!(affected, alone(&project), "seed {seed}, change {number}:\n{platform}");
            affected_environments += affected.len();
        }
    }
    assert!(affected_environments > 10, "{affected_environments}");
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
        "± db.default#shared.db replace: `/values/path` cannot be changed in place (values.path)",
        "in dev of default/shop",
        "4 environments: replace 4\n",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    for effect in ["replace", "update,replace"] {
        let _ = ran(&["--fail-on", effect]).status(3);
    }
    let _ = ran(&["--fail-on", "delete,create,update,loses-data,rejected,unknown"]).status(0);
    let markdown = ran(&["--format", "markdown"]).status(0).out;
    assert!(markdown.starts_with("### Impact on 4 environments\n\nReplace 4\n"), "{markdown}");

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
