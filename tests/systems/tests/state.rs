//! Several machines that work on one state in PostgreSQL (SPEC §10), with the real program.
#![allow(clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::{Duration, Instant};

use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::workspace::component;
use purlin_systems::{Done, Workspace};
use serde_json::{Value, json};

/// How many resources a deployment has that is interrupted.
const MANY: usize = 300;

/// The identity was made for these tests.
fn key() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let made = Workspace::new();
    made.purlin(&["state", "key", "new", "key.txt"]);
    let key = std::fs::read_to_string(made.path("key.txt")).expect("a key");
    drop(folder);
    key
}

/// A machine with the documents of a team: a ledger of things in a folder that all machines reach.
fn machine(postgres: &Postgres, key: &str, things: &Path, count: usize, value: &str) -> Workspace {
    let workspace = Workspace::with(&[
        ("key.txt", key),
        ("secrets/password", PASSWORD),
        (
            "purlin.yaml",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "state": {"postgres": {
                    "url": format!("postgres://postgres@127.0.0.1:{}/postgres", postgres.port),
                    "password": {"store": "local", "ref": "password"},
                    "lease": "15s",
                }},
                "key": {"file": "key.txt"},
                "defaults": {"org": "acme", "app": "shop", "env": "dev"},
                "secret_stores": {"local": {"file": "./secrets"}},
                "reconcile": {"grace": "0s"},
                "drivers": {"acme/ledger": {
                    "source": component("ledger"),
                    "grants": {"dirs": [{"host": things, "guest": "/data", "mode": "rw"}]},
                    "limits": {"time": "15s"},
                }},
            }})
            .to_string(),
        ),
        (
            "thing.yaml",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "thing"},
                "spec": {"type": "thing", "driver": "acme/ledger", "criteria": [{}],
                    "inputs": {"values": {"value": "${params.value}", "fixed": "", "first": false}}}})
            .to_string(),
        ),
    ]);
    let shared: serde_json::Map<String, Value> = (0..count)
        .map(|number| (format!("t{number}"), json!({"type": "thing", "params": {"value": value}})))
        .collect();
    let deployment =
        json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}}).to_string();
    workspace.write("deployment.yaml", &deployment);
    // Its mode is that of a file that others can read.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(workspace.path("key.txt"), private).expect("private");
    workspace
}

fn ends_with(done: &Done, text: &str) {
    assert!(done.stdout.trim_end().ends_with(text) || done.stderr.trim_end().ends_with(text), "{done}");
}

/// Environments that two machines keep at once.
const FLEET: usize = 12;

#[test]
fn machines_share_the_environments_of_a_state() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let key = key();
    let [ada, bob] = [(); 2].map(|()| machine(&postgres, &key, things.path(), 3, "one"));
    ada.purlin(&["state", "init"]);
    let environments: Vec<String> = (0..FLEET).map(|number| format!("e{number}")).collect();
    for env in &environments {
        ada.purlin(&["up", "--yes", "--env", env]);
    }
    let resources = 3 * FLEET;
    assert_eq!(kept(things.path()), resources);
    let summary = |done: &Done| -> Value {
        serde_json::from_str(done.stdout.lines().last().expect("a summary")).expect("JSON")
    };
    // A changed definition reaches all of them, whoever takes which.
    let definition = std::fs::read_to_string(ada.path("thing.yaml")).expect("read");
    for machine in [&ada, &bob] {
        machine.write("thing.yaml", &definition.replace("${params.value}", "${params.value}-new"));
    }
    let told = ada.purlin(&["impact", "thing.yaml", "--format", "json"]);
    assert_eq!(summary(&told)["update"], FLEET, "{told}");
    let arguments = ["reconcile", "--all", "--yes", "thing.yaml", "--format", "json"];
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| bob.run(&arguments));
        (ada.run(&arguments), other.join().expect("joined"))
    });
    let turns = |done: &Done| summary(done)["environments"].as_u64().expect("a number") as usize;
    // Where one began its round while the other was at work, some have two turns.
    assert!((FLEET..=2 * FLEET).contains(&(turns(&one) + turns(&two))), "{one}\n{two}");
    let busy = |done: &Done| summary(done)["busy"].as_u64().expect("a number") as usize;
    for done in [&one, &two] {
        assert_eq!(summary(done)["failed"], 0, "{done}");
        assert_eq!(summary(done)["unsettled"], 0, "{done}");
        assert_eq!(done.status, Some(i32::from(busy(done) > 0)), "{done}");
    }
    let told = ada.purlin(&["impact", "thing.yaml", "--format", "json"]);
    assert_eq!(summary(&told)["unchanged"], FLEET, "{told}\n{one}\n{two}");
    assert_eq!(kept(things.path()), resources, "nothing is made twice");
    // What others take away comes back, and what was destroyed does not.
    ada.purlin(&["destroy", "--yes", "--env", "e0"]);
    std::fs::remove_dir_all(things.path()).expect("removed");
    std::fs::create_dir(things.path()).expect("made");
    let done = bob.run(&["reconcile", "--all", "--yes", "--format", "json"]).expect(0);
    assert_eq!(
        (summary(&done)["settled"].clone(), summary(&done)["empty"].clone()),
        (json!(FLEET - 1), json!(1))
    );
    assert_eq!(kept(things.path()), resources - 3);
}

#[test]
fn two_machines_work_on_one_state() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let key = key();
    let (ada, bob) = (
        machine(&postgres, &key, things.path(), 5, "one"),
        machine(&postgres, &key, things.path(), 5, "one"),
    );
    let refused = ada.run(&["up", "--yes"]).expect(2);
    assert!(refused.stderr.contains("run `purlin state init`"), "{refused}");
    ada.purlin(&["state", "init"]);
    let again = bob.purlin(&["state", "init"]);
    assert!(again.stderr.contains("ready already"), "{again}");
    ada.purlin(&["up", "--yes"]);
    ends_with(&bob.purlin(&["plan"]), "all 6 resources are up to date.");
    assert!(bob.purlin(&["env", "list"]).stdout.contains("dev"));
    let other = machine(&postgres, &key, things.path(), 4, "two");
    other.purlin(&["up", "--yes"]);
    ends_with(&other.purlin(&["plan"]), "all 5 resources are up to date.");
    let history = ada.purlin(&["history", "--format", "json"]).stdout;
    let history: Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["deployments"].as_array().map(Vec::len), Some(2), "{history}");
    other.purlin(&["doctor"]);
    // What works with a folder only says so.
    for command in [&["state", "repair"][..], &["state", "export", "file"], &["state", "key", "rotate"]] {
        let refused = ada.run(command).expect(2);
        assert!(refused.stderr.contains("works with a state in a folder only"), "{refused}");
    }
    // Without the key of the others nobody gets in.
    let stranger = machine(&postgres, &self::key(), things.path(), 5, "one");
    let refused = stranger.run(&["plan"]).expect(2);
    assert!(refused.stderr.contains("wrong key"), "{refused}");
    other.purlin(&["destroy", "--yes"]);
    assert_eq!(kept(things.path()), 0);
    assert!(!ada.path(".purlin").exists(), "the state is elsewhere");
}

/// A machine that was suspended past its lease can write nothing: another one finished its work meanwhile, and
/// every thing is there once.
#[test]
fn a_suspended_machine_is_replaced() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let key = key();
    let (ada, bob) = (
        machine(&postgres, &key, things.path(), MANY, "one"),
        machine(&postgres, &key, things.path(), MANY, "one"),
    );
    ada.purlin(&["state", "init"]);
    let arguments = ["up", "--yes", "--parallelism", "2"];
    let running = ada.start(&arguments);
    let begun = Instant::now();
    while kept(things.path()) < 20 {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    let process = rustix::process::Pid::from_raw(running.id().cast_signed()).expect("its id");
    rustix::process::kill_process(process, rustix::process::Signal::STOP).expect("suspended");
    let there = kept(things.path());
    assert!(there < MANY, "it was done before it could be suspended");
    let refused = bob.run(&["up", "--yes"]);
    if refused.status != Some(0) {
        assert!(refused.stderr.contains("is locked by"), "{refused}");
        let begun = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let done = bob.run(&["up", "--yes"]);
            if done.status == Some(0) {
                break;
            }
            assert!(done.stderr.contains("is locked by"), "{done}");
            assert!(begun.elapsed() < Duration::from_secs(120), "{done}");
        }
    }
    assert_eq!(kept(things.path()), MANY);
    rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("continued");
    let done = ada.finish(running, &arguments);
    assert_eq!(done.status, Some(1), "{done}");
    assert!(done.stderr.contains("the lock of the environment dev of acme/shop is lost"), "{done}");
    assert_eq!(kept(things.path()), MANY, "{done}");
    ends_with(&bob.purlin(&["plan"]), &format!("all {} resources are up to date.", MANY + 1));
}

/// How many things there are.
fn kept(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("things")).map_or(0, Iterator::count)
}
