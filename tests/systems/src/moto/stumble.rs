//! A wire on which single requests fail, as they do with AWS: it is busy, it fails, or its answer
//! never comes.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Project;

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not processed: try again later.
    Busy,
    /// It is carried out, and the answer is an error of the server.
    Broken,
    /// It is carried out, and the connection ends without an answer.
    Lost,
    /// The connection ends before it is processed.
    Dropped,
}

/// Each of them, and how often in a row: once, or more often than a call retries.
pub const TROUBLES: [(Trouble, usize); 4] =
    [(Trouble::Busy, 5), (Trouble::Broken, 1), (Trouble::Lost, 5), (Trouble::Dropped, 1)];

/// The wire.
#[derive(Clone, Debug)]
pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: AtomicUsize,
    /// The first request that fails, counted from 1, how many fail, and how.
    plan: Mutex<Option<(usize, usize, Trouble)>>,
}

impl Wire {
    /// A wire to a server on loopback.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let wire = Self { port, shared: shared.clone() };
        std::thread::spawn(move || {
            for program in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || exchange(program, server, &shared));
            }
        });
        wire
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn plan(&self, plan: Option<(usize, usize, Trouble)>) {
        *self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
        self.shared.seen.store(0, Ordering::SeqCst);
    }

    /// Runs a command repeatedly, each time in a fresh scene, with `times` failing requests from
    /// one place later on, until there is no such place. If the command fails it runs once more
    /// undisturbed, and must succeed. Returns how many places there were, and how many of them made
    /// it fail.
    ///
    /// # Panics
    /// If the second run fails.
    pub fn at_every_request(
        &self,
        (trouble, times): (Trouble, usize),
        arguments: &[&str],
        scene: impl Fn(usize) -> Project,
        verify: impl Fn(&Project),
    ) -> (usize, usize) {
        let mut failed = 0;
        for at in 1..200 {
            let workspace = scene(at);
            self.plan(Some((at, times, trouble)));
            let done = workspace.run(arguments);
            let seen = self.shared.seen.load(Ordering::SeqCst);
            self.plan(None);
            if done.status != 0 {
                eprintln!("{times} × {trouble:?} from request {at} on: {}", done.err);
                failed += 1;
                workspace.purlin(arguments);
            }
            verify(&workspace);
            if seen < at {
                return (at - 1, failed);
            }
        }
        panic!("purlin {arguments:?} never ends");
    }
}

/// One request, because each has a separate connection.
fn exchange(mut program: TcpStream, server: u16, shared: &Shared) {
    let Some(request) = whole(&mut program) else { return };
    let number = shared.seen.fetch_add(1, Ordering::SeqCst) + 1;
    let plan = *shared.plan.lock().unwrap_or_else(PoisonError::into_inner);
    let trouble = plan.filter(|(at, times, _)| (*at..at + times).contains(&number)).map(|(_, _, it)| it);
    let error = |status: &str, code: &str| {
        let body = format!(
            "<ErrorResponse><Error><Code>{code}</Code><Message>later</Message></Error></ErrorResponse>"
        );
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    };
    match trouble {
        Some(Trouble::Dropped) => return,
        Some(Trouble::Busy) => {
            let _ = program.write_all(error("503 Slow Down", "SlowDown").as_bytes());
            return;
        }
        _ => {}
    }
    let mut answer = Vec::new();
    let exchanged = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).and_then(|mut server| {
        server.write_all(&request)?;
        server.read_to_end(&mut answer)
    });
    let _ = match (exchanged, trouble) {
        (Err(_), _) | (_, Some(Trouble::Lost)) => Ok(()),
        (_, Some(Trouble::Broken)) => {
            program.write_all(error("500 Internal Server Error", "InternalError").as_bytes())
        }
        _ => program.write_all(&answer),
    };
}

/// A request with its body.
fn whole(program: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let length = program.read(&mut buffer).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(buffer.get(..length)?);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(bytes.get(..end)?).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(Some(0), |it| it.trim().parse().ok())?;
        if bytes.len() >= end + 4 + length {
            return Some(bytes);
        }
    }
}
