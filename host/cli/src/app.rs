//! The data that every command can use.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use purlin_host::Closer;

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
    /// The states that the command opened.
    pub(crate) states: Mutex<Vec<Closer>>,
}

impl App {
    /// Closes the states of a command that failed before it did so: the process would end with locks that
    /// others then wait for.
    pub(crate) async fn close(&self) {
        let states = std::mem::take(&mut *self.states.lock().unwrap_or_else(PoisonError::into_inner));
        for state in states {
            // The command failed already, and says why.
            let _ = state.close().await;
        }
    }
}
