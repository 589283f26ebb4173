//! `purlin driver build`

mod project;
mod python;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use purlin_files::reason;
use purlin_host::Inspection;
use purlin_model::Workspace;

use crate::app::App;
use crate::failure::{Failure, Status};
use crate::{files, input, text};

use project::Project;

/// Build a driver as a component, with the tools of its language.
///
/// Builds a folder with cargo, go, make, npm or componentize-py, depending on its files; their output
/// goes to standard error. A core module (from compilers for C and Go, and from cargo for
/// wasm32-unknown-unknown) becomes a component of the contract. The result is inspected as by `purlin
/// driver inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver build                                      the project in this folder
  purlin driver build drivers/note                         a project in another folder
  purlin driver build --dev                                the same, to try out an edit
  purlin driver build --target wasm32-unknown-unknown      a Rust driver without WASI
  purlin driver build build/note.core.wasm -o note.wasm    a core module

Exit status: 0 success; 1 the build failed; 2 there is nothing to build, or a tool is missing.")]
pub(crate) struct Args {
    /// The project's folder, or the file of a core module.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    source: PathBuf,

    /// Write the component to this file [default: the project's name, in its folder].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Build for this Rust target: `wasm32-wasip2`, or `wasm32-unknown-unknown` for a driver that needs
    /// only the contract.
    #[arg(long, value_name = "TARGET", default_value = "wasm32-wasip2")]
    target: String,

    /// Build faster after an edit, for trying it out. In Python, the component reads the edited modules at
    /// each call, so that componentize-py runs only when the edit imports other modules. In other languages,
    /// this changes nothing.
    #[arg(long)]
    dev: bool,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let (output, inspection) = build(args, app).await?;
    super::warn_of_schemas(std::slice::from_ref(&inspection), app);
    match inspection.trouble() {
        Some(problem) => {
            app.ui.error(&format!("{} was built, but is not a driver: {problem}", shown(&output)));
            Ok(Status::Failed)
        }
        None => {
            app.ui.data(&format!("{}\n", summary(&output, &inspection)));
            Ok(Status::Done)
        }
    }
}

async fn build(args: &Args, app: &App) -> Result<(PathBuf, Inspection), Failure> {
    let output = if args.source.is_dir() {
        let project = Project::find(&args.source)?;
        app.ui.say(&format!("building {} in {}", project.what(), shown(&args.source)));
        if args.dev
            && let Some(built) = project.edit(args.output.as_deref(), app).await?
        {
            return Ok(built);
        }
        project.build(&args.target, args.output.as_deref())?
    } else {
        let Some(output) = args.output.clone() else {
            return Err(Failure::input(format!(
                "{} is a file, so the name of the component is needed",
                shown(&args.source)
            ))
            .hint(format!("`purlin driver build {} --output NAME.wasm`", args.source.display())));
        };
        let bytes = files::bytes(&args.source).map_err(|error| {
            Failure::input(format!("cannot read {}: {}", shown(&args.source), reason(&error)))
        })?;
        place(&args.source, bytes, &output)?;
        output
    };
    let inspection = inspect(&output, app).await?;
    Ok((output, inspection))
}

/// Writes a component to its destination. Converts a core module to a component first.
fn place(from: &Path, bytes: Vec<u8>, to: &Path) -> Result<(), Failure> {
    let component = match bytes.get(4..8) {
        Some([1, 0, 0, 0]) => purlin_component::componentize(&bytes).map_err(|error| {
            Failure::input(format!("cannot make a component of {}: {error}", shown(from)))
        })?,
        _ => bytes,
    };
    files::write(to, component)
        .map_err(|error| Failure::caused(format!("cannot write {}", shown(to)), &error))
}

async fn inspect(file: &Path, app: &App) -> Result<Inspection, Failure> {
    let workspace = Workspace { folder: app.folder.clone(), ..Workspace::default() };
    let purlin = input::orchestrator(&workspace, app)?;
    let looked = app.timings.wait("look at the driver", purlin.inspect_file(file, true)).await;
    looked.map_err(|error| Failure::host(error, &Default::default()))
}

fn summary(file: &Path, inspection: &Inspection) -> String {
    let size = text::size(inspection.interfaces.size);
    let Some(Ok(info)) = &inspection.info else { return format!("{}: {size}", file.display()) };
    let types: Vec<&str> = info.types.iter().map(|one| one.type_name.as_str()).collect();
    let types = match types.as_slice() {
        ["*"] => "any type".to_owned(),
        types => format!("type {}", types.join(", ")),
    };
    text::line(&format!("{}: {} {}, {size}, {types}", file.display(), info.name, info.version)).into_owned()
}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// Runs a tool in a folder. Its output goes to standard error.
fn tool(command: &mut Command, folder: &Path, install: &str) -> Result<(), Failure> {
    command.current_dir(folder).stdin(Stdio::null()).stdout(std::io::stderr());
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| missing(&name, &error, install))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::run(format!("`{name}` failed ({status})")))
}

/// The failure for a tool that cannot be run, with what to install.
fn missing(name: &str, error: &std::io::Error, install: &str) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        Failure::input(format!("`{name}` is not installed")).hint(install.to_owned())
    } else {
        Failure::caused(format!("cannot run `{name}`"), error)
    }
}
