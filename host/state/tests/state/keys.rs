//! A new key takes effect atomically: after a kill at any place, either the old or the new key
//! opens everything.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use futures::executor::block_on as run;
use purlin_state::{
    Change, EmbeddedStore, Environment, Error, Export, ImportOptions, KeyProvider, MemoryStore, OpenOptions,
    Probe, Snapshot, Store, decode_changes, encode_changes,
};

use crate::common::*;

const FOLDER: &str = "PURLIN_STATE_TEST_ROTATE";
const PLACE: &str = "PURLIN_STATE_TEST_PLACE";

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn fill<S: Store + ?Sized>(store: &Working<S>) -> Snapshot {
    let changes = (0..20).map(|n| put(if n % 2 == 0 { record(n) } else { secret_record(n) }));
    let changes = changes.chain([intend(secret_record(30)), put(long())]).collect();
    run(store.commit(changes)).expect("commits");
    // Two environments, so that a rotation must seal more than one.
    run(store.commit_in(&prod(), vec![Change::SetClosed(Some(holder()))])).expect("commits");
    store.release().expect("released");
    run(store.load(&environment())).expect("loads")
}

fn prod() -> Environment {
    Environment { env: "prod".into(), ..environment() }
}

fn long() -> purlin_state::Record {
    let mut record = secret_record(31);
    record.state.cookie = b"hidden-cookie".repeat(3000).into();
    record
}

fn probed(folder: &Path, probe: Probe) -> OpenOptions {
    OpenOptions { probe: Some(probe), ..options(folder) }
}

#[test]
fn a_new_key_opens_everything_and_the_old_one_nothing() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    let expected = fill(&store);
    let blob = run(store.seal(b"a plan")).expect("seals");
    assert_eq!(run(store.unseal(&blob)).expect("opens").as_slice(), b"a plan");
    let old = fs::read_to_string(folder.path().join("key")).expect("a key");
    let other = open(folder.path()).expect("opens");
    assert_eq!(run(other.load(&environment())).expect("loads"), expected);
    // Not while another process writes.
    let lock = run(other.lock(&prod(), holder())).expect("free");
    assert!(matches!(run(store.rotate_key(None)), Err(Error::Busy { .. })));
    run(lock.release()).expect("released");
    let recipient = run(store.rotate_key(None)).expect("rotates");
    assert_eq!(store.public_recipient(), Some(recipient.clone()));
    assert!(!old.contains(&recipient));
    assert!(fs::read_to_string(folder.path().join("key")).expect("a key").contains(&recipient));
    assert!(!folder.path().join("key.next").exists());
    assert!(run(store.unseal(&blob)).is_err(), "it was sealed with the old one");
    // Work continues at once with the new key, both here and in a process that knew the old one.
    assert_eq!(run(other.load(&environment())).expect("loads"), expected);
    run(other.commit(vec![put(secret_record(40))])).expect("commits");
    other.release().expect("released");
    run(store.commit(vec![put(secret_record(40))])).expect("commits");
    run(store.commit(vec![remove(40)])).expect("commits");
    assert_eq!(run(store.load(&environment())).expect("loads"), expected);
    run(store.close()).expect("closes");
    let store = open(folder.path()).expect("opens");
    assert_eq!(run(store.load(&environment())).expect("loads"), expected);
    drop(store);
    let with =
        |key| EmbeddedStore::open(folder.path(), OpenOptions { key, ..options(folder.path()) }).map(drop);
    assert!(matches!(with(KeyProvider::Value(old.into())), Err(Error::WrongKey { .. })));
    assert!(EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks").is_whole());
}

#[test]
fn given_keys_are_rotated_to_given_keys() {
    let (folder, other) = (temporary(), temporary());
    fill(&open(other.path()).expect("opens"));
    let old = fs::read_to_string(other.path().join("key")).expect("a key");
    let with = |key: &str| {
        open_with(
            folder.path(),
            OpenOptions { key: KeyProvider::Value(key.into()), ..options(folder.path()) },
        )
    };
    let store = with(&old).expect("opens");
    let expected = fill(&store);
    assert!(matches!(run(store.rotate_key(None)), Err(Error::KeyInvalid { .. })));
    assert!(matches!(run(store.rotate_key(Some("AGE-SECRET-KEY-1X".into()))), Err(Error::KeyInvalid { .. })));
    fs::remove_file(other.path().join("key")).expect("removed");
    let made = temporary();
    fill(&open(made.path()).expect("opens"));
    let new = fs::read_to_string(made.path().join("key")).expect("a key");
    run(store.rotate_key(Some(new.as_str().into()))).expect("rotates");
    drop(store);
    assert!(matches!(with(&old), Err(Error::WrongKey { .. })));
    assert_eq!(run(with(&new).expect("opens").load(&environment())).expect("loads"), expected);
    assert!(!folder.path().join("key").exists());
}

/// Not a test of its own: rotates the key, and is killed at a place.
#[test]
fn helper_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let wanted = std::env::var(PLACE).expect("a place");
    let probe = Probe::new(move |place| {
        if place == wanted {
            let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    });
    let store = open_with(Path::new(&folder), probed(Path::new(&folder), probe)).expect("opens");
    run(store.rotate_key(None)).expect("rotates");
    run(store.close()).expect("closes");
}

#[test]
fn a_rotation_killed_at_any_place_leaves_one_key_that_opens_everything() {
    let program = std::env::current_exe().expect("this program");
    // Collects the places.
    let folder = temporary();
    fill(&open(folder.path()).expect("opens"));
    let places = Arc::new(Mutex::new(Vec::new()));
    let probe = Probe::new({
        let places = places.clone();
        move |place| places.lock().expect("no panic").push(place)
    });
    let store = open_with(folder.path(), probed(folder.path(), probe)).expect("opens");
    run(store.rotate_key(None)).expect("rotates");
    run(store.close()).expect("closes");
    let mut places = places.lock().expect("no panic").clone();
    places.sort_unstable();
    places.dedup();
    assert!(
        places.len() >= 14 && places.contains(&"rotation: before the new key takes its place"),
        "{places:?}"
    );
    let (mut old, mut new) = (0, 0);
    for place in places {
        let folder = temporary();
        let expected = fill(&open(folder.path()).expect("opens"));
        let key = fs::read_to_string(folder.path().join("key")).expect("a key");
        let status = Command::new(&program)
            .args(["--exact", "keys::helper_process", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .env(PLACE, place)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("runs");
        assert!(!status.success(), "it was not killed at `{place}`");
        let store = open(folder.path()).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(run(store.load(&environment())).expect("loads"), expected, "{place}");
        assert_eq!(run(store.load(&prod())).expect("loads").closed_by, Some(holder()), "{place}");
        // The next writer completes the rotation.
        run(store.commit(vec![put(secret_record(50))])).expect("commits");
        assert!(!folder.path().join("key.next").exists(), "{place}");
        assert_eq!(run(store.load(&prod())).expect("loads").closed_by, Some(holder()), "{place}");
        let now = fs::read_to_string(folder.path().join("key")).expect("a key");
        *(if now == key { &mut old } else { &mut new }) += 1;
        run(store.close()).expect("closes");
        assert!(
            EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks").is_whole(),
            "{place}"
        );
    }
    assert!(old >= 3 && new >= 3, "{old} with the old key, {new} with the new one");
}

#[test]
fn changes_in_a_plan_are_sealed_as_a_whole() {
    let changes = vec![put(secret_record(1)), intend(secret_record(2)), Change::Settle(record(3).id())];
    let bytes = encode_changes(&changes).expect("writes");
    let folder = temporary();
    for store in [&MemoryStore::new() as &dyn Store, &*open(folder.path()).expect("opens")] {
        let sealed = run(store.seal(&bytes)).expect("seals");
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_eq!(decode_changes(&run(store.unseal(&sealed)).expect("opens")).expect("reads"), changes);
        let mut wrong = sealed.clone();
        *wrong.last_mut().expect("not empty") ^= 1;
        assert!(run(store.unseal(&wrong)).is_err());
    }
    // The key that sealed it is kept, although nothing was recorded.
    let folder = temporary();
    let sealed = run(open(folder.path()).expect("opens").seal(b"a plan")).expect("seals");
    assert_eq!(
        run(open(folder.path()).expect("opens").unseal(&sealed)).expect("opens").as_slice(),
        b"a plan"
    );
}

/// Writes an environment to a file.
fn write(store: &dyn Store, file: &Path, recipient: Option<&str>) -> Result<usize, Error> {
    let export = run(store.export(&environment(), recipient))?;
    let records = export.records();
    export.write(file).map(|()| records)
}

/// Imports such a file.
fn read(store: &dyn Store, file: &Path, replace: bool) -> Result<(), Error> {
    run(store.import(Export::read(file)?, holder(), ImportOptions { replace, is_old: true }, Vec::new()))
}

#[test]
fn an_environment_moves_in_a_file() {
    let (from, to) = (temporary(), temporary());
    let store = open(from.path()).expect("opens");
    let mut expected = fill(&store);
    let file = from.path().join("dev.purlin");
    let ours = run(open(to.path()).expect("opens").seal(b"")).map(|_| ());
    ours.expect("a key is made");
    let recipient = open(to.path()).expect("opens").public_recipient().expect("a key");
    // For the other key.
    let count = write(&*store, &file, Some(&recipient)).expect("writes");
    assert_eq!(count, expected.records.len());
    let bytes = fs::read(&file).expect("a file");
    assert!(!bytes.windows(6).any(|part| part == b"hidden"));
    assert!(write(&*store, &file, None).is_err(), "the file is there already");
    assert!(matches!(read(&*store, &file, true), Err(Error::WrongKey { .. })));
    let other = open(to.path()).expect("opens");
    assert_eq!(Export::read(&file).expect("reads").environment(), &environment());
    read(&*other, &file, false).expect("records");
    expected.staleness = Some(purlin_state::Staleness::Imported);
    assert_eq!(run(other.load(&environment())).expect("loads"), expected);
    let again = read(&*other, &file, false).expect_err("it is there");
    assert_eq!(again.to_string(), "the environment dev of acme/shop already has 21 recorded resources");
    run(other.commit(vec![remove(1), put(secret_record(60))])).expect("commits");
    assert!(matches!(read(&*other, &file, true), Err(Error::Locked { .. })));
    other.release().expect("released");
    read(&*other, &file, true).expect("records");
    assert_eq!(run(other.load(&environment())).expect("loads"), expected);
    assert!(EmbeddedStore::verify(to.path(), &options(to.path())).expect("looks").is_whole());
    // For the store's own key, after everything except the key was lost.
    let file = from.path().join("backup.purlin");
    write(&*store, &file, None).expect("writes");
    run(store.close()).expect("closes");
    fs::remove_dir_all(from.path().join("environments")).expect("removed");
    fs::remove_file(from.path().join("data-key")).expect("removed");
    let store = open(from.path()).expect("opens");
    read(&*store, &file, false).expect("records");
    assert_eq!(run(store.load(&environment())).expect("loads"), expected);
    let bytes = fs::read(&file).expect("a file");
    for (size, damage) in [(10, "cut"), (bytes.len() - 1, "cut"), (bytes.len(), "flipped")] {
        let mut wrong = bytes[..size].to_vec();
        if damage == "flipped" {
            wrong[size / 2] ^= 1;
        }
        fs::write(&file, wrong).expect("written");
        let error = read(&*store, &file, true).expect_err("not whole");
        assert!(error.to_string().contains("the file is incomplete"), "{error}");
    }
    assert_eq!(run(store.load(&environment())).expect("loads"), expected);
}
