//! Tests of the JSON output (SPEC §11), field by field.

use purlin_systems::Project;
use serde_json::{Value, json};

use crate::adversary::adversarial;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn a_graph_has_the_published_form() {
    let project = Project::new();
    let graph = project.run(&["graph", "--format", "json"]).status(0).json();
    assert_eq!(keys(&graph), ["format", "nodes", "edges", "order"]);
    assert_eq!(graph["format"], 1);
    let node = graph["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .find(|node| node["type"] == "password")
        .expect("one");
    assert_eq!(
        node,
        &json!({
            "key": "password.default#modules.web.externals.db",
            "type": "password", "class": "default", "id": "modules.web.externals.db",
            "urn": "urn:purlin:dev/default::shop::web::password.default::modules.web.externals.db",
            "definition": "password", "driver": "purlin/random", "implicit": false,
            "origin": [{
                "kind": "reference", "from": "postgres.default#modules.web.externals.db",
                "placeholder": "${resources.password.outputs.value}", "at": "platform/postgres.yaml:18:17",
            }],
        })
    );
    assert!(graph["edges"].as_array().expect("edges").contains(&json!({
        "from": "postgres.default#modules.web.externals.db",
        "to": "password.default#modules.web.externals.db",
        "kinds": ["reference"],
    })));
    let position = |key: &str| {
        graph["order"]
            .as_array()
            .expect("levels")
            .iter()
            .position(|level| level.as_array().expect("keys").contains(&key.into()))
    };
    assert!(
        position("password.default#modules.web.externals.db")
            < position("postgres.default#modules.web.externals.db")
    );
}

#[test]
fn a_plan_has_the_published_form() {
    let project = Project::new();
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    assert_eq!(keys(&plan), ["format", "steps", "summary"]);
    assert_eq!(plan["summary"], json!({"create": 5, "update": 0, "replace": 0, "delete": 0, "none": 0}));
    let step = plan["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .find(|step| step["key"].as_str().is_some_and(|key| key.starts_with("postgres")))
        .expect("one");
    assert_eq!(keys(step), ["key", "urn", "action", "reasons", "changes"]);
    assert_eq!(step["reasons"], json!([{"reason": "new", "message": "it does not exist yet"}]));
    assert_eq!(
        step["changes"][4],
        json!({"path": "/secrets/password", "before": null, "after": null, "unknown": true, "secret": true, "replaces": false})
    );
    assert_eq!(
        step["changes"][1],
        json!({"path": "/values/port", "before": null, "after": 5432, "unknown": false, "secret": false, "replaces": false})
    );
}

#[test]
fn events_outputs_and_records_have_the_published_form() {
    let project = Project::new();
    let events = project.run(&["up", "--yes", "--format", "json"]).status(0).events();
    let (summary, resources) = events.split_last().expect("events");
    assert_eq!(resources.len(), 10);
    assert!(
        resources
            .iter()
            .all(|event| event["format"] == 1 && event["event"] == "resource" && event["action"] == "create")
    );
    assert_eq!(keys(&resources[0]), ["format", "event", "key", "action", "phase"]);
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["status"], "succeeded");
    assert_eq!(summary["done"], json!({"create": 5, "update": 0, "replace": 0, "delete": 0, "none": 0}));
    assert_eq!(summary["calls"], 5);

    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    assert_eq!(keys(&outputs), ["format", "workloads", "resources"]);
    assert_eq!(
        outputs["workloads"]["web"]["spec"]["containers"]["main"]["variables"],
        json!({
            "PUBLIC_URL": "https://shop-dev.example.test", "DB_HOST": "postgres.dev.internal",
            "DB_USER": "shop", "DB_PASSWORD": "[secret]",
        })
    );
    assert_eq!(outputs["resources"]["postgres.default#modules.web.externals.db"]["password"], "[secret]");
    let shown = project.run(&["outputs", "--format", "json", "--show-secrets"]).status(0).json();
    let password =
        shown["resources"]["postgres.default#modules.web.externals.db"]["password"].as_str().expect("text");
    assert_eq!(password.len(), 24);

    let records = project.run(&["state", "list", "--format", "json"]).status(0).json();
    assert_eq!(keys(&records), ["format", "resources"]);
    let record = &records["resources"][2];
    assert_eq!(keys(record), ["urn", "key", "status", "driver", "provider_id", "dependencies"]);
    let one = project
        .run(&["state", "show", record["urn"].as_str().expect("a URN"), "--format", "json"])
        .status(0)
        .json();
    assert_eq!(one["resource"]["key"], record["key"]);

    // The secret appears only in output for which it was requested.
    for arguments in [
        &["outputs"][..],
        &["plan", "-vvv"],
        &["up", "--yes", "-vvv"],
        &["state", "show", "postgres#modules.web.externals.db"],
        &["state", "show", "password#modules.web.externals.db", "--format", "json"],
        &["state", "list"],
        &["graph", "--format", "json"],
        &["explain", "postgres#modules.web.externals.db"],
    ] {
        let ran = project.run(arguments).status(0);
        assert!(!ran.out.contains(password) && !ran.err.contains(password), "{arguments:?}");
    }
    let grep = |folder: &std::path::Path| {
        files(folder).into_iter().any(|file| {
            std::fs::read(file)
                .expect("read")
                .windows(password.len())
                .any(|bytes| bytes == password.as_bytes())
        })
    };
    assert!(!grep(&project.path().join(".purlin")), "the state holds no secret in plain text");
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder)
        .expect("a folder")
        .flat_map(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() { files(&path) } else { vec![path] }
        })
        .collect()
}

#[test]
fn an_explanation_has_the_published_form() {
    let project = Project::new();
    project.write(
        "platform/prod.yaml",
        "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns-prod}\nspec:\n  type: dns\n  driver: purlin/echo\n  criteria: [{env_type: production}]\n",
    );
    let why = project.run(&["explain", "dns#modules.web.externals.dns", "--format", "json"]).status(0).json();
    assert_eq!(why["winner"]["definition"], "dns");
    assert_eq!(why["losers"][0]["definition"], "dns-prod");
    assert_eq!(why["losers"][0]["reasons"], json!(["env_type is `development`, not `production`"]));
    assert_eq!(why["dependents"][0]["key"], "workload.default#modules.web");
    let other = project.run(&[
        "explain",
        "dns#modules.web.externals.dns",
        "--env-type",
        "production",
        "--format",
        "json",
    ]);
    assert_eq!(other.status(0).json()["winner"]["definition"], "dns-prod");
}

#[test]
fn faults_have_the_published_form() {
    let project = Project::new();
    project.edit("apps/web.yaml", "type: dns", "typ: dns");
    let report = project.run(&["validate", "--format", "json"]).status(2).json();
    assert_eq!(report["valid"], false);
    let fault = &report["diagnostics"][0];
    assert_eq!((&fault["severity"], &fault["file"]), (&"error".into(), &"apps/web.yaml".into()));
    assert!(fault["line"].is_u64() && fault["column"].is_u64() && fault["code"].is_string());
    let error = project.run(&["plan", "--format", "json"]).status(2).json();
    assert_eq!(keys(&error), ["format", "error"]);
    assert_eq!(error["error"]["diagnostics"][0]["file"], "apps/web.yaml");
}

#[test]
fn a_failed_resource_is_an_event_with_its_error() {
    let project = adversarial("{do: trap}", "{}");
    let ran = project.run(&["up", "--yes", "--format", "json"]).status(1);
    let events = ran.events();
    let failed = events.iter().find(|event| event["phase"] == "failed").expect("a failure");
    assert_eq!(
        (&failed["key"], &failed["error"]["code"]),
        (&"thing.default#shared.one".into(), &"driver".into())
    );
    assert_eq!(events.last().expect("a summary")["status"], "failed");
    assert_eq!(events.last().expect("a summary")["failed"], 1);
    assert!(!ran.out.contains("correct-horse") && !ran.err.contains("correct-horse"));
    // Resources that do not depend on it were created.
    assert!(project.recorded().contains(&"dns.default#shared.two".to_owned()));
}
