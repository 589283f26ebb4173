//! Tests of `purlin reconcile`, which keeps an environment in line with its documents.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use purlin_systems::project::{PATIENCE, ended, read_until, signal};
use serde_json::Value;

use crate::terminal::typed;
use crate::world::{World, thing};

fn settings(world: &World, lines: &str) {
    let text = std::fs::read_to_string(world.path().join("purlin.yaml")).expect("read");
    let text = text.split("  reconcile:").next().unwrap_or_default();
    world.project().write("purlin.yaml", format!("{text}  reconcile: {lines}\n"));
}

#[test]
fn drift_is_repaired_or_reported_as_configured() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.effects(), (2, 0, 0), "nothing is to be done");
    settings(&world, "{rules: [{resources: 'thing#shared.b', drift: report}]}");
    world.meddle("a", "meddled");
    world.meddle("b", "meddled");
    let ran = world.run(&["reconcile", "--yes"]).status(1);
    assert!(ran.err.contains("updated thing.default#shared.a"), "{}", ran.err);
    assert!(ran.err.contains("1 changed by others"), "{}", ran.err);
    assert_eq!((world.real()["a"].0.as_str(), world.real()["b"].0.as_str()), ("v", "meddled"));
    let status = world.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"drifted": 1, "ready": 2}));
    // Another pass finds nothing new and forgets nothing.
    world.run(&["reconcile", "--yes"]).status(1);
    settings(&world, "{}");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.real()["b"].0, "w");
    world.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
}

#[test]
fn missing_resources_are_created_again_or_reported() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    settings(&world, "{drift: report}");
    std::fs::remove_file(world.file("a")).expect("removed");
    let ran = world.run(&["reconcile", "--yes"]).status(1);
    assert!(ran.err.contains("thing.default#shared.a: it no longer exists"), "{}", ran.err);
    assert_eq!(world.effects(), (1, 0, 0));
    let status = world.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"missing": 1, "ready": 1}));
    settings(&world, "{drift: repair}");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.effects(), (2, 0, 0));
}

/// LIFE-04: some systems show a new resource late.
#[test]
fn a_new_resource_that_is_not_visible_yet_is_not_made_again() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    world.set_limits("{grace: 1h}");
    let file = world.file("a");
    let kept = std::fs::read(&file).expect("read");
    std::fs::remove_file(&file).expect("removed");
    let ran = world.run(&["reconcile", "--yes"]).status(0);
    assert!(ran.err.contains("thing.default#shared.a: its system does not show it yet"), "{}", ran.err);
    assert_eq!(world.effects(), (1, 0, 0));
    std::fs::write(&file, kept).expect("written");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.effects(), (1, 0, 0));
    // After that time, it counts as deleted.
    std::fs::remove_file(&file).expect("removed");
    world.set_limits("{grace: 0s}");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.effects(), (2, 0, 0));
}

#[test]
fn a_resource_that_is_not_visible_yet_is_not_said_to_match() {
    let project = purlin_systems::project::Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers:\n    purlin/file:\n      limits: {grace: 1h}\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n",
        ),
        (
            "platform.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: /out/note, content: wanted}}\n  criteria: [{}]\n---\n\
             apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {shared: {a: {type: note}}}\n",
        ),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    project.run(&["up", "--yes"]).status(0);
    std::fs::remove_file(project.path().join("out/note")).expect("removed");
    let ran = project.run(&["reconcile", "--yes"]).status(0);
    assert!(ran.err.contains("every other resource matches the documents, 1 not visible yet"), "{}", ran.err);
}

/// A driver that returns all inputs leaves no other trace of drift than these.
#[test]
fn complete_drift_of_a_driver_is_reported() {
    let project = purlin_systems::project::Project::with(&[
        (
            "purlin.yaml",
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  reconcile: {drift: report}\n  drivers:\n    purlin/file:\n      grants: {dirs: [{host: ./out, guest: /out, mode: rw}]}\n",
        ),
        (
            "platform.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: note}\nspec:\n  type: note\n  driver: purlin/file\n  inputs: {values: {path: /out/note, content: wanted}}\n  criteria: [{}]\n---\n\
             apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {shared: {a: {type: note}}}\n",
        ),
    ]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    project.run(&["up", "--yes"]).status(0);
    let note = project.path().join("out/note");
    std::fs::write(&note, "meddled").expect("written");
    for _ in 0..2 {
        let ran = project.run(&["reconcile", "--yes"]).status(1);
        assert!(ran.err.contains("1 changed by others"), "{}", ran.err);
        let status = project.run(&["status", "--format", "json"]).status(0).json();
        assert_eq!(status["summary"], serde_json::json!({"drifted": 1, "ready": 1}));
    }
    assert_eq!(std::fs::read_to_string(&note).expect("read"), "meddled");
    // Once the change is undone, there is nothing left to report.
    std::fs::write(&note, "wanted").expect("written");
    project.run(&["reconcile", "--yes"]).status(0);
    let status = project.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"ready": 2}));
    std::fs::write(&note, "meddled").expect("written");
    project.run(&["reconcile", "--yes"]).status(1);
    project.run(&["up", "--yes"]).status(0);
    assert_eq!(std::fs::read_to_string(&note).expect("read"), "wanted");
    let status = project.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"ready": 2}));
}

#[test]
fn nothing_is_deleted_or_replaced_without_consent() {
    let world = World::deployed(
        "a: {type: thing, params: {value: v, fixed: x}}\nb: {type: thing, params: {value: w}}",
        "",
    );
    world.write("a: {type: thing, params: {value: v, fixed: y}}\nc: {type: thing, params: {value: n}}", "");
    let ran = world.run(&["reconcile", "--yes"]).status(1);
    assert!(ran.err.contains("thing.default#shared.a to be replaced"), "{}", ran.err);
    assert!(ran.err.contains("thing.default#shared.b to be deleted"), "{}", ran.err);
    assert_eq!(world.effects(), (3, 0, 0), "what takes no consent is done");
    let status = world.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"needs-consent": 2, "ready": 2}));
    settings(&world, "{allow: [replace]}");
    world.run(&["reconcile", "--yes"]).status(1);
    assert_eq!(world.effects(), (4, 0, 1));
    settings(&world, "{allow: [replace, delete]}");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.effects(), (4, 0, 2));
    let status = world.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"], serde_json::json!({"ready": 3}));
}

#[test]
fn data_loss_requires_separate_consent() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.project().edit(
        "definitions.yaml",
        "fixed: '${params.fixed}', first",
        "data: true, fixed: '${params.fixed}', first",
    );
    world.run(&["up", "--yes"]).status(0);
    world.write("b: {type: thing, params: {value: w}}", "");
    settings(&world, "{allow: [delete, replace]}");
    let ran = world.run(&["reconcile", "--yes"]).status(1);
    assert!(ran.err.contains("thing.default#shared.a to be deleted"), "{}", ran.err);
    assert!(world.real().contains_key("a"));
    settings(&world, "{allow: [delete, data-loss]}");
    world.run(&["reconcile", "--yes"]).status(0);
    assert!(!world.real().contains_key("a"));
}

/// A running watch and its events.
struct Watching {
    child: Child,
    lines: mpsc::Receiver<Value>,
}

impl Watching {
    fn start(world: &World) -> Self {
        let mut command = world.project().command(&["reconcile", "--watch", "--yes", "--format", "json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Self { child, lines }
    }

    /// Waits for an event.
    #[track_caller]
    fn until(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while let Ok(event) = self.lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
            if is_it(&event) {
                return event;
            }
            seen.push(event);
        }
        panic!("{what} did not come: {seen:#?}");
    }

    /// Waits for the end of a pass in which something happened.
    #[track_caller]
    fn until_summary(&self) {
        self.until("a summary", |event| event["event"] == "summary");
    }

    #[track_caller]
    fn until_done(&self, action: &str, name: &str) {
        let key = thing(name);
        self.until(&format!("{action} {name}"), |event| {
            event["phase"] == "succeeded" && event["action"] == action && event["key"] == key.as_str()
        });
    }

    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    #[track_caller]
    fn end(mut self) {
        self.signal("-INT");
        let status = ended(&mut self.child);
        assert!(status.success(), "{status}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The recorded resource whose key has this end, while a watch runs.
fn recorded(world: &World, key: &str) -> Value {
    // Other commands run between two passes. A command that finds the state in use tries again.
    loop {
        let ran = world.run(&["state", "list", "--format", "json"]);
        if ran.status == 0 {
            let list = ran.json();
            let mut all = list["resources"].as_array().expect("resources").iter();
            let own = all.find(|one| one["key"].as_str().is_some_and(|one| one.ends_with(key)));
            return own.expect("it is recorded").clone();
        }
    }
}

/// The file of that real thing, from the project's folder.
fn file_of(world: &World, key: &str) -> String {
    format!("data/things/{}", recorded(world, key)["provider_id"].as_str().expect("an id"))
}

/// Changes the value of the real thing in a file without Purlin, while a watch may read it.
fn meddle(world: &World, file: &str) {
    let text = std::fs::read(world.path().join(file)).expect("read");
    let mut real: Value = serde_json::from_slice(&text).expect("JSON");
    real["values"]["value"] = "meddled".into();
    world.project().write(file, real.to_string());
}

#[test]
#[cfg(unix)]
fn a_watch_applies_changes_repairs_drift_and_survives_mistakes() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    settings(&world, "{interval: 1s}");
    let watching = Watching::start(&world);
    watching.until_done("create", "a");
    let file = file_of(&world, "shared.a");
    meddle(&world, &file);
    watching.until_done("update", "a");

    // A mistake changes nothing, is reported once, and the last valid documents stay in force.
    world.project().write("more.yaml", "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shard: {}}\n");
    let event = watching.until("the mistake", |event| event["event"] == "error");
    assert!(
        event["error"]["diagnostics"][0]["message"].as_str().is_some_and(|text| text.contains("shard")),
        "{event}"
    );
    std::fs::remove_file(world.path().join(&file)).expect("removed");
    watching.until_done("create", "a");

    std::fs::remove_file(world.path().join("more.yaml")).expect("removed");
    world.write("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    watching.until_done("create", "b");
    watching.end();
    // All changes for the same documents are one entry of the history.
    let history = world.run(&["history", "--format", "json"]).status(0).json();
    assert_eq!(history["deployments"].as_array().map(Vec::len), Some(2), "{history}");
    world.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
}

/// The documents before stay in force, and the status says why.
#[test]
#[cfg(unix)]
fn a_watch_keeps_to_the_last_good_graph() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    settings(&world, "{interval: 1s}");
    let watching = Watching::start(&world);
    watching.until_done("create", "a");
    let file = file_of(&world, "shared.a");
    let rejected = |is_it: &dyn Fn(&Value) -> bool| {
        let begun = Instant::now();
        loop {
            let status = world.run(&["status", "--format", "json"]);
            if status.status == 0 && is_it(&status.json()["rejected"]) {
                return status.json()["rejected"].clone();
            }
            assert!(begun.elapsed() < PATIENCE, "{}{}", status.out, status.err);
        }
    };
    let mut since = None;
    for (mistake, why) in [
        ("b: {type: nothing, params: {value: w}}", "no-match"),
        (
            "b: {type: thing, params: {value: \"${resources['thing.default#shared.b'].outputs.value}\"}}",
            "loop",
        ),
        ("b: {type: thing, param: {value: w}}", "unknown-field"),
    ] {
        world.write(&format!("a: {{type: thing, params: {{value: v}}}}\n{mistake}"), "");
        watching.until(why, |event| event["event"] == "error" && event.to_string().contains(why));
        let status =
            rejected(&|rejected| rejected["message"].as_str().is_some_and(|text| text.contains(why)));
        assert!(status["message"].as_str().is_some_and(|text| text.starts_with("deploy.yaml:")), "{status}");
        assert_eq!(since.get_or_insert(status["since"].clone()), &status["since"]);
        let text = world.run(&["status"]).status(0).out;
        assert!(text.contains("the documents became wrong"), "{text}");
        meddle(&world, &file);
        watching.until_done("update", "a");
    }
    world.write("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    watching.until_done("create", "b");
    rejected(&Value::is_null);

    // A file that lost its documents is noticed by the plan, not by the graph: pass after pass.
    let more = "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {shared: {c: {type: thing, params: {value: x, fixed: '', first: false}}}}\n";
    world.project().write("more.yaml", more);
    watching.until_done("create", "c");
    world.project().write("more.yaml", "# nothing\n");
    watching.until("the emptied file", |event| event["event"] == "error");
    rejected(&|rejected| rejected.to_string().contains("more.yaml"));
    for _ in 0..2 {
        meddle(&world, &file);
        watching.until_done("update", "a");
    }
    // Passes that find everything in order do not take the new documents for right.
    let (begun, is_emptied) = (Instant::now(), |status: &Value| status.to_string().contains("more.yaml"));
    while begun.elapsed() < Duration::from_secs(4) {
        let status = world.run(&["status", "--format", "json"]);
        assert!(status.status != 0 || is_emptied(&status.json()["rejected"]), "{}", status.out);
    }
    assert!(world.real().contains_key("c"));
    world.project().write("more.yaml", more);
    rejected(&Value::is_null);

    // A watch that begins with wrong documents keeps to those of the last deployment.
    watching.end();
    world.write("a: {type: thing, params: {value: v}}\nb: {type: nothing}", "");
    let watching = Watching::start(&world);
    watching.until("the mistake", |event| event["event"] == "error");
    meddle(&world, &file);
    watching.until_done("update", "a");
    rejected(&|rejected| rejected["faults"] == 1);
    watching.end();
    // Corrected without a watch, and without anything to do.
    world.write("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.up();
    rejected(&Value::is_null);
    assert_eq!(world.effects().0, 3);
}

/// Also of what the watch itself creates.
#[test]
#[cfg(unix)]
fn annotations_set_the_interval_and_request_a_read() {
    let world = World::new("", "");
    settings(&world, "{interval: 1h}");
    let definition = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: any}\nspec:\n  type: '*'\n  driver: acme/ledger\n  inputs: {values: {value: '${params.value}', fixed: f, first: false}, secrets: {password: correct-horse}}\n  criteria: [{}]\n";
    world.project().write("any.yaml", definition);
    let manifest = |name: &str, annotations: &str| {
        let text = format!(
            "apiVersion: things.acme.dev/v1\nkind: Thing\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec: {{forProvider: {{value: v}}}}\n"
        );
        world.project().write(&format!("{name}.yaml"), text);
    };
    manifest("often", "crossplane.io/poll-interval: 1s");
    manifest("asked", "");
    let watching = Watching::start(&world);
    watching.until_summary();
    let repaired = |name: &str| {
        let key = recorded(&world, name)["key"].clone();
        watching.until(name, |event| {
            event["phase"] == "succeeded" && event["action"] == "update" && event["key"] == key
        });
    };
    meddle(&world, &file_of(&world, "often"));
    repaired("often");
    for moment in ["t1", "t2"] {
        meddle(&world, &file_of(&world, "asked"));
        manifest("asked", &format!("crossplane.io/reconcile-requested-at: {moment}"));
        repaired("asked");
    }
    watching.end();
}

/// This also holds if the interval is about as long as the delay after a change.
#[test]
#[cfg(unix)]
fn no_change_of_a_document_is_lost() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    settings(&world, "{interval: 1s}");
    let watching = Watching::start(&world);
    watching.until_done("create", "a");
    let file = file_of(&world, "shared.a");
    for round in 0..8_u64 {
        std::thread::sleep(Duration::from_millis(700 + 90 * round));
        world.write(&format!("a: {{type: thing, params: {{value: v{round}}}}}"), "");
        watching.until_done("update", "a");
    }
    // A pass never applies documents older than the last deployment.
    for round in 0..4 {
        world.write(
            &format!(
                "a: {{type: thing, params: {{value: w{round}}}}}\nb: {{type: thing, params: {{value: w}}}}"
            ),
            "",
        );
        watching.until_done("create", "b");
        watching.until_summary();
        world.write(&format!("a: {{type: thing, params: {{value: w{round}}}}}"), "");
        loop {
            // Other commands run between two passes.
            let ran = world.run(&["up", "--yes"]);
            if ran.status == 0 {
                break;
            }
            assert!(
                ran.err.contains("in use") || ran.err.contains("busy") || ran.err.contains("lock"),
                "{}",
                ran.err
            );
        }
        // The pass that repairs this began after the deployment.
        meddle(&world, &file);
        watching.until_done("update", "a");
        watching.until_summary();
        assert!(!world.real().contains_key("b"), "round {round}: it was created again");
    }
    watching.end();
}

#[test]
fn only_the_current_pauses_count() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    let paused = "thing#shared.a: {paused: true}";
    world.write("a: {type: thing, params: {value: v}}", paused);
    world.run(&["up", "--yes"]).status(0);
    world.meddle("a", "meddled");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.real()["a"].0, "meddled");
    // The pause ends: the resource is read and repaired at once.
    world.write("a: {type: thing, params: {value: v}}", "");
    let copy = world.copy();
    copy.run(&["up", "--yes", "--refresh"]).status(0);
    assert_eq!(copy.real()["a"].0, "v");
    world.run(&["reconcile", "--yes"]).status(0);
    assert_eq!(world.real()["a"].0, "v");
    // The opposite case: a pause begins.
    world.meddle("a", "meddled");
    world.write("a: {type: thing, params: {value: v}}", paused);
    let ran = world.run(&["plan", "--refresh"]).status(0);
    assert!(
        !ran.out.contains("it was changed") && !ran.err.contains("it was changed"),
        "{}{}",
        ran.out,
        ran.err
    );
}

/// For example, the folder was moved, or a disk is not mounted.
#[test]
#[cfg(unix)]
fn a_watch_ends_where_its_state_is_gone() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    // The next pass comes only on request, so that the folder is renamed between two passes.
    settings(&world, "{interval: 1h}");
    let mut watching = Watching::start(&world);
    watching.until_done("create", "a");
    watching.until_summary();
    std::fs::rename(world.path().join(".purlin"), world.path().join(".away")).expect("renamed");
    watching.signal("-USR1");
    let event = watching.until("the end", |event| event["event"] == "error");
    let message = event["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("is gone: it had 2 resources before"), "{event}");
    assert_eq!(watching.child.wait().expect("waited").code(), Some(1));
    assert_eq!(world.effects(), (1, 0, 0));
}

#[test]
#[cfg(unix)]
fn a_failure_is_tried_again_and_a_request_reads_at_once() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    settings(&world, "{}");
    // The driver finds a file in the place of its folder.
    let things = world.path().join("data/things");
    std::fs::write(&things, "").expect("written");
    let watching = Watching::start(&world);
    watching.until("the failure", |event| event["phase"] == "failed" && event["key"] == thing("a"));
    std::fs::remove_file(&things).expect("removed");
    watching.until_done("create", "a");
    watching.until("a summary", |event| event["event"] == "summary" && event["status"] == "succeeded");
    for file in std::fs::read_dir(&things).expect("read") {
        std::fs::remove_file(file.expect("an entry").path()).expect("removed");
    }
    // The interval is ten minutes, so only the signal can cause this.
    watching.signal("-USR1");
    watching.until_done("create", "a");
    watching.end();
}

#[test]
fn standard_input_cannot_be_watched() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    let ran = world.run(&["reconcile", "--yes", "--watch", "-f", "-"]).status(2);
    assert!(ran.err.contains("standard input can be read only once"), "{}", ran.err);
    assert!(!world.project().has_state());
}

/// The previous deployment failed, but it was not part of this command.
#[test]
fn declined_changes_are_not_tried_again() {
    let world = World::new("a: {type: thing, params: {value: v}}\nb: {type: odd, params: {do: explode}}", "");
    world.run(&["up", "--yes"]).status(1);
    let Some(ran) = typed(world.project(), &["destroy", "--retry-for", "10s"], "n\n") else { return };
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.out.contains("Nothing was changed") && !ran.out.contains("Trying again"), "{}", ran.out);
    assert_eq!(world.effects(), (1, 0, 0));
}

#[test]
fn rejected_deletions_are_retried_for_a_while() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    // The driver cannot delete the file, since a folder with contents is in its place.
    let file = world.file("a");
    let kept = std::fs::read(&file).expect("read");
    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir_all(file.join("in-the-way")).expect("made");
    let ran = world.run(&["destroy", "--yes"]).status(1);
    assert!(ran.err.contains("hint: `--retry-for 10m`"), "{}", ran.err);
    let status = world.run(&["status", "--format", "json"]).status(0).json();
    let failed = &status["resources"].as_array().expect("resources")[0];
    assert_eq!((&failed["status"], &failed["obstacle"]["action"]), (&"failed".into(), &"delete".into()));
    // It stops after that time.
    world.run(&["destroy", "--yes", "--retry-for", "3s"]).status(1);
    let mut retrying = world.project().start(&["destroy", "--yes", "--retry-for", "1h"]);
    let mut errors = BufReader::new(retrying.stderr.take().expect("stderr"));
    read_until(&mut errors, "Trying again in 1.0 s.");
    read_until(&mut errors, "Trying again in 2.0 s.");
    // Ctrl-C also ends a pause, in which no call is running. On a busy machine, the next attempt may
    // have begun; it is then cancelled.
    signal(&retrying, "-INT");
    let status = ended(&mut retrying);
    assert!(matches!(status.code(), Some(130 | 1)), "{status}");
    std::fs::remove_dir_all(&file).expect("removed");
    std::fs::write(&file, kept).expect("written");
    world.run(&["destroy", "--yes", "--retry-for", "1h"]).status(0);
    assert!(world.real().is_empty());
}

#[test]
fn without_a_terminal_reconcile_requires_yes() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    let ran = world.run(&["reconcile"]).status(2);
    assert!(ran.err.contains("with `--yes`"), "{}", ran.err);
    assert!(!world.project().has_state());
}
