//! `purlin up`

use super::deploy::{self, Shown};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, PlanArgs};
use crate::failure::{Failure, Status};
use crate::input;

/// Make the environment what the documents say.
///
/// Shows the plan, asks on a terminal, and carries it out: in order, as much as possible at the
/// same time. What fails stops what depends on it and nothing else. What no document asks for any
/// more is deleted. What an interrupted run left open is found out first. Ctrl-C finishes the calls in flight; a second one cuts them off.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin up
  purlin up --yes                ask nothing
  purlin up --refresh            look first what others changed, and change it back
  purlin up --target 'dns#shared.*'
  purlin up --env staging -f platform -f app
  purlin up --format json        one event a line on standard output

Events with `--format json`, the summary last; `error` when no run could begin:
  {\"format\": 1, \"event\": \"resource\", \"key\", \"action\", \"phase\", \"error\": {\"code\", \"message\"}}
  {\"format\": 1, \"event\": \"summary\", \"status\", \"done\": {…}, \"failed\", \"skipped\",
   \"unknown\": [key], \"calls\"}
  {\"format\": 1, \"event\": \"error\", \"error\": {…}}
Phases are started, progress, observed, succeeded, failed and skipped; the status is succeeded, failed or
cancelled.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    plan: PlanArgs,

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
    let (options, refresh) = (args.plan.options(), args.plan.refresh);
    let status = deploy::up(&purlin, &given.documents, options, refresh, &shown, app, &fail).await?;
    deploy::close(purlin, app).await?;
    Ok(status)
}
