//! A door in front of a server, which can be closed.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// It listens on a port of loopback until the test ends.
pub(crate) struct Door {
    port: u16,
    /// Connections that get through before it is closed.
    left: Arc<AtomicUsize>,
}

impl Door {
    /// One to a server on loopback, open.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let door = Self { port, left: Arc::clone(&left) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let admits = |left: usize| left.checked_sub(1);
                // Closed without a reply.
                if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, admits).is_err() {
                    continue;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let clones = (stream.try_clone().expect("a stream"), there.try_clone().expect("a stream"));
                std::thread::spawn(move || carry(stream, there));
                std::thread::spawn(move || carry(clones.1, clones.0));
            }
        });
        door
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Lets this many connections through, and no more.
    pub(crate) fn closes_after(&self, connections: usize) {
        self.left.store(connections, Ordering::SeqCst);
    }

    pub(crate) fn opens(&self) {
        self.left.store(usize::MAX, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(buffer.get(..length).unwrap_or_default()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
