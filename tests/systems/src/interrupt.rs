//! A wire between the program and a server that kills the program, as with `kill -9`, at a chosen
//! message: before the server receives it, or after the server answered and before the program
//! receives the answer.
//!
//! A message is the data that the program wrote and the wire read at once. If one is split in two,
//! there is one more place for a kill, which is harmless.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::project::{PATIENCE, Project, Ran, ran_with};
use crate::replies::{Replies, has_more};

/// The number of kills of one command that indicates a fault in the test.
const MOST: usize = 400;

/// When the program is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The server never gets the message.
    Before,
    /// The server received it and answered, or ended the connection; the answer is lost. A server
    /// that only has a part of a message waits for the rest: then the rest is lost.
    After,
}

/// The wire. It listens on a port of loopback until the test ends.
#[derive(Clone, Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Messages from the program since the kill was armed.
    seen: AtomicUsize,
    plan: Mutex<Option<Plan>>,
    killed: AtomicBool,
    /// Whether the server has begun to carry out the chosen message.
    is_begun: AtomicBool,
}

#[derive(Debug)]
struct Plan {
    at: usize,
    when: When,
    child: Child,
}

impl Proxy {
    /// A wire to a server on loopback.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            seen: AtomicUsize::new(0),
            plan: Mutex::new(None),
            killed: AtomicBool::new(false),
            is_begun: AtomicBool::new(false),
        });
        let proxy = Self { port, shared: shared.clone() };
        std::thread::spawn(move || {
            for program in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || connect(&program, server, &shared));
            }
        });
        proxy
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of messages that the program sent since the last run through [`Proxy::run`]
    /// began.
    pub fn messages(&self) -> usize {
        self.shared.seen.load(Ordering::SeqCst)
    }

    /// Runs the program and kills it at message `at`, counted from 1. None if it was killed.
    pub fn run(&self, workspace: &Project, arguments: &[&str], at: usize, when: When) -> Option<Ran> {
        self.run_until(workspace, arguments, at, when, || false)
    }

    /// The same, if the server may take long for the message: once it `is_begun`, the program is
    /// killed without an answer. This is checked after the message was sent.
    pub fn run_until(
        &self,
        workspace: &Project,
        arguments: &[&str],
        at: usize,
        when: When,
        mut is_begun: impl FnMut() -> bool,
    ) -> Option<Ran> {
        self.shared.seen.store(0, Ordering::SeqCst);
        self.shared.killed.store(false, Ordering::SeqCst);
        self.shared.is_begun.store(false, Ordering::SeqCst);
        // Armed before the program runs; the lock is held until its child is known.
        {
            let mut plan = self.plan();
            *plan = Some(Plan { at, when, child: workspace.start(arguments) });
        }
        let begun = Instant::now();
        loop {
            let ended = match self.plan().as_mut() {
                Some(plan) => plan.child.try_wait().expect("a status").is_some(),
                None => true,
            };
            if ended {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "purlin {arguments:?} does not end");
            if self.messages() >= at && is_begun() {
                self.shared.is_begun.store(true, Ordering::SeqCst);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let done = ran_with(self.plan().take().expect("a plan").child);
        (!self.shared.killed.load(Ordering::SeqCst)).then_some(done)
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Option<Plan>> {
        self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn plan(&self) -> std::sync::MutexGuard<'_, Option<Plan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a message; returns when to kill, if it is the chosen one.
    fn counted(&self) -> Option<When> {
        let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        self.plan().as_ref().filter(|plan| plan.at == number).map(|plan| plan.when)
    }

    fn kill(&self) {
        if let Some(plan) = self.plan().as_mut()
            && plan.child.try_wait().expect("a status").is_none()
        {
            plan.child.kill().expect("a kill");
            self.killed.store(true, Ordering::SeqCst);
        }
    }
}

fn connect(program: &TcpStream, server: u16, shared: &Arc<Shared>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server));
    let Ok(server) = TcpStream::connect(address) else { return };
    let _ = (program.set_nodelay(true), server.set_nodelay(true));
    // The answer to the last message is held back: it is lost with the program.
    let lose = AtomicBool::new(false);
    // Whether the program was killed, or has ended by itself.
    let is_over = AtomicBool::new(false);
    let replies = Replies::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pump(&server, program, |_| {
                replies.note();
                !lose.load(Ordering::SeqCst)
            });
            replies.end();
            // A living program would see the connection close, and continue.
            while lose.load(Ordering::SeqCst) && !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = program.shutdown(Shutdown::Write);
        });
        let mut kill = false;
        pump(program, &server, |bytes| {
            match shared.counted() {
                None => return true,
                Some(When::Before) => shared.kill(),
                Some(When::After) => {
                    lose.store(true, Ordering::SeqCst);
                    let is_enough = || shared.is_begun.load(Ordering::SeqCst) || has_more(program);
                    replies.send(&server, bytes, is_enough);
                    shared.kill();
                    is_over.store(true, Ordering::SeqCst);
                }
            }
            kill = true;
            false
        });
        let _ = server.shutdown(Shutdown::Write);
        if kill {
            let _ = (program.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        }
    });
}

/// Copies bytes until the end, or until `pass` returns no.
fn pump(mut from: &TcpStream, mut to: &TcpStream, mut pass: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..length).unwrap_or_default();
        if !pass(bytes) || to.write_all(bytes).is_err() {
            break;
        }
    }
}

/// Runs a command repeatedly, each time in a fresh scene, killed one message later, first before
/// the message arrives and then after it was answered, until it succeeds without a kill. After each
/// kill the same command runs undisturbed, and must succeed; then `verify` checks the result.
/// Returns how often it was killed.
///
/// `scene` prepares for the number of a try, so that names may differ between tries.
///
/// # Panics
/// If the second run fails, or the command never succeeds.
pub fn at_every_message(
    proxy: &Proxy,
    arguments: &[&str],
    scene: impl Fn(usize) -> Project,
    verify: impl Fn(usize, &Project),
) -> usize {
    let mut kills = 0;
    let mut attempt = 0;
    for when in [When::Before, When::After] {
        for at in 1.. {
            assert!(
                kills < MOST,
                "purlin {arguments:?} is killed at {kills} messages and never gets through"
            );
            attempt += 1;
            let workspace = scene(attempt);
            match proxy.run(&workspace, arguments, at, when) {
                Some(done) => {
                    done.status(0);
                    verify(attempt, &workspace);
                    break;
                }
                None => {
                    kills += 1;
                    eprintln!("purlin {arguments:?} killed at message {at}, {when:?}");
                    workspace.purlin(arguments);
                    verify(attempt, &workspace);
                }
            }
        }
    }
    kills
}
