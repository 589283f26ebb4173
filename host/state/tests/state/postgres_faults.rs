//! Faults that the store in PostgreSQL survives, on a real server (SPEC §10): lost connections, crashes
//! and failovers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use purlin_state::{Change, Error, PostgresOptions, PostgresStore, Staleness, Store as _};
use purlin_systems::cut::{Disturbance, Wire};
use purlin_systems::interrupt::When;

use crate::common::scene::{Scene, deploy};
use crate::common::*;

#[test]
fn lost_connections_lose_no_commit() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    let (writer, done) = (lock.writer(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                scene.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE application_name = 'purlin' AND pid <> pg_backend_pid()",
                );
            }
        });
        for number in 0..60 {
            let begun = Instant::now();
            scene.run(writer.commit(vec![put(record(number))])).expect("commits");
            if begun.elapsed() < Duration::from_millis(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let expected: Vec<_> = (0..60).map(record).collect();
    assert_eq!(plain(&scene.run(store.load(&environment())).expect("loads").records), expected);
    scene.run(lock.release()).expect("releases");
    assert_eq!(plain(&scene.run(store.load(&environment())).expect("loads").records), expected);
}

/// A database that was restored, or failed over to a copy that may lack commits, is out of date until all
/// resources have been read.
#[test]
fn records_from_another_server_may_be_out_of_date() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    scene.run(lock.release()).expect("releases");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, None);
    let server = scene.sql("SELECT server FROM purlin.commits");
    let (identity, started) = server.split_once('@').expect("an identity and a start");
    assert!(identity.contains('/') && identity.len() > 20, "{server}");
    // The row as this server, started earlier, would have left it, and as another server would have.
    let taken_by = |server: &str| {
        scene.sql(&format!("UPDATE purlin.commits SET server = '{server}', transaction = txid_current()"));
    };
    taken_by(&format!("{identity}@1{started}"));
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, Some(Staleness::Restarted));
    let lock = scene.lock(&store);
    scene.run(lock.release()).expect("releases");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, Some(Staleness::Restarted));
    taken_by(&format!("7{server}"));
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, Some(Staleness::Restored));
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(2))])).expect("commits");
    scene.run(lock.release()).expect("releases");
    // It stays out of date, although this server took the last commit.
    assert_eq!(scene.sql("SELECT server FROM purlin.commits"), server);
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, Some(Staleness::Restored));
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![Change::SetStaleness(None)])).expect("commits");
    scene.run(lock.release()).expect("releases");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, None);
}

/// A host that made a commit notices a database without it, whatever the rows show. It takes no other state, and
/// no work of others, for one.
#[test]
fn a_host_misses_its_commits() {
    let scene = scene!();
    let memory = tempfile::tempdir().expect("a folder");
    let host = |name: &str| {
        let memory = Some(memory.path().join(name));
        scene.run(PostgresStore::open(PostgresOptions { memory, ..scene.options() })).expect("opens")
    };
    let commit = |store: &PostgresStore, number| {
        let lock = scene.lock(store);
        scene.run(lock.writer().commit(vec![put(record(number))])).expect("commits");
        scene.run(lock.release()).expect("releases");
    };
    let staleness = |store: &PostgresStore| scene.run(store.load(&environment())).expect("loads").staleness;
    let (ada, bob, eve) = (host("ada"), host("bob"), scene.open());
    commit(&ada, 1);
    commit(&bob, 2);
    assert_eq!((staleness(&ada), staleness(&bob)), (None, None));
    // As the files of an earlier moment would be.
    let tables = ["environments", "commits", "entries"];
    let kept = tables.map(|table| format!("CREATE TABLE kept.{table} AS TABLE purlin.{table};"));
    scene.sql(&format!("CREATE SCHEMA kept; {}", kept.concat()));
    let restore = || {
        let rows = tables.map(|table| {
            format!("DELETE FROM purlin.{table}; INSERT INTO purlin.{table} TABLE kept.{table};")
        });
        scene.sql(&format!(
            "BEGIN; {} UPDATE purlin.commits SET transaction = txid_current(); COMMIT",
            rows.concat()
        ));
    };
    commit(&ada, 3);
    commit(&ada, 4);
    restore();
    assert_eq!((staleness(&ada), staleness(&bob), staleness(&eve)), (Some(Staleness::Restored), None, None));
    // It is recorded for everybody.
    commit(&ada, 5);
    assert_eq!((staleness(&bob), staleness(&eve)), (Some(Staleness::Restored), Some(Staleness::Restored)));
    // An environment that is gone as a whole, and the same one in another state.
    commit(&ada, 12);
    scene.sql("TRUNCATE purlin.environments, purlin.commits, purlin.entries");
    assert_eq!((staleness(&ada), staleness(&eve)), (Some(Staleness::Restored), None));
    let mut options = PostgresOptions { memory: Some(memory.path().join("ada")), ..scene.options() };
    options.address.schema = "elsewhere".into();
    assert!(scene.run(PostgresStore::prepare(&options)).expect("prepared"));
    let elsewhere = scene.run(PostgresStore::open(options)).expect("opens");
    assert_eq!(staleness(&elsewhere), None);
    commit(&elsewhere, 1);
    assert_eq!(staleness(&elsewhere), None);
}

#[test]
fn a_database_that_forgot_commits_stops_its_holder() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    for number in 0..3 {
        scene.run(lock.writer().commit(vec![put(record(number))])).expect("commits");
    }
    scene.sql("UPDATE purlin.environments SET seq = 1");
    let error = scene.run(lock.writer().commit(vec![put(record(3))])).expect_err("noticed");
    assert!(error.to_string().contains("the database lost commits"), "{error}");
    assert!(lock.is_lost());
}

/// The connection to the database fails once, at each message of a deployment: it is cut before the server
/// gets the message or before the answer arrives; the message is late, so that the server gets it after the
/// statement was repeated, or after the deployment; it is duplicated or delayed. The deployment continues,
/// the records are the same as without the fault, and no lease remains.
#[test]
fn a_deployment_survives_a_fault_at_each_message() {
    let scene = scene!();
    let wire = Wire::to(scene.server.port);
    let options = || {
        let mut options = scene.options();
        options.address.url = format!("postgres://postgres@127.0.0.1:{}/postgres", wire.port());
        options
    };
    let late = |after| Disturbance::Late { after };
    for fault in [
        Disturbance::Cut(When::Before),
        Disturbance::Cut(When::After),
        late(2),
        late(5),
        late(usize::MAX),
        Disturbance::Doubled,
        Disturbance::Delayed(Duration::from_millis(100)),
    ] {
        let mut at = 1;
        loop {
            scene.sql("TRUNCATE purlin.entries, purlin.environments, purlin.commits, purlin.vacancies");
            wire.fail_at(at, fault);
            let store = scene
                .run(PostgresStore::open(options()))
                .unwrap_or_else(|error| panic!("{at} {fault:?}: {error}"));
            deploy(&scene, &store, 1).unwrap_or_else(|error| panic!("{at} {fault:?}: {error}"));
            let has_failed = wire.has_failed();
            wire.deliver();
            deploy(&scene, &store, 2).unwrap_or_else(|error| panic!("{at} {fault:?}: {error}"));
            scene.run(store.close()).expect("closed");
            let snapshot = scene.run(scene.open().load(&environment())).expect("loads");
            assert_eq!(plain(&snapshot.records), [secret_record(2)], "{at} {fault:?}");
            assert!(snapshot.pending.is_empty() && snapshot.staleness.is_none(), "{at} {fault:?}");
            assert_eq!(scene.run(scene.open().history(&environment())).expect("reads").len(), 1);
            for table in ["environments", "vacancies"] {
                let held = scene.sql(&format!("SELECT count(holder) FROM purlin.{table}"));
                assert_eq!(held, "0", "{table}: {at} {fault:?}");
            }
            if !has_failed {
                break;
            }
            at += 1;
        }
        assert!(at > 10, "there were only {at} messages");
    }
}

/// The server's processes are killed with -9 in the middle of the work, so that it recovers from its log.
#[test]
fn a_deployment_survives_crashes_of_the_server() {
    let scene = scene!(&["fsync=on"]);
    let store = scene.open();
    let lock = scene.lock(&store);
    let (writer, done) = (lock.writer(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                let pid = scene.server.try_ask(
                    "postgres",
                    "SELECT pid FROM pg_stat_activity WHERE application_name = 'purlin' LIMIT 1",
                );
                if let Ok(pid) = pid {
                    let _ = std::process::Command::new("kill").args(["-KILL", pid.trim()]).status();
                }
                std::thread::sleep(Duration::from_secs(1));
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut number = 0;
        while !done.load(Ordering::SeqCst) || number < 20 {
            scene.run(writer.commit(vec![put(record(number % 50))])).expect("commits");
            number += 1;
        }
        scene.run(lock.release()).expect("releases");
        let count = scene.run(store.load(&environment())).expect("loads").records.len();
        assert_eq!(count, number.min(50));
    });
}

/// The primary is gone, and its standby, which lacks the last commits, replaces it: the holder of an
/// environment stops, and no other host uses the remaining records before all resources have been read.
#[test]
fn a_failover_that_lost_commits_is_noticed() {
    let scene = scene!(&["fsync=on"]);
    let Some(standby) = scene.server.standby() else { return };
    let mut options = scene.with_lease(Duration::from_mins(10));
    options.address.url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        scene.server.port, standby.port
    );
    let store = scene.run(PostgresStore::open(options.clone())).expect("opens");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    let begun = Instant::now();
    while standby.ask("SELECT count(*) FROM purlin.environments WHERE seq = 1") != "1" {
        assert!(begun.elapsed() < Duration::from_secs(300), "the standby does not follow: {}", standby.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    // The standby is cut off, and the primary continues without it.
    standby.ask("ALTER SYSTEM SET primary_conninfo = ''");
    standby.ask("SELECT pg_reload_conf()");
    while standby.ask("SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.run(lock.writer().commit(vec![put(record(2))])).expect("commits");
    let Scene { server, runtime, key: _key } = scene;
    drop(server);
    assert_eq!(standby.ask("SELECT pg_promote(true, 300)"), "t", "{}", standby.log());
    let error = runtime.block_on(lock.writer().commit(vec![put(record(3))])).expect_err("noticed");
    assert!(error.to_string().contains("the database lost commits"), "{error}");
    assert!(lock.is_lost());
    drop(lock);
    // The lease in the standby ends, and the next holder does not trust the records.
    let next = runtime.block_on(PostgresStore::open(options)).expect("opens");
    let snapshot = runtime.block_on(next.load(&environment())).expect("loads");
    assert_eq!((plain(&snapshot.records), snapshot.staleness), (vec![record(1)], Some(Staleness::Restored)));
    let error = runtime.block_on(next.lock(&environment(), holder())).expect_err("held");
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    standby.ask("UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 second'");
    let lock = runtime.block_on(next.lock(&environment(), holder())).expect("free");
    runtime.block_on(lock.writer().commit(vec![put(record(4))])).expect("commits");
    runtime.block_on(lock.release()).expect("released");
    assert_eq!(
        runtime.block_on(next.load(&environment())).expect("loads").staleness,
        Some(Staleness::Restored)
    );
}
