//! A wire that is cut once, at a chosen message, while the program continues: it has to find out
//! the outcome of its request, or to report that it is unknown.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::interrupt::When;

/// How long the wire waits for the server's answer before it is cut: long enough for a slow machine.
/// The wait ends with the answer.
const ANSWER: Duration = Duration::from_secs(3);

/// The wire. It listens on a port of loopback until the test ends.
#[derive(Clone, Debug)]
pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Messages until the cut; 0 means no cut.
    left: AtomicUsize,
    after: AtomicBool,
}

impl Wire {
    /// A wire to a server on loopback.
    ///
    /// # Panics
    /// If there is no free port.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared { left: AtomicUsize::new(0), after: AtomicBool::new(false) });
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
        self.shared.after.store(when == When::After, Ordering::SeqCst);
        self.shared.left.store(at, Ordering::SeqCst);
    }

    /// Whether it was cut. If not, there will be no cut.
    pub fn was_cut(&self) -> bool {
        self.shared.left.swap(0, Ordering::SeqCst) == 0
    }
}

fn carry(program: &TcpStream, port: u16, shared: &Shared) {
    let Ok(stream) = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))) else { return };
    let mut server = &stream;
    let _ = (program.set_nodelay(true), server.set_nodelay(true));
    let (lost, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, mut to) = (&stream, program);
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                answered.fetch_add(1, Ordering::SeqCst);
                let bytes = buffer.get(..length).unwrap_or_default();
                if lost.load(Ordering::SeqCst) || to.write_all(bytes).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
        let mut buffer = vec![0; 64 << 10];
        let mut from = program;
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = buffer.get(..length).unwrap_or_default();
            let counted =
                shared.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if counted == Ok(1) {
                if shared.after.load(Ordering::SeqCst) {
                    lost.store(true, Ordering::SeqCst);
                    let before = answered.load(Ordering::SeqCst);
                    let begun = Instant::now();
                    if server.write_all(bytes).is_ok() {
                        while answered.load(Ordering::SeqCst) == before && begun.elapsed() < ANSWER {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                    }
                }
                break;
            }
            if server.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = (program.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    });
}
