//! From the command line to documents, a workspace, and the orchestrator that works on them.

mod place;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use purlin_documents as documents;
use purlin_documents::{Input, Loaded, SourceMap};
use purlin_files::reason;
use purlin_host::STATE_FOLDER;
use purlin_host::{Documents, Purlin};
use purlin_model::{Choices, Diagnostic, KeySource, Severity, Workspace};
use purlin_requirements::Offer;
use purlin_state::{AskedKey, KeyProvider};

pub(crate) use place::{
    Place, check_recorded, hint_at_others, place, place_as_written, place_to_change, place_to_delete, written,
};

use crate::app::App;
use crate::args::{Assigned, Assignment, DocumentArgs};
use crate::choices;
use crate::failure::Failure;
use crate::render;
use crate::surroundings::{self, WORKSPACE_FILE};
use crate::text;
use crate::ui::{Level, Ui};
use crate::worker;

/// The limit for standard input. More is rejected without reading it all into memory.
const STDIN_LIMIT: u64 = 64 << 20;

/// How long to wait while another process has the state open: long enough if it only reads.
const WAIT: Duration = Duration::from_millis(300);

/// How long to wait for another deployment that installs a bundle that both would share. Purlin
/// names that deployment, and the user may stop waiting earlier.
const PATIENCE: Duration = Duration::from_mins(10);

/// Valid documents, and their texts, which later messages show.
pub(crate) struct ValidDocuments {
    pub(crate) documents: Documents,
    pub(crate) sources: SourceMap,
    pub(crate) workspace: Workspace,
    /// The note that they are only a part of the project, if they are.
    only_read: Option<String>,
}

impl ValidDocuments {
    /// Converts an error of the host about these documents.
    pub(crate) fn failure(&self, mut error: purlin_host::Error) -> Failure {
        if let purlin_host::Error::Documents(faults) = &mut error {
            add_only_read(faults, self.only_read.as_deref());
        }
        Failure::host(error, &self.sources)
    }
}

/// The note that only a part of the project was read; `None` if all of it was.
pub(crate) fn only_read(args: &DocumentArgs, app: &App) -> Option<String> {
    const FEW: usize = 8;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let named = args.named();
    let nearest = surroundings::nearest_workspace(&app.folder);
    let project = real(&default_folder(nearest.as_deref(), app));
    let is_all = |path: &PathBuf| path.join(WORKSPACE_FILE).is_file() || project.starts_with(real(path));
    if named.iter().any(is_all) {
        return None;
    }
    let names = named.iter().map(|path| match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => format!("`{}`", text::path(path)),
    });
    let names: Vec<String> = names.collect();
    let (last, others) = names.split_last()?;
    Some(match others.len() {
        0 => format!("only {last} was read"),
        1..FEW => format!("only {} and {last} were read", others.join(", ")),
        _ => "only the named files and folders were read".to_owned(),
    })
}

/// Adds the note of [`only_read`] to the first resource without a definition: a file that was not read
/// may contain the definition.
pub(crate) fn add_only_read(faults: &mut [Diagnostic], only_read: Option<&str>) {
    if let Some(fault) = faults.iter_mut().find(|fault| fault.code == "no-match") {
        fault.notes.extend(only_read.map(str::to_owned));
    }
}

/// Reads the documents that the command line names, or those of the current project.
pub(crate) fn load(args: &DocumentArgs, app: &App) -> Result<Loaded, Failure> {
    let mut inputs = Vec::new();
    let named = args.named();
    let nearest = surroundings::nearest_workspace(&app.folder);
    for path in &named {
        inputs.push(match args.bundle.bundle {
            _ if path.as_os_str() == "-" => standard_input()?,
            None => Input::Path(path.clone()),
            Some(_) => Input::Catalog(path.clone()),
        });
    }
    let bundle = args.bundle.deployment()?;
    if inputs.is_empty() {
        if nearest.is_none() {
            no_project(&app.folder)?;
        }
        let folder = default_folder(nearest.as_deref(), app);
        nearest.as_deref().map_or(Ok(()), |file| own(file, Some(&folder)))?;
        inputs.push(if bundle.is_some() { Input::Catalog(folder) } else { Input::Path(folder) });
    }
    inputs.extend(bundle);
    let mut loaded = read(&inputs, args, app)?;
    suggest_options(&mut loaded, args, app.command);
    if loaded.workspace.is_some() || loaded.has_errors() {
        return Ok(loaded);
    }
    match nearest {
        // The workspace file is in another folder. Read it together with the documents, so that its
        // faults are shown like all others.
        Some(file) => {
            let shown = short(&file, &app.folder);
            own(&file, Some(&shown))?;
            inputs.push(Input::Path(shown));
            let loaded = read(&inputs, args, app)?;
            is_workspace(&file, &loaded)?;
            Ok(loaded)
        }
        None => Ok(loaded),
    }
}

/// Checks that only the user could have written the workspace file that was found in the current folder or
/// above, since it names programs that Purlin runs. `name` is what `-f` accepts it as, if the command has
/// this option.
///
/// # Errors
/// If another user could have written it, or if the user's environment names a file that does not exist.
pub(crate) fn own(file: &Path, name: Option<&Path>) -> Result<(), Failure> {
    // Only a named file can be missing. Without it, its state would seem to be empty.
    if !file.exists() {
        let message = format!("there is no `{}`", text::path(file));
        let variable = surroundings::WORKSPACE;
        return Err(
            Failure::input(message).hint(format!("{variable} names it: correct or unset the variable"))
        );
    }
    let Some(why) = surroundings::foreign(file) else { return Ok(()) };
    let folder = text::path(file.parent().unwrap_or(file));
    let variable = format!("`{}={folder}`", surroundings::WORKSPACE);
    let accept = match name {
        Some(name) => format!("name it with `-f {}`, or set {variable}, for example in CI", text::path(name)),
        None => format!("set {variable}"),
    };
    let message = format!("`{}` may be another user's, and names programs to run: {why}", text::path(file));
    Err(Failure::input(message).hint(format!(
        "if you trust everybody who can write there, {accept}; otherwise work in another folder"
    )))
}

/// Checks that a file which the user's environment names has a Workspace: its settings, such as the
/// protection of an environment, must not be lost.
fn is_workspace(file: &Path, loaded: &Loaded) -> Result<(), Failure> {
    if loaded.workspace.is_some() || loaded.has_errors() || !surroundings::names_workspace() {
        return Ok(());
    }
    let (file, variable) = (text::path(file), surroundings::WORKSPACE);
    Err(Failure::input(format!("`{file}` contains no Workspace"))
        .hint(format!("{variable} names it: correct or unset the variable")))
}

/// Suggests an option for an argument that names no file and looks like the name of a resource.
fn suggest_options(loaded: &mut Loaded, args: &DocumentArgs, command: &str) {
    for path in &args.paths {
        let name = text::path(path);
        if name.contains('/') || documents::is_document_name(&name) || path.exists() {
            continue;
        }
        let help = match command {
            "outputs" => "`purlin outputs --raw KEY.OUTPUT` prints one output".to_owned(),
            "plan" | "up" | "graph" | "destroy" | "refresh" => {
                format!("`--target {name}` selects a resource")
            }
            _ => continue,
        };
        let is_missing = |fault: &&mut Diagnostic| {
            let is_here = fault.location.as_ref().is_some_and(|place| *place.file == *name);
            let has_near = fault.help.as_ref().is_some_and(|help| help.starts_with("did you mean"));
            fault.code == "unreadable-file" && is_here && !has_near
        };
        if let Some(fault) = loaded.diagnostics.iter_mut().find(is_missing) {
            fault.help = Some(help);
        }
    }
}

/// The files and folders that [`load`] reads, including `purlin.yaml`, so that they can be watched.
pub(crate) fn places(args: &DocumentArgs, app: &App) -> Vec<PathBuf> {
    let nearest = surroundings::nearest_workspace(&app.folder);
    let mut places: Vec<PathBuf> = args.named().into_iter().filter(|path| path.as_os_str() != "-").collect();
    if args.named().is_empty() {
        places.push(default_folder(nearest.as_deref(), app));
    }
    places.extend(nearest);
    places.extend(args.values.files.iter().map(PathBuf::from));
    places
}

/// The host, for a command on the whole state. Reads no document except the workspace file.
pub(crate) fn state_of_all(app: &App) -> Result<Purlin, Failure> {
    orchestrator(&workspace_alone(app)?, app)
}

/// The nearest workspace. Reads no other document.
pub(crate) fn workspace_alone(app: &App) -> Result<Workspace, Failure> {
    let nearest = surroundings::nearest_workspace(&app.folder);
    nearest.as_deref().map_or(Ok(()), |file| own(file, None))?;
    let inputs: Vec<Input> = nearest.iter().map(|file| Input::Path(short(file, &app.folder))).collect();
    let mut loaded = documents::load_within(&inputs, &surroundings::accepts);
    loaded.report_unknown_stores();
    if loaded.has_errors() {
        return Err(Failure::documents(loaded.diagnostics, loaded.sources));
    }
    nearest.as_deref().map_or(Ok(()), |file| is_workspace(file, &loaded))?;
    Ok(workspace(&loaded, app))
}

/// Reads the documents and the values that override theirs.
fn read(inputs: &[Input], args: &DocumentArgs, app: &App) -> Result<Loaded, Failure> {
    let (values, now) = (&args.values, args.choices.choices()?);
    let assignments = values.assignments()?;
    let mut loaded =
        app.timings.time("load documents", || documents::load_within(inputs, &surroundings::accepts));
    loaded.report_unknown_stores();
    loaded.requirement_context.now = Choices { makes: args.bundle.bundle.is_some(), ..now };
    values.files.iter().for_each(|file| loaded.read_values(file));
    for Assignment { name, value } in assignments {
        match value {
            Assigned::Text(text) => loaded.set_text(&name, &text),
            Assigned::Value(value) => loaded.set_value(&name, value),
        }
    }
    Ok(loaded)
}

/// Puts documents into the context set by the command line, the workspace and the documents.
pub(crate) fn in_context(
    loaded: Loaded,
    args: &DocumentArgs,
    workspace: &Workspace,
) -> Result<Documents, purlin_host::Error> {
    let id = surroundings::deployment_id();
    let mut documents = Documents::new(loaded, &args.defaults(), Some(workspace), &id)?;
    documents.changes = args.changes.changes();
    Ok(documents)
}

/// Rejects a folder that is unlikely to be a project, for a command that names no documents in a
/// folder without a workspace.
///
/// # Errors
/// If the folder is unlikely to be a project.
fn no_project(folder: &Path) -> Result<(), Failure> {
    let shown = text::path(folder);
    let message = match surroundings::project(folder) {
        surroundings::Project::Possible => return Ok(()),
        surroundings::Project::Home => format!("`{shown}` is a home folder and has no purlin.yaml"),
        surroundings::Project::System => format!("`{shown}` is a system folder, not a project"),
        surroundings::Project::Large => format!(
            "`{shown}` has no purlin.yaml and contains more than {} files, so it seems not to be a project",
            surroundings::MANY
        ),
    };
    Err(Failure::input(message).hint(
        "change to the folder of the project, or name documents with `-f FILE|DIR`; `purlin init DIR` writes a new project",
    ))
}

/// The default folder for bundles: the folder of the nearest purlin.yaml, otherwise the current
/// one.
///
/// # Errors
/// If another user could have written that file.
pub(crate) fn default_catalog(app: &App) -> Result<PathBuf, Failure> {
    let nearest = surroundings::nearest_workspace(&app.folder);
    let folder = default_folder(nearest.as_deref(), app);
    nearest.as_deref().map_or(Ok(()), |file| own(file, None))?;
    Ok(folder)
}

/// The folder of the workspace file, otherwise the current one, relative to the current folder if
/// possible.
fn default_folder(nearest: Option<&Path>, app: &App) -> PathBuf {
    match nearest.and_then(Path::parent) {
        Some(folder) => short(folder, &app.folder),
        None => ".".into(),
    }
}

/// Whether documents may be read from this path.
pub(crate) fn is_document(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.is_dir() || name.is_some_and(documents::is_document_name)
}

/// A path relative to the current folder if it is inside it.
pub(crate) fn short(path: &Path, from: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
        Ok(rest) => rest.to_owned(),
        Err(_) => path.to_owned(),
    }
}

fn standard_input() -> Result<Input, Failure> {
    Ok(Input::Text { name: "-".into(), text: standard_text()? })
}

/// The text of standard input, within a limit.
pub(crate) fn standard_text() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(STDIN_LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::caused("cannot read standard input", &error))?;
    if bytes.len() as u64 > STDIN_LIMIT {
        return Err(Failure::input("standard input is larger than 64 MiB").hint("split it into files"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let message = format!("standard input is not UTF-8 (byte {})", error.utf8_error().valid_up_to());
        Failure::input(message).hint("convert it, for example with `iconv -t UTF-8`")
    })
}

/// Adds the choices that earlier runs got from the command line.
pub(crate) async fn recall(
    loaded: &mut Loaded,
    args: &DocumentArgs,
    workspace: &Workspace,
    app: &App,
) -> Result<(), Failure> {
    if !loaded.requires_bundles() {
        return Ok(());
    }
    let purlin = orchestrator(workspace, app)?;
    let recalled = purlin.recall(loaded, &args.defaults(), Some(workspace)).await;
    let closed = purlin.close().await;
    recalled.and(closed).map_err(|error| Failure::host(error, &loaded.sources))
}

/// Reads documents and puts them into their context. Shows warnings.
pub(crate) async fn given(args: &DocumentArgs, app: &App) -> Result<ValidDocuments, Failure> {
    given_from(load(args, app)?, args, app).await
}

/// Like [`given`], but asks the user for missing parameters and credentials of installations.
pub(crate) async fn given_or_prompted(
    args: &DocumentArgs,
    may_prompt: bool,
    app: &App,
) -> Result<ValidDocuments, Failure> {
    let mut loaded = load(args, app)?;
    if may_prompt && loaded.requires_bundles() && !loaded.has_errors() {
        let workspace = workspace(&loaded, app);
        recall(&mut loaded, args, &workspace, app).await?;
        for missing in purlin_host::unmapped(&loaded, &args.defaults(), Some(&workspace)) {
            choices::ask(&missing, &mut loaded.requirement_context.now, app)?;
        }
    }
    let given = given_from(loaded, args, app).await?;
    for Offer { installation, installed, newer } in &given.documents.resolution().offers {
        app.ui.note(&format!("`{installation}` stays at {installed}, which fits; `--with {installation}={newer}` takes the newer version"));
    }
    Ok(given)
}

/// Like [`given`], for documents that were already read.
pub(crate) async fn given_from(
    mut loaded: Loaded,
    args: &DocumentArgs,
    app: &App,
) -> Result<ValidDocuments, Failure> {
    show(&loaded.diagnostics, &loaded.sources, app);
    let sources = loaded.sources.clone();
    let workspace = workspace(&loaded, app);
    recall(&mut loaded, args, &workspace, app).await?;
    let documents = in_context(loaded, args, &workspace).map_err(|error| Failure::host(error, &sources))?;
    show(&documents.remarks, &sources, app);
    Ok(ValidDocuments { documents, sources, workspace, only_read: only_read(args, app) })
}

/// Warns if the documents request nothing. Deploying such documents is an error.
pub(crate) fn warn_of_nothing(given: &ValidDocuments, app: &App) {
    let Some(fault) = given.documents.nothing_declared() else { return };
    app.ui.warning(&fault.message);
    if let Some(help) = &fault.help {
        app.ui.hint(help);
    }
}

/// The workspace among the documents. If there is none, an empty one in the folder of the nearest
/// purlin.yaml, or in the current folder if there is no such file either.
pub(crate) fn workspace(loaded: &Loaded, app: &App) -> Workspace {
    let mut workspace = loaded.workspace.clone().unwrap_or_else(|| {
        let nearest = surroundings::nearest_workspace(&app.folder);
        let folder = nearest.as_deref().and_then(Path::parent).unwrap_or(&app.folder);
        // A file without a Workspace sets no state; a file that cannot be read may set anything.
        let is_of_it = |fault: &Diagnostic| {
            let file = fault.location.as_ref().map(|location| app.folder.join(&*location.file));
            fault.is_error() && fault.code != "no-workspace" && nearest.is_some() && file == nearest
        };
        let is_state_unknown = loaded.diagnostics.iter().any(is_of_it);
        Workspace { folder: folder.to_owned(), is_state_unknown, ..Workspace::default() }
    });
    if app.global.state.is_some() {
        // `--state` overrides the workspace's state.
        workspace.database = None;
    }
    workspace
}

/// Shows warnings and, with `--verbose`, notes.
pub(crate) fn show(remarks: &[Diagnostic], sources: &SourceMap, app: &App) {
    let lowest = if app.ui.level >= Level::Verbose { Severity::Note } else { Severity::Warning };
    let remarks: Vec<Diagnostic> =
        remarks.iter().filter(|d| !d.is_error() && d.severity >= lowest).cloned().collect();
    if !remarks.is_empty() && app.ui.level > Level::Quiet {
        app.ui.raw(&render::diagnostics::render(&remarks, sources, app.ui.error_columns()));
    }
}

/// The host for a workspace. Opens nothing yet.
pub(crate) fn orchestrator(workspace: &Workspace, app: &App) -> Result<Purlin, Failure> {
    orchestrator_at(workspace, app.global.state.as_deref(), app)
}

/// Like [`orchestrator`], with the embedded state in this folder.
pub(crate) fn orchestrator_at(
    workspace: &Workspace,
    state: Option<&Path>,
    app: &App,
) -> Result<Purlin, Failure> {
    let mut builder = Purlin::builder()
        .workspace(workspace.clone())
        .variables(surroundings::variables())
        .holder(surroundings::holder(app.command))
        .compiler(Arc::new(worker::compiler()))
        .wait(WAIT)
        .wait_for_others(PATIENCE)
        .lock_timeout(app.global.lock_timeout.unwrap_or_default());
    if let Some(reason) = app.reason() {
        builder = builder.reason(reason);
    }
    // Without a workspace file, the state in the current folder was found, and not named.
    let beside = workspace.folder.join(STATE_FOLDER);
    let is_found = state.is_none() && workspace.location.file.is_empty();
    if let Some(why) = is_found.then(|| surroundings::written_by_others(&beside)).flatten() {
        let message = format!("the state in the current folder may be another user's: {why}");
        return Err(Failure::input(message).hint(format!(
            "if you trust everybody who can write there, name it with `--state {STATE_FOLDER}`"
        )));
    }
    if workspace.is_state_unknown {
        let message = format!(
            "`state` or `key` in {WORKSPACE_FILE} cannot be read, so the location of the state is unknown"
        );
        return Err(Failure::input(message).hint("`purlin validate` shows the error; nothing was changed"));
    }
    if let Some(folder) = state {
        if folder.is_file() {
            return Err(Failure::input(format!(
                "`--state {}` names a file, but the state is a folder",
                text::path(folder)
            ))
            .hint("`--file` names documents; `--state DIR` names the folder, which the first `up` creates"));
        }
        builder = builder.state_folder(folder);
    }
    if let Some(folder) = surroundings::cache_folder() {
        builder = builder.cache_folder(folder);
    }
    if let Some(calls) = app.global.parallelism {
        builder = builder.parallelism(calls.get());
    }
    builder = builder.end_with_progress(app.global.no_wait);
    let level = app.ui.level;
    builder = builder.on_note(move |note| Ui::new(level).note_once(note));
    if let Some(probe) = surroundings::crash_points() {
        builder = builder.probe(probe);
    }
    if let Some(time) = surroundings::describe_time() {
        builder = builder.describe_time(time);
    }
    // A folder that contains a key was written with that key.
    let has_own_key = state.is_some_and(|folder| folder.join("key").is_file());
    if !has_own_key && let Some(key) = key(workspace) {
        builder = builder.key(key);
    }
    let purlin = builder.build();
    app.will_release(purlin.releases());
    Ok(purlin)
}

/// Fetches the key that the workspace names.
fn key(workspace: &Workspace) -> Option<KeyProvider> {
    Some(match &workspace.key {
        None => return None,
        Some(KeySource::File(path)) => KeyProvider::File(workspace.folder.join(path)),
        Some(KeySource::Env(name)) => {
            let (origin, name) = (format!("the key in the environment variable `{name}`"), name.clone());
            KeyProvider::Asked(AskedKey::new(origin, move || {
                let missing = format!(
                    "the environment variable `{name}`, which contains the key of the state, is not set"
                );
                std::env::var(&name).map_err(|_| missing)
            }))
        }
        Some(KeySource::Command(words)) => {
            let (origin, words) = (format!("the key that `{}` prints", words.join(" ")), words.clone());
            let folder = workspace.folder.clone();
            KeyProvider::Asked(AskedKey::new(origin, move || key_from_command(&words, &folder)))
        }
    })
}

/// Runs the program that prints the key.
fn key_from_command(words: &[String], folder: &Path) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("the command that prints the key of recorded secrets is empty".to_owned());
    };
    let wrong = |what: &str| format!("`{program}`, which prints the key of recorded secrets, {what}");
    let output = std::process::Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| wrong(&format!("cannot be run: {}", reason(&error))))?;
    if !output.status.success() {
        return Err(wrong(&format!("failed ({})", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| wrong("printed something that is not UTF-8"))
}
