//! The clock that interrupts busy drivers: a thread that advances the engine's epoch.
//!
//! It sleeps while nothing runs, and ends with the sandbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::Engine;

/// Idle ticks after which the thread goes to sleep. Waking it costs more than a call, so it stays
/// awake between the calls of a deployment.
const IDLE_TICKS: u32 = 200;

#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    asleep: AtomicBool,
    running: AtomicUsize,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine, tick: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let engine = engine.weak();
        let thread = thread::Builder::new().name("purlin-ticker".into()).spawn(move || {
            let mut idle = 0;
            while !seen.stop.load(Ordering::SeqCst) {
                idle = if seen.running.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
                if idle > IDLE_TICKS {
                    seen.sleep();
                    idle = 0;
                    continue;
                }
                thread::sleep(tick);
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => return,
                }
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Keeps the clock running until the guard is dropped.
    pub(crate) fn run(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        Running(&self.shared)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Shared {
    /// Announces the sleep before a last check, so that a call that begins meanwhile either is seen
    /// here or sees the announcement.
    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        if self.running.load(Ordering::SeqCst) == 0 && !self.stop.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // It ends within a tick; it has no result.
            let _ = thread.join();
        }
    }
}

/// A call in flight.
pub(crate) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
