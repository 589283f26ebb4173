//! What the stores promise (SPEC §10).
#![allow(missing_docs, clippy::expect_used, clippy::panic)]

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::*;
use purlin_model::{Urn, Value};
use purlin_state::{
    Change, Environment, Error, KeyProvider, MemoryStore, OpenOptions, RecordId, SledStore, Store,
};

fn run<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Both stores keep what they are given, one environment apart from the other.
fn keeps(store: &dyn Store) {
    run(async {
        let other = Environment { env: "prod".into(), ..environment() };
        let elsewhere =
            Urn::parse("urn:purlin:prod/acme::shop::web::dns.default::modules.web").expect("a URN");
        let mut stranger = record(0);
        stranger.urn = elsewhere.clone();
        store
            .commit(
                (0..40).rev().map(|n| put(if n % 2 == 0 { record(n) } else { secret_record(n) })).collect(),
            )
            .await
            .expect("commits");
        store.commit(vec![put(stranger)]).await.expect("commits");
        let expected: Vec<_> =
            (0..40).map(|n| if n % 2 == 0 { record(n) } else { secret_record(n) }).collect();
        assert_eq!(store.load(&environment()).await.expect("loads").records, expected);
        assert_eq!(store.environments().await.expect("lists"), [environment(), other.clone()]);
        assert_eq!(store.load(&other).await.expect("loads").records.len(), 1);

        // The last change of a URN wins, and removing what is not there is nothing.
        let mut changed = record(3);
        changed.protect = true;
        store.commit(vec![remove(3), put(changed.clone()), remove(4), remove(999)]).await.expect("commits");
        let records = store.load(&environment()).await.expect("loads").records;
        assert_eq!(records.len(), 39);
        assert!(records.contains(&changed));

        store.commit(vec![Change::Remove(RecordId::current(elsewhere))]).await.expect("commits");
        assert_eq!(store.environments().await.expect("lists"), [environment()]);
        assert_eq!(store.load(&other).await.expect("loads").records, []);

        let lock = store.lock(&environment(), holder()).await.expect("free");
        let error = store.lock(&environment(), holder()).await.expect_err("taken");
        assert_eq!(
            error.to_string(),
            format!(
                "the environment dev of acme/shop is locked by ada on build-7 (`purlin up`, process {}) since 2026-09-21T14:13:20Z; wait until it is done",
                std::process::id()
            )
        );
        let _other = store.lock(&other, holder()).await.expect("another environment is free");
        drop(lock);
        drop(store.lock(&environment(), holder()).await.expect("free again"));

        store.close().await.expect("closes");
        store.close().await.expect("closes again");
        assert!(matches!(store.commit(vec![put(record(1))]).await, Err(Error::Closed)));
        assert!(matches!(store.load(&environment()).await, Err(Error::Closed)));
    });
}

#[test]
fn memory_keeps() {
    keeps(&MemoryStore::new());
}

#[test]
fn sled_keeps() {
    let folder = temporary();
    keeps(&open(&folder.path().join("state")).expect("opens"));
    let store = open(&folder.path().join("state")).expect("opens again");
    assert_eq!(run(store.load(&environment())).expect("loads").records.len(), 39);
}

#[test]
fn one_process_at_a_time_and_the_other_is_told_who() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    let Err(error) = open(folder.path()) else { panic!("opened twice") };
    let Error::Busy { holder: Some(held), .. } = &error else { panic!("{error}") };
    assert_eq!(**held, holder());
    assert!(error.to_string().contains("ada on build-7"), "{error}");
    let path = folder.path().to_owned();
    let waiting = std::thread::spawn(move || {
        SledStore::open(&path, OpenOptions { wait: Duration::from_secs(10), ..options(&path) })
    });
    std::thread::sleep(Duration::from_millis(50));
    drop(store);
    assert!(waiting.join().expect("no panic").is_ok());
    assert!(!folder.path().join("holder.json").exists());
}

#[test]
fn nothing_secret_is_on_disk_but_in_the_key() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1))])).expect("commits");
    assert_eq!(store.generated_key(), None);
    assert!(!folder.path().join("key").exists());
    let mut long = secret_record(3);
    long.state.cookie = b"hidden-cookie".repeat(2000);
    run(store.commit(vec![put(secret_record(2)), put(long.clone())])).expect("commits");
    assert_eq!(store.generated_key(), Some(folder.path().join("key")));
    drop(store);
    let mut searched = 0;
    walk(folder.path(), &mut |path, bytes| {
        searched += bytes.len();
        assert!(!bytes.windows(6).any(|part| part == b"hidden"), "{}", path.display());
        if !path.ends_with("key") {
            assert!(
                !bytes.windows(15).any(|part| part.eq_ignore_ascii_case(b"AGE-SECRET-KEY-")),
                "{}",
                path.display()
            );
        }
        // What was recorded before there was a key is in clear, and nothing since.
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        if path.starts_with(folder.path().join("sled")) && path.ends_with("db") {
            assert!(holds("value-1") && holds("echo-1"), "the state had no key");
        }
        assert!(!holds("value-2") && !holds("echo-2") && !holds("echo-3"), "{}", path.display());
    });
    assert!(searched > 10_000);
    let store = open(folder.path()).expect("opens");
    assert_eq!(store.generated_key(), None);
    assert_eq!(run(store.load(&environment())).expect("loads").records, [record(1), secret_record(2), long]);
}

fn walk(folder: &Path, look: &mut dyn FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, look) } else { look(&path, &fs::read(&path).expect("a file")) }
    }
}

#[cfg(unix)]
#[test]
fn others_cannot_look_in() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temporary();
    let state = folder.path().join("a/b");
    let store = open(&state).expect("opens");
    run(store.commit(vec![put(secret_record(2))])).expect("commits");
    // The index is there once the store is closed.
    drop(store);
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(&state.join("journal")), 0o700);
    assert_eq!(mode(&state.join("journal/00000001.log")), 0o600);
    assert_eq!(mode(&state.join("sled")), 0o700);
    assert_eq!(mode(&state.join("key")), 0o600);
    fs::set_permissions(state.join("key"), fs::Permissions::from_mode(0o644)).expect("changed");
    let Err(error) = open(&state) else { panic!("others can read the key") };
    assert!(error.to_string().contains("mode 0644") && error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn a_wrong_or_lost_key_is_refused_by_name() {
    let (folder, other) = (temporary(), temporary());
    for folder in [&folder, &other] {
        run(open(folder.path()).expect("opens").commit(vec![put(secret_record(1))])).expect("commits");
    }
    let with = |key| SledStore::open(folder.path(), OpenOptions { key, ..options(folder.path()) });
    let Err(error) = with(KeyProvider::File(other.path().join("key"))) else { panic!("wrong key") };
    let Error::WrongKey { expected, given, origin } = &error else { panic!("{error}") };
    assert!(origin.starts_with("the key file `"), "{origin}");
    assert!(expected.starts_with("age1") && given.starts_with("age1") && expected != given);
    let text = fs::read_to_string(folder.path().join("key")).expect("a key");
    assert!(text.contains(expected));
    let store = with(KeyProvider::Value(text.into())).expect("the right key, by value");
    assert_eq!(run(store.load(&environment())).expect("loads").records, [secret_record(1)]);
    drop(store);
    fs::remove_file(folder.path().join("key")).expect("removed");
    let Err(error) = open(folder.path()) else { panic!("no key") };
    assert!(matches!(&error, Error::KeyMissing { recipient, .. } if recipient == expected), "{error}");
    assert!(!folder.path().join("key").exists(), "no new key in place of a lost one");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let folder = temporary();
    run(open(folder.path()).expect("opens").commit(vec![put(record(1))])).expect("commits");
    fs::write(folder.path().join("format"), "5\n").expect("written");
    let Err(error) = open(folder.path()) else { panic!("newer") };
    assert!(matches!(error, Error::Newer { found: 5, supported: 4, .. }), "{error}");
    fs::write(folder.path().join("format"), "two").expect("written");
    assert!(matches!(open(folder.path()), Err(Error::Corrupt { .. })));
    // A journal says itself what it is; without one nobody knows.
    fs::remove_file(folder.path().join("format")).expect("removed");
    let store = open(folder.path()).expect("opens");
    assert_eq!(run(store.load(&environment())).expect("loads").records, [record(1)]);
    drop(store);
    assert_eq!(fs::read_to_string(folder.path().join("format")).expect("again"), "4\n");
    fs::remove_file(folder.path().join("format")).expect("removed");
    fs::rename(folder.path().join("journal"), folder.path().join("gone")).expect("moved");
    assert!(matches!(open(folder.path()), Err(Error::Corrupt { .. })));
    fs::write(folder.path().join("format"), "4\n").expect("written");
    let Err(error) = open(folder.path()) else { panic!("no journal") };
    assert!(
        error.to_string().contains("journal is missing") && error.to_string().contains("state repair"),
        "{error}"
    );
}

#[test]
fn what_a_kill_at_the_start_leaves_is_set_aside() {
    let folder = temporary();
    run(open(folder.path()).expect("opens").commit(vec![put(record(1))])).expect("commits");
    fs::write(folder.path().join("sled/snap.00000000000FFFFF.generating"), b"torn").expect("written");
    let store = open(folder.path()).expect("opens all the same");
    assert_eq!(run(store.load(&environment())).expect("loads").records, [record(1)]);
    run(store.commit(vec![put(record(2))])).expect("commits");
    run(store.close()).expect("closes");
    assert_eq!(store.repaired(), None);
    assert!(folder.path().join("stale/snap.00000000000FFFFF.generating").exists());
}

/// Entries, blobs and bytes of the database underneath, once the store has let go of it.
fn underneath(folder: &Path) -> (usize, usize) {
    let blobs = fs::read_dir(folder.join("sled/blobs")).expect("a folder").count();
    for _ in 0..1000 {
        if let Ok(db) = sled::Config::new().path(folder.join("sled")).flush_every_ms(None).open() {
            return (db.len(), blobs);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("sled does not let go");
}

#[test]
fn large_values_are_cut_and_leave_nothing_behind() {
    let folder = temporary();
    let large = |size: usize, seed: u64| {
        let mut record = record(7);
        let text: String =
            (0..size as u64).map(|n| char::from(b'a' + (n.wrapping_mul(seed) >> 7) as u8 % 26)).collect();
        record.state.outputs = Value::from(text.as_str());
        record
    };
    let store = open(folder.path()).expect("opens");
    run(async {
        store.commit((0..30).map(|n| put(record(n))).collect()).await.expect("commits");
        for (size, seed) in
            [(5 << 20, 31), (200_000, 37), (6 << 20, 41), (4000, 43), (4096, 47), (70_000, 53)]
        {
            let expected = large(size, seed);
            store.commit(vec![put(expected.clone())]).await.expect("commits");
            let records = store.load(&environment()).await.expect("loads").records;
            assert_eq!(records.len(), 30);
            assert!(records[7] == expected, "{size}");
        }
        store.commit(vec![put(large(5 << 20, 59))]).await.expect("commits");
    });
    drop(store);
    let (entries, blobs) = underneath(folder.path());
    assert_eq!(blobs, 0, "sled does not sync what it writes beside its log");
    assert!(entries > 1000);
    let store = open(folder.path()).expect("opens");
    assert!(run(store.load(&environment())).expect("loads").records[7] == large(5 << 20, 59));
    run(store.commit(vec![remove(7)])).expect("commits");
    assert_eq!(run(store.load(&environment())).expect("loads").records.len(), 29);
    drop(store);
    assert_eq!(underneath(folder.path()), (30, 0));
}

/// The worst that a leaf of sled can hold: full entries under long names, side by side.
#[test]
fn full_leaves_stay_in_the_log() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    let long = "x".repeat(400);
    for round in 0..3 {
        for n in 0..60 {
            let mut record = record(n);
            record.urn = Urn::parse(&format!("urn:purlin:dev/acme::shop::web::dns.default::{long}{n}"))
                .expect("a URN");
            record.dependencies.clear();
            record.state.outputs = Value::from("y".repeat(3000 + round).as_str());
            run(store.commit(vec![put(record)])).expect("commits");
        }
    }
    assert_eq!(run(store.load(&environment())).expect("loads").records.len(), 60);
    drop(store);
    assert_eq!(underneath(folder.path()).1, 0);
}

/// sled panics on files that it does not understand; the caller gets an error or its records.
#[test]
fn damaged_files_are_no_panic() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    for n in 0..200 {
        run(store.commit(vec![put(record(n))])).expect("commits");
    }
    drop(store);
    let whole = fs::read(folder.path().join("sled/db")).expect("a file");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut refused, mut opened) = (0, 0);
    for _ in 0..12 {
        let mut bytes = whole.clone();
        for _ in 0..=random(60) {
            let at = random(bytes.len().min(200_000));
            bytes[at] = random(256) as u8;
        }
        let copy = temporary();
        fs::create_dir_all(copy.path().join("sled/blobs")).expect("made");
        fs::write(copy.path().join("format"), "1\n").expect("written");
        fs::copy(folder.path().join("sled/conf"), copy.path().join("sled/conf")).expect("copied");
        fs::write(copy.path().join("sled/db"), bytes).expect("written");
        match open(copy.path()) {
            Ok(store) => {
                opened += 1;
                let _ = run(store.load(&environment()));
                let _ = run(store.commit(vec![put(record(1))]));
            }
            Err(_) => refused += 1,
        }
    }
    assert_eq!(refused + opened, 12);
}

/// A snapshot holds all of a commit or nothing of it, also while the next one goes in.
#[test]
fn nobody_reads_half_a_commit() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    let commit = |round: usize| {
        (0..50)
            .map(|n| {
                let mut record = record(n);
                record.created = round as u64;
                let size = if (n + round).is_multiple_of(10) { 30_000 + round } else { 5 };
                record.state.outputs = Value::from("w".repeat(size).as_str());
                put(record)
            })
            .collect::<Vec<_>>()
    };
    run(store.commit(commit(0))).expect("commits");
    std::thread::scope(|scope| {
        let writer =
            scope.spawn(|| (1..100).for_each(|round| run(store.commit(commit(round))).expect("commits")));
        while !writer.is_finished() {
            let records = run(store.load(&environment())).expect("loads").records;
            assert_eq!(records.len(), 50);
            assert!(records.iter().all(|record| record.created == records[0].created));
        }
    });
}
