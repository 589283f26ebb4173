//! Tests of differences between the record and reality: drift, missing objects, existing objects,
//! and objects that others manage.

use serde_json::json;

use crate::world::{World, reads, thing};

#[test]
fn drift_is_found_shown_and_repaired() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    world.meddle("a", "meddled");
    // Nothing is read unless requested.
    world.run(&["plan", "--detailed-exitcode"]).status(0);
    let plan = world.run(&["plan", "--refresh", "--detailed-exitcode"]).status(3);
    assert!(
        plan.err.contains("thing.default#shared.a: it was changed (values.value, outputs.value)"),
        "{}",
        plan.err
    );
    assert!(plan.out.contains("values.value: \"meddled\" → \"v\""), "{}", plan.out);
    let json = world.plan(&["--refresh"]);
    assert_eq!(json["observed"][0]["key"], thing("a"));
    assert_eq!(
        json["observed"][0]["changes"][0],
        serde_json::json!({"path": "/values/value", "before": "v", "after": "meddled", "unknown": false, "secret": false, "replaces": false})
    );
    // That only read.
    world.run(&["plan", "--detailed-exitcode"]).status(0);

    let events = world.run(&["refresh", "--format", "json"]).status(0).events();
    let observed: Vec<_> = events.iter().filter(|event| event["phase"] == "observed").collect();
    assert_eq!((observed.len(), &observed[0]["key"]), (1, &thing("a").into()));
    assert_eq!(observed[0]["changes"][0]["after"], "meddled");
    assert_eq!(events.last().expect("a summary")["calls"], 0, "looking is no effect");
    assert_eq!(world.effects(), (2, 0, 0));
    world.run(&["plan", "--detailed-exitcode"]).status(3);
    assert_eq!(world.done(&["up", "--yes"], 0), ["update a"]);
    assert_eq!(world.real()["a"].0, "v");

    world.meddle("b", "meddled");
    world.run(&["up", "--yes", "--refresh"]).status(0);
    assert_eq!((world.real()["b"].0.as_str(), world.effects()), ("w", (2, 2, 0)));
}

/// Drift is impossible where a driver can reach nothing outside of itself.
#[test]
fn only_resources_that_could_have_changed_are_reported_as_unchecked() {
    let shared = "a: {type: thing, params: {value: v}}\np: {type: password}";
    let world = World::deployed(shared, "");
    let read = world.run(&["refresh"]).status(0);
    assert!(read.err.contains(": 1 read.") && !read.err.contains("hint:"), "{}", read.err);
    world.write(&format!("{shared}\nn: {{type: note, params: {{text: t}}}}"), "");
    world.up();
    let read = world.run(&["refresh"]).status(0);
    let unread = "hint: 1 of 4 resources could not be checked: their drivers do not support reading";
    assert!(read.err.contains(unread), "{}", read.err);
    std::fs::remove_file(world.file("a")).expect("removed");
    world.run(&["refresh"]).status(0);
    let read = world.run(&["refresh"]).status(0);
    assert!(read.err.contains("hint: 2 of 4 resources could not be checked"), "{}", read.err);
}

#[test]
fn missing_resources_are_created_again() {
    let world = World::deployed(
        &format!(
            "a: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}",
            reads("a", "id")
        ),
        "",
    );
    let old = world.id("a");
    std::fs::remove_file(world.file("a")).expect("removed");
    let plan = world.run(&["plan", "--refresh"]).status(0);
    assert!(plan.err.contains("thing.default#shared.a: it no longer exists"), "{}", plan.err);
    assert_eq!(world.done(&["up", "--yes", "--refresh"], 0).last().map(String::as_str), Some("update b"));
    assert_ne!(world.id("a"), old);
    assert_eq!(world.real()["b"].0, world.id("a"));
    world.run(&["plan", "--refresh", "--detailed-exitcode"]).status(0);
    // A resource that no longer exists can be deleted.
    std::fs::remove_file(world.file("b")).expect("removed");
    world.run(&["destroy", "--yes"]).status(0);
}

/// A state restored from a copy may be older than reality.
#[test]
fn a_restored_state_is_compared_with_the_real_resources() {
    let world =
        World::deployed("a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}", "");
    let (state, copy) = (world.path().join(".purlin"), world.path().join("copy"));
    let copied = |from: &std::path::Path, to: &std::path::Path| {
        let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp");
        assert!(status.success());
    };
    copied(&state, &copy);
    world.write("a: {type: thing, params: {value: later}}\nb: {type: thing, params: {value: w}}", "");
    world.run(&["up", "--yes"]).status(0);
    std::fs::remove_dir_all(&state).expect("removed");
    copied(&copy, &state);
    let message = "the state of dev of default/shop may be out of date: its files are a copy";
    // The drivers report values that differ from the copy. Without reading, `a` would be changed
    // again.
    for _ in 0..2 {
        let plan = world.run(&["plan", "--detailed-exitcode"]);
        assert!(plan.err.contains(message), "{}", plan.err);
        assert!(plan.err.contains("thing.default#shared.a: it was changed"), "{}", plan.err);
    }
    let up = world.run(&["up", "--yes"]).status(0);
    assert!(up.err.contains(message), "{}", up.err);
    assert_eq!((world.real()["a"].0.as_str(), world.effects().0), ("later", 2));
    let plan = world.run(&["plan", "--detailed-exitcode"]).status(0);
    assert!(!plan.err.contains("may be out of date"), "{}", plan.err);
}

/// A world with an existing thing that is not recorded, and the id of that thing.
fn found() -> (World, String) {
    let world = World::deployed("a: {type: thing, params: {value: real}}", "");
    let id = world.id("a");
    world.run(&["state", "forget", "thing#shared.a", "--yes"]).status(0);
    (world, id)
}

#[test]
fn existing_resources_are_imported_and_then_changed() {
    let (world, id) = found();
    world.write("a: {type: thing, params: {value: wanted}}", "");
    let output = world.run(&["import", "--yes", "thing#shared.a", &id]).status(0);
    assert!(output.err.contains("1 adopted"), "{}", output.err);
    assert!(output.err.contains("hint: the next `purlin up` changes it"), "{}", output.err);
    assert_eq!((world.id("a"), world.effects()), (id.clone(), (1, 0, 0)));
    assert_eq!(world.done(&["up", "--yes"], 0), ["update a"]);
    assert_eq!(world.real()["a"].0, "wanted");
    world.run(&["import", "--yes", "thing#shared.b", &id]).status(2);
    let missing = world.run(&["import", "--yes", "thing#shared.a", "nothing"]);
    assert_ne!(missing.status, 0);
    assert_eq!(world.id("a"), id);

    // Import through the documents, in the same run as everything else.
    let (world, id) = found();
    let setting = format!("thing#shared.a: {{import: {id}}}");
    world.write("a: {type: thing, params: {value: wanted}}", &setting);
    assert_eq!(world.done(&["up", "--yes"], 0), ["adopt a", "update a"]);
    assert_eq!((world.id("a"), world.effects()), (id.clone(), (1, 1, 0)));
    // It is not replaced while the documents import it.
    world.write("a: {type: thing, params: {value: wanted, fixed: other}}", &setting);
    let refused = world.run(&["up", "--yes"]).status(2);
    assert!(refused.err.contains("import"), "{}", refused.err);
    assert_eq!(world.effects(), (1, 1, 0));
}

#[test]
fn an_import_stays_recorded_though_the_change_after_it_fails() {
    let (world, id) = found();
    let setting = format!("thing#shared.a: {{import: {id}}}");
    world.write("a: {type: thing, params: {value: wanted}}", &setting);
    // A folder is in the place of the file that the driver wants to write.
    let obstacle = world.path().join("data/making").join(&id);
    std::fs::create_dir(&obstacle).expect("made");
    let events = world.run(&["up", "--yes", "--format", "json"]).status(1).events();
    assert_eq!(crate::world::steps_in(&events, "succeeded"), ["adopt a"]);
    assert_eq!(crate::world::steps_in(&events, "failed"), ["update a"]);
    assert_eq!((world.id("a"), world.real()["a"].0.as_str()), (id.clone(), "real"));
    std::fs::remove_dir(&obstacle).expect("removed");
    assert_eq!(world.done(&["up", "--yes"], 0), ["update a"]);
    assert_eq!((world.id("a"), world.effects()), (id, (1, 1, 0)));
}

#[test]
fn resources_that_others_manage_are_only_read() {
    let world = World::deployed("a: {type: thing, params: {value: v}}", "");
    let id = world.id("a");
    world.write("a: {type: thing, params: {value: other}}", &format!("thing#shared.a: {{observe: {id}}}"));
    world.up();
    assert_eq!((world.id("a"), world.effects()), (id.clone(), (1, 0, 0)), "neither changed nor deleted");
    world.meddle("a", "theirs");
    world.run(&["up", "--yes", "--refresh"]).status(0);
    assert_eq!(world.real()["a"].0, "theirs");
    // Purlin manages it again once a document imports it.
    world.write("a: {type: thing, params: {value: ours}}", "");
    world.run(&["up", "--yes"]).status(2);
    world.write("a: {type: thing, params: {value: ours}}", &format!("thing#shared.a: {{import: {id}}}"));
    world.up();
    assert_eq!((world.id("a"), world.effects()), (id.clone(), (1, 1, 0)));
    // An observed resource is not deleted with the rest.
    world.write("a: {type: thing, params: {value: ours}}", &format!("thing#shared.a: {{observe: {id}}}"));
    world.up();
    world.run(&["destroy", "--yes"]).status(0);
    assert_eq!((world.real().len(), world.effects().2), (1, 0));
    let world = World::new("a: {type: thing, params: {value: v}}", "thing#shared.a: {observe: nothing}");
    let refused = world.run(&["up", "--yes"]);
    assert!(refused.status == 1 || refused.status == 2, "{}", refused.err);
    assert!(refused.err.contains("nothing"), "{}", refused.err);
}

/// What others observe is gone, or a value is wrong: that resource and its dependents are held back.
#[test]
fn the_trouble_of_one_resource_is_its_own() {
    let others = World::deployed("a: {type: thing, params: {value: theirs}}", "");
    let id = others.id("a");
    let all = |c: &str| {
        format!(
            "a: {{type: thing, params: {{value: theirs}}}}\nb: {{type: thing, params: {{value: {}}}}}\nc: {{type: thing, params: {{value: {c}}}}}",
            reads("a", "value")
        )
    };
    let observes = format!("thing#shared.a: {{observe: {id}}}");
    others.write(&all("one"), &observes);
    others.up();
    let before = others.real();
    std::fs::remove_file(others.file("a")).expect("removed");
    others.write(&all("two"), &observes);
    let plan = others.run(&["plan"]).status(1);
    assert!(plan.out.contains(&format!("there is no `{id}`")), "{}", plan.out);
    assert!(plan.out.contains("1 to update"), "{}", plan.out);
    let events = others.run(&["up", "--yes", "--format", "json"]).status(1).events();
    assert_eq!(crate::world::steps_in(&events, "succeeded"), ["update c"]);
    assert_eq!(crate::world::steps_in(&events, "failed"), ["read a"]);
    assert_eq!((&others.real()["b"].0, others.real()["c"].0.as_str()), (&before["b"].0, "two"));
    // A pass does the same, and repairs what it can.
    others.meddle("c", "meddled");
    others.run(&["reconcile", "--yes"]).status(1);
    assert_eq!(others.real()["c"].0, "two");
    let status = others.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(status["summary"]["failed"], 1, "{status}");
    // What would be deleted first to be created again stays, since it could not be created.
    let first = all("three").replace("value: \"", "fixed: f, first: true, value: \"");
    others.write(&first, &observes);
    others.run(&["up", "--yes"]).status(1);
    assert_eq!((&others.real()["b"].0, others.real()["c"].0.as_str()), (&before["b"].0, "three"));
    // Nothing that left the documents is deleted while it is unknown what the rest becomes.
    let world = World::deployed(
        "a: {type: thing, params: {value: v}}\nb: {type: thing, params: {value: w}}\nc: {type: thing, params: {value: x}}",
        "",
    );
    let wrong = |more: &str| {
        format!(
            "a: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}\n{more}",
            reads("a", "nothing")
        )
    };
    world.write(&wrong("d: {type: thing, params: {value: new}}"), "");
    let events = world.run(&["up", "--yes", "--format", "json"]).status(1).events();
    assert_eq!(crate::world::steps_in(&events, "succeeded"), ["create d"]);
    assert!(world.real().contains_key("c"));
}

#[test]
fn an_unrecorded_resource_is_imported_into_a_copied_state() {
    let things = "a: {type: thing, params: {value: real}}\nb: {type: thing, params: {value: other}}";
    let world = World::deployed(things, "");
    let id = world.id("a");
    world.run(&["state", "forget", "thing#shared.a", "--yes"]).status(0);
    let world = world.copy();
    let imported = world.run(&["import", "--yes", "thing#shared.a", &id]).status(0);
    assert!(imported.err.contains("may be out of date"), "{}", imported.err);
    assert_eq!((world.id("a"), world.effects()), (id, (2, 0, 0)));
}

#[test]
fn each_run_writes_one_summary() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    for words in [
        "up --yes --exclude *",
        "destroy --yes",
        "refresh",
        "up --yes",
        "up --yes",
        "up --yes --exclude *",
        "refresh",
        "destroy --yes --exclude *",
        "destroy --yes",
        "destroy --yes",
    ] {
        let line: Vec<&str> = words.split(' ').chain(["--format", "json"]).collect();
        let events = world.run(&line).status(0).events();
        let summaries = events.iter().filter(|event| event["event"] == "summary").count();
        assert_eq!(summaries, 1, "{words}: {events:#?}");
    }
}

#[test]
fn a_refresh_says_which_outcomes_it_does_not_know() {
    let world = World::new("a: {type: note, params: {text: hello}}", "");
    let note = "note.default#shared.a";
    let killed = world.interrupted(&["up", "--yes"], "after create", |world| world.is_pending(note));
    killed.run(&["refresh"]).status(1);
    // Also if nothing else is recorded.
    let alone = killed.copy();
    alone.run(&["state", "forget", "base-env.default#base-env", "--yes"]);
    assert!(!alone.run(&["state", "list"]).status(0).out.contains("base-env"));
    for world in [killed, alone] {
        let refreshed = world.run(&["refresh", "--format", "json"]).status(1);
        let summary = refreshed.events().pop().expect("a summary");
        assert_eq!((&summary["status"], &summary["unknown"]), (&"failed".into(), &json!([note])));
    }
}
