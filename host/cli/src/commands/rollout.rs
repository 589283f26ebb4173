//! `purlin rollout`

mod change;
mod follow;
mod list;
mod start;
mod status;

use purlin_host::Purlin;

use crate::app::App;
use crate::args::Format;
use crate::commands::Output;
use crate::failure::{Failure, Status};
use crate::input;

/// Bring changed documents to every environment, in waves.
///
/// A roll-out is recorded once, in the state. From then on each turn of any host (`purlin reconcile --all`) applies
/// it in the environments that it has reached. A `purlin up` in an environment wins there: the roll-out leaves it
/// alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Start(start::Args),
    Status(status::Args),
    List(list::Args),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    Undo(change::UndoArgs),
}

impl Args {
    /// The format of the command's output.
    pub(super) fn output(&self) -> Output {
        let (format, events) = match &self.command {
            Command::Start(args) => (args.format.format, true),
            Command::Status(args) => (args.format.format, args.watch),
            Command::List(args) => (args.format.format, false),
            Command::Pause(args) => (args.format.format, false),
            Command::Resume(args) => (args.format.format, true),
            Command::Undo(args) => (args.format.format, true),
        };
        match (format, events) {
            (Format::Text, _) => Output::Text,
            (Format::Json, true) => Output::Events,
            (Format::Json, false) => Output::Json,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::Start(args) => start::run(args, app).await,
        Command::Status(args) => status::run(args, app).await,
        Command::List(args) => list::run(args, app).await,
        Command::Pause(args) => change::pause(args, app).await,
        Command::Resume(args) => change::resume(args, app).await,
        Command::Undo(args) => change::undo(args, app).await,
    }
}

/// The state of the workspace, for commands that need no documents.
fn orchestrator(app: &App) -> Result<Purlin, Failure> {
    input::orchestrator(&input::workspace_alone(app)?, app)
}

/// The error for a number that no roll-out has.
fn unknown(number: u64) -> Failure {
    Failure::input(format!("there is no roll-out {number}"))
        .hint("`purlin rollout list` shows the roll-outs of this state")
}
