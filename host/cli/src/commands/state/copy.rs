//! `purlin state copy`

use std::path::{Path, PathBuf};

use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::{Copied, CopyOptions, Purlin};
use purlin_model::Workspace;
use purlin_state as state;
use purlin_state::Environment;
use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::report::FORMAT;
use crate::surroundings::WORKSPACE_FILE;
use crate::text;

/// Copy environments from one state to another, such as from a folder to a database.
///
/// FROM and TO are projects (a folder with a purlin.yaml, or that file), whose state is used, or folders
/// of a state (`.purlin`). Each environment is copied completely, with its history, and compared with the
/// original, which is then closed to deployments. An interrupted copy continues where it stopped:
/// environments that are already in TO are not copied again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state copy .purlin .               purlin.yaml now names a database
  purlin state copy . ../backup --keep-open
  purlin state copy .purlin . --env staging

With `--format json`; `outcome` is `copied`, `already` (it exists) or `failed`, with `error`:
  {\"format\": 1, \"from\", \"to\", \"environments\": [
    {\"org\", \"app\", \"env\", \"outcome\", \"resources\", \"error\"}], \"rollouts\"}")]
pub(super) struct Args {
    /// The state to copy from.
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// The state to copy to. A folder is created if it does not exist.
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Copy only this environment. May be repeated.
    #[arg(long = "env", value_name = "ENV")]
    environments: Vec<String>,

    /// Replace the record of these environments in TO, which is lost.
    #[arg(long)]
    replace: bool,

    /// Leave the originals open to deployments. Use this for backups only: two states with the same
    /// resources undo each other's changes.
    #[arg(long)]
    keep_open: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct CopyReport {
    format: u8,
    from: String,
    to: String,
    environments: Vec<Entry>,
    /// The number of roll-outs that were copied, too.
    rollouts: usize,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    environment: Environment,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    if app.global.state.is_some() {
        return Err(Failure::input(
            "`--state` cannot be used with `state copy`: FROM and TO name the states",
        ));
    }
    let (from, to) = (at(&args.from, true, app)?, at(&args.to, false, app)?);
    if from.state_place() == to.state_place() {
        let place = from.state_place();
        return Err(Failure::input(format!("FROM and TO are the same state, `{}`", text::line(&place))));
    }
    if !from.has_state() {
        return Err(Failure::input(format!("there is no state in `{}`", text::path(&args.from))));
    }
    let chosen = chosen(&from, &args.environments).await?;
    let options = CopyOptions { replace: args.replace, keep_open: args.keep_open };
    let mut entries = Vec::with_capacity(chosen.len());
    for environment in &chosen {
        let copied = from.copy_environment(environment, &to, options).await;
        let copied = match copied {
            Err(error) if !is_of_one(&error) => return Err(Failure::without_sources(error)),
            copied => copied,
        };
        let entry = entry(environment, copied);
        if args.format.format == Format::Text {
            show(environment, &entry, app);
        }
        entries.push(entry);
    }
    let rollouts = match args.environments.is_empty() && entries.iter().all(|entry| entry.error.is_none()) {
        true => from.rollouts().await.map_err(Failure::without_sources)?.len(),
        false => 0,
    };
    if rollouts > 0 {
        let copied = from.copy_environment(&Environment::fleet(), &to, options).await;
        copied.map_err(Failure::without_sources)?;
    }
    let (from_place, to_place) = (from.state_place(), to.state_place());
    from.close().await.map_err(Failure::without_sources)?;
    super::super::deploy::close(to, app).await?;
    let failed = entries.iter().filter(|entry| entry.error.is_some()).count();
    match args.format.format {
        Format::Json => app.ui.json(&CopyReport {
            format: FORMAT,
            from: from_place,
            to: to_place,
            environments: entries,
            rollouts,
        }),
        Format::Text => {
            conclude(args, chosen.len(), failed, &to_place, app);
            if rollouts > 0 {
                app.ui.say(&format!("The record of {} is there, too.", text::count(rollouts, "roll-out")));
            }
        }
    }
    Ok(if failed > 0 { Status::Failed } else { Status::Done })
}

/// The environments to copy: all, or the named ones.
async fn chosen(from: &Purlin, named: &[String]) -> Result<Vec<Environment>, Failure> {
    let all = from.environments().await.map_err(Failure::without_sources)?;
    let is_chosen = |one: &&Environment| named.is_empty() || named.iter().any(|env| **env == *one.env);
    let chosen: Vec<Environment> = all.iter().filter(is_chosen).cloned().collect();
    let Some(missing) = named.iter().find(|env| !chosen.iter().any(|one| *one.env == ***env)) else {
        return Ok(chosen);
    };
    let failure = Failure::input(format!(
        "nothing is recorded in an environment `{}` in `{}`",
        text::line(missing),
        text::line(&from.state_place())
    ));
    let listing = "without `--env`, every environment is copied";
    Err(naming::suggest(failure, missing, all.iter().map(|one| &*one.env), listing))
}

fn conclude(args: &Args, chosen: usize, failed: usize, to: &str, app: &App) {
    if chosen == 0 {
        app.ui.say("Nothing is recorded in FROM, so nothing was copied.");
        return;
    }
    let environments = match chosen {
        1 => "1 environment is".to_owned(),
        count => format!("{count} environments are"),
    };
    app.ui.say(&format!("{} of {environments} in `{}`.", chosen - failed, text::line(to)));
    if failed > 0 {
        app.ui.hint("once that is corrected, the same command copies the rest");
    } else if !args.keep_open {
        app.ui.hint("the originals are closed to deployments; `purlin state unlock` opens one again");
    }
}

/// Whether an error affects one environment only, so that the others can still be copied.
fn is_of_one(error: &purlin_host::Error) -> bool {
    use state::Error::{Damaged, Exists, Locked, Lost, Moved};
    matches!(
        error,
        purlin_host::Error::State(
            Exists { .. } | Locked { .. } | Damaged { .. } | Lost { .. } | Moved { .. }
        )
    )
}

fn entry(environment: &Environment, copied: Result<Copied, purlin_host::Error>) -> Entry {
    let environment = environment.clone();
    match copied {
        Ok(Copied { resources, already }) => {
            let outcome = if already { "already" } else { "copied" };
            Entry { environment, outcome, resources: Some(resources), error: None }
        }
        Err(error) => {
            let mut message = error.message();
            match error {
                purlin_host::Error::State(state::Error::Exists { .. }) => {
                    message.push_str(", with other content; `--replace` replaces them");
                }
                purlin_host::Error::State(state::Error::Moved { .. }) => {
                    message.push_str("; `purlin state unlock` overrides this");
                }
                _ => {}
            }
            Entry { environment, outcome: "failed", resources: None, error: Some(message) }
        }
    }
}

fn show(environment: &Environment, entry: &Entry, app: &App) {
    let resources = text::count(entry.resources.unwrap_or_default(), "resource");
    match &entry.error {
        None if entry.outcome == "copied" => app.ui.say(&format!("Copied {environment}: {resources}.")),
        None => app.ui.say(&format!("{environment} existed already: {resources}.")),
        Some(error) => app.ui.error(&format!("{environment} was not copied: {}", text::line(error))),
    }
}

/// The state at a path.
fn at(path: &Path, is_from: bool, app: &App) -> Result<Purlin, Failure> {
    let file = match path.is_dir() {
        true => path.join(WORKSPACE_FILE),
        false => path.to_owned(),
    };
    if file.is_file() {
        let loaded = documents::load(&[Input::Path(file)]);
        if loaded.has_errors() {
            return Err(Failure::documents(loaded.diagnostics, loaded.sources));
        }
        let Some(workspace) = loaded.workspace.clone() else {
            return Err(Failure::input(documents::no_workspace(text::path(path)))
                .hint("name a folder with a purlin.yaml, or the folder of a state, such as `.purlin`"));
        };
        return input::orchestrator(&workspace, app);
    }
    let is_empty = std::fs::read_dir(path).map_or(!path.exists(), |mut entries| entries.next().is_none());
    if !path.join("format").is_file() && (is_from || !is_empty) {
        return Err(Failure::input(format!(
            "`{}` is neither a project nor the folder of a state",
            text::path(path)
        ))
        .hint("name a folder with a purlin.yaml, or the folder of a state, such as `.purlin`"));
    }
    // A new folder gets its own key, so that it can be read without the project. For an existing
    // one, the key is in the folder, or it is the key that the project names.
    let Workspace { folder, key, .. } = input::workspace_alone(app)?;
    let key = key.filter(|_| path.join("format").is_file() && !path.join("key").is_file());
    input::orchestrator_at(&Workspace { folder, key, ..Workspace::default() }, Some(path), app)
}
