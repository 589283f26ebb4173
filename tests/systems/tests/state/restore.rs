//! A restored database, however the restore was made (SPEC §10): nothing is created twice, and nothing is
//! forgotten. And a restart of the server, which costs nothing.

use std::path::Path;

use purlin_systems::Proxy;
use purlin_systems::interrupt::When;
use purlin_systems::postgres::Postgres;
use purlin_systems::project::{Project, Ran, ran};
use purlin_systems::tools::root;
use serde_json::json;
use tempfile::TempDir;

use super::{deployment, ends_with, kept, key, machine, machine_at};

const TABLES: [&str; 7] = ["meta", "keys", "environments", "commits", "entries", "vacancies", "stale"];

/// The note of a command that does not rely on the records.
const NOTED: &str = "may be out of date: its database was restored, or another server took over";

/// How the database is saved and restored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// A base backup, started as it is. A snapshot of the disk is the same.
    Files,
    /// `pg_dump` and `pg_restore` into the same database.
    Dump,
    /// A copy of the database, under its name.
    Database,
    /// Copies of the tables, whose rows replace those of the tables.
    Rows,
}

/// When it is saved: before, during and after a deployment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Before,
    During,
    After,
}

/// A saved database.
struct Saved {
    way: Way,
    files: TempDir,
}

impl Saved {
    fn of(postgres: &Postgres, way: Way) -> Self {
        let files = match way {
            Way::Files => postgres.backup().expect("PostgreSQL is installed"),
            _ => tempfile::tempdir().expect("a folder"),
        };
        match way {
            Way::Files => {}
            Way::Dump => postgres.dump("purlin", &files.path().join("dump")).expect("it is installed"),
            Way::Database => {
                postgres.ask_in("template1", "CREATE DATABASE kept TEMPLATE postgres");
            }
            Way::Rows => {
                let tables =
                    TABLES.map(|table| format!("CREATE TABLE kept.{table} AS TABLE purlin.{table};"));
                postgres.ask(&format!("CREATE SCHEMA kept; {}", tables.concat()));
            }
        }
        Self { way, files }
    }

    fn restore(&self, postgres: Postgres) -> Postgres {
        match self.way {
            Way::Files => return postgres.restarted(Some(&self.files)),
            Way::Dump => {
                postgres.restore("postgres", &self.files.path().join("dump")).expect("it is installed");
            }
            Way::Database => {
                for sql in
                    ["ALTER DATABASE postgres RENAME TO broken", "ALTER DATABASE kept RENAME TO postgres"]
                {
                    postgres.ask_in("template1", sql);
                }
            }
            Way::Rows => {
                let rows = TABLES.map(|table| {
                    format!("DELETE FROM purlin.{table}; INSERT INTO purlin.{table} TABLE kept.{table};")
                });
                postgres.ask(&format!("BEGIN; {} COMMIT", rows.concat()));
            }
        }
        postgres
    }
}

/// Things that their driver finds by name.
fn team(port: u16, key: &str, things: &Path, count: usize, value: &str) -> Project {
    let team = machine_at(port, key, things, count, value);
    let values = json!({"value": "${params.value}", "fixed": "", "first": false, "named": true});
    let definition = json!({"apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "thing"},
        "spec": {"type": "thing", "driver": "acme/ledger", "criteria": [{}], "inputs": {"values": values}}});
    team.write("thing.yaml", definition.to_string());
    team
}

/// Runs the program on a host that remembers nothing of the database.
fn elsewhere(team: &Project, arguments: &[&str]) -> Ran {
    let mut command = team.command(arguments);
    command.env("XDG_CACHE_HOME", root().join("target/tmp/elsewhere"));
    ran(command).status(0)
}

/// As for hosts that were stopped so long ago that the last calls have ended, too.
fn end_leases(postgres: &Postgres) {
    postgres.ask(
        "UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 hour', lapsed_at = NULL
         WHERE lease_until IS NOT NULL",
    );
}

/// The calls whose outcome is not known in an environment.
fn open_calls(postgres: &Postgres, env: &str) -> String {
    postgres.ask(&format!(
        "SELECT count(*) FROM purlin.entries JOIN purlin.environments AS e USING (place)
         WHERE e.env = '{env}' AND get_byte(key, 0) = ascii('i') AND e.lease_until > clock_timestamp()"
    ))
}

/// Deploys two things in an environment, and more up to the moment. Returns the name of the environment and the
/// folder of its things.
fn prepare(postgres: &Postgres, key: &str, moment: Moment, folder: &Path) -> (String, std::path::PathBuf) {
    // Which message is sent during a call depends on much, so each attempt has an environment of its own.
    for at in 12.. {
        let env = format!("e{at}");
        let things = folder.join(&env);
        std::fs::create_dir(&things).expect("made");
        team(postgres.port, key, &things, 2, "one").purlin(&["up", "--yes", "--env", &env]);
        let up = ["up", "--yes", "--env", &env];
        match moment {
            Moment::Before => {}
            Moment::After => {
                team(postgres.port, key, &things, 4, "two").purlin(&up);
            }
            Moment::During => {
                let proxy = Proxy::to(postgres.port);
                let killed = team(proxy.port(), key, &things, 4, "two");
                let done = proxy.run(&killed, &up, at, When::After);
                assert!(done.is_none(), "no call was under way at any message");
                if open_calls(postgres, &env) == "0" {
                    end_leases(postgres);
                    continue;
                }
            }
        }
        return (env, things);
    }
    unreachable!("some message is sent during a call");
}

#[test]
fn a_restore_is_noticed_however_it_was_made() {
    let key = key();
    for (way, remembers) in [
        (Way::Files, true),
        (Way::Files, false),
        (Way::Dump, false),
        (Way::Database, false),
        (Way::Rows, false),
    ] {
        for moment in [Moment::Before, Moment::During, Moment::After] {
            let case = format!("{way:?} {moment:?} {remembers}");
            let Some(postgres) = Postgres::start() else { return };
            let folder = tempfile::tempdir().expect("a folder");
            machine(&postgres, &key, folder.path(), 1, "one").purlin(&["state", "init"]);
            let (env, things) = prepare(&postgres, &key, moment, folder.path());
            let saved = Saved::of(&postgres, way);
            end_leases(&postgres);
            // The team goes on.
            let all = team(postgres.port, &key, &things, 6, "three");
            all.purlin(&["up", "--yes", "--env", &env]);
            assert_eq!(kept(&things), 6, "{case}");
            let postgres = saved.restore(postgres);
            end_leases(&postgres);
            let purlin = |arguments: &[&str]| match remembers {
                true => all.purlin(arguments),
                false => elsewhere(&all, arguments),
            };
            let first = purlin(&["up", "--yes", "--env", &env]);
            assert_eq!(kept(&things), 6, "{case}: {first}");
            let is_seen = remembers || way != Way::Files;
            assert_eq!(first.has(NOTED), is_seen, "{case}: {first}");
            // What was found by name shows the restore.
            let second = purlin(&["up", "--yes", "--env", &env]);
            assert!(second.has(NOTED), "{case}: {second}");
            assert_eq!(kept(&things), 6, "{case}: {second}");
            let plan = purlin(&["plan", "--env", &env]);
            ends_with(&plan, "all 7 resources are up to date.");
            assert!(!plan.has(NOTED), "{case}: {plan}");
            purlin(&["destroy", "--yes", "--env", &env]);
            assert_eq!(kept(&things), 0, "{case}");
        }
    }
}

/// After a restart, creations are searched for first, and nothing else is read.
#[test]
fn a_restart_of_the_server_reads_nothing() {
    let Some(postgres) = Postgres::start() else { return };
    let (things, key) = (tempfile::tempdir().expect("a folder"), key());
    let team = team(postgres.port, &key, things.path(), 3, "one");
    team.purlin(&["state", "init"]);
    team.purlin(&["up", "--yes"]);
    let doubts = "SELECT count(*) FROM purlin.entries WHERE get_byte(key, 0) = ascii('q')";
    let postgres = postgres.restarted(None);
    assert_eq!(postgres.ask(doubts), "0");
    for (count, options) in [(3, &["plan"][..]), (3, &["up", "--yes"]), (5, &["up", "--yes"])] {
        team.write("deployment.yaml", deployment(count, "one"));
        let done = team.purlin(&[options, &["--format", "json"]].concat());
        assert!(!done.has("may be out of date"), "{done}");
        assert!(!done.out.contains(r#""read""#), "{done}");
    }
    assert_eq!(kept(things.path()), 5);
    // The doubt lasts until everything was read, by whatever reads it.
    assert_eq!(postgres.ask(doubts), "1");
    let done = team.purlin(&["up", "--yes", "--refresh", "--format", "json"]);
    assert!(done.out.contains(r#""read""#), "{done}");
    assert_eq!(postgres.ask(doubts), "0");
}
