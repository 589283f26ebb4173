//! `purlin export`

use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use purlin_model::{Context, Urn, Value};
use serde::Serialize;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::files;
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::text;

/// Write the workloads' documents and the manifests returned by drivers to a folder.
///
/// Writes each workload as deployed to `DIR/workloads/NAME.yaml`, and each manifest to
/// `DIR/manifests/LOCATION/NAME`. Every file is written completely. Other files in the folder are kept,
/// and so is a file with such a name that no export wrote; `DIR/.purlin-export` lists the exported
/// files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin export out
  purlin export out --show-secrets    with secrets in plain text: check who can read it

Without `--show-secrets`, every secret is written as `[secret]`, and the incomplete files are
listed. With it, only you can read the files that contain secrets (mode 0600).")]
pub(crate) struct Args {
    /// The folder to write to; created if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    documents: DocumentArgs,

    /// Write secrets in plain text.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct ExportReport {
    format: u8,
    files: Vec<String>,
    /// The files in which `[secret]` replaces a secret.
    incomplete: Vec<String>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    must_be_a_folder(&args.folder)?;
    let place = input::place(&args.documents, app).await?;
    let fail = Failure::without_sources;
    let records = place.purlin.records(&place.environment()).await.map_err(fail)?;
    if records.is_empty() {
        app.ui.note(&format!("nothing is recorded in {}", place.environment()));
        input::hint_at_others(&place, app).await?;
    }
    warn_of_reading_along(&args.folder, &place.workspace.folder, app);
    let outputs = purlin_host::outputs(&records);
    let (parts, status) = parts(&outputs, &place.context, args.show_secrets, app);
    let exported = write(args, parts)?;
    match args.format.format {
        Format::Json => app.ui.json(&ExportReport {
            format: FORMAT,
            files: exported.written.iter().map(|path| path.display().to_string()).collect(),
            incomplete: exported.incomplete.iter().map(|path| path.display().to_string()).collect(),
        }),
        Format::Text => {
            for path in &exported.written {
                app.ui.data(&format!("{}\n", text::line(&path.display().to_string())));
            }
            app.ui.say(&format!("Wrote {}.", text::count(exported.written.len(), "file")));
        }
    }
    warn_of_incomplete(&exported.incomplete, app);
    place.purlin.close().await.map_err(fail)?;
    Ok(status)
}

/// Rejects a destination that is a file, or is below one.
fn must_be_a_folder(folder: &Path) -> Result<(), Failure> {
    match folder.ancestors().find(|there| there.exists()).filter(|there| !there.is_dir()) {
        Some(file) => {
            let (folder, file) = (text::path(folder), text::path(file));
            Err(Failure::input(format!("cannot export into `{folder}`: `{file}` is not a folder"))
                .hint("name a folder; one that does not exist is created"))
        }
        None => Ok(()),
    }
}

/// A document, with its destination below the folder.
struct Part<'a> {
    path: PathBuf,
    document: &'a Value,
    /// Whether the document or its name contains a secret.
    is_secret: bool,
}

/// The files that an export wrote.
#[derive(Default)]
struct Exported {
    written: Vec<PathBuf>,
    /// Those in which `[secret]` replaces a secret.
    incomplete: Vec<PathBuf>,
}

/// The documents to export. A workload whose document cannot be built is reported.
fn parts<'a>(
    outputs: &'a purlin_host::Outputs,
    context: &Context,
    show_secrets: bool,
    app: &App,
) -> (Vec<Part<'a>>, Status) {
    let (mut names, mut parts, mut status) = (Names::default(), Vec::new(), Status::Done);
    for (name, document) in &outputs.workloads {
        match document {
            Ok(document) => {
                let path = names.free("workloads", &format!("{name}.yaml"), "");
                parts.push(Part { path, document, is_secret: document.has_secret() });
            }
            Err(error) => {
                app.ui.error(&error.to_string());
                status = Status::Failed;
            }
        }
    }
    for (key, manifest) in &outputs.manifests {
        let owner = Urn::new(context, key).guresid();
        let owner = owner.as_str().get(..8).unwrap_or_default();
        let folder = Path::new("manifests").join(files::safe_name(manifest.location.shown(show_secrets)));
        let path = names.free(&folder, &with_ending(manifest.name.shown(show_secrets)), owner);
        let in_its_name = manifest.name.is_secret() || manifest.location.is_secret();
        let is_secret = in_its_name || manifest.data.has_secret();
        parts.push(Part { path, document: &manifest.data, is_secret });
    }
    (parts, status)
}

fn write(args: &Args, parts: Vec<Part<'_>>) -> Result<Exported, Failure> {
    // Check all destinations before writing any file.
    let targets: Vec<PathBuf> = parts.iter().map(|part| args.folder.join(&part.path)).collect();
    files::no_links(&args.folder, targets.iter().map(PathBuf::as_path))?;
    let mut earlier = Earlier::read(&args.folder)?;
    parts.iter().zip(&targets).try_for_each(|(part, target)| earlier.check(&part.path, target))?;
    parts.iter().for_each(|part| earlier.add(&part.path));
    earlier.write(&args.folder)?;
    let mut exported = Exported::default();
    for (Part { path, document, is_secret }, target) in parts.into_iter().zip(targets) {
        let json = render::value::json(document, args.show_secrets);
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let text = if is_json { format!("{json:#}\n") } else { render::value::yaml(&json)? };
        let result = match is_secret && args.show_secrets {
            true => files::make_folder(&target).and_then(|()| files::write_private(&target, text.as_bytes())),
            false => files::write(&target, &text),
        };
        result.map_err(|error| Failure::caused(format!("cannot write `{}`", target.display()), &error))?;
        if document.has_secret() && !args.show_secrets {
            exported.incomplete.push(target.clone());
        }
        exported.written.push(target);
    }
    Ok(exported)
}

fn warn_of_incomplete(incomplete: &[PathBuf], app: &App) {
    if incomplete.is_empty() {
        return;
    }
    let names = incomplete.iter().map(|path| format!("`{}`", text::line(&path.display().to_string())));
    app.ui.warning(&format!(
        "{} incomplete, with `[secret]` in place of secrets: {}",
        match incomplete.len() {
            1 => "one file is".to_owned(),
            count => format!("{count} files are"),
        },
        names.collect::<Vec<_>>().join(", ")
    ));
    app.ui.hint("`--show-secrets` writes secrets in plain text, to files that only you can read");
}

/// The files that earlier exports wrote into a folder: one relative path per line.
struct Earlier(BTreeSet<String>);

impl Earlier {
    const FILE: &str = ".purlin-export";

    fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(Self::FILE);
        match files::text(&path) {
            Ok(text) => Ok(Self(text.lines().map(str::to_owned).collect())),
            // If the folder cannot exist, writing reports that.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Self(BTreeSet::new()))
            }
            Err(error) => Err(Failure::caused(format!("cannot read `{}`", path.display()), &error)),
        }
    }

    /// # Errors
    /// If the destination exists and no export wrote it.
    fn check(&self, path: &Path, target: &Path) -> Result<(), Failure> {
        if self.0.contains(&*path.to_string_lossy()) || target.symlink_metadata().is_err() {
            return Ok(());
        }
        let message = format!("`{}` already exists and was not written by an export", text::path(target));
        Err(Failure::input(message).hint("export into another folder, or move the file away"))
    }

    fn add(&mut self, path: &Path) {
        self.0.insert(path.to_string_lossy().into_owned());
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let path = folder.join(Self::FILE);
        let lines: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        files::write(&path, lines)
            .map_err(|error| Failure::caused(format!("cannot write `{}`", path.display()), &error))
    }
}

/// Warns that Purlin would read exported files in the workspace's own folder as documents next
/// time.
fn warn_of_reading_along(folder: &Path, workspace: &Path, app: &App) {
    let absolute = |path: &Path| app.folder.join(path).components().collect::<PathBuf>();
    let inside = std::fs::canonicalize(workspace).ok().and_then(|workspace| {
        let folder = absolute(folder);
        // The folder may not exist yet, but its parent does.
        let parent = folder.parent()?.canonicalize().ok()?;
        Some(parent.join(folder.file_name()?).strip_prefix(workspace).ok()?.to_owned())
    });
    let hidden = |inside: &Path| {
        inside
            .iter()
            .any(|part| part.to_string_lossy().starts_with('.') || part == "target" || part == "node_modules")
    };
    if inside.is_some_and(|inside| !hidden(&inside)) {
        app.ui.warning(
            "the folder is in the workspace, so the next run will read the exported files as documents",
        );
        app.ui.hint("export into a folder outside, or into a hidden one such as `.export`");
    }
}

/// Adds `.yaml` to the name of a manifest unless it already ends in an extension of YAML or JSON.
fn with_ending(name: &str) -> String {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or("");
    if ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        name.to_owned()
    } else {
        format!("{name}.yaml")
    }
}

/// The names in use, so that no file overwrites another, even on file systems that ignore case.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// An unused path in `folder` for a name. If the name is taken, a prefix derived from the owner
    /// and, if necessary, a number are added.
    fn free(&mut self, folder: impl AsRef<Path>, name: &str, owner: &str) -> PathBuf {
        let name = files::safe_name(name);
        let marked = format!("{owner}-{name}");
        let numbered = (2..).map(|number| format!("{owner}-{number}-{name}"));
        for candidate in [name.clone(), marked].into_iter().chain(numbered) {
            let path = folder.as_ref().join(candidate.trim_start_matches('-'));
            if self.0.insert(path.to_string_lossy().to_lowercase()) {
                return path;
            }
        }
        // Unreachable: the iterator of numbers is infinite.
        folder.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_overwrites_another() {
        let mut names = Names::default();
        let mut free = |name: &str, owner: &str| names.free("m", name, owner).display().to_string();
        assert_eq!(free("a.yaml", "1234"), "m/a.yaml");
        assert_eq!(free("A.yaml", "5678"), "m/5678-A.yaml");
        assert_eq!(free("a.yaml", "5678"), "m/5678-2-a.yaml");
        assert_eq!(free("../../x", "1"), "m/_.._.._x");
    }

    #[test]
    fn manifests_have_an_ending() {
        assert_eq!(with_ending("service"), "service.yaml");
        assert_eq!(with_ending("service.YML"), "service.YML");
        assert_eq!(with_ending("a.json"), "a.json");
        assert_eq!(with_ending("v1.2"), "v1.2.yaml");
    }
}
