//! `purlin impact`

use std::path::PathBuf;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use purlin_engine::Action;
use purlin_host::{EnvironmentImpact, Loaded, Proposal, Purlin, SelectedEnvironment, Selection};
use tokio::task::JoinError;

use crate::app::App;
use crate::args::{AcceptArgs, CommentFormat, CommentFormatArg, DocumentArgs, SelectionArgs};
use crate::failure::{Failure, Status};
use crate::render::plan::PlanView;
use crate::report::impact::{Effect, Environment, Groups, Summary};
use crate::surroundings;
use crate::ui::Level;
use crate::{input, render, text};

/// Show how changed definitions would affect every environment.
///
/// Plans each environment in the state from the documents of its last deployment, with the documents
/// named here replacing the recorded ones: a recorded document is replaced if its file is named, or is
/// in a folder that is named. Effects that a deployment would have without the change are omitted, and
/// environments that use none of the documents are not counted. Those of the type `production` come
/// first. Nothing is changed, no lock is taken, and no secret is read.
///
/// Drivers are not called; their schemas determine the effects. With `--check`, they are called to
/// validate inputs and to report which changes replace a resource.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin impact platform/
  purlin impact platform/ --type production --environments 'shop/*'
  purlin impact platform/ --fail-on replace,loses-data      for CI
  purlin impact platform/ --format markdown > comment.md    for a pull request

With `--format json`, a line for each affected environment, then a summary:
  {\"format\": 1, \"event\": \"environment\", \"org\", \"app\", \"env\", \"type\", \"effect\", \"loses_data\",
   \"resources\": [{…}], \"faults\": [{\"code\", \"key\", \"message\", \"at\", \"help\"}]}
  {\"format\": 1, \"event\": \"summary\", \"environments\", \"unchanged\", \"create\", \"update\",
   \"replace\", \"delete\", \"rejected\", \"unknown\", \"loses_data\", \"unused\"}
Each resource is like a step of `purlin plan`. An environment counts under its most severe
effect, in this order: rejected, delete, replace, update, create, unchanged. It is unknown if
the documents of its last deployment are not recorded.

Exit status: 0 success; 1 an environment cannot be read; 2 the documents are invalid;
3 an environment has an effect that `--fail-on` names, or the change is rejected in every
environment that it affects.")]
pub(crate) struct Args {
    /// The changed documents: files, or folders (recursively). A file that was deployed and no longer
    /// exists can be named too.
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Exit with status 3 if an environment has this effect.
    #[arg(long, value_name = "EFFECT", value_delimiter = ',', value_enum)]
    fail_on: Vec<FailOn>,

    /// Exit with status 0 even if the change is rejected in every environment that it affects.
    #[arg(long)]
    accept_rejected: bool,

    /// Call the drivers to validate inputs and to report which changes replace a resource.
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    pub(super) format: CommentFormatArg,
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
        let does = |action: Action| environment.resources.iter().any(|step| step.action == action);
        match self {
            Self::Create => does(Action::Create),
            Self::Update => does(Action::Update) || does(Action::Adopt),
            Self::Replace => does(Action::Replace),
            Self::Delete => does(Action::Delete),
            Self::LosesData => environment.loses_data,
            Self::Rejected => environment.effect == Effect::Rejected,
            Self::Unknown => environment.effect == Effect::Unknown,
        }
    }
}

/// Changed documents, and the environments that they may concern.
pub(super) struct ProposedChange {
    /// The documents as they were read, for places in faults.
    pub(super) loaded: Loaded,
    pub(super) purlin: Arc<Purlin>,
    pub(super) proposal: Arc<Proposal>,
    pub(super) selected: Vec<SelectedEnvironment>,
}

impl ProposedChange {
    /// Reads changed documents. Files and folders that are gone take theirs away.
    pub(super) async fn read(
        paths: &[PathBuf],
        accept: &AcceptArgs,
        selection: &SelectionArgs,
        app: &App,
    ) -> Result<Self, Failure> {
        if let Some(path) = paths.iter().find(|path| path.as_os_str() == "-") {
            let message = format!(
                "standard input (`{}`) cannot be compared with the recorded documents",
                path.display()
            );
            return Err(Failure::input(message).hint("name the files or the folder of the changed documents"));
        }
        let (gone, mut paths): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.iter().cloned().partition(|path| path.symlink_metadata().is_err());
        if paths.is_empty() {
            // The workspace says where the state is, and what paths are relative to.
            paths =
                surroundings::nearest_workspace(&app.folder).map_or_else(|| gone.clone(), |file| vec![file]);
        }
        let named = DocumentArgs { paths, ..DocumentArgs::default() };
        let loaded = input::load(&named, app)?;
        let workspace = input::workspace(&loaded, app);
        let proposal = Proposal::new(&loaded, Some(&workspace))
            .map_err(|error| Failure::host(error, &loaded.sources))?;
        let proposal = Arc::new(proposal.without(&gone).accepting(accept.accept_missing.clone()));
        let purlin = Arc::new(input::orchestrator(&workspace, app)?);
        check_read(&purlin, &proposal).await?;
        let selected = app.timings.wait("list environments", select(&purlin, selection)).await?;
        Ok(Self { loaded, purlin, proposal, selected })
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let change = ProposedChange::read(&args.paths, &args.accept, &args.selection, app).await?;
    let ProposedChange { loaded, purlin, proposal, selected } = change;
    let fail = |error| Failure::host(error, &loaded.sources);

    let mut summary = Summary::default();
    let mut groups = Groups::default();
    let mut met = false;
    let mut broken = 0_usize;
    let mut plans = Box::pin(plans(selected, &purlin, &proposal, args.check));
    while let Some(planned) = plans.next().await {
        let (selected, impact) = planned.map_err(|error| Failure::caused("a plan ended early", &error))?;
        let environment = match impact {
            Ok(impact) => Environment::new(&selected, impact),
            Err(error) => {
                broken += 1;
                app.ui.error(&text::line(&format!("{}: {error}", selected.known.environment)));
                continue;
            }
        };
        let Some(environment) = environment else {
            summary.unused += 1;
            continue;
        };
        summary.count(&environment);
        met |= args.fail_on.iter().any(|effect| effect.is_met(&environment));
        if environment.effect == Effect::Unchanged {
            continue;
        }
        if args.format.format == CommentFormat::Json {
            app.ui.json_line(&environment);
        } else {
            groups.add(environment);
        }
    }
    drop(plans);
    match args.format.format {
        CommentFormat::Json => app.ui.json_line(&summary),
        CommentFormat::Text => {
            let look = PlanView::new(app.ui.columns(), app.ui.level >= Level::Verbose);
            app.ui.data(&render::impact::text(&groups, &summary, look));
        }
        CommentFormat::Markdown => {
            let paths: Vec<String> =
                args.paths.iter().map(|path| text::shell_word(&path.to_string_lossy())).collect();
            let command = format!("purlin impact {} --verbose", paths.join(" "));
            app.ui.data(&render::impact::markdown(&groups, &summary, command));
        }
    }
    if let Ok(purlin) = Arc::try_unwrap(purlin).map_err(drop) {
        purlin.close().await.map_err(fail)?;
    }
    Ok(match broken {
        0 if met || (summary.is_rejected() && !args.accept_rejected) => Status::Changes,
        0 => Status::Done,
        _ => Status::Failed,
    })
}

/// The environments that the options select.
///
/// # Errors
/// If there are environments, and none is selected: otherwise a check in CI would succeed whatever the
/// documents contain.
async fn select(purlin: &Purlin, args: &SelectionArgs) -> Result<Vec<SelectedEnvironment>, Failure> {
    let selection = args.selection();
    let selected = purlin.select(&selection).await.map_err(Failure::without_sources)?;
    if selected.is_empty() && !selection.is_all() {
        let all = purlin.select(&Selection::default()).await.map_err(Failure::without_sources)?;
        if !all.is_empty() {
            let count = text::count(all.len(), "recorded environment");
            return Err(Failure::input(format!("none of the {count} matches `--environments` and `--type`"))
                .hint("`purlin env list` shows their names and types"));
        }
    }
    Ok(selected)
}

/// Rejects documents that no environment was deployed from. Otherwise a check in CI would succeed
/// whatever they contain.
async fn check_read(purlin: &Purlin, proposal: &Proposal) -> Result<(), Failure> {
    let unread = purlin.unread(proposal).await.map_err(|error| Failure::host(error, &Default::default()))?;
    if unread.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = unread.iter().map(|place| format!("`{}`", text::line(place))).collect();
    let places = places.join(" or ");
    Err(Failure::input(format!("no environment was deployed from {places}, so nothing is known about it"))
        .hint("name the files or folders that `purlin up` reads; for a new file, name its folder"))
}

type Planned = (SelectedEnvironment, Result<EnvironmentImpact, purlin_host::Error>);

/// Plans all environments, two per processor at a time, and returns them in their order.
pub(super) fn plans(
    selected: Vec<SelectedEnvironment>,
    purlin: &Arc<Purlin>,
    proposal: &Arc<Proposal>,
    check: bool,
) -> impl Stream<Item = Result<Planned, JoinError>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let plans = selected.into_iter().map(move |selected| {
        let (purlin, proposal) = (Arc::clone(purlin), Arc::clone(proposal));
        async move {
            let plan = tokio::spawn(async move {
                let impact = purlin.impact(&selected.known, &proposal, check).await;
                (selected, impact)
            });
            plan.await
        }
    });
    futures::stream::iter(plans).buffered(2 * threads)
}
