//! The driver is killed, or loses its connection, at each message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::postgres::{PASSWORD, Postgres};
use purlin_systems::{Proxy, at_every_message};
use serde_json::json;

use crate::{DATABASE, ROLE, database, role, server, wanted, workspace};

#[test]
fn a_kill_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(postgres) = Postgres::start() else { return };
    let proxy = Proxy::to(postgres.port);
    let all = |attempt: usize, limit: i32| {
        json!({
            "role": role(&format!("shop_{attempt}"), json!({"connection_limit": limit})),
            "db": database(&format!("shop_{attempt}"), json!({"owner": ROLE, "extensions": ["hstore"], "connection_limit": limit})),
            "grant": {"type": "pg-grant", "params": {"grant": {
                "role": ROLE, "database": DATABASE, "on": "schema", "privileges": if limit > 5 { json!(["USAGE"]) } else { json!(["USAGE", "CREATE"]) },
            }}},
        })
    };
    let environment = |attempt: usize| format!("env-{attempt}");
    let prepared = |attempt: usize, limit: i32| {
        let workspace = workspace(&environment(attempt), &server(proxy.port()), PASSWORD);
        wanted(&workspace, &all(attempt, limit));
        workspace
    };
    let only = |attempt: usize, limit: i32| {
        assert_eq!(postgres.databases(), [format!("shop_{attempt}")]);
        assert_eq!(postgres.roles(), [format!("shop_{attempt}")]);
        let database = format!(
            "SELECT datconnlimit, pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_{attempt}'"
        );
        assert_eq!(postgres.ask(&database), format!("{limit}|shop_{attempt}"));
        assert_eq!(
            postgres.ask(&format!("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'shop_{attempt}'")),
            limit.to_string()
        );
        let name = format!("shop_{attempt}");
        assert_eq!(postgres.ask_in(&name, "SELECT count(*) FROM pg_extension WHERE extname = 'hstore'"), "1");
    };
    let made = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| prepared(attempt, 5),
        |attempt, workspace| {
            only(attempt, 5);
            workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
            assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
        },
    );
    assert!(made > 20, "{made} kills while it was made");
    let changed = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| {
            let workspace = prepared(attempt + 1000, 5);
            workspace.purlin(&["up", "--yes"]);
            wanted(&workspace, &all(attempt + 1000, 9));
            workspace
        },
        |attempt, workspace| {
            only(attempt + 1000, 9);
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        },
    );
    let deleted = at_every_message(
        &proxy,
        &["destroy", "--yes", "--allow-data-loss"],
        |attempt| {
            let workspace = prepared(attempt + 2000, 5);
            workspace.purlin(&["up", "--yes"]);
            workspace
        },
        |_, _| assert!(postgres.databases().is_empty() && postgres.roles().is_empty()),
    );
    eprintln!("killed {made} times while made, {changed} while changed, {deleted} while deleted");
}

/// `CREATE DATABASE` continues after the client that sent it was killed. The next run must not
/// treat the database as missing meanwhile. A lock on the template keeps the server busy until the
/// test has seen it at work, and one second longer.
#[test]
fn requests_of_a_killed_attempt_are_awaited() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.ask("CREATE DATABASE mould");
    let proxy = Proxy::to(postgres.port);
    // A statement of the driver waits 8 s for a lock. On a busy machine, the test may not look in that
    // time.
    let is_caught = (0..5).any(|_| caught(&postgres, &proxy) > 0);
    assert!(is_caught, "the server was never caught at it");
}

/// Kills an attempt at each message. Returns how often that left the server at work.
fn caught(postgres: &Postgres, proxy: &Proxy) -> usize {
    let name = |attempt: usize| format!("shop_{attempt}");
    let is_busy = || {
        let busy =
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND state = 'active'";
        postgres.ask(busy) != "0"
    };
    let mut slow = 0;
    for at in 1.. {
        let workspace = workspace(&format!("env-{at}"), &server(proxy.port()), PASSWORD);
        wanted(&workspace, &json!({"db": database(&name(at), json!({"template": "mould"}))}));
        let observed = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            // Whatever happens here, the other threads end.
            let observing = Observing(&observed);
            let lock = "COMMENT ON DATABASE mould IS 'locked'; SELECT pg_sleep(600)";
            scope.spawn(|| postgres.try_as("postgres", PASSWORD, "postgres", lock));
            let held = "FROM pg_stat_activity WHERE query LIKE 'COMMENT%' AND wait_event = 'PgSleep'";
            wait_until(|| postgres.ask(&format!("SELECT count(*) {held}")) == "1");
            let (is_busy, observed) = (&is_busy, &observed);
            scope.spawn(move || {
                // An attempt that is not killed at this statement waits for it, and so cannot be observed.
                wait_until(|| observed.load(Ordering::Acquire) || (is_busy() && proxy.messages() < at));
                std::thread::sleep(Duration::from_secs(1));
                postgres.ask(&format!("SELECT pg_terminate_backend(pid) {held}"));
            });
            // The server does not answer while it waits for the lock.
            let mut was_busy = false;
            let done = proxy.run_until(&workspace, &["up", "--yes"], at, When::After, || {
                was_busy = was_busy || is_busy();
                was_busy
            });
            slow += usize::from(was_busy && done.is_none());
            drop(observing);
            // Immediately, and with another goal: nothing may be left behind.
            if at % 2 == 0 {
                workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
                assert_eq!(postgres.databases(), ["mould"]);
            }
            workspace.purlin(&["up", "--yes"]);
            done
        });
        assert_eq!(postgres.databases(), ["mould".to_owned(), name(at)]);
        workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
        assert_eq!(postgres.databases(), ["mould"]);
        if done.is_some() {
            break;
        }
    }
    slow
}

/// Reports at its end that the test has seen enough.
struct Observing<'a>(&'a AtomicBool);

impl Drop for Observing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_connection_that_breaks_at_any_message_leaves_nothing_twice_and_nothing_behind() {
    let Some(postgres) = Postgres::start() else { return };
    let wire = Wire::to(postgres.port);
    let all = |attempt: usize, limit: i32| {
        json!({
            "role": role(&format!("shop_{attempt}"), json!({"connection_limit": limit})),
            "db": database(&format!("shop_{attempt}"), json!({"owner": ROLE, "extensions": ["hstore"], "connection_limit": limit})),
        })
    };
    let mut cuts = 0;
    for when in [When::Before, When::After] {
        for at in 1.. {
            cuts += 1;
            assert!(cuts < 200, "it never gets through");
            let workspace = workspace(&format!("env-{cuts}"), &server(wire.port()), PASSWORD);
            wanted(&workspace, &all(cuts, 5));
            wire.cut_at(at, when);
            workspace.run(&["up", "--yes"]);
            let made = !wire.has_failed();
            workspace.purlin(&["up", "--yes"]);
            let there = format!(
                "SELECT datname, datconnlimit, pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop_{cuts}'"
            );
            assert_eq!(postgres.databases(), [format!("shop_{cuts}")]);
            assert_eq!(postgres.ask(&there), format!("shop_{cuts}|5|shop_{cuts}"));
            wanted(&workspace, &all(cuts, 9));
            wire.cut_at(at, when);
            workspace.run(&["up", "--yes"]);
            let changed = !wire.has_failed();
            workspace.purlin(&["up", "--yes"]);
            assert_eq!(postgres.ask(&there), format!("shop_{cuts}|9|shop_{cuts}"));
            assert_eq!(postgres.databases().len() + postgres.roles().len(), 2);
            wire.cut_at(at, when);
            workspace.run(&["destroy", "--yes", "--allow-data-loss"]);
            let deleted = !wire.has_failed();
            workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
            assert!(postgres.databases().is_empty() && postgres.roles().is_empty());
            if made && changed && deleted {
                break;
            }
        }
    }
    eprintln!("cut {cuts} times");
}
