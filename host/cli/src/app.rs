//! The data that every command can use.

use std::path::PathBuf;

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
}
