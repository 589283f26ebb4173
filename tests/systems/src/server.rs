//! A server that a test starts on loopback, and that ends with the test, whatever its outcome.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(180);

/// The first port that a test may give a server.
const FIRST_PORT: u16 = 12_000;

/// A port on loopback for a server that starts later, reserved as long as this process lives.
///
/// Linux takes the ports of outgoing connections from a range, and so does a listener that requests
/// any port. A free port of that range may be taken before the server listens on it, so this one is
/// below the range; a lock keeps other tests from choosing it.
pub fn free_port() -> u16 {
    static RESERVED: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let end = range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(32_768_u16);
    let user = rustix::process::geteuid().as_raw();
    let locks = std::env::temp_dir().join(format!("purlin-test-ports-{user}"));
    std::fs::create_dir_all(&locks).expect("a folder for the locks of ports");
    // Processes begin at different places, so that they rarely try the same port.
    let count = u32::from(end.saturating_sub(FIRST_PORT).max(1_000));
    let begin = std::process::id().wrapping_mul(97);
    for step in 0..count {
        let port = FIRST_PORT + u16::try_from(begin.wrapping_add(step) % count).expect("less than `count`");
        let lock = File::options().create(true).append(true).open(locks.join(port.to_string()));
        let lock = lock.expect("the lock of a port");
        if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            RESERVED.lock().expect("no test panics here").push(lock);
            return port;
        }
    }
    panic!("no port from {FIRST_PORT} to {end} is free");
}

/// Whether a program listens on a port of loopback.
pub fn listens(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok()
}

/// A command that ends when the thread that starts it ends, even if that is killed; as `user` if
/// one is given and this is root, because some servers do not run as root.
pub fn guarded(program: impl AsRef<OsStr>, user: Option<&str>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(user) = user.filter(|_| is_root()) {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Hands a folder and its contents to a user, if this is root.
pub fn hand_over(folder: &Path, user: &str) {
    if is_root() {
        let done = Command::new("chown").arg("-R").arg(user).arg(folder).status();
        assert!(done.expect("chown runs").success(), "cannot hand {} to {user}", folder.display());
    }
}

/// A running server. Dropping it kills it and all its children.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: Arc<TempDir>,
}

impl Server {
    /// Starts a server whose files are in `folder`, and waits until `ready`. Its output goes to
    /// `log` there.
    ///
    /// # Panics
    /// If it ends, or is not ready in time; with its output.
    pub fn start(
        mut command: Command,
        folder: impl Into<Arc<TempDir>>,
        mut ready: impl FnMut() -> bool,
    ) -> Self {
        use std::os::unix::process::CommandExt as _;
        let folder = folder.into();
        let log = File::options().create(true).append(true).open(folder.path().join("log"));
        let log = log.expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log twice"))
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut server = Self { child, folder };
        let begun = Instant::now();
        while !ready() {
            if let Some(status) = server.child.try_wait().expect("the server's status") {
                panic!("{command:?} ended with {status}:\n{}", server.log());
            }
            assert!(begun.elapsed() < PATIENCE, "{command:?} is not ready:\n{}", server.log());
            std::thread::sleep(Duration::from_millis(30));
        }
        server
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Sends it a signal, but not its children.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        rustix::process::kill_process(process, signal).expect("it runs");
    }

    /// The folder with its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops it with a signal that it obeys, and keeps its files.
    ///
    /// # Panics
    /// If it does not end in time; with its output.
    pub fn stop(mut self, signal: rustix::process::Signal) -> Arc<TempDir> {
        let process = rustix::process::Pid::from_raw(self.child.id().cast_signed()).expect("its id");
        rustix::process::kill_process(process, signal).expect("a signal");
        let begun = Instant::now();
        while self.child.try_wait().expect("the server's status").is_none() {
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        Arc::clone(&self.folder)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // It may be gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
