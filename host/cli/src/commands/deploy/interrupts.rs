//! Ctrl-C.

#[cfg(unix)]
use crate::surroundings;

/// Ctrl-C and, on Unix, SIGTERM and the hangup of the terminal.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
            // `nohup` makes the program ignore SIGHUP, and this must not change that.
            hangup: if surroundings::ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() },
        }
    }

    /// Waits for the next one; forever if signals are not available.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            let came = match signal {
                Some(signal) => signal.recv().await.is_some(),
                None => false,
            };
            if !came {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
            () = one(&mut self.hangup) => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
