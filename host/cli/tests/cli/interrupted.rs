//! Tests of runs that were killed, and of the commands that follow.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::terminal::typed_at;
use crate::world::{World, reads, thing};

const NOTE: &str = "note.default#shared.n";

fn shared() -> String {
    format!(
        "n: {{type: note, params: {{text: hi}}}}\nm: {{type: thing, params: {{value: w}}}}\na: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}",
        reads("a", "id")
    )
}

const WAITS: &str = "thing#shared.m: {depends_on: [note#shared.n]}";

/// The number of notes.
fn notes(world: &World) -> usize {
    std::fs::read_dir(world.path().join("data/blind")).map_or(0, Iterator::count)
}

/// A world whose run was killed after it created the note and before it recorded that.
fn undecided() -> World {
    let before = World::new(&shared(), WAITS);
    before.interrupted(&["up", "--yes", "--parallelism", "1"], "after create", |world| {
        notes(world) == 1 && world.is_pending(NOTE)
    })
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("lock") && !path.ends_with("holder.json") {
                files.insert(path.clone(), std::fs::read(path).expect("read"));
            }
        }
    }
    files
}

#[test]
fn a_plan_after_a_kill_only_reads() {
    let world = undecided();
    assert_eq!(notes(&world), 1, "it was made");
    // The first command after a kill repairs the files of the state. From then on, a plan does not
    // change them.
    let before = world.run(&["state", "list", "--format", "json"]).status(0);
    assert!(before.out.contains("\"create pending\"") || before.out.contains("pending"), "{}", before.out);
    let state = files(&world.path().join(".purlin"));
    for arguments in
        [&["plan"][..], &["plan", "--format", "json"], &["plan", "--refresh"], &["plan", "--offline"]]
    {
        world.run(arguments).status(0);
        let now = files(&world.path().join(".purlin"));
        let changed: Vec<_> =
            state.keys().chain(now.keys()).filter(|path| state.get(*path) != now.get(*path)).collect();
        assert!(changed.is_empty(), "{arguments:?} wrote {changed:?}");
    }
    assert_eq!(world.run(&["state", "list", "--format", "json"]).out, before.out);
    let refused = world.run(&["plan", "--out", "up.plan"]).status(1);
    assert!(refused.err.contains("hint: `purlin refresh` determines it"), "{}", refused.err);
    assert!(!world.path().join("up.plan").exists());
}

#[test]
fn undecidable_calls_are_reported_and_their_dependents_wait() {
    let world = undecided();
    let plan = world.plan(&[]);
    assert_eq!(plan["warnings"][0]["key"], NOTE, "{plan}");
    assert!(
        plan["warnings"][0]["message"]
            .as_str()
            .is_some_and(|m| m.contains(&format!("purlin state settle {NOTE}"))),
        "{plan}"
    );
    let output = world.run(&["up", "--yes"]).status(1);
    assert!(
        output.err.contains("An earlier run was interrupted; determining the outcome of"),
        "{}",
        output.err
    );
    assert!(output.err.contains(&format!("warning: {NOTE}: ")), "{}", output.err);
    assert!(output.err.contains(&format!("= note: for `{NOTE}`\n")), "{}", output.err);
    assert!(output.err.contains(&thing("m")), "{}", output.err);
    assert!(!output.err.contains("unchanged note"), "{}", output.err);
    // Everything else was applied. The note was not created again, and the resource that waits for
    // it was not created.
    assert_eq!(world.real().keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(notes(&world), 1);
    let events = world.run(&["up", "--yes", "--format", "json"]).status(1).events();
    let failed = events.iter().find(|event| event["phase"] == "failed").expect("a failure");
    assert_eq!((&failed["key"], &failed["error"]["code"]), (&NOTE.into(), &"undecided".into()));
    // The driver cannot read the note, so it cannot be imported.
    let refused = world.run(&["import", "--yes", NOTE, "x"]).status(2);
    assert!(refused.err.contains("has no `read`"), "{}", refused.err);
    // The message names the command to use instead, and that command works.
    let command = format!("`purlin state settle '{NOTE}' --made 'x'` records that it exists");
    assert!(
        refused.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(&command),
        "{}",
        refused.err
    );
    let settled = world.copy();
    settled.run(&["state", "settle", NOTE, "--made", "x"]).status(0);
    assert_eq!(settled.listed(NOTE)["provider_id"], "x");
    let forgot = world.run(&["state", "forget", NOTE, "--yes"]).status(0);
    assert!(forgot.err.contains("the object may exist"), "{}", forgot.err);
    world.up();
    assert_eq!(world.real().keys().collect::<Vec<_>>(), ["a", "b", "m"]);
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn a_user_settles_undecidable_calls() {
    let world = undecided();
    // An undecided call affects only its resource, even when everything is deleted.
    world.run(&["up", "--yes"]).status(1);
    let refused = world.run(&["state", "settle", "thing#shared.a", "--not-made"]).status(2);
    assert_eq!(
        refused.err,
        "error: no call on `thing.default#shared.a` has an unknown outcome, so there is nothing to settle\n\
         hint: `purlin status` shows which resources were interrupted\n"
    );
    world.run(&["state", "settle", NOTE]).status(2);
    let copy = world.copy();
    let gone = copy.run(&["destroy", "--yes"]).status(1);
    assert!(gone.err.contains(NOTE) && gone.err.contains("is unknown"), "{}", gone.err);
    assert!(copy.real().is_empty() && notes(&copy) == 1);
    copy.run(&["state", "settle", NOTE, "--not-made"]).status(0);
    copy.run(&["destroy", "--yes"]).status(0);

    let id = std::fs::read_dir(world.path().join("data/blind")).expect("read").next();
    let id = id.expect("a note").expect("an entry").file_name().to_string_lossy().into_owned();
    let settled = world.run(&["state", "settle", "n", "--made", &id]).status(0);
    assert!(settled.err.contains(&format!("it exists as `{id}`")), "{}", settled.err);
    assert_eq!(world.copy().listed(NOTE)["provider_id"], id.as_str());
    let events = world.run(&["status", "--format", "json"]).status(0).json();
    assert_eq!(events["summary"]["incomplete"], 1, "{events}");
}

#[test]
fn the_id_of_a_replaced_object_settles_nothing() {
    let before = World::deployed(&shared(), WAITS);
    let old = before.listed(NOTE)["provider_id"].as_str().expect("an id").to_owned();
    before.write(&shared().replace("text: hi", "text: ho"), WAITS);
    let world =
        before.interrupted(&["up", "--yes", "--parallelism", "1"], "after create", |world| notes(world) == 2);
    world.run(&["up", "--yes"]).status(1);
    let refused = world.run(&["state", "settle", NOTE, "--made", &old]).status(2);
    let why = format!("`{NOTE}` cannot be recorded as `{old}`: `{NOTE}` has that id already\n");
    assert!(refused.err.contains(&why), "{}", refused.err);
    let notes_of = std::fs::read_dir(world.path().join("data/blind")).expect("read");
    let mut ids = notes_of.map(|note| note.expect("an entry").file_name().to_string_lossy().into_owned());
    let new = ids.find(|id| *id != old).expect("the new one");
    world.run(&["state", "settle", NOTE, "--made", &new]).status(0);
    world.run(&["up", "--yes"]).status(0);
    assert!(notes(&world) >= 1 && world.listed(NOTE)["provider_id"] != old.as_str());
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn a_forced_forget_removes_the_dependencies_on_it() {
    let world = World::deployed(&pair(), "");
    let refused = world.run(&["state", "forget", "thing#shared.a", "--yes"]).status(2);
    assert!(refused.err.contains("or add `--force`"), "{}", refused.err);
    let forgot = world.run(&["state", "forget", "thing#shared.a", "--yes", "--force"]).status(0);
    assert!(forgot.err.contains("thing.default#shared.b depended on it"), "{}", forgot.err);
    world.run(&["state", "repair", "--check"]).status(0);
    // It is created again, and its dependents read the new one.
    world.run(&["up", "--yes"]).status(0);
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

#[test]
fn resources_of_an_interrupted_run_are_found_and_destroyed() {
    for (place, made) in [("before create", 1), ("after create", 1), ("after create", 2)] {
        let world = World::new(&format!("{}\nz: {{type: thing, params: {{value: z}}}}", pair()), "");
        let world = world
            .interrupted(&["up", "--yes", "--parallelism", "1"], place, |world| world.real().len() == made);
        let output = world.run(&["destroy", "--yes"]).status(0);
        assert!(output.err.contains("An earlier run was interrupted"), "{}", output.err);
        assert_eq!((world.real().len(), world.project().recorded().len()), (0, 0), "{place} {made}");
    }
}

/// Once the program has listened for signals, the system does not end it for them any more.
#[test]
fn ctrl_c_ends_a_question_after_a_recovery() {
    let world = World::new("a: {type: thing, params: {value: v}}", "");
    let world = world.interrupted(&["up", "--yes", "--parallelism", "1"], "after create", |world| {
        !world.real().is_empty()
    });
    let Some(status) = typed_at(world.project(), &["destroy"], "[y/N]", "\x03") else { return };
    assert_eq!(status, Some(130));
    world.run(&["destroy", "--yes"]).status(0);
    assert!(world.real().is_empty());
}

fn pair() -> String {
    format!(
        "a: {{type: thing, params: {{value: v}}}}\nb: {{type: thing, params: {{value: {}}}}}",
        reads("a", "id")
    )
}

#[test]
fn a_refresh_settles_calls_where_possible() {
    let world = World::new(&pair(), "");
    let world = world.interrupted(&["up", "--yes", "--parallelism", "1"], "after create", |world| {
        !world.real().is_empty() && world.is_pending(&thing("a"))
    });
    let output = world.run(&["refresh"]).status(0);
    assert!(output.err.contains("thing.default#shared.a: it was created"), "{}", output.err);
    world.run(&["plan", "--out", "up.plan"]).status(0);
    world.run(&["apply", "--yes", "up.plan"]).status(0);
    assert_eq!((world.effects().0, world.real().len()), (2, 2));
}

#[cfg(unix)]
#[test]
fn the_lock_of_a_dead_holder_is_free() {
    let world = World::new("a: {type: odd, params: {do: sleep}}\nb: {type: thing, params: {value: v}}", "");
    // It sleeps for a minute, which the usual time limit would end earlier.
    world.set_limits("{time: 10m}");
    let mut first = world.project().start(&["up", "--yes", "--format", "json"]);
    let mut lines = BufReader::new(first.stdout.take().expect("stdout")).lines();
    assert!(lines.any(|line| line.expect("a line").contains("odd.default")));
    let second = world.run(&["up", "--yes", "--format", "json"]).status(1);
    assert!(second.err.contains(&format!("process {}", first.id())), "{}", second.err);
    assert!(second.err.contains("hint: "), "{}", second.err);
    let events = second.events();
    assert_eq!((events.len(), &events[0]["event"]), (1, &"error".into()));
    first.kill().expect("killed");
    first.wait().expect("ended");
    // The next run repeats the call, and then uses the inputs of the new documents.
    world.set_limits("{grace: 0s}");
    world.write("a: {type: odd, params: {do: echo}}\nb: {type: thing, params: {value: v}}", "");
    world.up();
    assert_eq!(world.effects().0, 1);
    world.run(&["plan", "--detailed-exitcode"]).status(0);
}

fn one(value: &str) -> String {
    format!("a: {{type: thing, params: {{value: {value}}}}}\nb: {{type: thing, params: {{value: {value}}}}}")
}

/// The latest deployment as JSON.
fn latest(world: &World) -> serde_json::Value {
    world.run(&["history", "--format", "json"]).status(0).json()["deployments"][0].clone()
}

#[test]
fn an_interrupted_rollback_continues_to_its_target() {
    let world = World::deployed(&one("one"), "");
    for value in ["two", "three"] {
        world.write(&one(value), "");
        world.up();
    }
    // Killed in the middle: the history shows that the rollback is unfinished.
    let killed = world.interrupted(&["rollback", "--yes", "--parallelism", "1"], "after update", |world| {
        world.real().values().any(|thing| thing.0 == "two")
    });
    let entry = latest(&killed);
    assert_eq!(
        (&entry["number"], &entry["outcome"], &entry["rollback_of"]),
        (&4.into(), &"unfinished".into(), &2.into())
    );
    let output = killed.run(&["rollback", "--yes"]).status(0);
    assert!(output.err.contains("deploying the documents of deployment 2 "), "{}", output.err);
    assert!(killed.real().values().all(|thing| thing.0 == "two"), "{:?}", killed.real());
    assert_eq!(latest(&killed)["outcome"], "succeeded");

    // The same holds after a failure, however often it fails.
    // A system that cannot be reached shows nothing, and its resources are new.
    world.set_limits("{}");
    let things = world.path().join("data/things");
    let aside = world.path().join("aside");
    std::fs::rename(&things, &aside).expect("moved");
    std::fs::write(&things, "no folder").expect("written");
    for _ in 0..2 {
        let output = world.run(&["rollback", "--yes"]).status(1);
        assert!(output.err.contains("deploying the documents of deployment 2 "), "{}", output.err);
        assert_eq!(
            (&latest(&world)["outcome"], &latest(&world)["rollback_of"]),
            (&"failed".into(), &2.into())
        );
    }
    std::fs::remove_file(&things).expect("removed");
    std::fs::rename(&aside, &things).expect("moved");
    world.run(&["rollback", "--yes"]).status(0);
    assert!(world.real().values().all(|thing| thing.0 == "two"), "{:?}", world.real());
    // It succeeded, so the next rollback starts from it.
    let output = world.run(&["rollback", "--yes"]).status(0);
    assert!(output.err.contains("deploying the documents of deployment 3 "), "{}", output.err);
}

#[test]
fn a_rollback_that_was_killed_when_all_was_done_ends_with_the_next() {
    let world = World::deployed(&one("one"), "");
    world.write(&one("two"), "");
    world.up();
    let killed = world.interrupted(&["rollback", "--yes", "--parallelism", "1"], "after update", |world| {
        world.real().values().all(|thing| thing.0 == "one")
    });
    // The state records the outcome of the last call before the rollback is repeated.
    killed.run(&["refresh"]).status(0);
    killed.run(&["rollback", "--yes"]).status(0);
    assert_eq!(
        (&latest(&killed)["outcome"], &latest(&killed)["rollback_of"]),
        (&"succeeded".into(), &1.into())
    );
    killed.run(&["rollback", "--yes"]).status(0);
    assert_eq!(latest(&killed)["rollback_of"], 2);
}
