//! `purlin installations`

mod list;
mod share;

use purlin_host::InstallationState;

use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};

/// Show the installations of all environments, and change who may share them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Share(share::Args),
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::List(args) => args.format.format,
            Command::Share(args) => args.format.format,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::List(args) => list::run(args, app).await,
        Command::Share(args) => share::run(args, app).await,
    }
}

/// The id of an installation for people: its namespace and its name.
fn id(one: &InstallationState) -> String {
    let namespace = &one.listed.share.namespace;
    let name = one.listed.urn.key().map(|key| key.id().to_owned()).unwrap_or_default();
    format!("{namespace}/{name}")
}
