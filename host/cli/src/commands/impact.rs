//! `purlin impact`

use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::ArgPredicate;
use purlin_host::Proposal;
use purlin_state::EnvironmentSummary;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::app::App;
use crate::args::{DocumentArgs, json};
use crate::commands::Output;
use crate::failure::{Failure, Status};
use crate::report::impact::{Effect, Environment, Groups, Summary};
use crate::{input, render, text};

/// Show how changed definitions would affect every environment.
///
/// Plans each environment in the state from the documents of its last deployment, with the documents
/// named here replacing the recorded ones: a recorded document is replaced if its file is named, or is
/// in a folder that is named. Effects that a deployment would have without the change are omitted.
/// Nothing is changed, no lock is taken, and no secret is read.
///
/// Drivers are not called; their schemas determine the effects. With `--check`, they are called to
/// validate inputs and to report which changes replace a resource.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin impact platform/
  purlin impact platform/ --fail-on replace,loses-data      for CI
  purlin impact platform/ --format markdown > comment.md    for a pull request

With `--format json`, a line for each affected environment, then a summary:
  {\"format\": 1, \"event\": \"environment\", \"org\", \"app\", \"env\", \"effect\", \"loses_data\",
   \"resources\": [{\"key\", \"action\", \"reasons\": [{\"reason\", \"message\", …}], \"paths\", \"loses\"}],
   \"faults\": [{\"code\", \"message\", \"at\"}]}
  {\"format\": 1, \"event\": \"summary\", \"environments\", \"unchanged\", \"create\", \"update\",
   \"replace\", \"delete\", \"rejected\", \"unknown\", \"loses_data\"}
An environment counts under its most severe effect, in this order: rejected, delete, replace,
update, create, unchanged. It is unknown if the documents of its last deployment are not recorded.

Exit status: 0 success; 1 an environment cannot be read; 2 the documents are invalid;
3 an environment has an effect that `--fail-on` names.")]
#[command(arg(json()))]
pub(crate) struct Args {
    /// The changed documents: files, or folders (recursively).
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    /// Exit with status 3 if an environment has this effect.
    #[arg(long, value_name = "EFFECT", value_delimiter = ',', value_enum)]
    fail_on: Vec<FailOn>,

    /// Call the drivers to validate inputs and to report which changes replace a resource.
    #[arg(long)]
    check: bool,

    /// Write the result in this format.
    #[arg(long, alias = "output", short_alias = 'o', value_name = "FORMAT", value_enum)]
    #[arg(default_value = "text", default_value_if("json", ArgPredicate::IsPresent, "json"))]
    format: Format,
}

/// The format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Human-readable text.
    Text,
    /// Machine-readable, one JSON document per line.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

/// An effect for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A resource is created.
    Create,
    /// A resource is updated.
    Update,
    /// A resource is replaced.
    Replace,
    /// A resource is deleted.
    Delete,
    /// Data is lost with a resource that is replaced or deleted.
    LosesData,
    /// A deployment would be rejected.
    Rejected,
    /// The effect is not known.
    Unknown,
}

impl FailOn {
    fn is_met(self, environment: &Environment) -> bool {
        let does = |action: &str| environment.resources.iter().any(|one| one.action == action);
        match self {
            Self::Create => does("create"),
            Self::Update => does("update") || does("adopt"),
            Self::Replace => does("replace"),
            Self::Delete => does("delete"),
            Self::LosesData => environment.loses_data,
            Self::Rejected => environment.effect == Effect::Rejected,
            Self::Unknown => environment.effect == Effect::Unknown,
        }
    }
}

impl Args {
    /// The format of the command's output.
    pub(super) fn output(&self) -> Output {
        if self.format == Format::Json { Output::Events } else { Output::Text }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    if let Some(path) = args.paths.iter().find(|path| path.as_os_str() == "-") {
        let message =
            format!("standard input (`{}`) cannot be compared with the recorded documents", path.display());
        return Err(Failure::input(message).hint("name the files or the folder of the changed documents"));
    }
    let named = DocumentArgs { paths: args.paths.clone(), ..DocumentArgs::default() };
    let loaded = input::load(&named, app)?;
    let workspace = input::workspace(&loaded, app);
    let fail = |error| Failure::host(error, &loaded.sources);
    let proposal = Arc::new(Proposal::new(&loaded, Some(&workspace)).map_err(fail)?);
    let purlin = Arc::new(input::orchestrator(&workspace, app)?);
    check_read(&purlin, &proposal).await?;
    let known = app.timings.wait("list environments", purlin.known_environments()).await.map_err(fail)?;
    // Of these, only the history is left.
    let known: Vec<_> = known.into_iter().filter(|known| !known.is_destroyed()).collect();

    let mut summary = Summary::default();
    let mut groups = Groups::default();
    let mut met = false;
    let mut broken = 0_usize;
    let mut plans = plans(known, &purlin, &proposal, args.check);
    while let Some(planned) = plans.join_next().await {
        let (known, impact) = planned.map_err(|error| Failure::caused("a plan ended early", &error))?;
        let environment = match impact {
            Ok(impact) => Environment::new(&known.environment, impact),
            Err(error) => {
                broken += 1;
                app.ui.error(&text::line(&format!("{}: {error}", known.environment)));
                continue;
            }
        };
        summary.count(&environment);
        met |= args.fail_on.iter().any(|effect| effect.is_met(&environment));
        if environment.effect == Effect::Unchanged {
            continue;
        }
        if args.format == Format::Json {
            app.ui.json_line(&environment);
        } else {
            groups.add(environment);
        }
    }
    match args.format {
        Format::Json => app.ui.json_line(&summary),
        Format::Text => app.ui.data(&render::impact::text(&groups, &summary, app.ui.columns())),
        Format::Markdown => app.ui.data(&render::impact::markdown(&groups, &summary)),
    }
    if let Ok(purlin) = Arc::try_unwrap(purlin).map_err(drop) {
        purlin.close().await.map_err(fail)?;
    }
    Ok(match (broken, met) {
        (0, true) => Status::Changes,
        (0, false) => Status::Done,
        _ => Status::Failed,
    })
}

/// Rejects documents that no environment was deployed from. Otherwise a check in CI would succeed
/// whatever they contain.
pub(super) async fn check_read(purlin: &purlin_host::Purlin, proposal: &Proposal) -> Result<(), Failure> {
    let unread = purlin.unread(proposal).await.map_err(|error| Failure::host(error, &Default::default()))?;
    if unread.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = unread.iter().map(|place| format!("`{}`", text::line(place))).collect();
    let places = places.join(" or ");
    Err(Failure::input(format!("no environment was deployed from {places}, so nothing is known about it"))
        .hint("name the files or folders that `purlin up` reads; for a new file, name its folder"))
}

type Planned = (EnvironmentSummary, Result<purlin_host::EnvironmentImpact, purlin_host::Error>);

/// Plans all environments, two per processor at a time.
fn plans(
    known: Vec<EnvironmentSummary>,
    purlin: &Arc<purlin_host::Purlin>,
    proposal: &Arc<Proposal>,
    check: bool,
) -> JoinSet<Planned> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let turns = Arc::new(Semaphore::new(2 * threads));
    let mut plans = JoinSet::new();
    for known in known {
        let (purlin, proposal, turns) = (Arc::clone(purlin), Arc::clone(proposal), Arc::clone(&turns));
        plans.spawn(async move {
            let _turn = turns.acquire().await;
            let impact = purlin.impact(&known, &proposal, check).await;
            (known, impact)
        });
    }
    plans
}
