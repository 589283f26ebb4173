//! Ctrl-C.

#[cfg(unix)]
use crate::surroundings;

/// Ctrl-C, and on Unix a request to terminate or a terminal that was closed.
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
            // `nohup` has it ignored, and then it stays so.
            hangup: if surroundings::ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() },
        }
    }

    /// The next one; never, where signals cannot be had.
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
