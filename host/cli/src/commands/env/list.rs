//! `purlin env list`

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use purlin_host::Selection;
use purlin_model::ResourceStatus;
use purlin_state::{Environment, EnvironmentSummary};

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::environment::{Entry, Line, List};
use crate::text;
use crate::ui::Level;

/// How many environments are read concurrently.
const AT_ONCE: usize = 16;

/// List declared and recorded environments.
///
/// An environment is declared if purlin.yaml has it under `environments`, and recorded if something was
/// deployed to it. Destroyed environments that are not declared are left out. In a narrow terminal, the last columns are truncated; `--verbose` shows them in full.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin env list
  purlin env list 'preview-*' --status failed
  purlin env list --format json | jq -r '.environments[].env'
  purlin env list --lines --type production | jq -r 'select(.unready.drifted) | .env'

STATUS is `ready`, or how many resources did not match the documents in the last run of each.
Marks: new (declared, nothing deployed yet), undeclared (recorded, but not in purlin.yaml while
others are), protected, closed (by `purlin state lock`), in use (a deployment is running).

With `--format json`:
  {\"format\": 1, \"environments\": [
    {\"org\", \"app\", \"env\", \"type\", \"namespace\", \"declared\", \"protected\", \"resources\",
     \"unready\": {STATUS: N}, \"closed\": {\"user\", \"host\", \"reason\", \"since\"},
     \"in_use\": {\"user\", \"host\", \"command\", \"pid\", \"since\"},
     \"last\": {\"number\", \"id\", \"command\", \"user\", \"host\", \"started\", \"ended\", \"outcome\"}}]}
With `--lines`, each environment is a separate document on one line, with its own \"format\".")]
pub(super) struct Args {
    /// List only environments whose name matches. `*` stands for any text; a pattern with a `/` is
    /// compared with `ORG/APP/ENV` and `APP/ENV`.
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,

    /// List only environments of this type; may be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Vec<String>,

    /// List only environments with this status: `ready`, `unready` (anything else), or a status of `purlin status`,
    /// such as `failed` or `drifted`.
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<Filter>,

    /// Also list environments that were destroyed, and of which only the history is left.
    #[arg(long)]
    all: bool,

    /// List only environments in which a deployment is running.
    #[arg(long)]
    in_use: bool,

    /// Write one JSON document per line, as soon as each environment is read.
    #[arg(long, conflicts_with_all = ["format", "json"])]
    lines: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Which statuses are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    Unready,
    Is(ResourceStatus),
}

fn status(word: &str) -> Result<Filter, String> {
    match word {
        "unready" => Ok(Filter::Unready),
        word => ResourceStatus::parse(word).map(Filter::Is).ok_or_else(|| {
            let words: Vec<&str> = ResourceStatus::ALL.iter().copied().map(ResourceStatus::as_str).collect();
            format!("write `unready`, or one of {}", words.join(", "))
        }),
    }
}

impl Args {
    /// Which environments are listed, by name and type.
    fn selection(&self) -> Selection {
        Selection::new(self.patterns.clone(), self.kind.clone())
    }

    fn lists(&self, entry: &Entry) -> bool {
        let is_ready = entry.last.is_some() && entry.status().is_none();
        let has_status = match self.status {
            None => true,
            Some(Filter::Unready) => !is_ready,
            Some(Filter::Is(ResourceStatus::Ready)) => is_ready,
            Some(Filter::Is(status)) => entry.unready.contains_key(&status),
        };
        has_status
            && (!self.in_use || entry.in_use.is_some())
            && self.selection().has_type(entry.kind.as_deref())
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place_as_written(&args.place.documents(), app).await?;
    let recorded = place.purlin.known_environments().await.map_err(Failure::without_sources)?;
    let recorded: BTreeMap<Environment, EnvironmentSummary> =
        recorded.into_iter().map(|known| (known.environment.clone(), known)).collect();
    let here = place.environment();
    // An environment without deployments belongs to the current organisation and application.
    let declared = place.workspace.environments.keys();
    let declared = declared.map(|env| Environment { env: env.clone(), ..here.clone() });
    let declared: BTreeSet<Environment> = declared.collect();
    let is_shown = |known: &&EnvironmentSummary| {
        args.all || !known.is_destroyed() || declared.contains(&known.environment)
    };
    let shown = recorded.values().filter(is_shown).map(|known| known.environment.clone());
    let all: BTreeSet<Environment> = shown.chain(declared.iter().cloned()).collect();
    let destroyed = recorded.keys().filter(|environment| !all.contains(*environment)).count();
    let is_empty = all.is_empty();
    let selection = args.selection();
    let named = all.iter().filter(|environment| selection.names(environment));
    let read = named.map(|environment| Entry::of(environment, recorded.get(environment), &place));
    let mut read = futures::stream::iter(read).buffered(AT_ONCE);
    let mut entries = Vec::new();
    while let Some(entry) = read.next().await {
        let entry = entry.map_err(Failure::without_sources)?;
        match args.lists(&entry) {
            true if args.lines => app.ui.json_line(&Line { format: FORMAT, entry }),
            true => entries.push(entry),
            false => {}
        }
    }
    match args.format.format {
        _ if args.lines => {}
        Format::Json => app.ui.json(&List { format: FORMAT, environments: entries }),
        Format::Text if is_empty => {
            app.ui.say("No environment is declared or recorded.");
            app.ui.hint("`purlin up` deploys into one; purlin.yaml may declare them under `environments`");
        }
        Format::Text if entries.is_empty() => {
            app.ui.say(&format!("No environment matches; there are {}.", all.len()));
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::environment::table(&entries, columns));
        }
    }
    if destroyed > 0 && args.format.format == Format::Text && !args.lines {
        let count = text::count(destroyed, "destroyed environment");
        app.ui.hint(&format!("{count} left out; `--all` lists all"));
    }
    drop(read);
    place.purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}
