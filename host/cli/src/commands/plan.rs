//! `purlin plan`

use std::path::{Path, PathBuf};

use purlin_engine::{Event, Phase, PlanOptions, Summary};

use super::deploy;
use crate::app::App;
use crate::args::{AcceptArgs, CommentFormat, CommentFormatArg, DocumentArgs, PlanArgs};
use crate::failure::{Failure, Status};
use crate::files;
use crate::input;
use crate::progress;
use crate::render;
use crate::render::plan::PlanView;
use crate::report::missing_grants::MissingGrants;
use crate::report::plan::{Document, Observed};
use crate::text;
use crate::ui::Level;

/// Show the changes that `up` would make.
///
/// Compares the documents with the state and changes nothing. Values that exist only after provisioning
/// are shown as `(known after apply)`, secrets as `[secret]`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin plan
  purlin plan --verbose              every change in full
  purlin plan --detailed-exitcode    for scripts: 0 no changes, 3 changes
  purlin plan --offline              without calling drivers
  purlin plan --refresh              detect drift first
  purlin plan --out change.plan      save it for `purlin apply change.plan`
  purlin plan --format markdown      for a comment on a pull request

Exit status: 0 success; 1 nothing can be done with some resources, or no plan was made;
2 the documents are invalid; 3 with `--detailed-exitcode`, there are changes.

With `--format json`:
  {\"format\": 1,
   \"steps\": [{\"key\", \"urn\", \"action\", \"reasons\": [{\"reason\", \"message\", …}],
             \"changes\": [{\"path\", \"before\", \"after\", \"unknown\", \"secret\", \"replaces\"}]}],
   \"summary\": {\"create\", \"update\", \"replace\", \"delete\", \"none\"},
   \"observed\": [{\"key\", \"finding\", \"message\", \"changes\"}],
   \"offers\": [{\"installation\", \"installed\", \"newer\"}]}
\"observed\" is present only if something differs from the record, \"offers\" only if there are newer
versions of installed bundles.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Exit with status 3 if there are changes.
    #[arg(long)]
    detailed_exitcode: bool,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    accept: AcceptArgs,

    /// Write the plan to a file for `purlin apply`, sealed with the key of the state.
    #[arg(long, value_name = "FILE", conflicts_with = "offline")]
    out: Option<PathBuf>,

    /// Plan without calling drivers; inputs are not validated, and drivers may be missing.
    #[arg(long, conflicts_with = "refresh")]
    offline: bool,

    #[command(flatten)]
    pub(super) format: CommentFormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    if let Some(path) = &args.out {
        may_write(path)?;
    }
    let may_prompt = args.format.format == CommentFormat::Text && app.ui.is_interactive();
    let mut given = input::given_or_prompted(&args.documents, may_prompt, app).await?;
    given.documents.accept_missing.clone_from(&args.accept.accept_missing);
    let purlin = input::orchestrator(&given.workspace, app)?;
    let fail = |error| given.failure(error);
    let documents = &given.documents;
    let options = PlanOptions { offline: args.offline, ..args.plan.options() };
    let base = app.timings.wait("open state", purlin.base(&documents.environment())).await.map_err(fail)?;
    if args.out.is_some() && base.has_pending() {
        return Err(Failure::run(
            "an earlier run was interrupted, and no plan can be saved before the outcome of its calls is known",
        )
        .hint("`purlin refresh` determines it if its driver can, otherwise `purlin state settle` records it"));
    }
    let (base, observed) = match args.offline {
        true => (base, Vec::new()),
        false => {
            let staleness = base.staleness().filter(|staleness| !staleness.is_mere_doubt());
            if let Some(staleness) = staleness {
                deploy::warn_of_staleness(staleness, &documents.environment(), app);
            }
            let refresh = (args.plan.refresh || staleness.is_some()).then_some(&options.scope);
            let looked = purlin.read_without_recording(documents, base, refresh);
            let (base, found) = app.timings.wait("look", looked).await.map_err(fail)?;
            (base, observed(found, app))
        }
    };
    let plan = purlin.plan_from(documents, base, options.clone());
    let plan = app.timings.wait("plan", plan).await.map_err(fail)?;
    if let Some(path) = &args.out {
        let bytes = purlin.save(&plan, documents, &options).await.map_err(fail)?;
        files::write_private(path, &bytes).map_err(|error| unwritable(path, error))?;
    }
    let refused = Summary { failed: plan.refused(), ..Summary::default() };
    match args.format.format {
        CommentFormat::Json => {
            app.ui.json(&Document { plan: &plan, observed, offers: &given.documents.resolution().offers });
        }
        CommentFormat::Text => {
            let look = PlanView::new(app.ui.columns(), app.ui.level >= Level::Verbose);
            app.ui.data(&render::plan::render(&(&plan).into(), look));
        }
        CommentFormat::Markdown => {
            let about = render::plan::About {
                context: &documents.context,
                refused: &refused.failed,
                observed: &observed,
            };
            app.ui.data(&render::plan::markdown(&(&plan).into(), about));
        }
    }
    let changes = plan.summary().changes() > 0;
    if !refused.failed.is_empty() && args.format.format == CommentFormat::Text {
        let context = progress::RunContext {
            sources: &given.sources,
            columns: app.ui.error_columns().unwrap_or(render::diagnostics::USUAL),
        };
        app.ui.raw(&progress::failures(&refused, &context));
        MissingGrants::of(refused.failed.iter().map(|(_, cause)| cause)).hint(&app.ui);
    }
    drop(plan);
    if let Some(path) = &args.out {
        let path = text::path(path);
        app.ui.hint(&format!(
            "`purlin apply {path}` applies exactly this, as long as the state does not change"
        ));
    }
    deploy::close(purlin, app).await?;
    Ok(match changes && args.detailed_exitcode {
        _ if !refused.failed.is_empty() => Status::Failed,
        true => Status::Changes,
        false => Status::Done,
    })
}

/// # Errors
/// If a plan cannot be written there, or something else is there.
fn may_write(path: &Path) -> Result<(), Failure> {
    files::may_replace(path, purlin_host::begins_as_plan).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            let path = text::path(path);
            Failure::input(format!("cannot write the plan to `{path}`: it already exists and is not a plan"))
                .hint("name a new file, such as `--out my.plan`, or an existing plan")
        }
        _ => Failure::input(format!(
            "cannot write the plan to `{}`: {}",
            text::path(path),
            purlin_files::reason(&error)
        ))
        .hint(WHERE_TO_WRITE),
    })
}

const WHERE_TO_WRITE: &str =
    "name a file in a folder that exists and that you can write, such as `--out my.plan`";

fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::caused(format!("cannot write the plan to `{}`", text::path(path)), &error).hint(WHERE_TO_WRITE)
}

/// Reports what a look at the resources found.
fn observed(found: Vec<Event>, app: &App) -> Vec<Observed> {
    let mut observed = Vec::new();
    for event in found {
        let Event::Resource { key, phase, .. } = event else { continue };
        match phase {
            Phase::Observed { finding, changes } => {
                app.ui.say(&progress::observed(&key, finding, &changes));
                observed.push(Observed { key, finding: finding.into(), changes });
            }
            Phase::Failed { cause, .. } => {
                let (key, cause) = (text::line(key.as_str()), cause.to_string());
                app.ui.warning(&format!(
                    "the outcome of the interrupted call on `{key}` is still unknown: {cause}"
                ));
            }
            _ => {}
        }
    }
    observed
}
