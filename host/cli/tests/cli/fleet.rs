//! Tests of reconciling all environments of a state (`purlin reconcile --all`).

use purlin_systems::Project;

const PURLIN: &str = "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {app: shop}
  environments: {dev: {}, prod: {type: production}}
  reconcile: {}
  drivers:
    purlin/file:
      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}
";

const PLATFORM: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: note}
spec:
  type: note
  driver: purlin/file
  inputs: {values: {path: '/out/${context.env.id}.txt', content: '${values.greeting}'}}
  criteria: [{}]
";

const APP: &str = "apiVersion: purlin.dev/v1
kind: Deployment
spec:
  values: {greeting: none}
  shared: {main: {type: note}}
";

fn fleet() -> Project {
    let project =
        Project::with(&[("purlin.yaml", PURLIN), ("platform/note.yaml", PLATFORM), ("app.yaml", APP)]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    for (env, greeting) in [("dev", "hello"), ("prod", "good day")] {
        let value = format!("greeting={greeting}");
        let _ = project.run(&["up", "--yes", "--env", env, "--set", &value]).status(0);
    }
    project
}

fn note(project: &Project, env: &str) -> String {
    std::fs::read_to_string(project.path().join(format!("out/{env}.txt"))).unwrap_or_default()
}

#[test]
fn each_environment_is_kept_as_it_was_deployed() {
    let project = fleet();
    // The current documents do not matter, and neither do the resources that they would need.
    project.write("app.yaml", APP.replace("note", "other"));
    std::fs::remove_file(project.path().join("out/dev.txt")).expect("removed");
    let done = project.run(&["reconcile", "--all", "--yes"]).status(0);
    assert!(done.err.contains("dev of default/shop: created note.default#shared.main"), "{}", done.err);
    assert!(done.err.contains("2 environments: 2 matching the documents"), "{}", done.err);
    assert_eq!((note(&project, "dev").as_str(), note(&project, "prod").as_str()), ("hello", "good day"));
}

#[test]
fn a_file_that_was_emptied_or_moved_deletes_nothing() {
    let allowed = PURLIN.replace("reconcile: {}", "reconcile: {allow: [delete]}");
    for lose in [&|project: &Project| project.write("app.yaml", "# Nothing.\n"), &|project: &Project| {
        std::fs::remove_file(project.path().join("app.yaml")).expect("removed")
    }] as [&dyn Fn(&Project); 2]
    {
        let project = Project::with(&[
            ("purlin.yaml", allowed.as_str()),
            ("platform/note.yaml", PLATFORM),
            ("app.yaml", APP),
        ]);
        std::fs::create_dir(project.path().join("out")).expect("made");
        let up = ["up", "--yes", "--env", "dev", "platform", "app.yaml", "--set", "greeting=hello"];
        let _ = project.run(&up).status(0);
        lose(&project);
        let report = project.run(&["impact", ".", "--fail-on", "rejected"]).status(3).out;
        assert!(report.contains("--accept-missing app.yaml"), "{report}");
        let refused = project.run(&["rollout", "start", "--yes", "."]).status(2);
        assert!(refused.err.contains("1 of 1 environments reject these documents"), "{}", refused.err);
        assert_eq!(note(&project, "dev"), "hello");
    }
}

#[test]
fn an_environment_that_fails_or_is_closed_does_not_hold_up_the_others() {
    let project = fleet();
    let _ = project.run(&["state", "lock", "--env", "prod", "--reason", "a move"]).status(0);
    let done = project.run(&["reconcile", "--all", "--yes"]).status(1);
    assert!(done.err.contains("prod of default/shop") && done.err.contains("a move"), "{}", done.err);
    assert!(done.err.contains("1 matching the documents, 1 in use by others"), "{}", done.err);
    let _ = project.run(&["state", "unlock", "--env", "prod"]).status(0);
    // A folder is in the place of the file.
    std::fs::remove_file(project.path().join("out/dev.txt")).expect("removed");
    std::fs::create_dir(project.path().join("out/dev.txt")).expect("made");
    let done = project.run(&["reconcile", "--all", "--yes"]).status(1);
    assert!(done.err.contains("1 matching the documents, 1 not matching the documents"), "{}", done.err);
    // Options about a single environment are rejected.
    for option in [["--env", "dev"], ["--set", "a=b"]] {
        let refused = project.run(&[&["reconcile", "--all", "--yes"][..], &option].concat()).status(2);
        assert!(refused.err.contains("as it was deployed"), "{}", refused.err);
    }
    // Changed documents are a roll-out.
    let refused = project.run(&["reconcile", "--all", "--yes", "platform"]).status(2);
    assert!(refused.err.contains("`purlin rollout start FILE|DIR`"), "{}", refused.err);
}

#[test]
fn without_environments_there_is_nothing_to_do() {
    let project = Project::with(&[("purlin.yaml", PURLIN)]);
    let done = project.run(&["reconcile", "--all", "--yes"]).status(0);
    assert!(done.err.contains("0 environments: nothing is recorded"), "{}", done.err);
    assert!(!project.has_state());
}
