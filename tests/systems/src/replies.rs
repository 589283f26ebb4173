//! The replies of a server on one connection of a wire.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a wire waits for a reply. A server replies in the end, however busy the machine is: this
/// only limits how long a test hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The replies of a server on one connection.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// The number of messages from the server.
    count: AtomicUsize,
    has_ended: AtomicBool,
}

impl Replies {
    /// The server sent something.
    pub(crate) fn note(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// The server ended the connection.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Sends a message, and waits until the server replies or ends the connection, which shows that
    /// it was carried out, or until `is_enough`.
    pub(crate) fn send(&self, mut server: &TcpStream, bytes: &[u8], is_enough: impl Fn() -> bool) {
        let (before, begun) = (self.count.load(Ordering::SeqCst), Instant::now());
        if server.write_all(bytes).is_err() {
            return;
        }
        let has_reply =
            || self.has_ended.load(Ordering::SeqCst) || self.count.load(Ordering::SeqCst) != before;
        while !has_reply() && !is_enough() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether the program has sent more. If the server has not replied yet, it only has a part of a
/// message, and waits for the rest.
pub(crate) fn has_more(program: &TcpStream) -> bool {
    let limited = program.set_read_timeout(Some(Duration::from_millis(1)));
    limited.is_ok() && matches!(program.peek(&mut [0]), Ok(1..))
}
