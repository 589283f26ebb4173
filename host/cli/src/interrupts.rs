//! Ctrl-C and, on Unix, SIGTERM and the hangup of the terminal.
//!
//! Once a process has listened for a signal, the system does not end it any more when that signal
//! arrives. So whenever nothing listens, such as while a user is asked for consent after interrupted
//! calls were resolved, a task does that instead.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use purlin_engine::CancelToken;
use tokio::task::AbortHandle;

use crate::surroundings;

/// The exit status of a program whose calls Ctrl-C cut off.
const CUT_OFF: i32 = 130;
/// How long calls that are cut off have to end.
const CUT: Duration = Duration::from_secs(3);

/// Who listens.
static LISTENING: Mutex<Listening> = Mutex::new(Listening { count: 0, otherwise: None });

struct Listening {
    /// The number of [`Interrupts`].
    count: usize,
    /// The task that ends the program if there are none.
    otherwise: Option<AbortHandle>,
}

/// Listens until it is dropped.
pub(crate) struct Interrupts(Signals);

impl Interrupts {
    pub(crate) fn new() -> Self {
        let signals = Signals::new();
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        listening.count += 1;
        if let Some(otherwise) = listening.otherwise.take() {
            otherwise.abort();
        }
        Self(signals)
    }

    /// Waits for the next one; forever if signals are not available.
    pub(crate) async fn next(&mut self) {
        self.0.next().await;
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        listening.count -= 1;
        if let (0, Ok(runtime)) = (listening.count, tokio::runtime::Handle::try_current()) {
            // Signals that arrived while this listened were meant for it.
            let mut signals = Signals::new();
            let task = runtime.spawn(async move { std::process::exit(signals.next().await) });
            listening.otherwise = Some(task.abort_handle());
        }
    }
}

/// What interrupts do while calls are running.
pub(crate) struct Presses {
    cancel: CancelToken,
    count: u32,
}

impl Presses {
    /// For calls that end with this token.
    pub(crate) fn new(cancel: &CancelToken) -> Self {
        Self { cancel: cancel.clone(), count: 0 }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The first one lets the calls finish, the second one cuts them off, and the third one does not
    /// wait for that. Returns whether this is the first one.
    pub(crate) fn press(&mut self) -> bool {
        self.count += 1;
        match self.count {
            1 => self.cancel.request(),
            2 => {
                self.cancel.cut();
                // Calls end immediately from here on; whatever does not is abandoned.
                tokio::spawn(async {
                    tokio::time::sleep(CUT).await;
                    std::process::exit(CUT_OFF);
                });
            }
            _ => std::process::exit(CUT_OFF),
        }
        self.count == 1
    }

    /// Ends the program if calls were cut off, once that was reported.
    pub(crate) fn end_if_cut_off(&self) {
        if self.count > 1 {
            std::process::exit(CUT_OFF);
        }
    }
}

#[cfg(unix)]
struct Signals([(Option<tokio::signal::unix::Signal>, i32); 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind: SignalKind| (signal(kind).ok(), 128 + kind.as_raw_value());
        let hangup = SignalKind::hangup();
        // `nohup` makes the program ignore SIGHUP, and this must not change that.
        let hangup = if surroundings::ignores_hangup() { (None, 0) } else { listen(hangup) };
        Self([listen(SignalKind::interrupt()), listen(SignalKind::terminate()), hangup])
    }

    /// Waits for the next one, and returns the exit status of a program that it ends.
    async fn next(&mut self) -> i32 {
        async fn one((signal, status): &mut (Option<tokio::signal::unix::Signal>, i32)) -> i32 {
            let came = match signal {
                Some(signal) => signal.recv().await.is_some(),
                None => false,
            };
            if came { *status } else { std::future::pending().await }
        }
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            status = one(interrupt) => status,
            status = one(terminate) => status,
            status = one(hangup) => status,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 130,
            Err(_) => std::future::pending().await,
        }
    }
}
