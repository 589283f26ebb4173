//! The promises of the stores (SPEC §10).

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use purlin_model::{InstallationShare, InstallationUse, Offered, Urn, Value};
use purlin_state::{
    Change, Environment, Error, KeyProvider, Listing, MemoryStore, OpenOptions, Record, RecordId, Staleness,
    Status, Store, Vacancy,
};

use crate::common::keeps::keeps;
use crate::common::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn memory_keeps_what_is_committed() {
    keeps(&MemoryStore::new());
}

#[test]
fn a_folder_keeps_what_is_committed() {
    let folder = temporary();
    keeps(&*open(&folder.path().join("state")).expect("opens"));
    let store = open(&folder.path().join("state")).expect("opens again");
    assert_eq!(run(store.load(&environment())).expect("loads").records.len(), 39);
}

#[test]
fn only_one_process_writes_and_others_see_its_name() {
    let folder = temporary();
    let (store, other) = (open(folder.path()).expect("opens"), open(folder.path()).expect("opens"));
    run(store.commit(vec![put(record(1))])).expect("commits");
    let error = run(other.commit(vec![put(record(2))])).expect_err("taken");
    let Error::Locked { holder: Some(held), .. } = &error else { panic!("{error}") };
    assert_eq!(**held, holder());
    assert!(error.to_string().contains("ada on build-7"), "{error}");
    let shown = || run(other.environments(None, 9)).expect("lists").remove(0).holder;
    assert_eq!(shown(), Some(holder()));
    assert_eq!(run(other.holder(&environment())).expect("reads").expect("held").holder, holder());
    // A reader does not wait, and sees the last write.
    assert_eq!(plain(&run(other.load(&environment())).expect("loads").records), [record(1)]);
    run(store.commit(vec![put(record(2))])).expect("commits");
    assert_eq!(plain(&run(other.load(&environment())).expect("loads").records), [record(1), record(2)]);
    // Another environment is not locked.
    let prod = Environment { env: "prod".into(), ..environment() };
    drop(run(other.lock(&prod, holder())).expect("free"));
    let path = folder.path().to_owned();
    let waiting = std::thread::spawn(move || {
        let options = OpenOptions { wait: Duration::from_secs(300), ..options(&path) };
        let store = open_with(&path, options).expect("opens");
        run(store.commit(vec![put(record(3))]))
    });
    std::thread::sleep(Duration::from_millis(50));
    drop(store);
    waiting.join().expect("no panic").expect("its turn came");
    assert_eq!(run(other.holder(&environment())).expect("reads"), None);
    assert_eq!(run(other.load(&environment())).expect("loads").records.len(), 3);
    assert!(!place(folder.path(), &environment()).join("holder.json").exists());
}

/// If many threads reserve the same vacancy, only one at a time has it, whichever of them removes
/// the file meanwhile.
#[test]
fn a_vacancy_has_one_holder_at_a_time_and_leaves_no_trace() {
    let folder = temporary();
    let vacancies = folder.path().join("vacancies");
    let vacancy = Vacancy { namespace: "dev".into(), group: "".into(), bundle: None };
    let (inside, times) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = open(folder.path()).expect("opens");
                let mut taken = 0;
                while taken < 50 {
                    match run(store.reserve(&vacancy, holder())) {
                        Ok(reserved) => {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                            drop(reserved);
                            taken += 1;
                            times.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(Error::Reserved { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(times.into_inner(), 200);
    assert_eq!(fs::read_dir(&vacancies).expect("a folder").count(), 0);
    // A file that a killed process left reserves nothing.
    let store = open(folder.path()).expect("opens");
    let reserved = run(store.reserve(&vacancy, holder())).expect("free");
    let file = fs::read_dir(&vacancies).expect("a folder").next().expect("a file").expect("a file").path();
    drop(reserved);
    fs::write(&file, "{\"user\":\"a much longer name of somebody who is gone\"").expect("written");
    let reserved = run(store.reserve(&vacancy, holder())).expect("free");
    let Err(Error::Reserved { holder: Some(held), .. }) = run(store.reserve(&vacancy, holder())) else {
        panic!("it is taken, and says by whom");
    };
    assert_eq!(*held, holder());
    drop(reserved);
}

/// A writer whose lock was released sees later writes of others, but can write nothing.
#[test]
fn a_released_lock_hides_nothing() {
    let folder = temporary();
    let (store, other) = (open(folder.path()).expect("opens"), open(folder.path()).expect("opens"));
    run(store.commit(vec![put(record(1))])).expect("commits");
    let writer = run(store.writer(&environment())).expect("held");
    store.release().expect("released");
    run(other.commit(vec![put(record(2))])).expect("commits");
    assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), [record(1), record(2)]);
    assert!(matches!(run(writer.commit(vec![put(record(3))])), Err(Error::Lost { .. })));
    assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), [record(1), record(2)]);
}

#[test]
fn reading_leaves_no_trace() {
    let folder = temporary();
    let state = folder.path().join("state");
    let store = open(&state).expect("opens");
    assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), []);
    assert!(!state.exists(), "reading makes nothing");
    let lock = run(store.lock(&environment(), holder())).expect("free");
    assert_eq!(run(store.environments(None, 10)).expect("lists"), []);
    run(lock.release()).expect("released");
    assert_eq!(fs::read_dir(state.join("environments")).expect("a folder").count(), 0);
    assert_eq!(run(store.environments(None, 10)).expect("lists"), []);
}

#[test]
fn a_lock_whose_folder_is_gone_is_lost() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1))])).expect("commits");
    let writer = run(store.writer(&environment())).expect("held");
    fs::remove_dir_all(place(folder.path(), &environment())).expect("removed");
    let other = open(folder.path()).expect("opens");
    run(other.commit(vec![put(record(2))])).expect("commits");
    let error = run(writer.commit(vec![put(record(3))])).expect_err("lost");
    assert!(error.to_string().contains("is lost"), "{error}");
    drop(store);
    assert_eq!(plain(&run(other.load(&environment())).expect("loads").records), [record(2)]);
}

/// A copy of the files may be older than the real state.
#[test]
fn a_copy_is_noticed() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1)), put(secret_record(2))])).expect("commits");
    drop(store);
    let copied = temporary();
    let copy = copied.path().join("state");
    copy_folder(folder.path(), &copy);
    // A move is not a copy.
    let moved = copied.path().join("moved");
    fs::rename(folder.path(), &moved).expect("moved");
    let load = |path: &Path| run(open(path).expect("opens").load(&environment())).expect("loads");
    assert_eq!(load(&moved).staleness, None);
    assert_eq!(load(&copy).staleness, Some(Staleness::Copied));
    // The records stay stale until a change states that everything was read.
    let store = open(&copy).expect("opens");
    run(store.commit(vec![put(record(3))])).expect("commits");
    assert_eq!(run(store.load(&environment())).expect("loads").staleness, Some(Staleness::Copied));
    drop(store);
    assert_eq!(load(&copy).staleness, Some(Staleness::Copied));
    run(open(&copy).expect("opens").commit(vec![Change::SetStaleness(None)])).expect("commits");
    assert_eq!((load(&copy).staleness, load(&copy).records.len()), (None, 3));
    fs::create_dir_all(folder.path()).expect("made again for its guard");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &to)
        } else {
            let _ = fs::copy(&path, &to).expect("copied");
        }
    }
}

#[test]
fn only_the_key_file_has_secrets_in_plain_text() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1))])).expect("commits");
    assert_eq!(store.generated_key(), None);
    assert!(!folder.path().join("key").exists());
    let mut long = secret_record(3);
    // It is compressed, and stored apart.
    long.state.cookie = (0..2000_u32)
        .flat_map(|n| format!("hidden{:x}", n.wrapping_mul(0x9e37_79b9)).into_bytes())
        .collect::<Vec<_>>()
        .into();
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
        // Entries from before there was a key are in plain text, and later ones are not.
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!holds("value-2") && !holds("echo-2") && !holds("echo-3"), "{}", path.display());
    });
    assert!(searched > 5_000, "{searched}");
    let store = open(folder.path()).expect("opens");
    assert_eq!(store.generated_key(), None);
    assert_eq!(
        plain(&run(store.load(&environment())).expect("loads").records),
        [record(1), secret_record(2), long]
    );
}

fn walk(folder: &Path, look: &mut dyn FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, look) } else { look(&path, &fs::read(&path).expect("a file")) }
    }
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temporary();
    let state = folder.path().join("a/b");
    let store = open(&state).expect("opens");
    run(store.commit(vec![put(secret_record(2))])).expect("commits");
    // The index exists once the lock is released.
    drop(store);
    let own = place(&state, &environment());
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    assert_eq!((mode(&own), mode(&own.join("journal"))), (0o700, 0o700));
    for file in ["journal/00000001.log", "head", "lock", "environment.json"] {
        assert_eq!(mode(&own.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&state.join("index")), 0o700);
    assert_eq!(mode(&state.join("data-key")), 0o600);
    assert_eq!(mode(&state.join("key")), 0o600);
    fs::set_permissions(state.join("key"), fs::Permissions::from_mode(0o644)).expect("changed");
    let Err(error) = open(&state) else { panic!("others can read the key") };
    assert!(error.to_string().contains("mode 0644") && error.is_input(), "{error}");
}

#[test]
fn a_wrong_or_lost_key_is_rejected() {
    let (folder, other) = (temporary(), temporary());
    for folder in [&folder, &other] {
        run(open(folder.path()).expect("opens").commit(vec![put(secret_record(1))])).expect("commits");
    }
    let with = |key| open_with(folder.path(), OpenOptions { key, ..options(folder.path()) });
    let Err(error) = with(KeyProvider::File(other.path().join("key"))) else { panic!("wrong key") };
    let Error::WrongKey { expected, given, origin } = &error else { panic!("{error}") };
    assert!(origin.starts_with("the key file `"), "{origin}");
    assert!(expected.starts_with("age1") && given.starts_with("age1") && expected != given);
    let text = fs::read_to_string(folder.path().join("key")).expect("a key");
    assert!(text.contains(expected));
    let store = with(KeyProvider::Value(text.into())).expect("the right key, by value");
    assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), [secret_record(1)]);
    drop(store);
    fs::remove_file(folder.path().join("key")).expect("removed");
    let Err(error) = open(folder.path()) else { panic!("no key") };
    assert!(matches!(&error, Error::KeyMissing { recipient, .. } if recipient == expected), "{error}");
    assert!(!folder.path().join("key").exists(), "no new key in place of a lost one");
}

#[test]
fn a_newer_format_is_rejected() {
    let folder = temporary();
    run(open(folder.path()).expect("opens").commit(vec![put(record(1))])).expect("commits");
    fs::write(folder.path().join("format"), "2\n").expect("written");
    let Err(error) = open(folder.path()) else { panic!("newer") };
    assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }), "{error}");
    fs::write(folder.path().join("format"), "two").expect("written");
    assert!(matches!(open(folder.path()), Err(Error::Corrupt { .. })));
    // Journals contain their own format.
    fs::remove_file(folder.path().join("format")).expect("removed");
    let store = open(folder.path()).expect("opens");
    assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), [record(1)]);
    run(store.commit(vec![put(record(2))])).expect("commits");
    drop(store);
    assert_eq!(fs::read_to_string(folder.path().join("format")).expect("again"), "1\n");
    let own = place(folder.path(), &environment());
    fs::rename(own.join("journal"), own.join("gone")).expect("moved");
    let error =
        run(open(folder.path()).expect("opens").commit(vec![put(record(3))])).expect_err("no journal");
    assert!(
        error.to_string().contains("journal is missing") && error.to_string().contains("state repair"),
        "{error}"
    );
    let error = run(open(folder.path()).expect("opens").load(&environment())).expect_err("no journal");
    assert!(error.to_string().contains("journal is missing"), "{error}");
}

#[test]
fn large_values_can_be_written_and_removed() {
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
        for (size, seed) in [(5 << 20, 31), (200_000, 37), (6 << 20, 41), (4000, 43), (70_000, 53)] {
            let expected = large(size, seed);
            store.commit(vec![put(expected.clone())]).await.expect("commits");
            let records = store.load(&environment()).await.expect("loads").records;
            assert_eq!(records.len(), 30);
            assert!(*records[7] == expected, "{size}");
        }
        store.commit(vec![put(large(5 << 20, 59))]).await.expect("commits");
    });
    drop(store);
    let store = open(folder.path()).expect("opens");
    assert!(*run(store.load(&environment())).expect("loads").records[7] == large(5 << 20, 59));
    run(store.commit(vec![remove(7)])).expect("commits");
    drop(store);
    assert_eq!(
        run(open(folder.path()).expect("opens").load(&environment())).expect("loads").records.len(),
        29
    );
}

/// sled panics on files that it does not understand. The index is then built again.
#[test]
fn damaged_files_of_sled_cause_no_panic() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit((0..50).map(|n| put(record(n))).collect())).expect("commits");
    store.release().expect("released");
    let db = folder.path().join("index/db");
    let whole = fs::read(&db).expect("a file");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..12 {
        let mut bytes = whole.clone();
        for _ in 0..=random(60) {
            let at = random(bytes.len().min(200_000));
            bytes[at] = random(256) as u8;
        }
        fs::write(&db, bytes).expect("written");
        let store = open(folder.path()).expect("opens");
        let known = run(store.environments(None, 9)).expect("lists");
        assert_eq!(known.iter().map(|known| known.records).collect::<Vec<_>>(), [50 + round]);
        run(store.commit(vec![put(record(50 + round))])).expect("commits");
        store.release().expect("released");
    }
}

/// A snapshot contains either all or nothing of a commit, even during the next commit, and for a
/// reader without a lock.
#[test]
fn readers_never_see_half_a_commit() {
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
    let other = open(folder.path()).expect("opens");
    std::thread::scope(|scope| {
        // Long enough for the journal to be rewritten.
        let writer =
            scope.spawn(|| (1..200).for_each(|round| run(store.commit(commit(round))).expect("commits")));
        let mut last = [0; 2];
        while !writer.is_finished() {
            // Another process may see a commit slightly before the committing process does.
            for (at, reader) in [&store, &other, &open(folder.path()).expect("opens")].into_iter().enumerate()
            {
                let records = run(reader.load(&environment())).expect("loads").records;
                assert_eq!(records.len(), 50);
                assert!(records.iter().all(|record| record.created == records[0].created));
                assert!(records[0].created >= last[at.min(1)], "what was read once stays");
                last[at.min(1)] = records[0].created;
            }
        }
    });
    drop(store);
    assert_eq!(run(other.load(&environment())).expect("loads").records[0].created, 199);
}

/// What another process is just creating is listed or is not, but is never reported as damaged.
#[test]
fn environments_can_be_listed_while_others_are_created() {
    let folder = temporary();
    let (store, other) = (open(folder.path()).expect("opens"), open(folder.path()).expect("opens"));
    let created = 300;
    run(other.seal(b"")).expect("sealed");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..created {
                let env = format!("e{number}");
                let urn = Urn::of(&env, "acme", "shop", &record(number).urn.key().expect("a key"));
                let change = put(Record { urn, ..record(number) });
                let of = Environment { env: env.as_str().into(), ..environment() };
                let lock = run(store.lock(&of, holder())).expect("free");
                run(lock.writer().submit(vec![change]).expect("submitted")).expect("commits");
            }
        });
        let mut last = 0;
        while !writer.is_finished() {
            let listed = run(other.environments(None, usize::MAX)).expect("lists").len();
            assert!(listed >= last, "what was listed once stays");
            last = listed;
        }
    });
    assert_eq!(run(other.environments(None, usize::MAX)).expect("lists").len(), created);
}

/// The index repeats the content of the journals: whatever happens to it, lists are correct.
#[test]
fn lists_are_correct_whatever_the_index_contains() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    run(store.commit(vec![put(record(1)), put(secret_record(2))])).expect("commits");
    store.release().expect("released");
    let list = |folder: &Path| {
        let known = run(open(folder).expect("opens").environments(None, 10)).expect("lists");
        known.into_iter().map(|known| known.records).collect::<Vec<_>>()
    };
    let listed = |folder: &Path| run(open(folder).expect("opens").listings()).expect("lists");
    let is_whole = |folder: &Path| {
        let snapshot = run(open(folder).expect("opens").load(&environment())).expect("loads");
        assert_eq!(listed(folder), [Listing::of(&environment(), &snapshot)]);
    };
    run(store.commit((0..400).map(|number| put(installation(number))).collect())).expect("commits");
    run(store.commit((0..400).map(remove_installation).collect())).expect("commits");
    run(store.commit(vec![put(installation(7)), put(user(8)), intend(user(9))])).expect("commits");
    is_whole(folder.path());
    let before = listed(folder.path());
    assert_eq!((before[0].installations.len(), before[0].uses.len()), (1, 2));
    run(store.commit(vec![remove_installation(7), remove_installation(8)])).expect("commits");
    run(store.commit(vec![Change::Settle(RecordId::current(user(9).urn))])).expect("commits");
    assert_eq!(listed(folder.path()), [], "no installation, no listing");
    store.release().expect("released");
    assert_eq!(listed(folder.path()), []);
    assert_eq!(list(folder.path()), [2]);
    let index = folder.path().join("index");
    assert!(index.join("db").exists());
    // The index is outdated: the lock is held, so it was not updated.
    run(store.commit(vec![put(record(3))])).expect("commits");
    assert_eq!(list(folder.path()), [3]);
    store.release().expect("released");
    for damage in 0..4 {
        match damage {
            0 => fs::remove_dir_all(&index).expect("removed"),
            1 => fs::write(index.join("db"), "nonsense").expect("written"),
            2 => fs::write(index.join("conf"), "nonsense").expect("written"),
            _ => fs::write(index.join("snap.0000000000000FFF.generating"), "torn").expect("written"),
        }
        assert_eq!(list(folder.path()), [3], "{damage}");
        run(store.commit(vec![put(record(4 + damage))])).expect("commits");
        run(store.commit(vec![remove(4 + damage)])).expect("commits");
        run(store.commit(vec![put(installation(1))])).expect("commits");
        is_whole(folder.path());
        store.release().expect("released");
        is_whole(folder.path());
        run(store.commit(vec![remove_installation(1)])).expect("commits");
        store.release().expect("released");
        assert_eq!(list(folder.path()), [3], "{damage}");
        assert_eq!(listed(folder.path()), [], "{damage}");
    }
}

/// Looking for an installation reads no records (SPEC §6).
#[test]
fn installations_are_found_without_reading_records() {
    let folder = temporary();
    let store = open(folder.path()).expect("opens");
    // More than one value of sled can hold.
    let all: Vec<Change> = (0..900).map(|number| put(installation(number))).chain([put(user(900))]).collect();
    run(store.commit(all)).expect("commits");
    store.release().expect("released");
    let snapshot = run(store.load(&environment())).expect("loads");
    let listing = Listing::of(&environment(), &snapshot);
    assert_eq!((listing.installations.len(), listing.uses.len()), (900, 1));
    let journal = place(folder.path(), &environment()).join("journal");
    let path = fs::read_dir(&journal).expect("listed").next().expect("a file").expect("a file").path();
    let mut bytes = fs::read(&path).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    let again = open(folder.path()).expect("opens");
    assert!(run(again.load(&environment())).is_err(), "the records cannot be read");
    assert_eq!(run(again.listings()).expect("lists"), [listing]);
}

fn installation(number: usize) -> Record {
    let urn = format!("urn:purlin:dev/acme::shop::shared::installation.default::db{number:05}");
    let offers = vec![Offered { name: "host".into(), ..Offered::default() }];
    let group = Some(format!("group-{}", number % 7).into());
    Record {
        urn: Urn::parse(&urn).expect("a URN"),
        definition: Some(format!("acme/db:v1.{}.0", number % 3).into()),
        share: Some(Arc::new(InstallationShare::new("dev".into(), group, None, offers))),
        status: if number.is_multiple_of(5) { Status::Absent } else { Status::Ready },
        abandoned: number.is_multiple_of(11),
        dependencies: Box::default(),
        ..record(number)
    }
}

/// A use of an installation in another environment.
fn user(number: usize) -> Record {
    let urn = "urn:purlin:dev/acme::other::shared::installation.default::db";
    let installation = Urn::parse(urn).expect("a URN");
    let needs = InstallationUse {
        installation,
        by_hand: false,
        bundle: None,
        by_interface: false,
        version: Some("1.x".into()),
        outputs: vec!["host".into()],
        interface: None,
        given: Arc::default(),
    };
    let record = self::installation(number);
    let share = record.share.as_deref().cloned().unwrap_or_default();
    Record { share: Some(Arc::new(InstallationShare { uses: Some(needs), ..share })), ..record }
}

fn remove_installation(number: usize) -> Change {
    Change::Remove(RecordId::current(installation(number).urn))
}
