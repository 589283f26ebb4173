//! `purlin up`

use purlin_host::engine::{Plan, PlanOptions};

use super::apply::{self, Shown};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report;

/// Make the environment what the documents say.
///
/// Shows the plan, asks on a terminal, and carries it out: in order, as much as possible at the
/// same time. What fails stops what depends on it and nothing else. What no document asks for any
/// more is deleted. Ctrl-C finishes the calls in flight; a second one cuts them off.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin up
  purlin up --yes                ask nothing
  purlin up --env staging -f platform -f app
  purlin up --format json        one event a line on standard output

Events with `--format json`, the summary last; `error` when no run could begin:
  {\"format\": 1, \"event\": \"resource\", \"key\", \"action\", \"phase\", \"error\": {\"code\", \"message\"}}
  {\"format\": 1, \"event\": \"summary\", \"status\", \"done\": {…}, \"failed\", \"skipped\", \"calls\"}
  {\"format\": 1, \"event\": \"error\", \"error\": {…}}
Phases are started, progress, succeeded, failed and skipped; the status is succeeded, failed or
cancelled.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Do not ask.
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let given = input::given(&args.documents, app)?;
    let purlin = input::orchestrator(&given.workspace, app)?;
    let fail = |error| given.failure(error);
    let shown = Shown::new(args.format.format == Format::Json, args.yes, app);

    // Where nothing was ever deployed the plan comes first, so that wrong input leaves no trace.
    let mut early: Option<Plan> = None;
    if !purlin.state_folder().exists() {
        let plan = app.timings.wait("plan", purlin.plan(&given.documents, PlanOptions::default())).await;
        let plan = plan.map_err(fail)?;
        if plan.steps.is_empty() {
            shown.plan(&report::plan::Plan::new(&plan));
            return Ok(Status::Done);
        }
        early = Some(plan);
    } else {
        // Faults of the documents are told before anybody waits for the state.
        app.timings.wait("build graph", purlin.graph(&given.documents)).await.map_err(fail)?;
    }

    let environment = given.documents.environment();
    let session = purlin.begin(&environment);
    let session = app.timings.wait("open state", session).await.map_err(fail)?;
    let plan = match early {
        Some(plan) if session.records().await.map_err(fail)?.is_empty() => plan,
        _ => {
            let plan = app.timings.wait("plan", session.plan(&given.documents, PlanOptions::default())).await;
            plan.map_err(fail)?
        }
    };
    let report = report::plan::Plan::new(&plan);
    shown.plan(&report);
    let status = if report.summary.changes() > 0 && !shown.agrees("Apply these changes?") {
        app.ui.say("Nothing was changed.");
        Status::Failed
    } else {
        apply::run(&session, plan, &shown, app).await.map_err(fail)?
    };
    drop(session);
    apply::close(purlin, app).await?;
    Ok(status)
}
