//! The wire between the program and the database fails once, at chosen messages of every command: it is cut, or the
//! message is late, doubled or delayed. Each command ends as it would without the fault.

use std::path::Path;
use std::time::Duration;

use purlin_systems::cut::{Disturbance, Wire};
use purlin_systems::interrupt::When;
use purlin_systems::postgres::Postgres;
use serde_json::Value;

use crate::{ends_with, every, kept, key, machine_at};

/// Commands that use the state, with their exit status, in an order in which each one can do something. `up` fails in
/// a closed environment, and leaves nothing that would block `unlock`.
const COMMANDS: [(&[&str], i32); 15] = [
    (&["up", "--yes"], 0),
    (&["plan"], 0),
    (&["refresh"], 0),
    (&["history"], 0),
    (&["status"], 0),
    (&["outputs"], 0),
    (&["env", "list"], 0),
    (&["state", "list"], 0),
    (&["state", "show", "thing.default#shared.t1"], 0),
    (&["state", "lock"], 0),
    (&["up", "--yes"], 1),
    (&["state", "unlock"], 0),
    (&["state", "repair", "--check"], 0),
    (&["reconcile", "--all", "--yes"], 0),
    (&["destroy", "--yes"], 0),
];

/// The faults that no command shows.
fn faults() -> [Disturbance; 6] {
    [
        Disturbance::Cut(When::Before),
        Disturbance::Cut(When::After),
        Disturbance::Late { after: 2 },
        Disturbance::Late { after: usize::MAX },
        Disturbance::Doubled,
        Disturbance::Delayed(Duration::from_millis(300)),
    ]
}

#[test]
fn commands_survive_faults_on_the_wire() {
    let Some(postgres) = Postgres::start() else { return };
    let wire = Wire::to(postgres.port);
    let (key, things) = (key(), tempfile::tempdir().expect("a folder"));
    let [behind, direct] =
        [wire.port(), postgres.port].map(|port| machine_at(port, &key, things.path(), 3, "one"));
    direct.purlin(&["state", "init"]);
    let every = every(9);
    let mut failed = 0;
    for (number, fault) in faults().into_iter().enumerate() {
        // Each fault begins at another message.
        for at in (1 + number * every / faults().len()..).step_by(every) {
            let mut has_failed = false;
            for (command, status) in COMMANDS {
                wire.fail_at(at, fault);
                let done = behind.run(command);
                has_failed |= wire.has_failed();
                wire.deliver();
                assert_eq!(done.status, status, "{fault:?} at message {at} of {command:?}: {done}");
                let there = if command[0] == "destroy" { 0 } else { 3 };
                assert_eq!(kept(things.path()), there, "{fault:?} at message {at} of {command:?}: {done}");
            }
            let held = postgres.ask("SELECT count(holder) FROM purlin.environments");
            assert_eq!(held, "0", "{fault:?} at message {at} left a lease");
            failed += usize::from(has_failed);
            if !has_failed {
                break;
            }
        }
    }
    assert!(failed > faults().len(), "only {failed} faults happened");
    direct.purlin(&["state", "repair", "--check"]).prints("is intact");
}

/// A host that takes turns learns of each one, although the response of the database was lost: no environment is left
/// out of a round.
#[test]
fn a_round_is_complete_whatever_the_wire_does() {
    let Some(postgres) = Postgres::start() else { return };
    let wire = Wire::to(postgres.port);
    let (key, things) = (key(), tempfile::tempdir().expect("a folder"));
    let [behind, direct] =
        [wire.port(), postgres.port].map(|port| machine_at(port, &key, things.path(), 1, "one"));
    direct.purlin(&["state", "init"]);
    let environments = ["e1", "e2", "e3", "e4"];
    for env in environments {
        direct.purlin(&["up", "--yes", "--env", env]);
    }
    let every = every(11);
    for (number, fault) in faults().into_iter().enumerate() {
        for at in (1 + number * every / faults().len()..).step_by(every) {
            take_away(things.path());
            wire.fail_at(at, fault);
            // One at a time, so that the turns are taken in several statements.
            let arguments = ["reconcile", "--all", "--yes", "--turns", "1", "--format", "json"];
            let done = behind.run(&arguments);
            let has_failed = wire.has_failed();
            wire.deliver();
            assert_eq!(done.status, 0, "{fault:?} at message {at}: {done}");
            let summary: Value =
                serde_json::from_str(done.out.lines().last().expect("a summary")).expect("JSON");
            assert_eq!(summary["in_sync"], environments.len(), "{fault:?} at message {at}: {done}");
            assert_eq!(kept(things.path()), environments.len(), "{fault:?} at message {at}: {done}");
            if !has_failed {
                break;
            }
        }
    }
    ends_with(&direct.purlin(&["plan", "--env", "e4"]), "all 2 resources are up to date.");
}

/// Deletes all things behind the back of the program.
fn take_away(things: &Path) {
    std::fs::remove_dir_all(things.join("things")).expect("removed");
    std::fs::create_dir(things.join("things")).expect("made");
}
