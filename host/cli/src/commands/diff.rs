//! `purlin diff`

use purlin_documents::SourceMap;
use purlin_engine as engine;
use purlin_host::{Documents, Purlin};
use purlin_state::{Deployment, Environment};

use super::history::find;
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::diff::{Diff, Side};
use crate::ui::Level;

/// Show the differences between the documents of two deployments.
///
/// Compares documents, not real resources; `purlin plan` compares documents with the state. If inputs
/// read outputs of other resources, both sides use the currently recorded outputs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin diff             the latest deployment and the current documents
  purlin diff 3           deployment 3 and the current documents
  purlin diff 3 5         deployments 3 and 5
  purlin diff 3 latest

With `--format json`; `difference` is `added`, `changed`, `moved` or `removed`, `moved_from` is
the earlier key of a resource that an alias renames, and `deployment` is null for the current
documents:
  {\"format\": 1, \"before\": {\"deployment\", \"id\"}, \"after\": {\"deployment\", \"id\"},
   \"differences\": [{\"key\", \"difference\", \"moved_from\", \"changes\": [{\"path\", \"before\", \"after\",
                    \"unknown\", \"secret\", \"replaces\"}]}],
   \"summary\": {\"added\", \"changed\", \"moved\", \"removed\"}}")]
pub(crate) struct Args {
    /// The earlier deployment: its number or id, or `latest` [default: the latest].
    #[arg(value_name = "BEFORE", allow_negative_numbers = true)]
    before: Option<String>,

    /// The later deployment [default: the current documents].
    #[arg(value_name = "AFTER", allow_negative_numbers = true)]
    after: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let documents = args.place.documents();
    match &args.after {
        Some(after) => {
            let place = input::place(&documents, app).await?;
            let environment = place.environment();
            let history = place.purlin.history(&environment).await.map_err(Failure::without_sources)?;
            let after = find(after, &history, &environment.to_string())?;
            let side = side(after);
            let id = &place.context.deployment;
            let after = of(&place.purlin, &environment, after, id).await?;
            let sources = after.sources().clone();
            compare(args, place.purlin, (&after, &sources, side), &history, app).await
        }
        None => {
            let given = input::given(&documents, app).await?;
            let purlin = input::orchestrator(&given.workspace, app)?;
            let history =
                purlin.history(&given.documents.environment()).await.map_err(Failure::without_sources)?;
            let side = Side { deployment: None, id: None };
            compare(args, purlin, (&given.documents, &given.sources, side), &history, app).await
        }
    }
}

async fn compare(
    args: &Args,
    purlin: Purlin,
    (after, sources, after_side): (&Documents, &SourceMap, Side),
    history: &[Deployment],
    app: &App,
) -> Result<Status, Failure> {
    let environment = after.environment();
    let before = match &args.before {
        Some(name) => find(name, history, &environment.to_string())?,
        None => history.iter().rfind(|deployment| deployment.documents.is_some()).ok_or_else(|| {
            Failure::input(format!(
                "nothing was deployed in {environment}, so there is nothing to compare with"
            ))
            .hint("`purlin plan` shows what `up` would create")
        })?,
    };
    let before_side = side(before);
    let before = of(&purlin, &environment, before, &after.context.deployment).await?;
    let graph = purlin.graph(&before).await.map_err(|error| Failure::host(error, before.sources()))?;
    let after = purlin.graph(after).await.map_err(|error| Failure::host(error, sources))?;
    let snapshot = purlin.snapshot(&environment).await.map_err(Failure::without_sources)?;
    let differences =
        engine::compare(&graph, &after, snapshot).map_err(|error| Failure::host(error.into(), sources))?;
    let report = Diff::new(before_side, after_side, &differences);
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::diff::render(&report, columns));
        }
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}

fn side(deployment: &Deployment) -> Side {
    Side { deployment: Some(deployment.number), id: Some(deployment.id.to_string()) }
}

/// The documents of a deployment. Expressions on both sides see the same deployment id, so that the
/// id does not show up as a difference.
async fn of(
    purlin: &Purlin,
    environment: &Environment,
    deployment: &Deployment,
    id: &str,
) -> Result<Documents, Failure> {
    purlin.documents_of(environment, deployment, id).await.map_err(Failure::without_sources)
}
