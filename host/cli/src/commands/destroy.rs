//! `purlin destroy`

use std::time::{Duration, Instant};

use purlin_host::internal::engine::DestroyOptions;
use purlin_host::internal::state::Outcome;

use super::deploy::{self, Shown};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, HandOverArgs, ScopeArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::surroundings;
use crate::text;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

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
    let shown = Shown::new(json, app);
    let mut place = input::place_to_delete(&args.documents, app).await?;
    let environment = place.environment();
    let fail = Failure::without_sources;
    if !place.purlin.is_recorded(&environment).await.map_err(fail)? {
        let status = deploy::collect(&place.purlin, &shown, app).await.map_err(fail)?;
        deploy::nothing_recorded(&place, &shown, app).await?;
        return Ok(status);
    }
    let session = place.purlin.begin(&environment);
    let session = app.timings.wait("open state", session).await.map_err(fail)?;
    if let Some(documents) = &place.documents {
        session.use_inputs_of(documents, &place.context).await;
    }
    if deploy::recover(&session, &place.context, &shown, app, &fail).await? == Status::Failed {
        return Ok(Status::Failed);
    }
    let options = args.options();
    let plan = session.plan_destroy(&place.context, options);
    let plan = app.timings.wait("plan", plan).await.map_err(naming::failure_of_records)?;
    // Resources that others use are handed over without a step.
    let is_nothing = plan.steps.is_empty() && plan.warnings.is_empty();
    if is_nothing && args.scope.scope().is_everything() {
        // An environment with nothing but a history is recorded, but has nothing to delete.
        drop(session);
        let status = deploy::collect(&place.purlin, &shown, app).await.map_err(fail)?;
        deploy::nothing_recorded(&place, &shown, app).await?;
        deploy::close(place.purlin, app).await?;
        return Ok(status);
    }
    let question = match args.scope.scope().is_everything() {
        true => format!("Delete everything in {environment}?"),
        false => format!("Delete this in {environment}?"),
    };
    let mut status =
        deploy::carry_out(&session, plan, None, (&consent, &question), &shown, app).await.map_err(fail)?;
    let until = args.retry_for.map(|time| Instant::now() + time);
    let mut pause = Duration::from_secs(1);
    loop {
        // Retry only what this command attempted: not if the user declined, and not if Ctrl-C ended
        // it.
        let history = place.purlin.history(&environment).await.map_err(fail)?;
        let own = history.last().filter(|last| last.id == place.context.deployment);
        if status != Status::Failed || own.is_none_or(|own| own.outcome != Outcome::Failed) {
            break;
        }
        if until.is_none() && !json {
            app.ui.hint("`--retry-for 10m` retries while a provider rejects deletions");
        }
        if until.is_none_or(|until| Instant::now() + pause >= until) {
            break;
        }
        app.ui.say(&format!("Trying again in {}.", text::duration(pause)));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        if deploy::recover(&session, &place.context, &shown, app, &fail).await? == Status::Failed {
            break;
        }
        // Each attempt gets its own entry in the history.
        place.context.deployment = surroundings::deployment_id().into();
        let options = args.options();
        let plan = session.plan_destroy(&place.context, options).await;
        let mut plan = plan.map_err(naming::failure_of_records)?;
        // The user agreed to the first plan, which included all of these losses.
        let losses = plan.losses_not_allowed();
        plan.allow_losses(&losses);
        status = deploy::run(&session, plan, None, &shown, app).await.map_err(fail)?;
    }
    drop(session);
    deploy::close(place.purlin, app).await?;
    Ok(status)
}
