//! Answers a shell that completes a command line: keys, environments, deployments, drivers, files.
//!
//! Errors print nothing and only leave fewer candidates. Completion runs no driver and no command,
//! and creates no state.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use purlin_documents as documents;
use purlin_documents::{Input, Loaded};
use purlin_host::{Documents, Purlin};
use purlin_model::{ContextDefaults, Key, KeySource, Workspace};
use purlin_state::{Environment, KeyProvider};

use crate::commands::Cli;
use crate::failure::Status;
use crate::{errors, input, surroundings};

/// How long to wait while another process has the state open. Completion must be fast.
const WAIT: Duration = Duration::from_millis(50);
/// How many of the latest deployments are offered.
const DEPLOYMENTS: usize = 20;

/// Completes if a shell asks for it.
pub(crate) fn answer() -> Option<ExitCode> {
    if !surroundings::is_completing() {
        return None;
    }
    let folder = std::env::current_dir().ok();
    let completed = CompleteEnv::with_factory(command)
        .var(surroundings::COMPLETE)
        .try_complete(std::env::args_os(), folder.as_deref());
    Some(if completed.is_ok() { Status::Done } else { Status::Failed }.into())
}

/// The shell's completion script, which calls this program by the path that it was called with.
pub(crate) fn script(shell: &str) -> Option<String> {
    let program = PathBuf::from(std::env::args_os().next()?);
    let program = match program.components().count() {
        0 | 1 => program,
        _ => std::env::current_dir().ok()?.join(program),
    };
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(shell)?;
    let written = known.write_registration(
        surroundings::COMPLETE,
        "purlin",
        "purlin",
        &program.to_string_lossy(),
        &mut script,
    );
    written.ok()?;
    Some(String::from_utf8_lossy(&script).trim_start().to_owned())
}

/// The command line, with completers for its values.
fn command() -> Command {
    attach(Cli::command(), "")
}

fn attach(command: Command, top: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|argument| values(argument, top));
    names.into_iter().fold(command, |command, name| {
        let top = if top.is_empty() { name.clone() } else { top.to_owned() };
        command.mut_subcommand(name, |sub| attach(sub, &top))
    })
}

/// Adds a completer to an argument of the top-level command `top` or of one of its subcommands.
fn values(argument: Arg, top: &str) -> Arg {
    let name = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let is_env = argument.get_long() == Some("env");
    match (name.as_deref(), top) {
        _ if is_env => argument.add(ArgValueCandidates::new(|| candidates(Scene::environments))),
        (Some("FILE|DIR"), _) => {
            argument.add(ArgValueCompleter::new(PathCompleter::any().filter(input::is_document)))
        }
        (Some("NAME" | "FILE|NAME"), "driver") => {
            argument.add(ArgValueCandidates::new(|| candidates(Scene::drivers)))
        }
        (Some("DEPLOYMENT" | "BEFORE" | "AFTER"), _) => {
            argument.add(ArgValueCandidates::new(|| candidates(Scene::deployments)))
        }
        (Some("CODE"), _) => argument.add(ArgValueCandidates::new(codes)),
        (Some("KEY"), "driver") => argument,
        (Some("KEY" | "KEY|URN" | "OLD" | "KEY.OUTPUT"), "state" | "outputs" | "destroy" | "refresh") => {
            argument.add(ArgValueCandidates::new(|| candidates(Scene::recorded)))
        }
        (Some("KEY"), "explain" | "import") => {
            argument.add(ArgValueCandidates::new(|| candidates(Scene::requested)))
        }
        (Some("KEY"), _) => argument.add(ArgValueCandidates::new(|| {
            candidates(|scene| {
                let mut keys = scene.requested();
                keys.extend(scene.recorded());
                keys
            })
        })),
        _ => argument,
    }
}

fn codes() -> Vec<CompletionCandidate> {
    let entry =
        |entry: &errors::Entry<'_>| CompletionCandidate::new(entry.code).help(Some(entry.summary().into()));
    errors::entries().iter().map(entry).collect()
}

fn candidates(find: impl Fn(&Scene) -> Vec<String>) -> Vec<CompletionCandidate> {
    let mut found = Scene::read().map(|scene| find(&scene)).unwrap_or_default();
    found.sort_unstable();
    found.dedup();
    found.retain(|name| !name.chars().any(crate::text::is_dangerous));
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// The options on the command line so far that select documents, environment and state.
#[derive(Debug, Default)]
struct Scene {
    folder: PathBuf,
    files: Vec<PathBuf>,
    state: Option<PathBuf>,
    context: ContextDefaults,
}

impl Scene {
    fn read() -> Option<Self> {
        let mut scene = Self { folder: std::env::current_dir().ok()?, ..Self::default() };
        // The shell passes the words of the command line after `--`.
        let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
        let mut words = words.map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let mut value = || value.clone().or_else(|| words.next()).unwrap_or_default();
            match name.as_str() {
                "-f" | "--file" => scene.files.push(value().into()),
                "--state" => scene.state = Some(value().into()),
                "--org" => scene.context.org = Some(value().into()),
                "--app" => scene.context.app = Some(value().into()),
                "--env" => scene.context.env = Some(value()).filter(|env| !env.is_empty()).map(Into::into),
                "--env-type" => scene.context.env_type = Some(value().into()),
                _ => {}
            }
        }
        Some(scene)
    }

    /// The documents that the command would read.
    fn load(&self) -> Loaded {
        let nearest = surroundings::nearest_workspace(&self.folder);
        if nearest.as_deref().is_some_and(|file| surroundings::foreign(file).is_some()) {
            return documents::load(&[]);
        }
        let mut inputs: Vec<Input> =
            self.files.iter().filter(|file| file.exists()).cloned().map(Input::Path).collect();
        match &nearest {
            Some(file) if inputs.is_empty() => {
                inputs.extend(file.parent().map(|folder| Input::Path(folder.to_owned())));
            }
            Some(file) => inputs.push(Input::Path(file.clone())),
            None if inputs.is_empty()
                && surroundings::project(&self.folder) == surroundings::Project::Possible =>
            {
                inputs.push(Input::Path(self.folder.clone()));
            }
            None => {}
        }
        documents::load_within(&inputs, &surroundings::accepts)
    }

    fn workspace(&self, loaded: &Loaded) -> Workspace {
        let none = || Workspace { folder: self.folder.clone(), ..Workspace::default() };
        loaded.workspace.clone().unwrap_or_else(none)
    }

    /// The host; `None` if opening its state could run a command or connect to a database.
    fn purlin(&self, workspace: &Workspace) -> Option<Purlin> {
        // Completion must not wait for the network.
        if workspace.database.is_some() {
            return None;
        }
        let mut builder = Purlin::builder().workspace(workspace.clone()).wait(WAIT);
        builder = builder.holder(surroundings::holder("completions"));
        if let Some(folder) = &self.state {
            builder = builder.state_folder(folder);
        }
        match &workspace.key {
            None => {}
            Some(KeySource::File(path)) => {
                builder = builder.key(KeyProvider::File(workspace.folder.join(path)));
            }
            Some(KeySource::Env(name)) => {
                builder = builder.key(KeyProvider::Value(surroundings::secret(name)?.into()));
            }
            Some(KeySource::Command(_)) => return None,
        }
        Some(builder.build())
    }

    /// Reads something about the command's environment from the state.
    fn recall<T: Default>(&self, find: impl AsyncFnOnce(&Purlin, &Environment) -> Option<T>) -> T {
        let loaded = self.load();
        let workspace = self.workspace(&loaded);
        let written = Environment::of(&input::written(&self.context, &loaded.context, &workspace));
        let recalled = || {
            let purlin = self.purlin(&workspace).filter(|purlin| purlin.state_folder().is_dir())?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let found = find(&purlin, &written).await;
                purlin.close().await.ok()?;
                found
            })
        };
        recalled().unwrap_or_default()
    }

    /// The keys of the resources that the documents request.
    fn requested(&self) -> Vec<String> {
        let loaded = self.load();
        let workspace = self.workspace(&loaded);
        let declared = loaded.deployment.keys();
        let keys = match Documents::new(loaded, &self.context, Some(&workspace), "completions") {
            Ok(documents) => match documents.graph() {
                Ok(graph) => graph.nodes().map(|node| node.key.clone()).collect(),
                Err(_) => declared,
            },
            Err(_) => declared,
        };
        keys.iter().map(Key::short).collect()
    }

    /// The keys of recorded resources.
    fn recorded(&self) -> Vec<String> {
        self.recall(async |purlin, environment| {
            let snapshot = purlin.snapshot(environment).await.ok()?;
            let records = snapshot.records.iter().map(|record| record.urn.clone());
            let pending = snapshot.pending.iter().map(|intent| intent.id().urn);
            Some(records.chain(pending).filter_map(|urn| Some(urn.key()?.short())).collect())
        })
    }

    /// The ids of recorded environments and of those that the workspace declares.
    fn environments(&self) -> Vec<String> {
        let known = self.recall(async |purlin, _| {
            let known = purlin.environments().await.ok()?;
            Some(known.iter().map(|environment| environment.env.to_string()).collect::<Vec<_>>())
        });
        let workspace = self.workspace(&self.load());
        let declared = workspace.environments.keys().map(ToString::to_string);
        let default = workspace.defaults.env.as_ref().map(ToString::to_string);
        known.into_iter().chain(declared).chain(default).collect()
    }

    /// The numbers of the latest deployments.
    fn deployments(&self) -> Vec<String> {
        let mut numbers: Vec<String> = self.recall(async |purlin, environment| {
            let history = purlin.history(environment).await.ok()?;
            Some(history.iter().rev().take(DEPLOYMENTS).map(|one| one.number.to_string()).collect())
        });
        numbers.push("latest".to_owned());
        numbers
    }

    /// The names of the drivers.
    fn drivers(&self) -> Vec<String> {
        let workspace = self.workspace(&self.load());
        Purlin::builder().workspace(workspace).build().driver_names()
    }
}
