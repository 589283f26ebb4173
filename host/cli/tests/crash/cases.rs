//! The commands that write, with their preparation and comparison. `reads.rs` fails if one is
//! missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use purlin_systems::tools::component;

use crate::disk::Tree;
use crate::scene::{AFTER, BEFORE, Scene};

/// A preparation before the command in question.
pub(crate) enum Before {
    /// Runs a command to its end. Its last writes may not be synced.
    Run(&'static [&'static str]),
    /// Runs a command and kills it at a seeded place. Its last writes may not be synced.
    Killed(&'static [&'static str]),
    /// Does something outside of Purlin. All of it is durable.
    Do(fn(&Scene)),
}
use Before::{Do, Killed, Run};

/// What is compared with the end of an undisturbed run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The record, the real objects, and the next plan.
    Project,
    /// The same, and this file or folder. Encrypted contents differ each time, so a command that
    /// uses the file proves that it is valid.
    With(&'static str, Option<&'static [&'static str]>),
    /// Only the files of the folder: there is no project yet.
    Files,
}

/// A command that is interrupted.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The initial contents of the folder.
    pub(crate) scene: fn() -> Scene,
    pub(crate) before: &'static [Before],
    pub(crate) command: &'static [&'static str],
    pub(crate) compared: Compared,
}

impl Case {
    /// The command that a user runs afterwards: the same one with output for people.
    pub(crate) fn again(&self) -> Vec<&'static str> {
        self.command.iter().copied().filter(|argument| !["--format", "json"].contains(argument)).collect()
    }

    /// Whether the command only writes files that it can write again at any time. These need not
    /// survive a power failure.
    pub(crate) fn only_writes_files(&self) -> bool {
        self.name == "export" || self.compared == Compared::Files
    }
}

const UP: &[&str] = &["up", "--yes"];
const OWNER: &[&str] = &["up", "--yes", "--bundle", "acme/db", "--name", "owner", "--namespace", "dev"];
const HAND_OVER: &[&str] = &["destroy", "--yes", "--app", "owner", "--orphan-shared"];
const ROTATE: &[&str] = &["state", "key", "rotate"];
const ROLL_OUT: &[&str] = &["rollout", "start", ".", "--yes", "--allow-data-loss", "--format", "json"];
const RECORD: &[&str] = &["rollout", "start", ".", "--yes", "--allow-data-loss", "--detach"];
const RESUME: &[&str] = &["rollout", "resume", "1", "--yes", "--format", "json"];
const MOVE: &[&str] = &["state", "move", "thing.default#shared.f", G, "--to-env", "other", "--yes"];
const MOVE_USED: &[&str] = &["state", "move", "owner", "--app", "owner", "--to-app", "base", "--yes"];
const A: &str = "thing.default#shared.a";
const G: &str = "thing.default#shared.g";

/// A case in the project with the documents `BEFORE`.
const fn case(name: &'static str, before: &'static [Before], command: &'static [&'static str]) -> Case {
    Case { name, scene: || Scene::new(BEFORE), before, command, compared: Compared::Project }
}

const fn repair(name: &'static str, before: &'static [Before]) -> Case {
    case(name, before, &["state", "repair"])
}

/// A command that writes files into an empty folder.
const fn writer(name: &'static str, command: &'static [&'static str]) -> Case {
    Case { name, scene: || Scene::of(&Tree::new()), before: &[], command, compared: Compared::Files }
}

/// All cases.
pub(crate) const CASES: &[Case] = &[
    case("up", &[], &["up", "--yes", "--format", "json"]),
    case("up-change", &[Run(UP), Do(|scene| scene.write(AFTER))], &["up", "--yes", "--format", "json"]),
    case("up-after-kill", &[Killed(UP)], &["up", "--yes", "--format", "json"]),
    case(
        "up-change-after-kill",
        &[Run(UP), Do(|scene| scene.write(AFTER)), Killed(UP)],
        &["up", "--yes", "--format", "json"],
    ),
    case("state-key-rotate-after-kill", &[Run(UP), Killed(ROTATE)], ROTATE),
    case("up-after-killed-rotation", &[Run(UP), Killed(ROTATE), Do(|scene| scene.write(AFTER))], UP),
    case("destroy", &[Run(UP)], &["destroy", "--yes", "--format", "json"]),
    case("refresh", &[Run(UP), Do(drift), Do(vanish)], &["refresh", "--format", "json"]),
    case("reconcile", &[Run(UP), Do(drift)], &["reconcile", "--yes", "--format", "json"]),
    case("rollout-start", &[Run(UP), Do(|scene| scene.write(AFTER))], ROLL_OUT),
    case("rollout-start-after-kill", &[Run(UP), Do(|scene| scene.write(AFTER)), Killed(ROLL_OUT)], RESUME),
    case(
        "rollout-pause",
        &[Run(UP), Do(|scene| scene.write(AFTER)), Run(RECORD)],
        &["rollout", "pause", "1"],
    ),
    case("rollout-resume", &[Run(UP), Do(|scene| scene.write(AFTER)), Run(RECORD)], RESUME),
    case(
        "rollout-undo",
        &[Run(UP), Do(|scene| scene.write(AFTER)), Run(ROLL_OUT)],
        &["rollout", "undo", "1", "--yes", "--allow-data-loss", "--format", "json"],
    ),
    case(
        "rollback",
        &[Run(UP), Do(|scene| scene.write(AFTER)), Run(UP)],
        &["rollback", "1", "--yes", "--format", "json"],
    ),
    Case {
        compared: Compared::With("plan", Some(&["apply", "plan", "--yes"])),
        ..case("plan-out", &[Run(UP), Do(|scene| scene.write(AFTER))], &["plan", "--out", "plan"])
    },
    case(
        "apply",
        &[Run(UP), Do(|scene| scene.write(AFTER)), Run(&["plan", "--out", "plan"])],
        &["apply", "plan", "--yes", "--format", "json"],
    ),
    case("import", &[Do(existing)], &["import", A, "by-hand", "--yes", "--format", "json"]),
    Case {
        compared: Compared::With("out", None),
        ..case("export", &[Do(workload), Run(UP)], &["export", "out"])
    },
    case("state-rename", &[Run(UP)], &["state", "rename", G, "thing.default#shared.z"]),
    case("state-move", &[Run(UP)], MOVE),
    case("state-move-after-kill", &[Run(UP), Killed(MOVE)], MOVE),
    case("state-move-used", &[Do(shared), Run(OWNER), Run(UP)], MOVE_USED),
    case("state-move-used-after-kill", &[Do(shared), Run(OWNER), Run(UP), Killed(MOVE_USED)], MOVE_USED),
    case("state-forget", &[Run(UP)], &["state", "forget", G, "--yes"]),
    case("state-settle", &[Do(interrupted)], &["state", "settle", A, "--not-made"]),
    case("state-protect", &[Run(UP)], &["state", "protect", A]),
    case("state-taint", &[Run(UP)], &["state", "taint", A]),
    case(
        "installations-share",
        &[Do(shared), Run(OWNER), Run(UP)],
        &["installations", "share", "dev/owner", "--group", "team"],
    ),
    case(
        "destroy-last-user",
        &[Do(shared), Run(OWNER), Run(UP), Run(HAND_OVER)],
        &["destroy", "--yes", "--format", "json"],
    ),
    case("up-first-use", &[Do(shared), Run(OWNER)], &["up", "--yes", "--format", "json"]),
    case(
        "destroy-orphan-shared",
        &[Do(shared), Run(OWNER), Run(UP)],
        &["destroy", "--app", "owner", "--orphan-shared", "--yes", "--format", "json"],
    ),
    case("state-lock", &[Run(UP)], &["state", "lock"]),
    case("state-unlock", &[Run(UP), Run(&["state", "lock"])], &["state", "unlock"]),
    Case {
        compared: Compared::With("exported", Some(&["state", "import", "exported", "--replace"])),
        ..case("state-export", &[Run(UP)], &["state", "export", "exported"])
    },
    case(
        "state-import",
        &[Run(UP), Run(&["state", "export", "exported"]), Do(forget)],
        &["state", "import", "exported"],
    ),
    case(
        "state-import-replace",
        &[Run(UP), Run(&["state", "export", "exported"]), Run(&["state", "protect", A])],
        &["state", "import", "exported", "--replace"],
    ),
    Case {
        compared: Compared::With("copied/format", Some(&["state", "copy", "copied", "."])),
        ..case("state-copy", &[Run(UP)], &["state", "copy", ".", "copied"])
    },
    Case {
        compared: Compared::With("new-key", Some(&["state", "key", "rotate", "--to", "new-key"])),
        ..case("state-key-new", &[Run(UP)], &["state", "key", "new", "new-key"])
    },
    case("state-key-rotate", &[Run(UP)], ROTATE),
    case(
        "state-key-rotate-to",
        &[Run(UP), Run(&["state", "key", "new", "new-key"])],
        &["state", "key", "rotate", "--to", "new-key"],
    ),
    repair("state-repair-journal", &[Run(UP), Run(&["state", "protect", A]), Do(damage_journal)]),
    repair("state-repair-end", &[Run(UP), Run(&["state", "protect", A]), Do(shorten_journal)]),
    case(
        "state-repair-after-kill",
        &[Run(UP), Run(&["state", "protect", A]), Do(damage_journal), Killed(&["state", "repair"])],
        &["state", "repair"],
    ),
    repair("state-repair-format", &[Run(UP), Do(|scene| remove(scene, ".purlin/format"))]),
    repair("state-repair-data-key", &[Run(UP), Do(|scene| remove(scene, ".purlin/data-key"))]),
    repair("state-repair-name", &[Run(UP), Do(forget_name)]),
    case("up-after-killed-plan", &[Killed(&["plan", "--out", "plan"])], &["up", "--yes", "--format", "json"]),
    writer("init", &["init", "--app", "shop"]),
    writer("manual", &["manual", "man"]),
    writer("driver-new", &["driver", "new", "--lang", "rust", "new"]),
    writer("driver-wit", &["driver", "wit", "new"]),
    case("driver-add", &[Do(driver)], &["driver", "add", "ledger.wasm", "--name", "acme/other"]),
    case("driver-approve", &[], &["driver", "approve"]),
];

/// Documents with a requirement that another application also has.
fn shared(scene: &Scene) {
    let bundle = "apiVersion: purlin.dev/v1\nkind: Bundle\nmetadata: {name: acme/db, version: 1.0.0}\nspec:\n  driver: acme/ledger\n  inputs: {values: {value: db, fixed: f, first: false, quiet: true}, secrets: {password: correct-horse}}\n  outputs: [{name: value}]\n";
    fs::write(scene.path().join("bundle.yaml"), bundle).expect("written");
    let deployment = "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  requires:\n    - {name: db, bundle: acme/db:v1.0.0}\n";
    fs::write(scene.path().join("documents.yaml"), deployment).expect("written");
}

/// Changes a thing outside of Purlin.
fn drift(scene: &Scene) {
    let path = thing(scene, "d");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replace("d1", "drifted")).expect("written");
}

/// Deletes a thing outside of Purlin.
fn vanish(scene: &Scene) {
    fs::remove_file(thing(scene, "f")).expect("removed");
}

/// The file of a thing.
fn thing(scene: &Scene, name: &str) -> PathBuf {
    let ids = crate::reality::ids_of(scene.path(), name);
    scene.path().join("data/things").join(&ids[0])
}

/// Creates a thing outside of Purlin.
fn existing(scene: &Scene) {
    let things = scene.path().join("data/things");
    fs::create_dir_all(&things).expect("made");
    let thing = r#"{"urn": "shared.a", "name": "by-hand", "values": {"value": "a1", "fixed": "", "first": false, "quiet": true}}"#;
    fs::write(things.join("by-hand"), thing).expect("written");
}

/// A first deployment that was killed after it recorded the intent to create `a`, and before it
/// did.
fn interrupted(scene: &Scene) {
    for place in 1.. {
        let _ = fs::remove_dir_all(scene.path().join(".purlin"));
        let mut command = scene.command(&["up", "--yes", "--parallelism", "1"]);
        command.env("PURLIN_CRASH_AT", format!("{place}")).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().expect("run");
        assert!(crate::scene::was_killed(status), "no place leaves a creation open");
        let list = scene.run(&["state", "list", "--format", "json"]);
        if list.contains("\"pending\"") && list.contains(A) {
            break;
        }
    }
    let _ = fs::remove_dir_all(scene.path().join("data"));
    fs::create_dir(scene.path().join("data")).expect("made");
}

/// A workload, so that there is something to export.
fn workload(scene: &Scene) {
    let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {main: {image: web}}\n";
    fs::write(scene.path().join("web.yaml"), score).expect("written");
}

/// A driver to add.
fn driver(scene: &Scene) {
    let _ = fs::copy(component("ledger"), scene.path().join("ledger.wasm")).expect("copied");
}

fn remove(scene: &Scene, path: &str) {
    fs::remove_file(scene.path().join(path)).expect("removed");
}

/// Deletes the state except for its key.
fn forget(scene: &Scene) {
    fs::remove_dir_all(scene.path().join(".purlin/environments")).expect("removed");
    fs::remove_dir_all(scene.path().join(".purlin/index")).expect("removed");
}

fn forget_name(scene: &Scene) {
    fs::remove_file(only(&scene.path().join(".purlin/environments")).join("environment.json"))
        .expect("removed");
}

/// Changes one byte of the journal.
fn damage_journal(scene: &Scene) {
    let path = only(&only(&scene.path().join(".purlin/environments")).join("journal"));
    let mut bytes = fs::read(&path).expect("read");
    let middle = bytes.len() * 2 / 3;
    bytes[middle] ^= 0x55;
    fs::write(path, bytes).expect("written");
}

/// Removes the end of the journal.
fn shorten_journal(scene: &Scene) {
    let path = only(&only(&scene.path().join(".purlin/environments")).join("journal"));
    let bytes = fs::read(&path).expect("read");
    fs::write(&path, &bytes[..bytes.len() - 200]).expect("written");
}

/// The only entry of a folder.
pub(crate) fn only(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).expect("a folder");
    let entry = entries.next().expect("an entry").expect("an entry").path();
    assert!(entries.next().is_none(), "more than one in {}", folder.display());
    entry
}
