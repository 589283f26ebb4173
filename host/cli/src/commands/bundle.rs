//! `purlin bundle`

mod explain;

use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};

/// Inspect bundles and their requirements.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Explain(explain::Args),
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::Explain(args) => args.format.format,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::Explain(args) => explain::run(args, app).await,
    }
}
