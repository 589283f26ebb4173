//! Several machines that work on one state in PostgreSQL (SPEC §10), with the real program.
#![allow(clippy::expect_used, clippy::panic)]

mod login;
mod restore;
mod wire;

use std::path::Path;
use std::time::{Duration, Instant};

use purlin_systems::Proxy;
use purlin_systems::interrupt::When;
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::project::{Project, Ran, ran_with, signal};
use purlin_systems::tools::component;
use serde_json::{Value, json};

/// How many resources a deployment has that is interrupted.
const MANY: usize = 300;

/// How long a lease lasts, and how long a call may take: more than any machine needs. A test that
/// waits for their end gives shorter times.
const LONG: [&str; 2] = ["10m", "10m"];

/// The identity was made for these tests.
fn key() -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let made = Project::empty();
    made.purlin(&["state", "key", "new", "key.txt"]);
    let key = made.read("key.txt");
    drop(folder);
    key
}

/// A machine with the documents of a team: a ledger of things in a folder that all machines reach.
fn machine(postgres: &Postgres, key: &str, things: &Path, count: usize, value: &str) -> Project {
    machine_at(postgres.port, key, things, count, value)
}

/// The same, which reaches the database at another port.
fn machine_at(port: u16, key: &str, things: &Path, count: usize, value: &str) -> Project {
    machine_with(LONG, port, key, things, count, value)
}

/// The same with a lease of this length, and this time limit of calls.
fn machine_with(
    [lease, time]: [&str; 2],
    port: u16,
    key: &str,
    things: &Path,
    count: usize,
    value: &str,
) -> Project {
    let workspace = Project::with(&[
        ("key.txt", key),
        ("secrets/password", PASSWORD),
        (
            "purlin.yaml",
            &json!({"apiVersion": "purlin.dev/v1", "kind": "Workspace", "spec": {
                "state": {"postgres": {
                    "url": format!("postgres://postgres@127.0.0.1:{port}/postgres"),
                    "password": {"store": "local", "ref": "password"},
                    "lease": lease,
                }},
                "key": {"file": "key.txt"},
                "defaults": {"org": "acme", "app": "shop", "env": "dev"},
                "secret_stores": {"local": {"file": "./secrets"}},
                "drivers": {"acme/ledger": {
                    "source": component("ledger"),
                    "grants": {"dirs": [{"host": things, "guest": "/data", "mode": "rw"}]},
                    "limits": {"time": time, "grace": "0s"},
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
    workspace.write("deployment.yaml", deployment(count, value));
    // Its mode is that of a file that others can read.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(workspace.path().join("key.txt"), private).expect("private");
    workspace
}

/// A document that declares so many things.
fn deployment(count: usize, value: &str) -> String {
    let shared: serde_json::Map<String, Value> = (0..count)
        .map(|number| (format!("t{number}"), json!({"type": "thing", "params": {"value": value}})))
        .collect();
    json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}}).to_string()
}

/// A watch opens the state for each pass. What it closed keeps no connection.
#[test]
fn a_watch_keeps_no_connections_of_earlier_passes() {
    const PASSES: usize = 12;
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let team = machine(&postgres, &key(), things.path(), 1, "one");
    team.purlin(&["state", "init"]);
    let arguments = ["reconcile", "--watch", "--yes"];
    let watch = team.start(&arguments);
    for count in 1..=PASSES {
        team.write("deployment.yaml", deployment(count, "one"));
        wait_until("the watch applies the documents", || kept(things.path()) == count);
    }
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'purlin'";
    wait_until("the connections of earlier passes are closed", || {
        postgres.ask(connections).parse::<usize>().is_ok_and(|count| count < PASSES / 2)
    });
    signal(&watch, "-TERM");
    assert_eq!(ran_with(watch).status, 0);
}

fn ends_with(done: &Ran, text: &str) {
    assert!(done.out.trim_end().ends_with(text) || done.err.trim_end().ends_with(text), "{done}");
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
    let summary = |done: &Ran| -> Value {
        serde_json::from_str(done.out.lines().last().expect("a summary")).expect("JSON")
    };
    // A changed definition reaches all of them, whoever takes which turn, while hosts keep them as they were.
    let definition = ada.read("thing.yaml");
    ada.write("thing.yaml", definition.replace("${params.value}", "${params.value}-new"));
    let impact = ada.purlin(&["impact", "thing.yaml", "--format", "json"]);
    assert_eq!(summary(&impact)["update"], FLEET, "{impact}");
    let service = bob.start(&["reconcile", "--all", "--watch", "--yes"]);
    let waits = "SELECT count(*) FROM purlin.environments WHERE next_at > now() + interval '1 minute'";
    wait_until("the service has passed over all of them", || postgres.ask(waits) == FLEET.to_string());
    let arguments = ["rollout", "start", "thing.yaml", "--yes", "--wave", "2", "--format", "json"];
    let done = ada.run(&arguments).status(0);
    let end = summary(&done);
    assert_eq!((&end["status"], &end["counts"]), (&json!("done"), &json!({"matching": FLEET})), "{done}");
    assert_eq!(end["opened"], FLEET.div_ceil(2), "{done}");
    signal(&service, "-TERM");
    let one = ran_with(service);
    assert_eq!(one.status, 0, "{one}");
    let impact = ada.purlin(&["impact", "thing.yaml", "--format", "json"]);
    assert_eq!(summary(&impact)["unchanged"], FLEET, "{impact}\n{done}\n{one}");
    assert_eq!(kept(things.path()), resources, "nothing is made twice");
    // What others take away comes back, and what was destroyed does not.
    ada.purlin(&["destroy", "--yes", "--env", "e0"]);
    std::fs::remove_dir_all(things.path()).expect("removed");
    std::fs::create_dir(things.path()).expect("made");
    let done = bob.run(&["reconcile", "--all", "--yes", "--format", "json"]).status(0);
    assert_eq!(
        (summary(&done)["in_sync"].clone(), summary(&done)["empty"].clone()),
        (json!(FLEET - 1), json!(1))
    );
    assert_eq!(kept(things.path()), resources - 3);
    // A service reads at once what somebody requests. Otherwise, each environment has to wait for its interval.
    let arguments = ["reconcile", "--all", "--watch", "--yes"];
    let service = ada.start(&arguments);
    wait_until("the service has passed over all of them", || postgres.ask(waits) == FLEET.to_string());
    std::fs::remove_dir_all(things.path()).expect("removed");
    std::fs::create_dir(things.path()).expect("made");
    bob.purlin(&["reconcile", "--request", "--env", "e3"]).prints("will be reconciled next");
    wait_until("the service repairs it", || kept(things.path()) == 3);
    signal(&service, "-TERM");
    assert_eq!(ran_with(service).status, 0);
}

/// The program is killed at messages to the database, before the server has them or when the answer is lost. Another
/// machine takes over when the lease has ended: nothing is created twice, and nothing is forgotten.
#[test]
fn kills_at_messages_to_the_database_repeat_and_forget_nothing() {
    let Some(postgres) = Postgres::start() else { return };
    let proxy = Proxy::to(postgres.port);
    let key = key();
    let folder = tempfile::tempdir().expect("a folder");
    let every = every(5);
    let (mut attempt, mut kills) = (0, 0);
    for (command, before, after) in [("up", None, 3), ("up", Some("one"), 3), ("destroy", Some("two"), 0)] {
        for when in [When::Before, When::After] {
            for at in (1..).step_by(every) {
                attempt += 1;
                let things = folder.path().join(attempt.to_string());
                std::fs::create_dir(&things).expect("made");
                let env = format!("e{attempt}");
                let other = machine_at(postgres.port, &key, &things, 3, "two");
                if attempt == 1 {
                    other.purlin(&["state", "init"]);
                }
                if let Some(value) = before {
                    machine_at(postgres.port, &key, &things, 3, value)
                        .purlin(&["up", "--yes", "--env", &env]);
                }
                let arguments = [command, "--yes", "--env", &env];
                let done =
                    proxy.run(&machine_at(proxy.port(), &key, &things, 3, "two"), &arguments, at, when);
                if let Some(done) = &done {
                    assert_eq!(done.status, 0, "{done}");
                } else {
                    kills += 1;
                    // The lease has ended, and nobody gave it up. It ended so long ago that the last calls have
                    // ended, too.
                    postgres.ask(&format!(
                        "UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 hour'
                         WHERE env = '{env}'"
                    ));
                    other.purlin(&arguments);
                }
                assert_eq!(kept(&things), after, "{command} killed at {at}, {when:?}");
                if after > 0 {
                    ends_with(&other.purlin(&["plan", "--env", &env]), "all 4 resources are up to date.");
                }
                if done.is_some() {
                    break;
                }
            }
        }
    }
    assert!(kills > 12, "it was killed {kills} times only");
    assert!(
        machine(&postgres, &key, folder.path(), 3, "two")
            .purlin(&["state", "repair", "--check"])
            .out
            .contains("is intact")
    );
}

/// The distance between the messages at which something fails. All of them take many minutes.
fn every(usually: usize) -> usize {
    if std::env::var_os("PURLIN_EVERY_MESSAGE").is_some() { 1 } else { usually }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A team that began in a folder moves to a database, and back.
#[test]
fn a_team_moves_to_a_database() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let key = key();
    let team = machine(&postgres, &key, things.path(), 3, "one");
    let database = team.read("purlin.yaml");
    let mut alone: Value = serde_json::from_str(&database).expect("JSON");
    alone["spec"].as_object_mut().expect("a map").remove("state");
    team.write("purlin.yaml", alone.to_string());
    for env in ["dev", "prod"] {
        team.purlin(&["up", "--yes", "--env", env]);
    }
    team.write("purlin.yaml", &database);
    let unprepared = team.run(&["state", "copy", ".purlin", "."]).status(2);
    assert!(unprepared.err.contains("purlin state init"), "{unprepared}");
    team.purlin(&["state", "init"]);
    let copied = team.purlin(&["state", "copy", ".purlin", "."]);
    assert!(copied.err.contains("Copied dev of acme/shop: 4 resources."), "{copied}");
    assert!(copied.err.contains("2 of 2 environments are in `postgres://"), "{copied}");
    let again = team.purlin(&["state", "copy", ".purlin", ".", "--format", "json"]);
    let again: Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(again["environments"][0]["outcome"], "already", "{again}");
    // The original is out of date from now on.
    let stale = team.run(&["state", "copy", ".purlin", ".", "--replace"]).status(1);
    assert!(stale.err.contains("was moved to another state"), "{stale}");
    let stale = team.run(&["state", "copy", ".purlin", "elsewhere", "--keep-open"]).status(1);
    assert!(stale.err.contains("was moved to another state"), "{stale}");
    // There and back, it is open where it was moved to.
    team.purlin(&["state", "copy", ".", "there"]);
    team.purlin(&["state", "copy", "there", "."]);
    // What is neither a project nor a state is a slip.
    std::fs::create_dir(team.path().join("out")).expect("made");
    team.run(&["state", "copy", "out", "."]).status(2);
    let same = team.run(&["state", "copy", ".", "purlin.yaml"]).status(2);
    assert!(same.err.contains("the same state"), "{same}");
    // It goes on there, without a refresh, and nothing goes on in the folder.
    for env in ["dev", "prod"] {
        ends_with(&team.purlin(&["plan", "--env", env]), "all 4 resources are up to date.");
    }
    team.write("purlin.yaml", alone.to_string());
    let closed = team.run(&["up", "--yes"]).status(1);
    assert!(closed.err.contains("moved to postgres://"), "{closed}");
    // What is on record in both, and is not the same, takes a word.
    team.write("purlin.yaml", &database);
    team.purlin(&["state", "taint", "thing.default#shared.t0"]);
    team.purlin(&["state", "unlock"]);
    let back = team.run(&["state", "copy", ".", ".purlin", "--env", "dev"]).status(1);
    assert!(back.err.contains("with other content; `--replace`"), "{back}");
    team.purlin(&["state", "copy", ".", ".purlin", "--env", "dev", "--replace"]);
    team.write("purlin.yaml", alone.to_string());
    assert!(team.purlin(&["state", "list"]).out.contains("tainted"));
    team.purlin(&["up", "--yes"]);
    assert_eq!(kept(things.path()), 6);
    // A backup leaves the original as it is.
    let backup = team.purlin(&["state", "copy", ".purlin", "backup", "--keep-open", "--env", "dev"]);
    assert!(backup.err.contains("1 of 1 environment is in"), "{backup}");
    assert!(team.purlin(&["state", "list", "--state", "backup"]).out.contains("t2"));
    team.purlin(&["up", "--yes"]);
}

#[test]
fn state_commands_maintain_a_database() {
    let Some(postgres) = Postgres::start() else { return };
    let things = tempfile::tempdir().expect("a folder");
    let key = key();
    let team = machine(&postgres, &key, things.path(), 3, "one");
    team.purlin(&["state", "init"]);
    team.purlin(&["up", "--yes"]);
    let doctor = team.purlin(&["doctor"]);
    assert!(doctor.out.contains("PostgreSQL") && doctor.out.contains("tables of version"), "{doctor}");
    // A file keeps an environment, and gives it back.
    team.purlin(&["state", "export", "dev.purlin"]);
    team.purlin(&["state", "forget", "thing.default#shared.t0", "--yes"]);
    let there = team.run(&["state", "import", "dev.purlin"]).status(2);
    assert!(there.err.contains("--replace"), "{there}");
    team.purlin(&["state", "import", "dev.purlin", "--replace"]);
    ends_with(&team.purlin(&["plan"]), "all 4 resources are up to date.");
    let other = team.run(&["state", "import", "dev.purlin", "--replace", "--env", "prod"]).status(2);
    assert!(other.err.contains("is an export of dev of acme/shop"), "{other}");
    team.purlin(&["state", "lock", "--reason", "moving"]);
    team.purlin(&["state", "import", "dev.purlin", "--replace"]);
    assert!(team.run(&["up", "--yes"]).status(1).err.contains("moving"), "it stays closed");
    team.purlin(&["state", "unlock"]);
    // Nothing falls back to a folder where the place of the state is wrong, and `--state` means the folder.
    let right = team.read("purlin.yaml");
    let key = team.read("key.txt");
    for wrong in [right.replace("postgres@127", "postgres:secret@127"), right.replacen('{', "{\"a: ", 1)] {
        team.write("purlin.yaml", &wrong);
        for command in [
            &["state", "list"][..],
            &["state", "lock"],
            &["state", "key", "rotate"],
            &["state", "repair"],
            &["env", "list"],
        ] {
            let refused = team.run(command).status(2);
            assert!(refused.err.contains("purlin.yaml"), "{refused}");
        }
    }
    team.write("purlin.yaml", &right);
    assert_eq!(team.read("key.txt"), key);
    assert!(!team.path().join(".purlin").exists());
    assert!(team.purlin(&["state", "list", "--state", "elsewhere"]).err.contains("Nothing is recorded"));
    // Damage is found, and what is left is saved.
    assert!(team.purlin(&["state", "repair", "--check"]).out.contains("is intact: 4 resources"));
    postgres.ask("DELETE FROM purlin.entries WHERE key = (SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('r') ORDER BY key DESC LIMIT 1)");
    let damaged = team.run(&["plan"]).status(1);
    assert!(damaged.err.contains("purlin state repair"), "{damaged}");
    team.run(&["state", "repair", "--check"]).status(1);
    let repaired = team
        .run(&["state", "repair"])
        .status(1)
        .prints("entries of dev of acme/shop, which no key refers to");
    assert!(repaired.out.contains("contains what could be saved: 3 resources"), "{repaired}");
    assert!(team.purlin(&["state", "repair", "--check"]).out.contains("is intact: 3 resources"));
    team.purlin(&["state", "import", "dev.purlin", "--replace"]);
    // A new key.
    let old = team.read("key.txt");
    team.purlin(&["state", "key", "rotate"]);
    ends_with(&team.purlin(&["plan"]), "all 4 resources are up to date.");
    let stale = machine(&postgres, &old, things.path(), 3, "one");
    let refused = stale.run(&["plan"]).status(2);
    assert!(refused.err.contains("wrong key"), "{refused}");
    assert_eq!(kept(things.path()), 3);
    // A list says who works where, and what is not as it should be.
    let listed = team.purlin(&["env", "list", "d*", "--lines"]);
    let line: Value = serde_json::from_str(listed.out.trim_end()).expect("one line");
    assert_eq!((&line["env"], &line["unready"], &line["in_use"]), (&json!("dev"), &json!({}), &Value::Null));
    postgres.ask("UPDATE purlin.environments SET lease_until = clock_timestamp() + interval '1 hour', holder = '{\"user\": \"eve\", \"host\": \"ci-3\", \"pid\": 7, \"command\": \"purlin up\", \"since\": 1790000000000}'");
    let listed = team.purlin(&["env", "list", "--in-use"]);
    assert!(listed.out.contains("in use"), "{listed}");
    let held = team.purlin(&["state", "list"]);
    assert!(
        held.err.contains("is in use by eve on ci-3") && held.err.contains("its lease ends in"),
        "{held}"
    );
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
    let refused = ada.run(&["up", "--yes"]).status(2);
    assert!(refused.err.contains("run `purlin state init`"), "{refused}");
    ada.purlin(&["state", "init"]);
    let again = bob.purlin(&["state", "init"]);
    assert!(again.err.contains("ready already"), "{again}");
    ada.purlin(&["up", "--yes"]);
    ends_with(&bob.purlin(&["plan"]), "all 6 resources are up to date.");
    assert!(bob.purlin(&["env", "list"]).out.contains("dev"));
    let other = machine(&postgres, &key, things.path(), 4, "two");
    other.purlin(&["up", "--yes"]);
    ends_with(&other.purlin(&["plan"]), "all 5 resources are up to date.");
    let history = ada.purlin(&["history", "--format", "json"]).out;
    let history: Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["deployments"].as_array().map(Vec::len), Some(2), "{history}");
    other.purlin(&["doctor"]);
    // Without the key of the others nobody gets in.
    let stranger = machine(&postgres, &self::key(), things.path(), 5, "one");
    let refused = stranger.run(&["plan"]).status(2);
    assert!(refused.err.contains("wrong key"), "{refused}");
    other.purlin(&["destroy", "--yes"]);
    assert_eq!(kept(things.path()), 0);
    assert!(!ada.path().join(".purlin").exists(), "the state is elsewhere");
}

/// A machine that was suspended past its lease records nothing and makes no further call: another one finished its
/// work meanwhile. Only an operation that each of its calls was in the middle of may still take effect.
#[test]
fn a_suspended_machine_is_replaced() {
    let Some(postgres) = Postgres::start() else { return };
    let key = key();
    // A machine may be done, or lose its lease, before it is suspended. Then the next one has more to
    // do.
    let mut missed = None;
    for attempt in 0..5 {
        let (env, count) = (format!("e{attempt}"), MANY << attempt);
        let things = tempfile::tempdir().expect("a folder");
        let bob = machine(&postgres, &key, things.path(), count, "one");
        if attempt == 0 {
            bob.purlin(&["state", "init"]);
        }
        match replace(&postgres, &key, things.path(), count, &env, &bob) {
            Ok(()) => return,
            Err(done) => missed = Some(done),
        }
    }
    panic!("it was never suspended in the middle of its work: {missed:?}");
}

/// Suspends a machine in the middle of its work, which another one then does. The error is a machine
/// that ended before it was suspended.
fn replace(
    postgres: &Postgres,
    key: &str,
    things: &Path,
    count: usize,
    env: &str,
    bob: &Project,
) -> Result<(), Ran> {
    const PARALLEL: usize = 2;
    const LEASE: Duration = Duration::from_secs(15);
    let lease = format!("{}s", LEASE.as_secs());
    let ada = machine_with([&lease, "5s"], postgres.port, key, things, count, "one");
    let arguments = ["up", "--yes", "--parallelism", &PARALLEL.to_string(), "--env", env];
    let mut running = ada.start(&arguments);
    let begun = Instant::now();
    while kept(things) < 20 {
        if running.try_wait().expect("a status").is_some() {
            return Err(ran_with(running));
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "it does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    let process = rustix::process::Pid::from_raw(running.id().cast_signed()).expect("its id");
    rustix::process::kill_process(process, rustix::process::Signal::STOP).expect("suspended");
    if running.try_wait().expect("a status").is_some() {
        return Err(ran_with(running));
    }
    if kept(things) >= count {
        rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("continued");
        return Err(ran_with(running));
    }
    // Nobody gets the lease while it lasts, and whoever waits gets it then.
    let waited = bob.purlin(&["up", "--yes", "--lock-timeout", "10m", "--env", env]);
    assert!(waited.has("waiting for ") || begun.elapsed() > LEASE, "{waited}");
    assert_eq!(kept(things), count);
    rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("continued");
    let done = ran_with(running);
    assert_eq!(done.status, 1, "{done}");
    assert!(done.has(&format!("the lock of the environment {env} of acme/shop is lost")), "{done}");
    // A thread checks the time directly before each operation; the suspension may find it in between.
    let late = kept(things) - count;
    assert!(late <= PARALLEL, "{late} more things than resources: {done}");
    ends_with(&bob.purlin(&["plan", "--env", env]), &format!("all {} resources are up to date.", count + 1));
    Ok(())
}

/// How many things there are.
fn kept(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("things")).map_or(0, Iterator::count)
}
