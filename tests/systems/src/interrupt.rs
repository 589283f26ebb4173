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

use crate::workspace::{Done, Workspace};

/// How long the wire waits for the server's answer before it kills: by then, the server has carried
/// out the request, whether it answers or not. The wait ends with the answer, and few messages have
/// none.
const ANSWER: Duration = Duration::from_secs(3);

/// The number of kills of one command that indicates a fault in the test.
const MOST: usize = 400;

/// When the program is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The server never gets the message.
    Before,
    /// The server received it and answered; the answer is lost.
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
    pub fn run(&self, workspace: &Workspace, arguments: &[&str], at: usize, when: When) -> Option<Done> {
        self.shared.seen.store(0, Ordering::SeqCst);
        self.shared.killed.store(false, Ordering::SeqCst);
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
            assert!(begun.elapsed() < Duration::from_secs(180), "purlin {arguments:?} does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        let child = self.plan().take().expect("a plan").child;
        let done = workspace.finish(child, arguments);
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

    /// Returns once the program was killed, or has ended itself.
    fn wait_for_kill(&self) {
        let begun = Instant::now();
        while !self.killed.load(Ordering::SeqCst) && begun.elapsed() < 2 * ANSWER {
            std::thread::sleep(Duration::from_millis(1));
        }
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
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pump(&server, program, |_| {
                answered.fetch_add(1, Ordering::SeqCst);
                let lost = lose.load(Ordering::SeqCst);
                if lost {
                    // A living program would see the connection close, and continue.
                    shared.wait_for_kill();
                }
                !lost
            });
        });
        let mut kill = false;
        pump(program, &server, |bytes| {
            match shared.counted() {
                None => return true,
                Some(When::Before) => shared.kill(),
                Some(When::After) => {
                    lose.store(true, Ordering::SeqCst);
                    let before = answered.load(Ordering::SeqCst);
                    if (&server).write_all(bytes).is_ok() {
                        let begun = Instant::now();
                        while answered.load(Ordering::SeqCst) == before && begun.elapsed() < ANSWER {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                    }
                    shared.kill();
                }
            }
            kill = true;
            false
        });
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
    let _ = to.shutdown(Shutdown::Write);
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
    scene: impl Fn(usize) -> Workspace,
    verify: impl Fn(usize, &Workspace),
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
                    let _ = done.expect(0);
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
