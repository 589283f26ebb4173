//! `purlin driver`

mod add;
mod approve;
mod build;
mod check;
mod inspect;
mod list;
mod new;
mod run;
mod wit;

use std::path::{Path, PathBuf};

use purlin_documents as documents;
use purlin_documents::{Input, SourceMap};
use purlin_host::{Examined, Inspection, Purlin};
use purlin_model::Workspace;

use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};
use crate::{input, surroundings, text};

/// Write, build and test drivers; inspect and approve third-party drivers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    New(new::Args),
    Wit(wit::Args),
    Build(build::Args),
    Run(run::Args),
    Check(check::Args),
    Add(add::Args),
    List(Box<list::Args>),
    Inspect(inspect::Args),
    Approve(approve::Args),
}

impl Args {
    pub(super) fn format(&self) -> Format {
        match &self.command {
            Command::New(_) | Command::Wit(_) | Command::Build(_) => Format::Text,
            Command::Run(_) => Format::Json,
            Command::Add(args) => args.format.format,
            Command::Check(args) => args.format.format,
            Command::List(args) => args.format.format,
            Command::Inspect(args) => args.format.format,
            Command::Approve(args) => args.format.format,
        }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    match &args.command {
        Command::New(args) => new::run(args, app),
        Command::Wit(args) => wit::run(args, app),
        Command::Build(args) => build::run(args, app).await,
        Command::Run(args) => run::run(args, app).await,
        Command::Add(args) => add::run(args, app).await,
        Command::Check(args) => check::run(args, app).await,
        Command::List(args) => list::run(args, app).await,
        Command::Inspect(args) => inspect::run(args, app).await,
        Command::Approve(args) => approve::run(args, app).await,
    }
}

/// The workspace to use.
#[derive(Clone, Debug, Default, clap::Args)]
struct WorkspaceArg {
    /// Use this workspace file [default: the nearest purlin.yaml].
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl WorkspaceArg {
    /// Reads the workspace and no other document; `None` if there is no such file.
    fn read(&self, app: &App) -> Result<Option<(Workspace, SourceMap)>, Failure> {
        let path = match &self.file {
            Some(file) => file.clone(),
            None => match surroundings::nearest_workspace(&app.folder) {
                Some(file) => {
                    let shown = input::short(&file, &app.folder);
                    input::own(&file, Some(&shown))?;
                    shown
                }
                None => return Ok(None),
            },
        };
        let loaded = documents::load(&[Input::Path(path.clone())]);
        if loaded.has_errors() {
            return Err(Failure::documents(loaded.diagnostics, loaded.sources));
        }
        match loaded.workspace {
            Some(workspace) => Ok(Some((workspace, loaded.sources))),
            None => Err(Failure::input(documents::no_workspace(path.display()))),
        }
    }
}

/// Whether a driver can only be a file, because it looks like a path.
fn is_path(driver: &str) -> bool {
    driver.ends_with(".wasm") || driver.starts_with(['.', '/'])
}

/// Says which types of drivers cannot be used, and why.
fn warn_of_schemas(inspections: &[Inspection], app: &App) {
    for inspection in inspections {
        for unusable in inspection.unusable_schemas() {
            // It repeats what the component wrote.
            app.ui.warning(&text::line(&unusable));
        }
    }
}

/// A driver is a file if it looks like a path, or if the workspace has no driver of that name and
/// the file exists.
fn examined(driver: &str, purlin: &Purlin) -> Examined {
    let path = Path::new(driver);
    match is_path(driver) || (!purlin.knows_driver(driver) && path.is_file()) {
        true => Examined::File(path.to_owned()),
        false => Examined::Name(driver.to_owned()),
    }
}
