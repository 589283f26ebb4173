//! A process that is killed at any instant loses nothing that was acknowledged, and leaves nothing
//! torn (SPEC §10).
#![cfg(unix)]
#![allow(missing_docs, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::*;
use purlin_model::Value;
use purlin_state::Store;

const FOLDER: &str = "PURLIN_STATE_TEST_FOLDER";
/// The records that one commit writes together: all or none of them carry its number.
const TOGETHER: usize = 3;
/// Commits under way at the same time.
const TASKS: usize = 4;

/// Not a test of its own: what the test below starts and kills.
#[test]
fn helper_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = Arc::new(open(Path::new(&folder)).expect("opens"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let next = futures::executor::block_on(store.load(&environment()))
            .expect("loads")
            .records
            .iter()
            .map(number)
            .max()
            .map_or(0, |last| last + 1);
        // Each task has records of its own, so that the numbers in them only grow.
        let tasks = (0..TASKS).map(|task| {
            let store = store.clone();
            async move {
                for round in 0.. {
                    let commit = next + round * TASKS + task;
                    store.commit(group(task, commit)).await.expect("commits");
                    // A single write, so that no line is torn.
                    let _ =
                        std::io::stdout().write_all(format!("\nacknowledged {task} {commit}\n").as_bytes());
                    let _ = std::io::stdout().flush();
                }
            }
        });
        futures::future::join_all(tasks).await;
    });
}

fn group(task: usize, commit: usize) -> Vec<purlin_state::Change> {
    (0..TOGETHER)
        .map(|part| {
            let mut record =
                if part == 0 { secret_record(task * TOGETHER) } else { record(task * TOGETHER + part) };
            // Now and then large, so that pieces come and go.
            let size = if commit.is_multiple_of(7) { 60_000 } else { 10 };
            record.state.outputs = Value::from("z".repeat(size).as_str());
            record.created = commit as u64;
            record.updated = commit as u64;
            put(record)
        })
        .collect()
}

fn number(record: &purlin_state::Record) -> usize {
    record.created as usize
}

#[test]
fn killed_at_any_instant() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("state");
    let program = std::env::current_exe().expect("this program");
    let mut acknowledged = [None::<usize>; TASKS];
    let (mut kills, mut commits) = (0, 0);
    for round in 0..40_u64 {
        let mut child = Command::new(&program)
            .args(["--exact", "helper_process", "--nocapture", "--test-threads=1"])
            .env(FOLDER, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let stdout = child.stdout.take().expect("piped");
        let reader = std::thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| {
                    let mut words = line.strip_prefix("acknowledged ")?.split(' ').map(str::parse::<usize>);
                    Some((words.next()?.ok()?, words.next()?.ok()?))
                })
                .collect::<Vec<_>>()
        });
        // From within the start to well into the work.
        let patience = Duration::from_micros((round * 7919) % 61 * 2000 + 300);
        let start = Instant::now();
        while start.elapsed() < patience {
            std::thread::sleep(Duration::from_micros(200));
        }
        assert!(child.try_wait().expect("asks").is_none(), "it ended by itself");
        child.kill().expect("kills");
        child.wait().expect("is gone");
        kills += 1;
        for (task, commit) in reader.join().expect("no panic") {
            commits += 1;
            acknowledged[task] = acknowledged[task].max(Some(commit));
        }

        let store = open(&folder).expect("opens after a kill");
        let records =
            futures::executor::block_on(store.load(&environment())).expect("loads after a kill").records;
        for (task, acknowledged) in acknowledged.iter().enumerate() {
            let own: Vec<_> = records
                .iter()
                .filter(|record| (0..TOGETHER).any(|part| record.urn == urn(task * TOGETHER + part)))
                .collect();
            let numbers: BTreeSet<_> = own.iter().map(|record| number(record)).collect();
            assert!(numbers.len() <= 1, "a commit is torn: {numbers:?}");
            assert!(own.is_empty() || own.len() == TOGETHER, "a commit is torn");
            let found = numbers.first().copied();
            assert!(found >= *acknowledged, "acknowledged {acknowledged:?}, found {found:?}");
            if let Some(found) = found {
                let mut expected: Vec<_> = group(task, found);
                expected.sort_by_key(|change| match change {
                    purlin_state::Change::Put(record) => record.urn.clone(),
                    _ => panic!("only records are put"),
                });
                let own: Vec<_> = own.into_iter().cloned().map(put).collect();
                assert!(own == expected, "a record is not what was committed");
            }
        }
    }
    println!("{kills} kills, {commits} acknowledged commits, none lost");
    assert!(commits > 100, "only {commits} commits: the kills prove little");
}
