//! The machine is suspended while calls wait for a busy thread. When it wakes up, their time has passed, and other
//! machines use the environment: whatever the threads and tasks of these calls do then, it must have no effect.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use purlin_model::grants::HttpGrant;
use purlin_model::{DirGrant, Grants, Limits};
use purlin_sandbox::{CallContext, CallError, Driver, DriverSetup, Source};
use serde_json::json;

use crate::common::{self, servers};
use crate::harness::quietly;

const LIMIT: Duration = Duration::from_secs(60);
/// How often a task may continue after the suspension. A request takes a few of these turns.
const TURNS: usize = 10_000;

/// A runtime with one thread for blocking work, on which the test decides what runs.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    quietly(|| runtime.expect("a runtime").block_on(test))
}

/// Keeps the thread for blocking work busy until it is dropped.
fn occupy() -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    tokio::task::spawn_blocking(move || released.recv());
    release
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A call that continues only when the test says so.
struct Suspended<F> {
    call: Pin<Box<F>>,
    woken: Arc<Woken>,
}

impl<F: Future> Suspended<F> {
    fn new(call: F) -> Self {
        Self { call: Box::pin(call), woken: Arc::default() }
    }

    /// Runs the call until it waits for something else.
    async fn until_it_waits(&mut self) {
        loop {
            self.woken.0.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::clone(&self.woken));
            assert!(self.call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "it ended");
            // The tasks of the call run in between.
            tokio::task::yield_now().await;
            if !self.woken.0.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Suspends the machine past the time of the call, while a thread keeps what the call waits for from beginning.
    async fn past_its_time(mut self, occupied: mpsc::Sender<()>) -> F::Output {
        tokio::time::advance(LIMIT * 2).await;
        drop(occupied);
        // The thread and the tasks continue before the call itself.
        let last = tokio::task::spawn_blocking(|| {});
        let mut turns = 0;
        while turns < TURNS || !last.is_finished() {
            tokio::task::yield_now().await;
            turns += 1;
        }
        std::future::poll_fn(|context| match self.call.as_mut().poll(context) {
            Poll::Pending => panic!("its time has passed"),
            ready => ready,
        })
        .await
    }
}

async fn driver(component: &str, grants: Grants, folder: &Path) -> Driver {
    let limits = Limits { time: Some(LIMIT), ..Limits::default() };
    let setup = DriverSetup { grants, folder: folder.to_owned(), ..common::setup(limits) };
    let component = Source::Bytes(common::component(component).into());
    let driver = common::sandbox().load(component, &setup).await.expect("a driver");
    tokio::time::pause();
    driver
}

/// The names, types, times and contents of everything in a folder.
fn contents(folder: &Path) -> Vec<String> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| {
            let metadata = entry.metadata().expect("there");
            let modified = metadata.modified().expect("a time");
            let text = std::fs::read_to_string(entry.path());
            format!("{:?} {:?} {modified:?} {text:?}", entry.file_name(), metadata.file_type())
        })
        .collect();
    entries.sort();
    entries
}

#[test]
fn files_do_not_change_after_the_time_of_the_call() {
    // The operation, and how many others come before it.
    for (operation, path, before) in [
        ("write", "new", 0),
        ("write", "file", 1),
        ("truncate", "file", 0),
        ("times", "file", 0),
        ("times-of-open", "file", 1),
        ("resize", "file", 1),
        ("rename", "file", 0),
        ("link", "file", 0),
        ("symlink", "file", 0),
        ("unlink", "file", 0),
        ("make-folder", "new", 0),
        ("remove-folder", "empty", 0),
        ("append", "file", 1),
    ] {
        let place = tempfile::tempdir().expect("a folder");
        let granted = place.path().join("granted");
        std::fs::create_dir_all(granted.join("empty")).expect("made");
        std::fs::write(granted.join("file"), "inside").expect("written");
        let was = contents(&granted);
        let folder = DirGrant {
            host: "granted".into(),
            guest: "/granted".into(),
            writable: true,
            ..DirGrant::default()
        };
        let grants = Grants { dirs: vec![folder], ..Grants::default() };
        let error = run(async {
            let driver = driver("hostile", grants, place.path()).await;
            let inputs =
                common::inputs(json!({"attack": "file", "op": operation, "path": path, "to": "new"}));
            let subject = common::subject();
            let context = CallContext::new(&subject, "key-1");
            let mut occupied = occupy();
            let mut call = Suspended::new(driver.create(&context, &inputs, "n", None));
            call.until_it_waits().await;
            for _ in 0..before {
                let next = occupy();
                drop(std::mem::replace(&mut occupied, next));
                while !call.woken.0.load(Ordering::SeqCst) {
                    tokio::task::yield_now().await;
                }
                call.until_it_waits().await;
            }
            call.past_its_time(occupied).await.expect_err("its time has passed")
        });
        assert!(matches!(error, CallError::TimeLimit { .. }), "{operation} {path}: {error}");
        assert_eq!(contents(&granted), was, "{operation} {path}");
    }
}

#[test]
fn no_request_is_sent_after_the_time_of_the_call() {
    let (error, received) = run(async {
        let server = servers::answering(servers::http("200 OK", "", "hello")).await;
        let authority = format!("localhost:{}", server.port());
        let grants = Grants {
            http: vec![HttpGrant::parse(&format!("http://{authority}")).expect("a grant")],
            addresses: vec![purlin_model::grants::network("127.0.0.1").expect("a network")],
            ..Grants::default()
        };
        let driver = driver("guests", grants, Path::new("")).await;
        let inputs = common::inputs(json!({"do": "request", "authority": authority, "path": "/"}));
        let subject = common::subject();
        let context = CallContext::new(&subject, "key-1");
        // The look-up of the name waits for the thread.
        let occupied = occupy();
        let mut call = Suspended::new(driver.create(&context, &inputs, "n", None));
        call.until_it_waits().await;
        let error = call.past_its_time(occupied).await.expect_err("its time has passed");
        (error, server.received())
    });
    assert!(matches!(error, CallError::TimeLimit { .. }), "{error}");
    assert_eq!(received, Vec::<String>::new());
}
