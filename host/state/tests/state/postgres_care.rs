//! Manual operations on the store in PostgreSQL, on a real server (SPEC §10): move environments, rotate keys,
//! repair.

use std::sync::Arc;
use std::time::Duration;

use purlin_model::ResourceStatus;
use purlin_state::{
    Credentials, Environment, Error, Export, ImportOptions, KeyProvider, PostgresOptions, PostgresStore,
    Staleness, Store,
};

use crate::common::scene::{LONG, all, deployed, fill, runtime};
use crate::common::*;

#[test]
fn changes_by_others_are_noticed() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let there = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.writer().commit((0..5).map(|n| put(secret_record(n))).collect())).expect("commits");
    scene.run(lock.release()).expect("releases");
    scene.run(there.release()).expect("releases");
    scene.sql("CREATE TABLE purlin.backup AS TABLE purlin.entries");
    let restore = || {
        scene.sql("DELETE FROM purlin.entries; INSERT INTO purlin.entries TABLE purlin.backup");
        scene.run(store.load(&environment())).expect("whole again");
    };
    let one = "(SELECT key FROM purlin.entries ORDER BY key LIMIT 1)";
    let other = "(SELECT key FROM purlin.entries ORDER BY key DESC LIMIT 1)";
    for change in [
        format!("DELETE FROM purlin.entries WHERE key = {one}"),
        "DELETE FROM purlin.entries".to_owned(),
        format!("UPDATE purlin.entries SET value = set_byte(value, 40, 1 + get_byte(value, 40) % 255) WHERE key = {one}"),
        format!("UPDATE purlin.entries SET value = (SELECT value FROM purlin.entries WHERE key = {other}) WHERE key = {one}"),
        "UPDATE purlin.environments SET seq = seq + 1".to_owned(),
        "UPDATE purlin.environments SET head = NULL".to_owned(),
        "UPDATE purlin.environments e SET head = (SELECT head FROM purlin.environments f WHERE f.env = 'prod') WHERE e.env = 'dev'".to_owned(),
    ] {
        let before = scene.sql("SELECT seq, encode(head, 'hex') FROM purlin.environments WHERE env = 'dev'");
        let (seq, head) = before.split_once('|').expect("two columns");
        scene.sql(&change);
        match scene.run(store.load(&environment())) {
            Err(Error::Damaged { .. }) => {}
            other => panic!("{change}: {other:?}"),
        }
        let error = scene.run(store.lock(&environment(), holder())).expect_err("not worked from");
        assert!(matches!(error, Error::Damaged { .. }), "{change}: {error}");
        scene.sql(&format!(
            "UPDATE purlin.environments SET seq = {seq}, head = decode('{head}', 'hex') WHERE env = 'dev'"
        ));
        restore();
    }
}

#[test]
fn an_environment_moves_between_stores_and_files() {
    let scene = scene!();
    let database = scene.open();
    fill(&scene, &database);
    let expected = all(&scene, &database);
    // To a folder, through a file.
    let folder = tempfile::tempdir().expect("a folder");
    let embedded = open(folder.path()).expect("opens");
    scene.run(embedded.seal(b"")).expect("a key is made");
    let file = folder.path().join("dev.purlin");
    let recipient = embedded.public_recipient();
    scene
        .run(database.export(&environment(), recipient.as_deref()))
        .expect("exports")
        .write(&file)
        .expect("written");
    let bytes = std::fs::read(&file).expect("a file");
    assert!(!bytes.windows(6).any(|part| part == b"hidden"));
    let export = || Export::read(&file).expect("reads");
    let options = ImportOptions::default();
    let error =
        scene.run(database.import(export(), holder(), options, Vec::new())).expect_err("for another key");
    assert!(matches!(error, Error::WrongKey { .. }), "{error}");
    scene.run(embedded.import(export(), holder(), options, Vec::new())).expect("imports");
    assert_eq!(all(&scene, &*embedded), expected);
    // And back, replacing the existing records.
    let lock = scene.lock(&database);
    scene.run(lock.writer().commit(vec![remove(3), put(record(50)), deployed(3)])).expect("commits");
    let export = || {
        scene.run(embedded.export(&environment(), database.public_recipient().as_deref())).expect("exports")
    };
    let error = scene.run(database.import(export(), holder(), options, Vec::new())).expect_err("locked");
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    scene.run(lock.release()).expect("released");
    let error = scene.run(database.import(export(), holder(), options, Vec::new())).expect_err("it is there");
    assert!(matches!(error, Error::Exists { records: 20, .. }), "{error}");
    let options = ImportOptions { replace: true, is_old: true };
    scene.run(database.import(export(), holder(), options, Vec::new())).expect("imports");
    assert_eq!(all(&scene, &database), expected);
    assert_eq!(scene.run(database.load(&environment())).expect("loads").staleness, Some(Staleness::Imported));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.entries WHERE get_byte(key, 0) = ascii('d')"), "2");
    let known = scene.run(database.environments(None, 10)).expect("lists");
    assert_eq!(known[0].unready, [(ResourceStatus::Interrupted, 1)].into());
}

#[test]
fn a_new_key_opens_everything_and_the_old_one_nothing() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let lock = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.release()).expect("released");
    let expected = all(&scene, &store);
    let old = std::fs::read_to_string(scene.key.path().join("key")).expect("a key");
    let blob = scene.run(store.seal(b"a plan")).expect("seals");
    // Somebody deploys meanwhile, with the old data key, and the rotation waits until the deployment ends.
    let other = scene.open();
    let held = scene.lock(&other);
    let name = std::thread::scope(|scope| {
        let rotation = scope.spawn(|| scene.run(store.rotate_key(None, holder())));
        while scene.sql("SELECT count(*) FROM purlin.keys") != "2" {
            std::thread::sleep(Duration::from_millis(10));
        }
        scene.run(held.writer().commit(vec![put(secret_record(40))])).expect("commits");
        // A new lock reads the new key.
        let lock = scene.run(other.lock(&prod, holder())).expect("free");
        scene.run(lock.release()).expect("released");
        scene.run(held.release()).expect("released");
        rotation.join().expect("no panic").expect("rotates")
    });
    assert_eq!(store.public_recipient(), Some(name.clone()));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "1");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![remove(40)])).expect("commits");
    scene.run(lock.release()).expect("released");
    for store in [&store, &other, &scene.open()] {
        assert_eq!(all(&scene, store), expected);
        assert_eq!(scene.run(store.environments(None, 10)).expect("lists").len(), 1);
        // A store that was opened with the old data key may still have that key.
        assert!(std::ptr::eq(store, &other) || scene.run(store.unseal(&blob)).is_err());
        assert!(scene.run(store.verify()).expect("looks").is_whole());
    }
    // The old key opens nothing.
    let old = PostgresOptions { key: KeyProvider::Value(old.into()), ..scene.options() };
    let error = scene.run(PostgresStore::open(old)).err().expect("the old key");
    assert!(matches!(&error, Error::WrongKey { expected, .. } if *expected == name), "{error}");
    // A rotation that was cut off after the first step continues.
    let before = scene.sql("SELECT encode(sealed, 'hex') FROM purlin.keys");
    scene.run(store.rotate_key(None, holder())).expect("rotates");
    assert_ne!(scene.sql("SELECT encode(sealed, 'hex') FROM purlin.keys"), before);
    assert_eq!(all(&scene, &scene.open()), expected);
}

/// A key that is not in a file cannot be replaced there, but the state is encrypted with the new key.
#[test]
fn keys_that_are_given_are_rotated_to_keys_that_are_given() {
    let scene = scene!();
    let folder = tempfile::tempdir().expect("a folder");
    let new_key = |name: &str| {
        KeyProvider::create(&folder.path().join(name)).expect("made");
        std::fs::read_to_string(folder.path().join(name)).expect("a key")
    };
    let (old, new) = (new_key("old"), new_key("new"));
    let given = |key: &str| PostgresOptions { key: KeyProvider::Value(key.into()), ..scene.options() };
    let store = scene.run(PostgresStore::open(given(&old))).expect("opens");
    fill(&scene, &store);
    let expected = all(&scene, &store);
    assert!(scene.run(store.rotate_key(None, holder())).is_err(), "a new key has to be given");
    let name = scene.run(store.rotate_key(Some(new.clone().into()), holder())).expect("rotates");
    assert_eq!(store.public_recipient(), Some(name));
    let store = scene.run(PostgresStore::open(given(&new))).expect("opens");
    assert_eq!(all(&scene, &store), expected);
    assert!(matches!(scene.run(PostgresStore::open(given(&old))), Err(Error::WrongKey { .. })));
}

#[test]
fn changed_rows_are_damage() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    scene.sql("CREATE TABLE purlin.backup AS TABLE purlin.entries");
    // One deployment is stored in the place of another.
    let of = "get_byte(key, 0) = ascii('h')";
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = (SELECT value FROM purlin.entries WHERE {of} ORDER BY key DESC LIMIT 1) WHERE {of}"
    ));
    let error = scene.run(store.history(&environment())).expect_err("another one");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    scene.sql("DELETE FROM purlin.entries; INSERT INTO purlin.entries TABLE purlin.backup");
    // Without its data key nothing can be opened, and creating a new key would make that permanent.
    scene.sql("CREATE TABLE purlin.kept AS TABLE purlin.keys; DELETE FROM purlin.keys");
    let error = scene.run(PostgresStore::open(scene.options())).err().expect("no key").to_string();
    assert!(error.contains("its data key is missing"), "{error}");
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "0");
    scene.sql("INSERT INTO purlin.keys TABLE purlin.kept");
    assert_eq!(scene.run(scene.open().load(&environment())).expect("loads").records.len(), 20);
    // A dropped table is not created again, empty.
    scene.sql("DROP TABLE purlin.stale");
    for error in [
        scene.run(PostgresStore::open(scene.options())).err().expect("no table"),
        scene.run(PostgresStore::prepare(&scene.options())).expect_err("no table"),
    ] {
        assert!(error.to_string().contains("the table `stale` is missing"), "{error}");
    }
}

/// A holder that cannot read an environment does not keep its lease.
#[test]
fn a_lease_ends_also_where_nothing_can_be_read() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let lock = scene.lock(&store);
    scene.sql("UPDATE purlin.entries SET value = 'nonsense' WHERE get_byte(key, 0) = ascii('h')");
    assert!(scene.run(lock.release()).is_err());
    assert_eq!(scene.sql("SELECT count(holder) FROM purlin.environments"), "0");
}

/// A rotation that is killed at any of its statements leaves a state that one key opens, and the next
/// rotation completes it.
#[test]
fn a_rotation_that_is_cut_off_goes_on() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let expected = all(&scene, &store);
    let mut cut = 0;
    for delay in (0..400).step_by(25) {
        let doomed = runtime();
        let store = doomed.block_on(PostgresStore::open(scene.options())).expect("opens");
        let rotated = doomed.block_on(async {
            tokio::time::timeout(Duration::from_millis(delay), store.rotate_key(None, holder())).await
        });
        cut += usize::from(rotated.is_err());
        doomed.shutdown_background();
        // All of its statements have ended once its connection has.
        scene.sql(
            "SELECT count(pg_terminate_backend(pid, 120000)) FROM pg_stat_activity
             WHERE application_name = 'purlin'",
        );
        // The host is gone, and so is its lease.
        scene.sql("UPDATE purlin.environments SET lease_until = NULL, token = NULL");
        assert_eq!(all(&scene, &scene.open()), expected);
    }
    assert!(cut > 0, "every rotation was faster");
    scene.run(scene.open().rotate_key(None, holder())).expect("rotates");
    let store = scene.open();
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "1");
    assert_eq!(all(&scene, &store), expected);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
}

#[test]
fn a_repair_saves_what_can_be_read() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let lock = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.release()).expect("released");
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert!(report.is_whole() && report.records == 20, "{report:?}");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").staleness, None, "nothing was touched");
    let records = "(SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('r') ORDER BY key";
    // One entry is damaged, and one is gone.
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = set_byte(value, 60, 1 + get_byte(value, 60) % 255) WHERE key = {records} LIMIT 1)"
    ));
    scene.sql(&format!("DELETE FROM purlin.entries WHERE key = {records} DESC LIMIT 1)"));
    let report = scene.run(store.verify()).expect("looks");
    assert_eq!((report.findings.len(), report.lost.len()), (2, 0), "{report:?}");
    assert!(scene.run(store.load(&environment())).is_err());
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert_eq!((report.findings.len(), report.lost.len(), report.records), (2, 1, 18), "{report:?}");
    let snapshot = scene.run(store.load(&environment())).expect("loads");
    assert_eq!((snapshot.records.len(), snapshot.staleness), (18, Some(Staleness::Lost)));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.stale"), "1");
    assert_eq!(scene.run(store.history(&environment())).expect("reads").len(), 2);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    // Damage to a summary does not matter.
    scene.sql("UPDATE purlin.environments SET summary = 'nonsense', listing = 'nonsense'");
    assert_eq!(scene.run(store.environments(None, 10)).expect("lists")[0].records, 18);
    assert!(scene.run(store.listings()).expect("lists").is_empty());
    // The row of the environment is gone, but its entries identify it.
    scene.sql("DELETE FROM purlin.environments WHERE env = 'dev'");
    let report = scene.run(store.verify()).expect("looks");
    assert!(report.findings[0].contains("dev of acme/shop is missing"), "{report:?}");
    scene.run(store.repair(holder())).expect("repairs");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), 18);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    // An environment with a holder is not repaired.
    let lock = scene.lock(&store);
    scene.sql("DELETE FROM purlin.entries");
    let other = scene.open();
    let error = scene.run(other.repair(holder())).expect_err("held");
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(lock);
}

#[test]
fn an_entry_of_a_newer_version_is_neither_damaged_nor_removed() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let records = "(SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('r') ORDER BY key";
    let value =
        scene.sql(&format!("SELECT encode(value, 'hex') FROM purlin.entries WHERE key = {records} LIMIT 1)"));
    // The version, the checksum, and the remainder.
    let sealed = value.split_at(10).1;
    let bytes: Vec<u8> = (0..sealed.len())
        .step_by(2)
        .filter_map(|at| u8::from_str_radix(&sealed[at..at + 2], 16).ok())
        .collect();
    let sum = crc32fast::hash(&[&[2], &bytes[..]].concat()).swap_bytes();
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = '\\x02{sum:08x}{sealed}' WHERE key = {records} LIMIT 1)"
    ));
    // Another entry is damaged.
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = set_byte(value, 60, 1 + get_byte(value, 60) % 255) WHERE key = {records} DESC LIMIT 1)"
    ));
    let all = "SELECT md5(string_agg(value, '' ORDER BY place, key)) FROM purlin.entries";
    let before = scene.sql(all);
    scene.run(store.load(&environment())).expect_err("the tally differs");
    for error in
        [scene.run(store.verify()).expect_err("newer"), scene.run(store.repair(holder())).expect_err("newer")]
    {
        assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }), "{error}");
    }
    assert_eq!((scene.sql(all), scene.sql("SELECT count(*) FROM purlin.stale")), (before, "0".into()));
}

#[test]
fn missing_documents_are_noticed() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    scene.sql(
        "DELETE FROM purlin.entries WHERE key =
         (SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('d') ORDER BY key LIMIT 1)",
    );
    let report = scene.run(store.verify()).expect("looks");
    let [finding] = &report.findings[..] else { panic!("{report:?}") };
    assert!(finding.starts_with("the documents of deployment "), "{finding}");
    assert!(finding.ends_with(" of dev of acme/shop are missing"), "{finding}");
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert_eq!((report.findings.len(), report.lost.len(), report.records), (1, 1, 20), "{report:?}");
    // The deployment stays in the history, without references to missing data.
    let history = scene.run(store.history(&environment())).expect("reads");
    let digests: Vec<_> = history.iter().filter_map(|deployment| deployment.documents).collect();
    assert_eq!((history.len(), digests.len()), (2, 1));
    assert!(scene.run(store.documents(&environment(), &digests[0])).expect("reads").is_some());
    assert!(scene.run(store.verify()).expect("looks").is_whole());
}

#[test]
fn inspecting_a_database_reports_rights_and_clocks() {
    let scene = scene!();
    let store = scene.open();
    let found = scene.run(store.inspect()).expect("looks");
    assert!(found.server.starts_with(|first: char| first.is_ascii_digit()), "{found:?}");
    assert!(found.is_identified && !found.is_standby && found.missing_rights.is_empty(), "{found:?}");
    let clock = scene.run(store.clock()).expect("reads");
    assert!(clock > 1_700_000_000_000, "{clock}");
    scene.sql("CREATE USER guest PASSWORD 'guest'; GRANT USAGE ON SCHEMA purlin TO guest");
    scene.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA purlin TO guest");
    scene.sql("REVOKE UPDATE, DELETE ON purlin.entries FROM guest");
    let mut options = scene.options();
    options.address.url = options.address.url.replace("postgres@", "guest@");
    options.address.credentials = Arc::new(Credentials::password("guest"));
    let found = scene.run(async { PostgresStore::open(options).await.expect("opens").inspect().await });
    assert_eq!(found.expect("looks").missing_rights, ["DELETE on entries", "UPDATE on entries"]);
    // The holder of an environment, and the remaining time of its lease.
    let lock = scene.lock(&store);
    let held = scene.run(scene.open().holder(&environment())).expect("reads").expect("somebody");
    assert_eq!(held.holder, holder());
    assert!(held.lease.is_some_and(|lease| lease <= LONG), "{held:?}");
    scene.run(lock.release()).expect("released");
    assert_eq!(scene.run(store.holder(&environment())).expect("reads"), None);
}
