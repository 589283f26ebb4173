//! `purlin state`

mod copy;
mod export;
mod forget;
mod import;
mod init;
mod key;
mod list;
mod lock;
mod move_to;
mod protect;
mod rename;
mod repair;
mod settle;
mod show;
mod subject;
mod taint;
mod unlock;

use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};

/// Show and correct the state.
///
/// None of these commands calls a driver, so real resources do not change.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(Box<list::Args>),
    Show(show::Args),
    #[command(alias = "mv")]
    Rename(rename::Args),
    Move(move_to::Args),
    #[command(alias = "rm")]
    Forget(forget::Args),
    Settle(settle::Args),
    Protect(protect::Args),
    Taint(taint::Args),
    Lock(lock::Args),
    Unlock(unlock::Args),
    Init(init::Args),
    Repair(repair::Args),
    Export(export::Args),
    Import(import::Args),
    Copy(copy::Args),
    Key(key::Args),
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::List(args) => args.format.format,
            Command::Show(args) => args.format.format,
            Command::Rename(args) => args.format.format,
            Command::Move(args) => args.format.format,
            Command::Forget(args) => args.format.format,
            Command::Settle(args) => args.format.format,
            Command::Protect(args) => args.format.format,
            Command::Taint(args) => args.format.format,
            Command::Lock(args) => args.format.format,
            Command::Unlock(args) => args.format.format,
            Command::Init(args) => args.format.format,
            Command::Repair(args) => args.format.format,
            Command::Export(args) => args.format.format,
            Command::Import(args) => args.format.format,
            Command::Copy(args) => args.format.format,
            Command::Key(args) => args.format(),
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::List(args) => list::run(args, app).await,
        Command::Show(args) => show::run(args, app).await,
        Command::Rename(args) => rename::run(args, app).await,
        Command::Move(args) => move_to::run(args, app).await,
        Command::Forget(args) => forget::run(args, app).await,
        Command::Settle(args) => settle::run(args, app).await,
        Command::Protect(args) => protect::run(args, app).await,
        Command::Taint(args) => taint::run(args, app).await,
        Command::Lock(args) => lock::run(args, app).await,
        Command::Unlock(args) => unlock::run(args, app).await,
        Command::Init(args) => init::run(args, app).await,
        Command::Repair(args) => repair::run(args, app).await,
        Command::Export(args) => export::run(args, app).await,
        Command::Import(args) => import::run(args, app).await,
        Command::Copy(args) => copy::run(args, app).await,
        Command::Key(args) => key::run(args, app).await,
    }
}
