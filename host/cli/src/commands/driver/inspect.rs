//! `purlin driver inspect`

use purlin_host::{Examined, Inspection, Purlin};
use purlin_model::Workspace;

use super::WorkspaceArg;
use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::inspect::{InspectionReport, component};

/// Inspect a driver before using it.
///
/// Shows the size, digest, contract and imports of the component, which it reads without running it. Then
/// calls the driver for its description, in an instance without access (no grants, at most five seconds),
/// and shows its types, inputs and requested access, with the lines of purlin.yaml that would grant it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver inspect ./postgres.wasm           a file without a name yet
  purlin driver inspect acme/postgres             a driver of the workspace, or a built-in one
  purlin driver inspect --static ./postgres.wasm  without running any of it

Exit status: 0 success; 2 it is not a driver, or returns no description.")]
pub(crate) struct Args {
    /// The file of a component, or the name of a driver.
    #[arg(value_name = "FILE|NAME")]
    driver: String,

    /// Only read the component, without running it.
    #[arg(long = "static")]
    bytes_only: bool,

    #[command(flatten)]
    workspace: WorkspaceArg,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    // A file can be inspected even if the workspace is invalid.
    let (workspace, sources) = match args.workspace.read(app) {
        Ok(Some(found)) => found,
        Err(failure) if !super::is_path(&args.driver) => return Err(failure),
        Ok(None) | Err(_) => {
            (Workspace { folder: app.folder.clone(), ..Workspace::default() }, Default::default())
        }
    };
    // Inspecting drivers needs no key.
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let looked = app.timings.wait("look at the driver", inspect(args, &purlin)).await;
    let inspections = looked.map_err(|error| Failure::host(error, &sources))?;
    let trouble = inspections.iter().find_map(Inspection::trouble);
    match args.format.format {
        Format::Json => app.ui.json(&InspectionReport {
            format: FORMAT,
            components: inspections.iter().map(component).collect(),
        }),
        Format::Text => {
            let shown: Vec<String> = inspections
                .iter()
                .map(|inspection| render::inspect::render(&component(inspection), app.ui.columns()))
                .collect();
            app.ui.data(&shown.join("\n"));
        }
    }
    super::warn_of_schemas(&inspections, app);
    match trouble {
        Some(trouble) => {
            app.ui.error(trouble);
            Ok(Status::Input)
        }
        None => Ok(Status::Done),
    }
}

async fn inspect(args: &Args, purlin: &Purlin) -> Result<Vec<Inspection>, purlin_host::Error> {
    match super::examined(&args.driver, purlin) {
        Examined::File(path) => Ok(vec![purlin.inspect_file(&path, !args.bytes_only).await?]),
        Examined::Name(name) => purlin.inspect(&name, !args.bytes_only).await,
    }
}
