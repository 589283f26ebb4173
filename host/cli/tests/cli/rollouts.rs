//! Tests of roll-outs on a state in a folder (`purlin rollout`).

use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

use crate::world::World;

const PURLIN: &str = "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {app: shop}
  environments:
    dev: {type: development}
    stage: {type: staging}
    prod: {type: production}
  drivers:
    purlin/file:
      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}
";

/// A note. Another name replaces it.
fn platform(name: &str, content: &str) -> String {
    format!(
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: note}}
spec:
  type: note
  driver: purlin/file
  inputs: {{values: {{path: '/out/${{context.env.id}}-{name}.txt', content: '{content}'}}}}
  criteria: [{{}}]
"
    )
}

const APP: &str = "apiVersion: purlin.dev/v1
kind: Deployment
spec: {shared: {main: {type: note}}}
";

const ENVIRONMENTS: [&str; 3] = ["dev", "prod", "stage"];

fn fleet() -> Project {
    let project = Project::with(&[
        ("purlin.yaml", PURLIN),
        ("platform/note.yaml", &platform("a", "one")),
        ("app.yaml", APP),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    for env in ENVIRONMENTS {
        let _ = up(&project, env).status(0);
    }
    project
}

fn up(project: &Project, env: &str) -> Ran {
    project.run(&["up", "--yes", "--env", env, "platform", "app.yaml"])
}

fn note(project: &Project, env: &str, name: &str) -> String {
    std::fs::read_to_string(project.path().join(format!("out/{env}-{name}.txt"))).unwrap_or_default()
}

/// How far the latest roll-out is: its status, and how many environments are in which state.
fn status(project: &Project) -> (String, Value) {
    let mut report =
        project.run(&["rollout", "status", "--format", "json"]).status(0).json()["rollout"].take();
    let environments = report["environments"].as_array().expect("a list").len();
    let counts = report["counts"].as_object().expect("counts").values();
    assert_eq!(counts.filter_map(Value::as_u64).sum::<u64>(), environments as u64, "they add up");
    (report["status"].as_str().expect("a status").to_owned(), report["counts"].take())
}

#[test]
fn the_command_takes_the_turns_wave_by_wave_and_goes_on_where_it_paused() {
    let project = fleet();
    let none = project.run(&["rollout", "list"]).status(0);
    assert!(none.err.contains("There are no roll-outs"), "{}", none.err);
    let missing = project.run(&["rollout", "status"]).status(2);
    assert!(missing.err.contains("there are no roll-outs"), "{}", missing.err);

    project.write("platform/note.yaml", platform("a", "two"));
    let begun = project.run(&[
        "rollout",
        "start",
        "platform",
        "--yes",
        "--wave",
        "by-type",
        "--pause-after",
        "1",
        "--reason",
        "shorter",
    ]);
    let begun = begun.status(1);
    assert!(begun.out.contains("Roll-out 1 is paused, wave 1 of 3"), "{}", begun.out);
    assert!(begun.err.contains("`purlin rollout resume 1` goes on"), "{}", begun.err);
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["two", "one", "one"]);
    assert_eq!(status(&project), ("paused".into(), json!({"matching": 1, "pending": 2})));
    // Passes keep each environment as the roll-out has it, and as it was.
    let _ = project.run(&["reconcile", "--all", "--yes"]).status(0);
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["two", "one", "one"]);

    let done = project.run(&["rollout", "resume", "1", "--yes"]).status(0);
    assert!(
        done.out.contains("Roll-out 1 is done, wave 3 of 3\n  3 environments: 3 matching"),
        "{}",
        done.out
    );
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["two", "two", "two"]);
    let list = project.run(&["rollout", "list", "--format", "json"]).status(0).json();
    assert_eq!(
        (&list["rollouts"][0]["reason"], &list["rollouts"][0]["status"]),
        (&json!("shorter"), &json!("done"))
    );

    // What is deployed now is what it brought.
    let impact = project.run(&["impact", "platform", "--format", "json"]).status(0).events();
    assert_eq!(impact.last().map(|summary| &summary["unchanged"]), Some(&json!(3)), "{impact:?}");
    let undone = project.run(&["rollout", "undo", "1", "--yes"]).status(0);
    assert!(undone.out.contains("Roll-out 1 is undone\n  3 environments: 3 undone"), "{}", undone.out);
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["one", "one", "one"]);
    for change in [&["pause", "1"][..], &["resume", "1", "--yes"]] {
        let refused = project.run(&[&["rollout"], change].concat()).status(2);
        assert!(refused.err.contains("roll-out 1 is undone"), "{change:?}: {}", refused.err);
    }
    let _ = project.run(&["rollout", "undo", "1", "--yes"]).status(0);
}

#[test]
fn what_loses_data_waits_for_consent_in_its_environment() {
    let world = World::new("", "");
    let project = world.project();
    let store = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: store}
spec:
  type: store
  driver: acme/ledger
  inputs: {values: {value: v, fixed: one, data: true}, secrets: {password: correct-horse}}
  criteria: [{}]
";
    project.write("store.yaml", store);
    for env in ["dev", "two", "three"] {
        world.write(&format!("{env}: {{type: store}}"), "");
        world.run(&["up", "--yes", "--env", env, "--new-environment"]).status(0);
    }
    let before = world.effects();
    project.edit("store.yaml", "fixed: one", "fixed: other");
    let begun = world.run(&["rollout", "start", "store.yaml", "--yes"]).status(1);
    assert!(begun.out.contains("3 environments: 3 waiting for consent"), "{}", begun.out);
    assert!(begun.err.contains("`purlin rollout resume 1 --allow-data-loss`"), "{}", begun.err);
    assert_eq!(world.effects(), before, "nothing is replaced");

    let in_two = ["rollout", "resume", "1", "--yes", "--allow-data-loss", "--environments", "two"];
    let resumed = world.run(&in_two).status(1);
    assert!(resumed.out.contains("2 waiting for consent, 1 matching"), "{}", resumed.out);
    let fixed = |env: &str| world.real()[env].1.clone();
    assert_eq!(["dev", "three", "two"].map(fixed), ["one", "one", "other"]);
    for wrong in [&["--environments", "two"][..], &["--allow-data-loss", "--environments", "nowhere"]] {
        world.run(&[&["rollout", "resume", "1", "--yes"], wrong].concat()).status(2);
    }
    let done = world.run(&["rollout", "resume", "1", "--yes", "--allow-data-loss"]).status(0);
    assert!(done.out.contains("3 matching"), "{}", done.out);
    assert_eq!(["dev", "three", "two"].map(fixed), ["other", "other", "other"]);
    // To go back loses data again.
    let undone = world.run(&["rollout", "undo", "1", "--yes"]).status(1);
    assert!(undone.out.contains("3 waiting for consent"), "{}", undone.out);
    world.run(&["rollout", "undo", "1", "--yes", "--allow-data-loss"]).status(0);
    assert_eq!(["dev", "three", "two"].map(fixed), ["one", "one", "one"]);
}

#[test]
fn whoever_deploys_is_told_and_wins() {
    let project = fleet();
    project.write("platform/note.yaml", platform("a", "two"));
    let detached = project.run(&["rollout", "start", "platform", "--yes", "--detach"]).status(0);
    assert!(detached.err.contains("`purlin reconcile --all` applies it"), "{}", detached.err);
    assert_eq!(status(&project), ("running".into(), json!({"pending": 3})));
    // The same one again goes on with it, and another one is in the way.
    let again = project.run(&["rollout", "start", "platform", "--yes", "--detach"]).status(0);
    assert!(again.out.contains("Roll-out 1 is running"), "{}", again.out);
    project.write("platform/note.yaml", platform("a", "mine"));
    let refused = project.run(&["rollout", "start", "platform", "--yes"]).status(2);
    assert!(refused.err.contains("roll-out 1 is about the same files"), "{}", refused.err);
    let told = up(&project, "prod").status(0);
    assert!(told.err.contains("these documents are not those of roll-out 1"), "{}", told.err);
    let _ = project.run(&["reconcile", "--all", "--yes"]).status(0);
    assert_eq!(status(&project), ("done".into(), json!({"left": 1, "matching": 2})));
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["two", "mine", "two"]);
    let told = up(&project, "dev").status(0);
    assert!(told.err.contains("these documents are not those of roll-out 1"), "{}", told.err);
    let told = up(&project, "dev").status(0);
    assert!(!told.err.contains("roll-out"), "it has left already: {}", told.err);
    assert_eq!(status(&project), ("done".into(), json!({"left": 2, "matching": 1})));
    // A destroyed environment is counted, too.
    let _ = project.run(&["destroy", "--yes", "--allow-data-loss", "--env", "stage"]).status(0);
    assert_eq!(status(&project), ("done".into(), json!({"left": 2, "gone": 1})));
}

#[test]
fn what_is_taken_back_gives_way_to_what_was_before() {
    let project = fleet();
    let start = |content: &str| {
        project.write("platform/note.yaml", platform("a", content));
        let _ = project.run(&["rollout", "start", "platform", "--yes"]).status(0);
    };
    let undo = |number: &str| project.run(&["rollout", "undo", number, "--yes"]).status(0).out;
    let notes = || ENVIRONMENTS.map(|env| note(&project, env, "a"));
    start("two");
    // The same again changes nothing, and takes nothing away.
    start("two");
    start("three");
    assert!(undo("3").contains("3 undone"));
    assert_eq!(notes(), ["two", "two", "two"]);
    assert!(undo("2").contains("3 as before"));
    assert!(undo("1").contains("3 undone"));
    assert_eq!(notes(), ["one", "one", "one"]);

    // In the other order.
    start("four");
    start("five");
    assert!(undo("4").contains("3 superseded"));
    assert_eq!(notes(), ["five", "five", "five"]);
    let _ = undo("5");
    assert_eq!(notes(), ["one", "one", "one"]);
}

#[test]
fn a_closed_environment_is_left_out_and_counted() {
    let project = fleet();
    project.write("platform/note.yaml", platform("a", "two"));
    let _ = project.run(&["rollout", "start", "platform", "--yes"]).status(0);
    let _ = project.run(&["state", "lock", "--env", "prod"]).status(0);
    let undone = project.run(&["rollout", "undo", "1", "--yes"]).status(1);
    assert!(undone.out.contains("1 closed, 2 undone"), "{}", undone.out);
    let refused = project.run(&["rollout", "start", "platform", "--yes"]).status(2);
    assert!(refused.err.contains("roll-out 1 is about the same files, and is not over"), "{}", refused.err);
    let _ = project.run(&["state", "unlock", "--env", "prod"]).status(0);
    let _ = project.run(&["rollout", "undo", "1", "--yes"]).status(0);
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["one", "one", "one"]);
}

#[test]
fn a_copy_of_the_state_goes_on_with_its_roll_outs() {
    let project = fleet();
    project.write("platform/note.yaml", platform("a", "two"));
    let start = ["rollout", "start", "platform", "--yes", "--wave", "1", "--pause-after", "1"];
    let _ = project.run(&start).status(1);
    let copied = project.run(&["state", "copy", ".purlin", "moved"]).status(0);
    assert!(copied.err.contains("The record of 1 roll-out is there, too."), "{}", copied.err);
    let there = |arguments: &[&str]| project.run(&[&["--state", "moved"], arguments].concat());
    let resumed = there(&["rollout", "resume", "1", "--yes"]).status(0);
    assert!(resumed.out.contains("3 matching"), "{}", resumed.out);
    let _ = project.run(&["rollout", "resume", "1", "--yes"]).status(1);
    assert_eq!(ENVIRONMENTS.map(|env| note(&project, env, "a")), ["two", "two", "two"]);
}

#[test]
fn wrong_options_say_what_is_right() {
    let project = fleet();
    for (wave, why) in
        [("0", "one environment at least"), ("0%", "from `1%` to `100%`"), ("some", "`by-type`")]
    {
        let refused = project.run(&["rollout", "start", "platform", "--yes", "--wave", wave]).status(2);
        assert!(refused.err.contains(why), "{wave}: {}", refused.err);
    }
    let refused = project.run(&["rollout", "start", "platform"]).status(2);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    let refused = project.run(&["rollout", "status", "7"]).status(2);
    assert!(refused.err.contains("there is no roll-out 7"), "{}", refused.err);
    assert_eq!(project.run(&["rollout", "list", "--format", "json"]).status(0).json()["rollouts"], json!([]));
}
