//! A wire that fails once, at a chosen message, while the program continues: it has to find out
//! the outcome of its request, or to report that it is unknown.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::interrupt::When;
use crate::replies::{Replies, has_more};

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The connection is lost, before the server gets the message or before its answer comes back.
    /// As with [`When::After`], a part of a message has no answer.
    Cut(When),
    /// The message takes this long.
    Delayed(Duration),
    /// The server gets it twice, and the program one answer. Only for the protocol of PostgreSQL.
    Doubled,
    /// The connection is lost, and the server gets the message after so many further ones, or at
    /// [`Wire::deliver`].
    Late {
        /// The number of further messages.
        after: usize,
    },
}

/// The wire. It listens on a port of loopback until the test ends.
#[derive(Clone, Debug)]
pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Messages until the fault; 0 means no fault.
    left: AtomicUsize,
    fault: Mutex<Disturbance>,
    late: Mutex<Option<LateMessage>>,
}

/// A message of a connection that the program has lost.
#[derive(Debug)]
struct LateMessage {
    server: TcpStream,
    bytes: Vec<u8>,
    replies: Arc<Replies>,
    /// The number of further messages before it.
    after: usize,
}

impl LateMessage {
    fn deliver(self) {
        self.replies.send(&self.server, &self.bytes, || false);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

/// Drops the second of two answers of PostgreSQL. Each ends with a frame `Z`; a frame is a letter, its length with
/// that of the length, and its content.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    /// Whether the first one has ended.
    has_first: bool,
}

impl Answers {
    /// Takes bytes of the server. Returns those that the program gets, and whether the second answer has ended.
    fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        self.bytes.extend_from_slice(bytes);
        let mut passed = Vec::new();
        while let Some(length) = self.bytes.get(1..5).and_then(|length| length.try_into().ok()) {
            let length = 1 + u32::from_be_bytes(length) as usize;
            if self.bytes.len() < length {
                break;
            }
            let rest = self.bytes.split_off(length);
            let frame = std::mem::replace(&mut self.bytes, rest);
            let is_end = frame.first() == Some(&b'Z');
            if !self.has_first {
                passed.extend(frame);
                self.has_first = is_end;
            } else if is_end {
                passed.append(&mut self.bytes);
                return (passed, true);
            }
        }
        (passed, false)
    }
}

/// Whether a message of PostgreSQL is a statement. Those of a login cannot be repeated.
fn is_statement(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P' | b'Q', ..])
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Counts a message, and returns the fault if it has one.
    fn fault(&self) -> Option<Disturbance> {
        let late = {
            let mut late = locked(&self.late);
            let is_due = late.as_mut().is_some_and(|late| {
                late.after = late.after.saturating_sub(1);
                late.after == 0
            });
            if is_due { late.take() } else { None }
        };
        if let Some(late) = late {
            late.deliver();
        }
        let counted = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        (counted == Ok(1)).then(|| *locked(&self.fault))
    }
}

impl Wire {
    /// A wire to a server on loopback.
    ///
    /// # Panics
    /// If there is no free port.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            left: AtomicUsize::new(0),
            fault: Mutex::new(Disturbance::Cut(When::Before)),
            late: Mutex::default(),
        });
        let wire = Self { port, shared: shared.clone() };
        std::thread::spawn(move || {
            for program in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || carry(&program, server, &shared));
            }
        });
        wire
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the connection at message `at` from now on, counted from 1.
    pub fn cut_at(&self, at: usize, when: When) {
        self.fail_at(at, Disturbance::Cut(when));
    }

    /// Fails at message `at` from now on, counted from 1.
    pub fn fail_at(&self, at: usize, fault: Disturbance) {
        *locked(&self.shared.fault) = fault;
        self.shared.left.store(at, Ordering::SeqCst);
    }

    /// Whether it failed. If not, it will not fail.
    pub fn has_failed(&self) -> bool {
        self.shared.left.swap(0, Ordering::SeqCst) == 0
    }

    /// Delivers a late message that is still under way.
    pub fn deliver(&self) {
        let late = locked(&self.shared.late).take();
        if let Some(late) = late {
            late.deliver();
        }
    }
}

fn carry(program: &TcpStream, port: u16, shared: &Shared) {
    let Ok(stream) = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))) else { return };
    let mut server = &stream;
    let _ = (program.set_nodelay(true), server.set_nodelay(true));
    let (lost, replies) = (AtomicBool::new(false), Arc::<Replies>::default());
    let doubled: Mutex<Option<Answers>> = Mutex::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, mut to) = (&stream, program);
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                replies.note();
                let mut bytes = buffer.get(..length).unwrap_or_default().to_vec();
                let mut answers = locked(&doubled);
                if let Some(two) = &mut *answers {
                    let (passed, is_over) = two.take(&bytes);
                    if is_over {
                        *answers = None;
                    }
                    bytes = passed;
                }
                drop(answers);
                // What is lost is read all the same: it shows when the server has replied.
                if !lost.load(Ordering::SeqCst) && to.write_all(&bytes).is_err() {
                    break;
                }
            }
            replies.end();
            let _ = to.shutdown(Shutdown::Both);
        });
        let mut buffer = vec![0; 64 << 10];
        let mut from = program;
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = buffer.get(..length).unwrap_or_default();
            match shared.fault() {
                Some(Disturbance::Cut(When::Before)) => break,
                Some(Disturbance::Cut(When::After)) => {
                    lost.store(true, Ordering::SeqCst);
                    replies.send(&stream, bytes, || has_more(program));
                    break;
                }
                Some(Disturbance::Late { after }) => {
                    lost.store(true, Ordering::SeqCst);
                    if let Ok(server) = server.try_clone() {
                        let (bytes, replies) = (bytes.to_vec(), Arc::clone(&replies));
                        *locked(&shared.late) = Some(LateMessage { server, bytes, replies, after });
                    }
                    let _ = program.shutdown(Shutdown::Both);
                    return;
                }
                Some(Disturbance::Delayed(time)) => std::thread::sleep(time),
                Some(Disturbance::Doubled) if is_statement(bytes) => {
                    *locked(&doubled) = Some(Answers::default());
                    let _ = server.write_all(bytes);
                }
                Some(Disturbance::Doubled) | None => {}
            }
            if server.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = (program.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    });
}
