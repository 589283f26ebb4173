//! Measures the embedded store: `cargo run --release -p purlin-state --example measure [FOLDER]`.
//! With `--claims`, measures how often hosts claim and release environments in PostgreSQL.
//!
//! The folder should be on the disk to measure: syncing files in memory costs nothing.
#![allow(clippy::print_stdout, clippy::expect_used, clippy::panic)]

#[path = "../tests/state/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{environment, holder, intend, open, put, record, secret_record};
use futures::executor::block_on;
use futures::{StreamExt, stream};
use purlin_state::{
    Address, Change, Credentials, Environment, KeyProvider, PostgresOptions, PostgresStore, Record, Store,
};
use purlin_systems::postgres::{PASSWORD, Postgres};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = &arguments[..]
        && mode == "--load"
    {
        return load(Path::new(folder));
    }
    if arguments == ["--claims"] {
        return claims();
    }
    let base = arguments.first().map_or_else(std::env::temp_dir, PathBuf::from);
    let base = tempfile::tempdir_in(base).expect("a folder");
    let folder = |name: &str| base.path().join(name);

    let (new, again): (Vec<_>, Vec<_>) = (0..11)
        .map(|n| {
            let folder = folder(&format!("empty-{n}"));
            let first = time(|| drop(open(&folder).expect("opens")));
            (first, time(|| drop(open(&folder).expect("opens"))))
        })
        .unzip();
    println!("open and close, new folder    {:>8.2} ms", median(new));
    println!("open and close, empty store   {:>8.2} ms", median(again));

    for (waiting, count) in [(1, 1000), (16, 8000), (64, 16000)] {
        let (each, size) = commits(&folder(&format!("commits-{waiting}")), waiting, count, record);
        println!(
            "commits, {waiting:>2} waiting           {:>8.0} /s, {} KiB on disk after {count}",
            1.0 / each,
            size >> 10
        );
    }
    let (each, _) = commits(&folder("sealed"), 16, 4000, secret_record);
    println!("sealed commits, 16 waiting    {:>8.0} /s", 1.0 / each);

    // Like the engine: submits the result of one call together with the intent of the next one.
    let chain = folder("chain");
    let store = open(&chain).expect("opens");
    let took = time(|| {
        block_on(async {
            let mut result = Vec::new();
            for n in 0..1000 {
                let last = store.submit(std::mem::take(&mut result)).expect("taken");
                store.commit(vec![intend(record(n))]).await.expect("commits");
                last.await.expect("commits");
                result = vec![put(record(n)), Change::Settle(record(n).id())];
            }
            store.commit(result).await.expect("commits");
        });
    });
    let close = time(|| block_on(store.close()).expect("closes"));
    println!(
        "chain of 1,000, with intents  {took:>8.0} ms, close {close:.0} ms, {} KiB on disk, of which {} of index",
        size(&chain) >> 10,
        size(&chain.join("sled")) >> 10
    );

    let wide = folder("wide");
    let store = open(&wide).expect("opens");
    let before = cpu();
    let took = time(|| {
        block_on(stream::iter(0..10_000).for_each_concurrent(64, |n| {
            let store = &store;
            async move {
                store.commit(vec![intend(record(n))]).await.expect("commits");
                let result = vec![put(record(n)), Change::Settle(record(n).id())];
                store.commit(result).await.expect("commits");
            }
        }));
    });
    let close = time(|| block_on(store.close()).expect("closes"));
    println!(
        "10,000 with intents, 64 wide  {took:>8.0} ms, close {close:.0} ms, {} ms of processor, {} KiB on disk, of which {} of index",
        cpu() - before,
        size(&wide) >> 10,
        size(&wide.join("sled")) >> 10
    );

    for (name, make) in [("clear", record as fn(usize) -> Record), ("sealed", secret_record)] {
        let folder = folder(&format!("many-{name}"));
        let store = open(&folder).expect("opens");
        let took = time(|| {
            block_on(store.commit((0..10_000).map(|n| put(make(n))).collect())).expect("commits");
        });
        println!("10,000 {name} in one commit   {took:>8.0} ms, {} bytes of memory at most", peak());
        drop(store);
        println!("10,000 {name}, on disk        {:>8} bytes a record", size(&folder) / 10_000);
        let program = std::env::current_exe().expect("this program");
        let status = Command::new(program).arg("--load").arg(&folder).status().expect("starts");
        assert!(status.success());
    }
}

/// Runs in its own process, to measure its memory.
fn load(folder: &Path) {
    let before = peak();
    let mut store = None;
    let opened = time(|| store = Some(open(folder).expect("opens")));
    let store = store.expect("open");
    let open_peak = peak();
    let mut records = Vec::new();
    let loaded = time(|| records = block_on(store.load(&environment())).expect("loads").records);
    let peak_loaded = peak();
    let again =
        (0..7).map(|_| time(|| records = block_on(store.load(&environment())).expect("loads").records));
    let again = median(again.collect());
    println!("  open {opened:.1} ms, load {loaded:.1} ms, again {again:.1} ms, of {} records", records.len());
    println!(
        "  memory at most: {} KiB before, {} KiB open, {} KiB with all records loaded",
        before >> 10,
        open_peak >> 10,
        peak_loaded >> 10
    );
}

/// Eight hosts claim random environments in one database, each over its own connections.
fn claims() {
    const HOSTS: usize = 8;
    const ENVIRONMENTS: usize = 1_000;
    const TIME: Duration = Duration::from_secs(10);
    let settings = ["fsync=on", "log_statement=none", "max_connections=300", "shared_buffers=256MB"];
    let Some(server) = Postgres::with(None, &settings) else {
        return println!("PostgreSQL is not installed");
    };
    let key = tempfile::tempdir().expect("a folder");
    KeyProvider::create(&key.path().join("key")).expect("made");
    let options = PostgresOptions {
        address: Address {
            url: format!("postgres://postgres@127.0.0.1:{}/postgres", server.port),
            schema: "purlin".into(),
            credentials: Arc::new(Credentials::password(PASSWORD)),
            ca: None,
        },
        key: KeyProvider::File(key.path().join("key")),
        lease: purlin_model::StateDatabase::LEASE,
        patience: PostgresOptions::PATIENCE,
        memory: None,
    };
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let in_one = |number: usize| Environment { env: format!("e{number}").into(), ..environment() };
    runtime().block_on(async {
        PostgresStore::prepare(&options).await.expect("prepared");
        let store = PostgresStore::open(options.clone()).await.expect("opens");
        for number in 0..ENVIRONMENTS {
            let lock = store.lock(&in_one(number), holder()).await.expect("free");
            lock.release().await.expect("released");
        }
    });
    let host = &|seed: usize| {
        runtime().block_on(async {
            let store = PostgresStore::open(options.clone()).await.expect("opens");
            let (mut claimed, mut chance, begun) = (0_usize, seed, Instant::now());
            while begun.elapsed() < TIME {
                chance = chance.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                match store.lock(&in_one((chance >> 8) % ENVIRONMENTS), holder()).await {
                    Ok(lock) => {
                        lock.release().await.expect("released");
                        claimed += 1;
                    }
                    Err(purlin_state::Error::Locked { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            claimed
        })
    };
    let claimed: usize = std::thread::scope(|scope| {
        let hosts: Vec<_> = (0..HOSTS).map(|number| scope.spawn(move || host(number + 1))).collect();
        hosts.into_iter().map(|host| host.join().expect("no panic")).sum()
    });
    println!(
        "claim and release, {HOSTS} hosts, {ENVIRONMENTS} environments: {:.0} /s",
        claimed as f64 / TIME.as_secs_f64()
    );
}

/// The seconds per commit, and the final size on disk.
fn commits(folder: &Path, waiting: usize, count: usize, make: fn(usize) -> Record) -> (f64, u64) {
    let store = open(folder).expect("opens");
    let took = time(|| {
        block_on(stream::iter(0..count).for_each_concurrent(waiting, |n| {
            let store = &store;
            async move { store.commit(vec![put(make(n))]).await.expect("commits") }
        }));
    });
    drop(store);
    (took / 1000.0 / count as f64, size(folder))
}

fn time(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    Duration::as_secs_f64(&start.elapsed()) * 1000.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let metadata = entry.metadata().expect("there");
            if metadata.is_dir() { size(&entry.path()) } else { metadata.len() }
        })
        .sum()
}

/// The peak memory of this process, in bytes; 0 if the system does not report it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default() << 10
}

/// The processor time of this process, in milliseconds; 0 if the system does not report it.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) * 10
}
