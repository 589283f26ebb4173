//! Lends running servers to tests, one test at a time: to start them takes longer than most tests, and
//! nextest runs each test in a process of its own. `cargo xtask test` has a pool; without one, each test
//! starts its own servers.
//!
//! A test connects to the Unix socket of the pool, and sends a line with the kind of a server. The pool
//! answers with a line of JSON that describes one. It is the test's until the connection ends, even if
//! that is because the test was killed. Then the server is reset, and waits for the next test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, JoinHandle, ThreadId};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::kubernetes::Cluster;
use crate::moto::MotoServer;

/// The environment variable with the path of a pool's socket.
pub const VARIABLE: &str = "PURLIN_TEST_SERVERS";

/// How long a server waits for a test. Even then, an API server takes time of the processor.
const IDLE: Duration = Duration::from_secs(20);

/// How long the pool waits for the first line of a test.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that a pool can lend.
pub(crate) trait Lendable: Sized + 'static {
    /// The name of its kind.
    const KIND: &'static str;

    /// Starts it; none if a program is not installed.
    fn start() -> Option<Self>;

    /// Everything that a test needs to know to use it.
    fn describe(&self) -> Value;

    /// Answers a line that a test sends; none if it does not understand it.
    fn answer(&mut self, line: &str) -> Option<String>;

    /// Removes what a test left. Returns whether another test may use it.
    fn reset(&mut self) -> bool;
}

/// A connection of a test.
type Client = Arc<UnixStream>;

/// A pool. Dropping it ends all leases and all servers.
#[derive(Debug)]
pub struct Pool {
    folder: TempDir,
    shared: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    idle: Vec<Idle>,
    /// One for each server: servers end with the thread that starts them.
    threads: Vec<JoinHandle<()>>,
    clients: Vec<Weak<UnixStream>>,
}

/// A server that waits for a test.
#[derive(Debug)]
struct Idle {
    kind: &'static str,
    thread: ThreadId,
    sender: Sender<Client>,
}

impl Pool {
    /// A pool without servers. They start when a test needs them.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(socket(&folder)).expect("a socket");
        let shared = Arc::<Mutex<State>>::default();
        let accepting = shared.clone();
        let thread = std::thread::spawn(move || {
            for client in listener.incoming() {
                if lock(&accepting).ended {
                    return;
                }
                if let Ok(client) = client {
                    admit(client, &accepting);
                }
            }
        });
        Self { folder, shared, thread: Some(thread) }
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.folder)
    }

    /// How many servers are starting, running or ending.
    pub fn servers(&self) -> usize {
        lock(&self.shared).threads.iter().filter(|thread| !thread.is_finished()).count()
    }

    /// How many servers wait for a test.
    pub fn idle(&self) -> usize {
        lock(&self.shared).idle.len()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let (threads, clients) = {
            let mut state = lock(&self.shared);
            state.ended = true;
            // Their threads stop waiting.
            state.idle.clear();
            (std::mem::take(&mut state.threads), std::mem::take(&mut state.clients))
        };
        for client in clients.iter().filter_map(Weak::upgrade) {
            let _ = client.shutdown(Shutdown::Both);
        }
        // The thread that accepts connections sees the end at the next one.
        let _ = UnixStream::connect(self.socket());
        // A thread that panicked has said why.
        let _ = self.thread.take().map(JoinHandle::join);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("socket")
}

fn lock(shared: &Mutex<State>) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads which kind of server a test needs, and gives it one.
fn admit(client: UnixStream, shared: &Arc<Mutex<State>>) {
    // A test sends the line at once. One that does not must not delay the others.
    let _ = client.set_read_timeout(Some(PATIENCE));
    let mut kind = String::new();
    if BufReader::new(&client).read_line(&mut kind).is_err() {
        return;
    }
    let _ = client.set_read_timeout(None);
    let client = Arc::new(client);
    match kind.trim_end() {
        Cluster::KIND => lend::<Cluster>(client, shared),
        MotoServer::KIND => lend::<MotoServer>(client, shared),
        other => eprintln!("the pool has no servers of the kind `{other}`"),
    }
}

/// Gives a test a server that waits for one, or starts another server.
fn lend<S: Lendable>(mut client: Client, shared: &Arc<Mutex<State>>) {
    let mut state = lock(shared);
    if state.ended {
        return;
    }
    state.threads.retain(|thread| !thread.is_finished());
    state.clients.retain(|client| client.strong_count() > 0);
    state.clients.push(Arc::downgrade(&client));
    while let Some(at) = state.idle.iter().rposition(|idle| idle.kind == S::KIND) {
        match state.idle.remove(at).sender.send(client) {
            Ok(()) => return,
            Err(error) => client = error.0,
        }
    }
    let others = shared.clone();
    let thread = Builder::new().name(S::KIND.to_owned()).spawn(move || serve::<S>(client, &others));
    state.threads.push(thread.expect("a thread"));
}

/// Starts a server, and lends it to one test after the other. Death signals of its processes are sent when
/// this thread ends, so it has to live as long as they do.
fn serve<S: Lendable>(mut client: Client, shared: &Mutex<State>) {
    let Some(mut server) = S::start() else {
        let _ = writeln!(&*client, "{}", Value::Null);
        return;
    };
    loop {
        attend(&mut server, &client);
        drop(client);
        if lock(shared).ended || !server.reset() {
            return;
        }
        match next::<S>(shared) {
            Some(next) => client = next,
            None => return,
        }
    }
}

/// Describes a server to a test, and answers its lines until the connection ends.
fn attend<S: Lendable>(server: &mut S, client: &UnixStream) {
    let (mut lines, mut writer) = (BufReader::new(client), client);
    let mut answer = server.describe().to_string();
    loop {
        if writeln!(writer, "{answer}").is_err() {
            return;
        }
        let mut line = String::new();
        // A test that is killed may leave an incomplete line.
        if lines.read_line(&mut line).is_err() || !line.ends_with('\n') {
            return;
        }
        match server.answer(line.trim_end()) {
            Some(next) => answer = next,
            None => return,
        }
    }
}

/// The next test of a server, unless none comes in time.
fn next<S: Lendable>(shared: &Mutex<State>) -> Option<Client> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::current().id();
    {
        let mut state = lock(shared);
        if state.ended {
            return None;
        }
        state.idle.push(Idle { kind: S::KIND, thread, sender });
    }
    receiver.recv_timeout(IDLE).ok().or_else(|| {
        // `lend` sends while it has the lock, so a test that came just now is in the channel.
        lock(shared).idle.retain(|idle| idle.thread != thread);
        receiver.try_recv().ok()
    })
}

/// A server that a pool lends, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    stream: BufReader<UnixStream>,
}

impl Lease {
    /// Takes a server, and its description; none if the pool lacks one of its programs.
    ///
    /// # Panics
    /// If the pool does not answer.
    pub(crate) fn take<S: Lendable>(pool: &Path) -> Option<(Self, Value)> {
        let stream = UnixStream::connect(pool)
            .unwrap_or_else(|error| panic!("no pool of servers listens at {}: {error}", pool.display()));
        let mut lease = Self { stream: BufReader::new(stream) };
        let description: Value = serde_json::from_str(&lease.ask(S::KIND)).expect("the pool sends JSON");
        (!description.is_null()).then_some((lease, description))
    }

    /// Sends a line about the server, and returns the answer.
    ///
    /// # Panics
    /// If the pool does not answer.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        let sent = writeln!(self.stream.get_ref(), "{line}");
        let mut answer = String::new();
        let read = sent.and_then(|()| self.stream.read_line(&mut answer));
        assert!(
            answer.ends_with('\n'),
            "the server could not start, or has failed; `cargo xtask test` prints why ({read:?})"
        );
        answer
    }
}

/// The socket of the pool that this process has to use, if there is one.
pub(crate) fn of_this_run() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// A port in the description of a server.
pub(crate) fn port(value: &Value) -> u16 {
    value.as_u64().and_then(|port| port.try_into().ok()).expect("a port")
}

/// A text in the description of a server.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
