//! The data that every command can use.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use purlin_host::LockReleases;

use crate::args::Global;
use crate::timings::Timings;
use crate::ui::Ui;

/// The run of one command.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) ui: Ui,
    pub(crate) global: Global,
    pub(crate) timings: Timings,
    /// The name of the command, which is shown to others who find the state in use.
    pub(crate) command: &'static str,
    /// The current folder.
    pub(crate) folder: PathBuf,
    /// The locks that the command has dropped.
    pub(crate) releases: Mutex<Vec<LockReleases>>,
}

impl App {
    /// Why the command is run, if somebody said.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.global.reason.as_deref()
    }

    /// Waits later until these locks are released.
    pub(crate) fn will_release(&self, locks: LockReleases) {
        let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        // A watch opens the state for each pass.
        releases.retain(LockReleases::may_be_pending);
        releases.push(locks);
    }

    /// Waits until the locks of a command that failed before it closed the state are released. If the
    /// process ended before, others would wait until they expire.
    pub(crate) async fn released(&self) {
        let releases = std::mem::take(&mut *self.releases.lock().unwrap_or_else(PoisonError::into_inner));
        for locks in releases {
            locks.wait().await;
        }
    }
}
