//! `purlin driver add`

mod edit;

use std::path::{Path, PathBuf};

use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::{Error, Inspection};
use purlin_model::driver::DriverInfo;
use purlin_model::{DriverSource, Workspace};
use serde::Serialize;

use super::WorkspaceArg;
use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::report::FORMAT;
use crate::report::inspect::component;
use crate::surroundings::WORKSPACE_FILE;
use crate::{files, input, text};

/// Add a driver to purlin.yaml.
///
/// Reads the description of the component, in an instance without any access, and compiles it. Adds its name
/// and file to purlin.yaml, which is created if it does not exist, and keeps every other line as it is.
/// Grants nothing: the access that the driver requests is shown as lines that would grant it. If there is
/// a purlin.lock, the driver is approved as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver add ./note.wasm                      under the name in its description
  purlin driver add drivers/pg.wasm --name acme/db   under another name
  purlin driver add ./drivers/note                   a folder with versions of one driver

Exit status: 0 success; 2 it is not a driver, or the name is taken.")]
pub(crate) struct Args {
    /// The component's file, or a folder with several versions of it.
    #[arg(value_name = "FILE|DIR")]
    source: PathBuf,

    /// Use this name in definitions [default: the name in its description].
    #[arg(long, value_name = "ORG/NAME")]
    name: Option<String>,

    #[command(flatten)]
    workspace: WorkspaceArg,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct AddReport {
    format: u8,
    name: String,
    /// The path of the workspace file.
    workspace: String,
    source: String,
    versions: Vec<String>,
    /// The lines of `purlin.yaml` that would grant the capabilities that the driver requests.
    grants: Option<String>,
    /// The path of the lock file, if there is one and it was written.
    lock: Option<String>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let found = args.workspace.read(app)?.map(|(workspace, _)| workspace);
    let path = match (&found, &args.workspace.file) {
        (_, Some(file)) => file.clone(),
        (Some(workspace), None) => workspace.folder.join(WORKSPACE_FILE),
        (None, None) => PathBuf::from(WORKSPACE_FILE),
    };
    let workspace = found.unwrap_or_else(|| Workspace { folder: app.folder.clone(), ..Workspace::default() });
    let inspections = inspect_all(&args.source, &workspace, app).await?;
    let infos = inspections.iter().filter_map(info);
    let name = name(args, infos.clone())?;
    check(&name, &inspections, &workspace, &path)?;
    let versions: Vec<String> = infos.map(|info| info.version.to_string()).collect();
    let source = relative(&args.source, &workspace.folder);
    let edited = edited(&path, &name, &source)?;
    files::write(&path, &edited)
        .map_err(|error| Failure::caused(format!("cannot write `{}`", text::path(&path)), &error))?;
    let lock = approve(&name, &path, app).await?;
    compile(&name, &path, app).await?;
    // The lines use the name that the driver has in this workspace.
    let grants = inspections.into_iter().next().and_then(|mut one| {
        one.name = Some(name.clone());
        component(&one).grants
    });
    match args.format.format {
        Format::Json => app.ui.json(&AddReport {
            format: FORMAT,
            workspace: text::path(&path),
            name,
            source,
            versions,
            grants,
            lock,
        }),
        Format::Text => {
            app.ui.data(&format!("{} {}\n", text::line(&name), versions.join(", ")));
            app.ui.say(&format!("`{}` names it; definitions use it as `driver: {name}`.", text::path(&path)));
            if let Some(lock) = lock {
                app.ui.say(&format!("`{lock}` approves it as it is."));
            }
            if let Some(grants) = grants {
                app.ui.note("it has no grants yet; these are the capabilities that it requests:");
                app.ui.say(&text::block(&grants));
            }
        }
    }
    Ok(Status::Done)
}

fn info(inspection: &Inspection) -> Option<&DriverInfo> {
    inspection.info.as_ref()?.as_ref().ok()
}

/// The name of the driver in the workspace.
fn name<'a>(args: &Args, mut infos: impl Iterator<Item = &'a DriverInfo>) -> Result<String, Failure> {
    if let Some(name) = &args.name {
        return match documents::is_driver_name(name) && name.split('/').count() == 2 {
            true => Ok(name.clone()),
            false => Err(Failure::input(format!("`{}` is not a valid driver name", text::line(name)))
                .hint("a driver is `ORG/NAME`, such as `acme/postgres`")),
        };
    }
    let source = args.source.display();
    let Some(name) = infos.next().map(|info| &info.name) else {
        return Err(
            Failure::input(format!("`{source}` does not declare its name")).hint("`--name ORG/NAME` sets it")
        );
    };
    match infos.find(|info| info.name != *name) {
        Some(DriverInfo { name: other, .. }) => {
            let message = format!("`{source}` contains different drivers: `{name}` and `{other}`");
            Err(Failure::input(message)
                .hint("add each by its file, or all versions of one under `--name ORG/NAME`"))
        }
        None => Ok(name.clone()),
    }
}

/// # Errors
/// If the workspace has another driver of this name, or the lock approves one, or the drivers may not
/// have it.
fn check(name: &str, inspections: &[Inspection], workspace: &Workspace, path: &Path) -> Result<(), Failure> {
    let versions = || inspections.iter().filter_map(info).map(|info| &info.version);
    let is_twice = |at: usize, version| versions().take(at).any(|other| other == version);
    if let Some((_, version)) = versions().enumerate().find(|(at, version)| is_twice(*at, *version)) {
        return Err(Failure::input(format!("there are several drivers of version {version}"))
            .hint("name one of the files, or leave only one of each version in the folder"));
    }
    if workspace.drivers.keys().any(|known| **known == *name) {
        return Err(Failure::input(format!("`{}` already names a driver `{name}`", text::path(path)))
            .hint("`--name ORG/NAME` adds this one under another name, or change the file"));
    }
    if let Some(wrong) = inspections.iter().find_map(|one| one.not_under(name)) {
        return Err(Failure::input(wrong).hint(purlin_host::NAME_OF_ITS_OWN));
    }
    let pins =
        workspace.lock.as_ref().and_then(|lock| lock.drivers.get(name)).filter(|pins| !pins.is_empty());
    let Some(pins) = pins else { return Ok(()) };
    let is_known = |one: &Inspection| pins.iter().any(|pin| pin.digest.hex() == one.interfaces.digest);
    if inspections.iter().all(is_known) {
        return Ok(());
    }
    let message = format!("purlin.lock approves another component as `{name}`");
    Err(Failure::input(message).hint(format!(
        "`--name ORG/NAME` adds this one under another name; to have it in place of the other one, name it in \
         `{}` and run `purlin driver approve {name}`",
        text::path(path)
    )))
}

/// Inspects all components, each of which must be a driver.
async fn inspect_all(source: &Path, workspace: &Workspace, app: &App) -> Result<Vec<Inspection>, Failure> {
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace.clone() }, app)?;
    let mut inspections = Vec::new();
    for file in components(source)? {
        let looked = app.timings.wait("look at the driver", purlin.inspect_file(&file, true)).await;
        let inspection = looked.map_err(|error: Error| Failure::host(error, &Default::default()))?;
        if let Some(trouble) = inspection.trouble() {
            return Err(Failure::input(format!("`{}` is not a driver: {trouble}", file.display())));
        }
        inspections.push(inspection);
    }
    super::warn_of_schemas(&inspections, app);
    Ok(inspections)
}

fn components(source: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let folder = std::fs::read_dir(source)
        .map_err(|error| Failure::caused(format!("cannot read `{}`", source.display()), &error))?;
    let mut files: Vec<PathBuf> = folder.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "wasm"));
    files.sort();
    if files.is_empty() {
        return Err(Failure::input(format!(
            "`{}` contains no component (a `*.wasm` file)",
            source.display()
        ))
        .hint("`purlin driver build` builds one from a project"));
    }
    Ok(files)
}

/// The new text of the file. It is parsed again to make sure that it adds exactly this driver and
/// nothing else.
fn edited(path: &Path, name: &str, source: &str) -> Result<String, Failure> {
    let by_hand = || {
        Failure::input(format!("no line can be added to `{}` in its current layout", text::path(path)))
            .hint(format!("add below `spec.drivers`: `{name}: {{source: {source}}}`"))
    };
    let before = match files::text(path) {
        Ok(before) => before,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(edit::workspace(name, source));
        }
        Err(error) => {
            return Err(Failure::caused(format!("cannot read `{}`", text::path(path)), &error));
        }
    };
    let edited = edit::with_driver(&before, name, source).ok_or_else(by_hand)?;
    let read = |text: &str| {
        let text = Input::Text { name: text::path(path), text: text.to_owned() };
        let loaded = documents::load(&[text]);
        if loaded.has_errors() { None } else { loaded.workspace }
    };
    let mut drivers = read(&before).ok_or_else(by_hand)?.drivers;
    let Some(after) = read(&edited) else { return Err(by_hand()) };
    let added = after.drivers.iter().filter(|(known, _)| !drivers.contains_key(*known)).collect::<Vec<_>>();
    let just_this = matches!(added.as_slice(), [(added, config)] if ***added == *name
        && matches!(&config.source, Some(DriverSource::Path(path)) if path.to_string_lossy() == source));
    drivers.retain(|known, _| !after.drivers.contains_key(known));
    if just_this && drivers.is_empty() { Ok(edited) } else { Err(by_hand()) }
}

/// Approves the driver if there is a lock file. Returns the file that was written.
async fn approve(name: &str, path: &Path, app: &App) -> Result<Option<String>, Failure> {
    let loaded = documents::load(&[Input::Path(path.to_owned())]);
    let Some(workspace) = loaded.workspace.filter(|workspace| workspace.lock.is_some()) else {
        return Ok(None);
    };
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let approval = purlin.approval(&[name.to_owned()]).await;
    let approval = approval.map_err(|error| Failure::host(error, &loaded.sources))?;
    files::write(&approval.path, &approval.text)
        .map_err(|error| Failure::caused(format!("cannot write `{}`", text::path(&approval.path)), &error))?;
    Ok(Some(text::path(&approval.path)))
}

/// Compiles the driver into the cache, so that the first deployment does not have to.
async fn compile(name: &str, path: &Path, app: &App) -> Result<(), Failure> {
    let loaded = documents::load(&[Input::Path(path.to_owned())]);
    let Some(workspace) = loaded.workspace else { return Ok(()) };
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let compiled = app.timings.wait("compile the driver", purlin.driver(name)).await;
    compiled.map(drop).map_err(|error| Failure::host(error, &loaded.sources))
}

/// A path relative to the workspace's folder. It begins with a dot, so that it cannot be mistaken
/// for a reference.
fn relative(path: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (absolute(path), absolute(folder));
    match path.strip_prefix(&folder) {
        Ok(inner) => format!("./{}", inner.display()),
        Err(_) => path.display().to_string(),
    }
}
