//! `purlin env`

mod list;
mod show;

use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};

/// Show declared and recorded environments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::List(args) => args.format.format,
            Command::Show(args) => args.format.format,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::List(args) => list::run(args, app).await,
        Command::Show(args) => show::run(args, app).await,
    }
}
