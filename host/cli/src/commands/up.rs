//! `purlin up`

use purlin_host::{Job, UpOptions};

use super::deploy::{self, Conduct, RunOutput};
use crate::app::App;
use crate::args::{AcceptArgs, DocumentArgs, Format, FormatArg, PlanArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input;

/// Create or update the environment to match the documents.
///
/// Shows the plan, asks for confirmation, and applies it: in order, and as much as possible
/// concurrently. If a resource fails, only its dependents are skipped. Resources that are no longer in
/// the documents are deleted. Purlin first determines the outcome of calls that an earlier run left
/// open. Ctrl-C finishes the calls in flight; a second Ctrl-C aborts them. Without a terminal, `--yes`
/// is required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin up
  purlin up --yes                apply without asking, for scripts
  purlin up --refresh            detect drift first, and repair it
  purlin up --target 'dns#shared.*'
  purlin up --env staging -f platform -f app
  purlin up --yes --format json  one event per line on standard output

Events with `--format json`, with the summary last; `error` if the run could not start:
  {\"format\": 1, \"event\": \"resource\", \"key\", \"action\", \"phase\", \"error\": {\"code\", \"message\"}}
  {\"format\": 1, \"event\": \"summary\", \"status\", \"done\": {…}, \"failed\", \"skipped\",
   \"unknown\": [key], \"calls\"}
  {\"format\": 1, \"event\": \"error\", \"error\": {…}}
Phases are started, progress, observed, succeeded, failed and skipped; the status is succeeded,
failed or cancelled.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

impl Args {
    /// The arguments for these documents, and nothing else.
    pub(super) fn new(documents: &DocumentArgs, consent: &ConsentArgs, format: FormatArg) -> Self {
        let (plan, accept) = Default::default();
        Self { documents: documents.clone(), plan, accept, consent: consent.clone(), format }
    }
}

/// How often to plan again because others deployed in the meantime.
const MOST_REPEATED: usize = 8;

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    // Consent on the command line also covers the new plan. Standard input cannot be read twice.
    let may_repeat =
        !consent.needs_confirmation() && args.documents.named().iter().all(|path| path.as_os_str() != "-");
    let mut left = MOST_REPEATED;
    loop {
        match once(args, &consent, app).await {
            Err(failure) if may_repeat && left > 0 && failure.is_outdated() => left -= 1,
            result => return result,
        }
        app.ui.note("others have deployed since the documents were read; planning again");
    }
}

async fn once(args: &Args, consent: &Consent, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let mut given = input::given_or_prompted(&args.documents, consent.needs_confirmation(), app).await?;
    given.documents.accept_missing.clone_from(&args.accept.accept_missing);
    let purlin = input::orchestrator(&given.workspace, app)?;
    let fail = |error| given.failure(error);
    let shown = RunOutput::new(json, app);
    let options = UpOptions { plan: args.plan.options(), refresh: args.plan.refresh, ..UpOptions::default() };
    let job = Job::up(&given.documents, options);
    let conduct = Conduct { consent: Some(consent), question: deploy::APPLY, retry_until: None };
    let ended = deploy::run(&purlin, &job, conduct, &shown, app).await.map_err(fail)?;
    deploy::close(purlin, app).await?;
    Ok(ended.status)
}
