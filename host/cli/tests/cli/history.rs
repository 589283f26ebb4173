//! Tests of the history, of comparing deployments, and of rollbacks.

use purlin_systems::project::{Project, ran};

use crate::world::{World, reads, thing};

/// A project with three deployments: five resources created, then a longer password, then one more
/// workload.
fn thrice() -> Project {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    project.edit("platform/postgres.yaml", "length: 24", "length: 30");
    project.run(&["up", "--yes"]).status(0);
    let score = project.read("apps/web.yaml");
    project.write("apps/api.yaml", score.replace("name: web", "name: api"));
    project.run(&["up", "--yes"]).status(0);
    project
}

#[test]
fn a_history_lists_deployments_newest_first() {
    let project = thrice();
    // Nothing changes, so nothing is recorded.
    project.run(&["up", "--yes"]).status(0);
    let json = project.run(&["history", "--format", "json"]).status(0).json();
    assert_eq!(json["format"], 1);
    let deployments: Vec<_> = json["deployments"]
        .as_array()
        .expect("deployments")
        .iter()
        .map(|one| {
            let done = &one["done"];
            assert_eq!((&one["user"], &one["command"]), (&"ada".into(), &"purlin up".into()));
            assert_eq!((&one["outcome"], &one["failed"]), (&"succeeded".into(), &0.into()));
            assert!(one["started"].as_str() <= one["ended"].as_str(), "{one}");
            assert_eq!(one["documents"], one["number"], "each has its own");
            (one["number"].as_u64(), done["create"].as_u64(), done["update"].as_u64())
        })
        .collect();
    let some = |number, create, update| (Some(number), Some(create), Some(update));
    assert_eq!(deployments, [some(3, 4, 0), some(2, 0, 3), some(1, 5, 0)]);

    let text = project.run(&["history", "--limit", "2"]).status(0);
    let rows: Vec<&str> = text.out.lines().collect();
    assert!(rows[1].starts_with("3 ") && rows[2].starts_with("2 ") && rows.len() == 3, "{}", text.out);
    assert!(text.err.contains("there are 1 more before these"), "{}", text.err);

    let id = json["deployments"][1]["id"].as_str().expect("an id").to_owned();
    for name in ["2", &id] {
        let one = project.run(&["history", name, "--format", "json"]).status(0).json();
        assert_eq!(one["deployment"]["number"], 2);
        let steps = one["deployment"]["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), 3);
        assert!(steps.iter().all(|step| step["action"] == "update" && step["succeeded"] == true), "{one}");
    }
    let latest = project.run(&["history", "latest"]).status(0).out;
    assert!(latest.starts_with("Deployment 3\n") && latest.contains("+ create  "), "{latest}");
    for arguments in [&["history", "9"][..], &["history", "yesterday"], &["history", "-1"]] {
        project.run(arguments).status(2);
    }
    let other = project.run(&["history", "--env", "prod"]).status(0);
    assert!(other.err.contains("Nothing was deployed in prod") && other.err.contains("the state has dev"));
    let none = project.run(&["history", "1", "--env", "prod", "--format", "json"]).status(2).json();
    assert!(none["error"]["message"].as_str().is_some_and(|text| text.contains("no deployment `1`")));
}

#[test]
fn deployments_are_compared_by_their_resources() {
    let project = thrice();
    assert_eq!(
        project.run(&["diff"]).status(0).out,
        "No difference between deployment 3 and the documents now.\n"
    );
    let json = project.run(&["diff", "1", "3", "--format", "json"]).status(0).json();
    assert_eq!(
        json["summary"],
        serde_json::json!({"added": 4, "changed": 1, "moved": 0, "removed": 0}),
        "{json}"
    );
    assert_eq!((&json["before"]["deployment"], &json["after"]["deployment"]), (&1.into(), &3.into()));
    let text = project.run(&["diff", "3", "1"]).status(0).out;
    assert!(text.starts_with("From deployment 3 to deployment 1\n"), "{text}");
    assert!(
        text.contains("  ~ password.default#modules.web.externals.db\n      values.length: 30 → 24\n"),
        "{text}"
    );
    assert!(text.contains("  - workload.default#modules.api\n"), "{text}");

    // Deployments that differ in a secret differ, and neither secret is shown.
    project.edit("platform/postgres.yaml", "${resources.password.outputs.value}", "hunter2-of-now");
    let text = project.run(&["diff"]).status(0).out;
    assert!(text.contains("secrets.password: [secret] → [secret] (changed)"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");

    for (arguments, message) in [
        (&["diff", "7"][..], "the deployments have the numbers 1 to 3"),
        (&["diff", "1", "x"], "there is no deployment `x`"),
        (&["diff", "--env", "prod"], "nothing was deployed in prod"),
    ] {
        let refused = project.run(arguments).status(2);
        assert!(refused.err.contains(message), "{}", refused.err);
    }
}

#[test]
fn a_moved_resource_is_compared_with_itself() {
    let world = World::deployed(
        &format!(
            "a: {{type: thing, params: {{value: v}}}}\nr: {{type: thing, params: {{value: {}}}}}",
            reads("a", "id")
        ),
        "",
    );
    world.write(
        &format!(
            "b: {{type: thing, params: {{value: w}}}}\nr: {{type: thing, params: {{value: {}}}}}",
            reads("b", "id")
        ),
        "thing#shared.b: {aliases: [thing#shared.a]}",
    );
    let moved = "  → thing.default#shared.b\n      moved from thing.default#shared.a\n      values.value: \"v\" → \"w\"\n";
    // Both before and after the deployment, the reader reads the id of the same object.
    for arguments in [&["diff"][..], &["diff", "1", "2"]] {
        let text = world.run(arguments).status(0).out;
        assert!(text.contains(moved) && text.ends_with("\nDifference: 1 moved.\n"), "{text}");
        world.up();
    }
    let json = world.run(&["diff", "1", "2", "--format", "json"]).status(0).json();
    assert_eq!(json["summary"], serde_json::json!({"added": 0, "changed": 0, "moved": 1, "removed": 0}));
    let [one] = json["differences"].as_array().expect("differences").as_slice() else { panic!("{json}") };
    assert_eq!((&one["difference"], &one["moved_from"]), (&"moved".into(), &thing("a").into()));
    assert_eq!(one["changes"][0]["path"], "/values/value");
    // The documents of the first deployment know no other name.
    let back = world.run(&["diff", "2", "1"]).status(0).out;
    assert!(back.ends_with("Difference: 1 added, 1 changed, 1 removed.\n"), "{back}");
}

#[test]
fn a_rollback_deploys_the_documents_of_then() {
    let project = thrice();
    let back = project.run(&["rollback", "--yes"]).status(0);
    assert!(back.err.contains("note: deploying the documents of deployment 2 (ada, "), "{}", back.err);
    assert!(back.err.contains("with the current drivers"), "{}", back.err);
    assert_eq!(project.recorded().len(), 5, "the workload of the third is gone");
    assert!(project.path().join("apps/api.yaml").exists(), "the files are unchanged");
    project.run(&["plan", "--detailed-exitcode"]).status(3);

    let events = project.run(&["rollback", "1", "--yes", "--format", "json"]).status(0).events();
    assert_eq!(events.last().expect("a summary")["done"]["update"], 3);
    let history = project.run(&["history", "--format", "json"]).status(0).json();
    let latest = &history["deployments"][0];
    assert_eq!((&latest["number"], &latest["command"]), (&5.into(), &"purlin rollback".into()));
    assert_eq!(latest["documents"], 1, "the same documents as the first");
    assert_eq!(project.run(&["diff", "1", "latest"]).status(0).out.lines().count(), 1);
    assert!(project.run(&["rollback", "1", "--yes"]).status(0).err.contains("Nothing to change"));

    // This also works if the documents are invalid or missing.
    project.write("apps/web.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: [}\n");
    project.run(&["up", "--yes"]).status(2);
    let named = ["--yes", "--app", "shop", "--env", "dev"];
    let run = |command: &[&str]| project.run(&[command, &named].concat());
    let back = run(&["rollback", "3"]).status(0);
    assert!(back.err.contains("4 created"), "{}", back.err);
    run(&["destroy"]).status(0);
    run(&["rollback"]).status(0);
    assert_eq!(project.recorded().len(), 9);
    let refused = run(&["rollback", "7"]).status(2);
    assert!(refused.err.contains("deployment 7 was made from no documents"), "{}", refused.err);
    run(&["rollback", "99"]).status(2);
}

#[test]
fn the_first_deployment_cannot_be_rolled_back() {
    let project = Project::new();
    let refused = project.run(&["rollback", "--yes"]).status(2);
    assert!(refused.err.contains("nothing was deployed in dev"), "{}", refused.err);
    project.run(&["diff"]).status(2);
    assert!(!project.has_state(), "looking makes no state");
    project.run(&["up", "--yes"]).status(0);
    let refused = project.run(&["rollback", "--yes"]).status(2);
    assert!(refused.err.contains("there is nothing to go back to"), "{}", refused.err);
    let json = project.run(&["rollback", "--yes", "--format", "json"]).status(2).events();
    assert_eq!(json[0]["event"], "error");
}

#[test]
fn a_history_shows_no_secret_of_the_documents() {
    let project = Project::new();
    project.edit("platform/postgres.yaml", "${resources.password.outputs.value}", "hunter2-of-then");
    project.run(&["up", "--yes"]).status(0);
    project.edit("platform/postgres.yaml", "hunter2-of-then", "hunter2-of-now");
    project.run(&["up", "--yes"]).status(0);
    for arguments in [
        &["history"][..],
        &["history", "1"],
        &["diff", "1"],
        &["diff", "1", "2", "--verbose"],
        &["rollback", "1", "--yes", "--verbose"],
        &["state", "list", "--verbose"],
        &["state", "show", "postgres#modules.web.externals.db"],
    ] {
        for format in ["text", "json"] {
            let mut all = arguments.to_vec();
            all.extend(["--format", format]);
            let output = project.run(&all).status(0);
            assert!(!output.out.contains("hunter2") && !output.err.contains("hunter2"), "{all:?}");
        }
    }
    // It does not appear in files either.
    let grep = std::process::Command::new("grep")
        .args(["-rq", "hunter2", ".purlin"])
        .current_dir(project.path())
        .status();
    assert_eq!(grep.expect("grep").code(), Some(1));
}

#[test]
fn a_history_fits_into_80_columns() {
    let project = thrice();
    for columns in [60, 80, 140] {
        for arguments in [&["history"][..], &["history", "3"], &["diff", "1"]] {
            let mut command = project.command(arguments);
            command.env("COLUMNS", columns.to_string());
            let text = ran(command).status(0).out;
            assert!(
                text.lines().all(|line| line.chars().count() <= columns),
                "{arguments:?} at {columns}:\n{text}"
            );
        }
    }
}
