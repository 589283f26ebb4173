//! A process that is killed at any instant loses nothing that was acknowledged, and leaves no
//! commit half done (SPEC §10).
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::executor::block_on;
use purlin_model::Value;
use purlin_state::{Change, EmbeddedStore, Error, OpenOptions, Operation, Probe, Record, Snapshot, Store};

use crate::common::*;

const FOLDER: &str = "PURLIN_STATE_TEST_FOLDER";
const PLACE: &str = "PURLIN_STATE_TEST_PLACE";
const VISIT: &str = "PURLIN_STATE_TEST_VISIT";
const FULL: &str = "PURLIN_STATE_TEST_FULL";
/// The number of records that one commit writes: either all or none of them have its number.
const TOGETHER: usize = 3;
/// The number of concurrent commits.
const TASKS: usize = 4;
/// The number of rounds of commits after which a process that was given a place closes the store.
const ROUNDS: usize = 12;

/// Not a test of its own: the tests below start and kill it.
#[test]
fn helper_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    if std::env::var_os(FULL).is_some() {
        return fill(Path::new(&folder));
    }
    let place = std::env::var(PLACE).ok();
    let left = AtomicUsize::new(std::env::var(VISIT).map_or(0, |visit| visit.parse().expect("a number")));
    let killer = place.clone().map(|wanted| {
        Probe::new(move |place| {
            if place == wanted && left.fetch_sub(1, Ordering::SeqCst) == 0 {
                let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
                std::thread::sleep(Duration::from_secs(60));
            }
        })
    });
    work(Path::new(&folder), killer, place.map(|_| ROUNDS));
}

/// Commits, and reports what was acknowledged.
fn work(folder: &Path, probe: Option<Probe>, rounds: Option<usize>) {
    let store = Arc::new(open_with(folder, OpenOptions { probe, ..options(folder) }).expect("opens"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let found = store.load(&environment()).await.expect("loads").records;
        let next = found.iter().map(|record| number(record)).max().map_or(0, |last| last + 1);
        // Each task has its own records, so that their numbers only increase.
        let tasks = (0..TASKS).map(|task| {
            let store = store.clone();
            async move {
                for round in 0..rounds.unwrap_or(usize::MAX) {
                    let commit = next + round * TASKS + task;
                    let (intents, results) = group(task, commit);
                    store.commit(intents).await.expect("commits");
                    store.commit(results).await.expect("commits");
                    say(task, commit);
                }
            }
        });
        futures::future::join_all(tasks).await;
        store.close().await.expect("closes");
    });
}

/// Reports an acknowledgement in a single write, so that no line is incomplete.
fn say(task: usize, commit: usize) {
    let _ = std::io::stdout().write_all(format!("\nacknowledged {task} {commit}\n").as_bytes());
    let _ = std::io::stdout().flush();
}

/// Commits until the disk is full, and a little longer.
fn fill(folder: &Path) {
    let store = open(folder).expect("opens");
    let (mut failed, mut smaller) = (Vec::new(), 0);
    for commit in 0..400 {
        match block_on(store.commit(group(0, commit).1)) {
            Ok(()) => {
                say(0, commit);
                smaller += usize::from(!failed.is_empty());
            }
            Err(error) => failed.push(error.to_string()),
        }
    }
    assert!(failed.len() > 100, "{failed:?}");
    assert!(failed.iter().all(|error| error.contains("could not be written")), "{failed:?}");
    // A rejected write does not close the store: smaller ones still succeed.
    assert!(smaller > 0, "the first rejected write was the last one: {failed:?}");
    block_on(store.close()).expect("closes");
    say(1, 0);
}

/// The intents of a commit, and its results.
fn group(task: usize, commit: usize) -> (Vec<Change>, Vec<Change>) {
    let records = (0..TOGETHER).map(|part| {
        let mut record =
            if part == 0 { secret_record(task * TOGETHER) } else { record(task * TOGETHER + part) };
        // Occasionally large, so that the journal grows and is rewritten.
        let size = if commit.is_multiple_of(7) { 60_000 } else { 10 };
        record.state.outputs = Value::from("z".repeat(size).as_str());
        record.created = commit as u64;
        record.updated = commit as u64;
        record
    });
    let records: Vec<Record> = records.collect();
    let results = records.iter().flat_map(|record| [put(record.clone()), Change::Settle(record.id())]);
    (records.iter().cloned().map(intend).collect(), results.collect())
}

fn number(record: &Record) -> usize {
    record.created as usize
}

fn start(folder: &Path, place: Option<(&str, usize)>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "crash::helper_process", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some((place, visit)) = place {
        command.env(PLACE, place).env(VISIT, visit.to_string());
    }
    command.spawn().expect("starts")
}

/// The acknowledgements that a child reports: task and commit.
fn listen(child: &mut Child) -> std::thread::JoinHandle<Vec<(usize, usize)>> {
    let stdout = child.stdout.take().expect("piped");
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        lines
            .filter_map(|line| {
                let mut words = line.strip_prefix("acknowledged ")?.split(' ').map(str::parse::<usize>);
                Some((words.next()?.ok()?, words.next()?.ok()?))
            })
            .collect()
    })
}

/// Checks that everything acknowledged is there, and that no commit is half done.
fn check(snapshot: &Snapshot, acknowledged: &[Option<usize>; TASKS]) {
    for (task, acknowledged) in acknowledged.iter().enumerate() {
        let is_own = |record: &Record| (0..TOGETHER).any(|part| record.urn == urn(task * TOGETHER + part));
        let own: Vec<_> = snapshot.records.iter().filter(|record| is_own(record)).collect();
        let numbers: BTreeSet<_> = own.iter().map(|record| number(record)).collect();
        assert!(numbers.len() <= 1, "a commit is torn: {numbers:?}");
        assert!(own.is_empty() || own.len() == TOGETHER, "a commit is torn");
        let found = numbers.first().copied();
        assert!(found >= *acknowledged, "acknowledged {acknowledged:?}, found {found:?}");
        if let Some(found) = found {
            let mut expected = group(task, found).1;
            expected.retain(|change| matches!(change, Change::Put(_)));
            assert!(
                own.into_iter().map(|record| put(Record::clone(record))).eq(expected),
                "a record is not what was committed"
            );
        }
        // The pending calls are those of the commit after that, either all or none.
        let pending: Vec<_> = snapshot
            .pending
            .iter()
            .filter_map(|intent| match &intent.operation {
                Operation::Create(record) if is_own(record) => Some(number(record)),
                _ => None,
            })
            .collect();
        assert!(pending.is_empty() || pending.len() == TOGETHER, "an intent is torn: {pending:?}");
        assert!(pending.iter().all(|number| Some(*number) > found), "it was settled: {pending:?}, {found:?}");
    }
}

#[test]
fn a_kill_at_any_instant_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("state");
    let mut acknowledged = [None::<usize>; TASKS];
    let (mut commits, mut pending) = (0, 0);
    let mut longest = 120_000;
    // Kills prove little if nothing was committed before them, so a slow process gets more time.
    let mut round = 0_u64;
    while round < 40 || commits <= 100 {
        assert!(round < 400, "only {commits} commits before {round} kills");
        let mut child = start(&folder, None);
        let reader = listen(&mut child);
        // From the start of the process to well into its work.
        let patience = Duration::from_micros((round * 7919) % 61 * longest / 60 + 300);
        let start = Instant::now();
        while start.elapsed() < patience {
            std::thread::sleep(Duration::from_micros(200));
        }
        assert!(child.try_wait().expect("a status").is_none(), "it ended by itself");
        child.kill().expect("kills");
        child.wait().expect("is gone");
        for (task, commit) in reader.join().expect("no panic") {
            commits += 1;
            acknowledged[task] = acknowledged[task].max(Some(commit));
        }
        // Every other time, the next process continues from what the kill left.
        if round % 2 == 1 {
            let store = open(&folder).expect("opens after a kill");
            let snapshot = block_on(store.load(&environment())).expect("loads after a kill");
            check(&snapshot, &acknowledged);
            pending += usize::from(!snapshot.pending.is_empty());
            if round % 8 == 7 {
                block_on(store.commit(vec![put(record(99))])).expect("commits");
            }
            drop(store);
            let report = EmbeddedStore::verify(&folder, &options(&folder)).expect("looks");
            assert!(report.is_whole(), "{report:?}");
        }
        round += 1;
        if round.is_multiple_of(10) && commits < 3 * round {
            longest *= 2;
        }
    }
    println!("{round} kills, {commits} acknowledged commits, none lost; {pending} times something pending");
}

#[test]
fn a_kill_at_every_place_loses_nothing_that_was_acknowledged() {
    let trial = tempfile::tempdir().expect("a folder");
    let places = Arc::new(Mutex::new(Vec::new()));
    let probe = Probe::new({
        let places = places.clone();
        move |place| places.lock().expect("no panic").push(place)
    });
    work(trial.path(), Some(probe.clone()), Some(ROUNDS));
    work(trial.path(), Some(probe), Some(ROUNDS));
    let mut counts = BTreeMap::new();
    let mut visits = Vec::new();
    for place in places.lock().expect("no panic").iter() {
        let before = counts.entry(*place).or_insert(0_usize);
        // The first, the second, and one in the middle.
        if matches!(before, 0 | 1 | 7) {
            visits.push((*place, *before));
        }
        *before += 1;
    }
    let mut seen = BTreeSet::new();
    assert!(counts.len() >= 14, "{counts:?}");
    let mut killed = 0;
    for (place, visit) in visits {
        // In a new store, and in one with content.
        for old in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path().join("state");
            let mut acknowledged = [None::<usize>; TASKS];
            for place in
                if old { vec![Some(("", 0)), Some((place, visit))] } else { vec![Some((place, visit))] }
            {
                let mut child = start(&folder, place);
                let reader = listen(&mut child);
                let status = child.wait().expect("is gone");
                killed += usize::from(!status.success());
                if !status.success() {
                    seen.insert(place);
                }
                for (task, commit) in reader.join().expect("no panic") {
                    acknowledged[task] = acknowledged[task].max(Some(commit));
                }
            }
            let store = open(&folder).unwrap_or_else(|error| panic!("{place}: {error}"));
            check(&block_on(store.load(&environment())).expect("loads"), &acknowledged);
            block_on(store.commit(vec![put(record(99))])).expect("commits");
            block_on(store.close()).expect("closes");
            let report = EmbeddedStore::verify(&folder, &options(&folder)).expect("looks");
            assert!(report.is_whole(), "{place}: {report:?}");
        }
    }
    println!("killed {killed} times, at {} places and times", seen.len());
    assert!(seen.len() >= 18, "only at {seen:?}");
}

#[test]
fn the_lock_of_a_dead_process_is_free() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = start(folder.path(), None);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text").starts_with("acknowledged")));
    let store = open(folder.path()).expect("opens");
    let Err(Error::Locked { holder: Some(held), .. }) = store.submit(Vec::new()).map(drop) else {
        panic!("it is in use")
    };
    assert_eq!((held.pid, held.command.as_str()), (child.id(), "purlin up"));
    let repair = EmbeddedStore::repair(folder.path(), &options(folder.path()));
    assert!(matches!(repair, Err(Error::Busy { .. })), "{repair:?}");
    // Checking is possible at any time.
    for _ in 0..20 {
        let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
        assert!(report.is_whole(), "{report:?}");
    }
    child.kill().expect("kills");
    child.wait().expect("is gone");
    let own = place(folder.path(), &environment());
    assert!(own.join("holder.json").exists(), "what the dead one left");
    assert!(!block_on(store.load(&environment())).expect("loads").records.is_empty());
    block_on(store.commit(vec![put(record(98))])).expect("it is free at once");
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    // No file can grow much beyond 1 MiB; a larger write fails as on a full disk.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "crash::helper_process", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .env(FULL, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let acknowledged = listen(&mut child).join().expect("no panic");
    assert!(child.wait().expect("is gone").success());
    assert_eq!(acknowledged.last(), Some(&(1, 0)), "it came to its end");
    let last = acknowledged.iter().filter(|(task, _)| *task == 0).map(|(_, commit)| *commit).max();
    assert!(last > Some(5) && last < Some(300), "{last:?}");
    let store = open(folder.path()).expect("opens");
    let snapshot = block_on(store.load(&environment())).expect("loads");
    check(&snapshot, &[last, None, None, None]);
    block_on(store.commit(group(1, 500).1)).expect("commits, now that there is room");
    block_on(store.close()).expect("closes");
    let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
    assert!(report.is_whole(), "{report:?}");
}
