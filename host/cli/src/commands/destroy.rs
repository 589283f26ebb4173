//! `purlin destroy`

use std::time::{Duration, Instant};

use purlin_engine::DestroyOptions;
use purlin_host::Job;

use super::deploy::{self, Conduct, Ended, RunOutput};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, HandOverArgs, ScopeArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;

/// Delete all recorded resources of an environment.
///
/// Works from the record and deletes dependents first. The documents identify the environment, and
/// provide the current inputs if a call with the recorded ones fails. Without a terminal, `--yes` is
/// required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin destroy
  purlin destroy --yes --env staging
  purlin destroy --target 'dns#shared.www' --target-dependents
  purlin destroy --yes --retry-for 10m   retry while the provider rejects deletions

Events with `--format json` are the same as for `up`; with `--retry-for`, each attempt ends
with a summary.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    hand_over: HandOverArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    /// Retry for up to this long, such as `10m`, while a provider rejects a deletion: after 1 s, then 2
    /// s, up to a minute.
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration)]
    retry_for: Option<Duration>,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

impl Args {
    fn options(&self) -> DestroyOptions {
        let orphan_shared = self.hand_over.orphan_shared;
        DestroyOptions { scope: self.scope.scope(), orphan_shared, ..DestroyOptions::default() }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let shown = RunOutput::new(json, app);
    let place = input::place_to_delete(&args.documents, app).await?;
    let environment = place.environment();
    let question = match args.scope.scope().is_everything() {
        true => format!("Delete everything in {environment}?"),
        false => format!("Delete this in {environment}?"),
    };
    let job = Job::destroy(&place.context, place.documents.as_ref(), args.options());
    let retry_until = args.retry_for.map(|time| Instant::now() + time);
    let conduct = Conduct { consent: Some(&consent), question: &question, retry_until };
    let ended = deploy::run(&place.purlin, &job, conduct, &shown, app).await;
    let Ended { status, is_nothing, has_failures, .. } = ended.map_err(naming::failure_of_records)?;
    if is_nothing {
        // An environment with nothing but a history is recorded, but has nothing to delete.
        deploy::nothing_recorded(&place, &shown, app).await?;
    }
    if has_failures && retry_until.is_none() && !json {
        app.ui.hint("`--retry-for 10m` retries while a provider rejects deletions");
    }
    deploy::close(place.purlin, app).await?;
    Ok(status)
}
